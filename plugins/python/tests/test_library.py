"""Operators that a program declares: kernels, rules, gradients and code at keys in Python, as in torch.library."""
import gc
import threading
import unittest
from typing import List, Optional, Sequence, Tuple, Union

import laze

try:
    import numpy
except ImportError:
    numpy = None


def scaled(x, by):
    return x * numpy.float32(by)


@unittest.skipUnless(numpy, "NumPy is missing: kernels here compute with it")
class Declared(unittest.TestCase):
    def setUp(self):
        self.lib = laze.library.Library("mine", "DEF")
        self.calls = 0

    def tearDown(self):
        self.lib._destroy()
        laze.library.set_autograd_fallback_mode("nothing")

    def scale(self):
        def kernel(x, by):
            self.calls += 1
            if by < 0:
                raise ValueError("the pump is off")
            return scaled(x, by)
        self.lib.define("scale(Tensor x, float by=2.0) -> Tensor")
        self.lib.impl("scale", kernel, "CPU")
        return laze.ops.mine.scale

    def test_row_2_1_a_kernel_is_part_of_the_graph(self):
        scale = self.scale()
        for count in range(3, 6):
            x = laze.ones(count)
            self.assertEqual((scale(x * 3, by=0.5) + x).tolist(), [2.5] * count)
        self.assertEqual(self.calls, 3)
        self.assertEqual(scale.default(laze.ones(1)).tolist(), [2])
        self.assertIn("mine::scale(Tensor x", scale._schema)
        traced = laze.jit.trace(lambda x: scale(x, 3.0) + 1, laze.ones(2))
        self.assertIn('name="mine::scale"', traced.graph)
        self.assertEqual(traced(laze.ones(2) * 2).tolist(), [7, 7])

    def test_failures_are_exceptions_of_the_value(self):
        scale = self.scale()
        x = laze.ones(2)
        failed, fine = scale(x, -1.0), scale(x, 4.0)
        with self.assertRaisesRegex(laze.Error, "mine::scale.*ValueError: the pump is off"):
            failed.tolist()
        self.assertEqual(fine.tolist(), [4, 4])
        for wrong, message in ((lambda: scale(x, "a"), "the schema is"), (lambda: scale(), "mine::scale"),
                               (lambda: scale(x, to=1.0), "mine::scale")):
            with self.assertRaisesRegex(laze.Error, message):
                wrong()
        with self.assertRaisesRegex(laze.Error, "test_library.py:"):  # where it was called
            scale(x, "a")
        with self.assertRaisesRegex(AttributeError, "there is no operator 'mine::unheard'"):
            laze.ops.mine.unheard(x)
        with self.assertRaisesRegex(laze.Error, "the schema"):
            self.lib.define("f(Quaternion x) -> Tensor")
        with self.assertRaisesRegex(laze.StateError, "already"):
            self.lib.define("scale(Tensor x) -> Tensor")
        with self.assertRaisesRegex(laze.StateError, "has a kernel"):
            self.lib.impl("scale", scaled)

    def test_wrong_results_are_errors(self):
        self.lib.define("f(Tensor x, int how) -> Tensor")
        wrong = [lambda x: x[:1], lambda x: x.astype("float64"), lambda x: None, lambda x: (x, x),
                 lambda x: laze.ones(2), lambda x: "text"]
        self.lib.impl("f", lambda x, how: wrong[how](x))
        for how in range(len(wrong)):
            with self.assertRaisesRegex(laze.Error, "mine::f"):
                laze.ops.mine.f(laze.ones(2), how).tolist()

    def test_row_2_2_modes(self):
        scale = self.scale()
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        self.assertFalse(scale(x).requires_grad)
        with laze.library.autograd_fallback_mode("warn"):
            y = scale(x)
            self.assertTrue(y.requires_grad)
            (y.sum() + (x * 3).sum()).backward()
            self.assertEqual(x.grad.tolist(), [3, 3])
        with laze.library.autograd_fallback_mode("error"):
            y = scale(x)
            self.assertEqual(y.tolist(), [2, 4])
            with self.assertRaisesRegex(laze.UnsupportedError, "mine::scale"):
                y.sum().backward()
        self.assertEqual(laze.library.set_autograd_fallback_mode("nothing"), "nothing")
        with self.assertRaisesRegex(laze.InvalidArgumentError, "mode is one of"):
            laze.library.set_autograd_fallback_mode("loud")

    def test_gradients_are_what_the_program_says(self):
        scale = self.scale()

        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]
            ctx.save_for_backward(inputs[0])

        def backward(ctx, gradient):
            self.assertEqual(ctx.saved_tensors[0].tolist(), [1, 2])
            return gradient * ctx.by, None
        laze.library.register_autograd("mine::scale", backward, setup_context=setup_context, lib=self.lib)
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        y = scale(x, 5.0)
        (y * y).sum().backward()
        self.assertEqual(x.grad.tolist(), [50, 100])
        self.assertFalse(scale(x.detach(), 5.0).requires_grad)

        def broken(ctx, gradient):
            raise KeyError("lost")
        self.lib.define("other(Tensor x) -> Tensor")
        self.lib.impl("other", lambda x: x + 1)
        laze.library.register_autograd("mine::other", broken, lib=self.lib)
        with self.assertRaisesRegex(KeyError, "lost"):
            laze.ops.mine.other(x).sum().backward()

    def test_fakes_say_types(self):
        self.lib.define("rows(Tensor x, SymInt n, *, ScalarType dtype) -> (Tensor values, Tensor count)")
        seen = []

        @laze.library.register_fake("mine::rows", lib=self.lib)
        def _(x, n, *, dtype):
            seen.append((x.shape, x.dtype, n))
            return x.new_empty((n, *x.shape), dtype=dtype), x.new_empty((), dtype=laze.int64)

        @laze.library.impl("mine::rows", "default", lib=self.lib)
        def _(x, n, *, dtype):
            return numpy.stack([x] * n).astype(dtype.name), numpy.int64(n)
        values, count = laze.ops.mine.rows(laze.tensor([1.0, 2.0]), 3, dtype=laze.float64)
        self.assertEqual((values.shape, values.dtype), ((3, 2), laze.float64))
        self.assertEqual(seen, [((2,), laze.float32, 3)])
        self.assertEqual((values.tolist(), count.item()), ([[1, 2]] * 3, 3))

        self.lib.define("f(Tensor x) -> Tensor")
        self.lib.impl("f", lambda x: x)
        self.lib._register_fake("f", lambda x: x.shape)
        with self.assertRaisesRegex(laze.Error, "the rule of mine::f gave"):
            laze.ops.mine.f(laze.ones(2))

        self.lib.define("g(Tensor x) -> Tensor")
        self.lib.impl("g", lambda x: x)

        def raising(x):
            raise RuntimeError("no shape today")
        self.lib._register_fake("g", raising)
        with self.assertRaisesRegex(laze.Error, "no shape today"):
            laze.ops.mine.g(laze.ones(2))

    def test_sizes_that_values_give_are_found(self):
        scale = self.scale()
        x = laze.tensor([1.0, 0.0, 3.0])
        self.assertEqual(scale(x[x > 0]).tolist(), [2, 6])
        self.lib.define("twice(Tensor x) -> Tensor")
        self.lib.impl("twice", lambda x: numpy.concatenate([x, x]))
        self.lib._register_fake("twice", lambda x: x.new_empty(2 * x.shape[0]))
        self.assertEqual(laze.ops.mine.twice(x[x > 0]).tolist(), [1, 3, 1, 3])

    def test_what_is_written_changes(self):
        self.lib.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")

        def kernel(x, y):
            x += y
            return x
        self.lib.impl("add_", kernel)
        x = laze.ones(4)
        part, old = x[:2], x * 1
        self.assertIs(laze.ops.mine.add_(part, laze.ones(2) * 5), part)
        self.assertEqual((x.tolist(), part.tolist(), old.tolist()), ([6, 6, 1, 1], [6, 6], [1] * 4))
        w = laze.tensor([1.0, 2.0], requires_grad=True)
        with self.assertRaisesRegex(laze.StateError, "leaf"):
            laze.ops.mine.add_(w, w * 2)
        self.lib.define("both_(Tensor(a!) x, Tensor(b!) y) -> ()")
        self.lib.impl("both_", lambda x, y: None)
        for y in (x, x[2:], x[:]):
            with self.assertRaisesRegex(laze.InvalidArgumentError, "share memory, and both are written"):
                laze.ops.mine.both_(x[:2], y)
        self.lib.define("fill_(Tensor(a!) x, Scalar value) -> ()")

        def fill(x, value):
            x[...] = value
        self.lib.impl("fill_", fill)
        self.assertIsNone(laze.ops.mine.fill_(x, 8))
        self.assertEqual(x.tolist(), [8] * 4)

    def test_arguments_that_are_read_only_are(self):
        self.lib.define("f(Tensor x) -> Tensor")

        def kernel(x):
            x += 1
            return x
        self.lib.impl("f", kernel)
        with self.assertRaisesRegex(laze.Error, "read-only"):
            laze.ops.mine.f(laze.ones(2)).tolist()

    def test_arrays_may_be_kept(self):
        kept = []
        self.lib.define("f(Tensor x) -> Tensor")
        self.lib.impl("f", lambda x: (kept.append(x), x)[1])
        y = laze.ops.mine.f(laze.ones(1000) * 7)
        self.assertEqual(y.sum().item(), 7000)
        del y
        gc.collect()
        laze.zeros(1000).tolist()
        self.assertEqual(float(kept[0].sum()), 7000)

    def test_code_at_keys_has_tensors(self):
        scale = self.scale()
        order = []

        def at(key):
            def code(below, x, by):
                order.append(key)
                return below(x, by + 1)
            return code
        for key in ("Autograd", "ADInplaceOrView", "Functionalize"):
            self.lib.impl("scale", at(key), key, with_keyset=True)
        self.lib.impl("scale", lambda x, by: x * by, "CompositeImplicitAutograd")
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        y = scale(x, 2.0)
        self.assertEqual(order, ["Autograd", "ADInplaceOrView", "Functionalize"])
        y.sum().backward()
        self.assertEqual((y.tolist(), x.grad.tolist(), self.calls), ([5, 10], [5, 5], 0))
        with self.assertRaisesRegex(laze.InvalidArgumentError, "there is no dispatch key 'Abacus'"):
            self.lib.impl("scale", lambda x, by: x, "Abacus")

        self.lib.define("raises(Tensor x) -> Tensor")

        def raising(x):
            raise KeyError("mine alone")
        self.lib.impl("raises", raising, "CompositeImplicitAutograd")
        with self.assertRaisesRegex(KeyError, "mine alone"):
            laze.ops.mine.raises(x)
        kept = []
        self.lib.define("late(Tensor x) -> Tensor")
        self.lib.impl("late", lambda x: x)
        self.lib.impl("late", lambda below, x: (kept.append(below), below(x))[1], "Autograd", with_keyset=True)
        self.assertEqual(laze.ops.mine.late(x.detach()).tolist(), [1, 2])
        with self.assertRaisesRegex(laze.StateError, "has returned"):
            kept[0](x)
        for wrong in (None, "text", (x, x)):
            self.lib.define(f"wrong{len(kept)}(Tensor x) -> Tensor")
            self.lib.impl(f"wrong{len(kept)}", lambda x, wrong=wrong: wrong, "CompositeImplicitAutograd")
            with self.assertRaises(laze.Error):
                getattr(laze.ops.mine, f"wrong{len(kept)}")(x)
            kept.append(None)

    def test_row_1_21_bad_code_is_caught(self):
        before = laze.library.check_kernels(True)
        try:
            self.lib.define("f(Tensor x) -> Tensor")
            self.lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
            with self.assertRaisesRegex(laze.StateError, "gave memory of an argument"):
                laze.ops.mine.f(laze.ones(2))
            self.lib.define("g(Tensor x) -> Tensor")
            self.lib.impl("g", lambda x: x.add_(1) * 1, "CompositeImplicitAutograd")
            with self.assertRaisesRegex(laze.StateError, "changed tensor 0"):
                laze.ops.mine.g(laze.ones(2))
        finally:
            laze.library.check_kernels(before)

    def test_what_a_library_declared_goes_with_it(self):
        lib = laze.library.Library("gone", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1)
        pending, read = laze.ops.gone.f(laze.ones(2)), laze.ops.gone.f(laze.ones(2)) * 2
        self.assertEqual(read.tolist(), [4, 4])
        del lib
        gc.collect()
        with self.assertRaises(AttributeError):
            laze.ops.gone.f(laze.ones(2))
        with self.assertRaisesRegex(laze.NotFoundError, "gone::f"):
            (pending + 1).tolist()

    def test_threads_share_operators(self):
        scale, failures = self.scale(), []

        def work():
            try:
                for i in range(30):
                    x = laze.ones(4) * i
                    if (scale(x, 3.0) + x).tolist() != [4 * i] * 4:
                        failures.append(i)
            except Exception as error:  # noqa: BLE001 - the test says which
                failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


@unittest.skipUnless(numpy, "NumPy is missing: kernels here compute with it")
class Plugins(unittest.TestCase):
    """A plugin lists what it has for a backend; a list with a mistake counts for nothing."""

    def listing(self, **others):
        return {"backend": "default", "namespace": "plugin",
                "non_native": ["scale(Tensor x, float by) -> Tensor", "square(Tensor x) -> Tensor"],
                "supported": {"scale": scaled}, "composite": {"square": lambda x: x * x},
                "fake": {"scale": lambda x, by: x.new_empty(x.shape)},
                "autograd": {"scale": (lambda ctx, gradient: (gradient * ctx.by, None),
                                       lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))}, **others}

    def test_row_5_7_a_list_registers_what_a_backend_has(self):
        lib = laze.library.register_backend(self.listing())
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        (laze.ops.plugin.scale(x, 3.0) + laze.ops.plugin.square(x)).sum().backward()
        self.assertEqual(x.grad.tolist(), [5, 7])
        lib._destroy()
        with self.assertRaises(AttributeError):
            laze.ops.plugin.scale(x, 3.0)

    def test_row_5_7_unknown_keys_and_operators_are_refused(self):
        for others, message in (
                ({"suported": {}}, "unknown key 'suported'"), ({"backend": "abacus"}, "there is no backend 'abacus'"),
                ({"backend": None}, "backend is a string"), ({"namespace": 3}, "namespace is a string"),
                ({"supported": {"scal": scaled}}, "supported has 'scal'.*no operator plugin::scal"),
                ({"composite": {"cube": scaled}}, "composite has 'cube'"),
                ({"fake": {"cube": scaled}}, "fake has 'cube'"),
                ({"autograd": {"cube": scaled}}, "autograd has 'cube'"),
                ({"composite": {"scale": scaled}}, "supported, and composite"),
                ({"non_native": ["scale(Tensor x, float by) -> Tensor", "square(Quaternion x) -> Tensor"]}, "a type"),
                ({"supported": {"scale": 3}}, "is called, which 3 cannot be")):
            with self.assertRaisesRegex(laze.Error, message):
                laze.library.register_backend(self.listing(**others))
            for name in ("scale", "square"):
                with self.assertRaises(AttributeError, msg=others):
                    getattr(laze.ops.plugin, name)


@unittest.skipUnless(numpy, "NumPy is missing: kernels here compute with it")
class CustomOps(unittest.TestCase):
    def test_schemas_follow_from_annotations(self):
        def f(x: laze.Tensor, y: Optional[laze.Tensor], many: Sequence[laze.Tensor], n: int, sizes: List[int],
              r: float = 0.5, s: Union[int, float] = 3, *, flag: bool = True, text: str = "a",
              kind: laze.dtype = laze.float32,
              none: Optional[int] = None) -> Tuple[laze.Tensor, laze.Tensor]:
            raise NotImplementedError
        self.assertEqual(
            laze.library.infer_schema(f, mutates_args=("x",), op_name="mine::f"),
            'mine::f(Tensor(a0!) x, Tensor? y, Tensor[] many, SymInt n, SymInt[] sizes, float r=0.5, Scalar s=3, *, '
            'bool flag=True, str text="a", ScalarType kind=f32, SymInt? none=None) -> (Tensor, Tensor)')
        for wrong in (lambda x: x, lambda *x: x):
            with self.assertRaises(laze.InvalidArgumentError):
                laze.library.infer_schema(wrong, mutates_args=())

    def test_a_function_becomes_an_operator(self):
        @laze.library.custom_op("own::sine", mutates_args=())
        def sine(x: laze.Tensor, factor: float = 1.0) -> laze.Tensor:
            """A sine."""
            return numpy.sin(x * numpy.float32(factor))

        @sine.register_fake
        def _(x, factor=1.0):
            return x.new_empty(x.shape)
        sine.register_autograd(lambda ctx, gradient: (gradient * (ctx.saved_tensors[0] * ctx.factor).cos() * ctx.factor,
                                                      None),
                               setup_context=lambda ctx, inputs, output: (setattr(ctx, "factor", inputs[1]),
                                                                          ctx.save_for_backward(inputs[0])))
        x = laze.tensor([0.5, 1.0], requires_grad=True)
        y = sine(x, 2.0)
        y.sum().backward()
        for given, expected in ((y.detach(), numpy.sin([1.0, 2.0])), (x.grad, 2 * numpy.cos([1.0, 2.0]))):
            numpy.testing.assert_allclose(numpy.asarray(given), expected, rtol=1e-6)
        self.assertEqual(laze.ops.own.sine(laze.zeros(2)).tolist(), [0, 0])
        self.assertEqual(sine.__doc__, "A sine.")

        @laze.library.custom_op("own::sine", mutates_args=())
        def again(x: laze.Tensor) -> laze.Tensor:
            return x * 0
        self.assertEqual(laze.ops.own.sine(laze.ones(2)).tolist(), [0, 0])

    def test_it_writes_to_what_it_says(self):
        @laze.library.custom_op("own::count", mutates_args=("total",))
        def count(x: laze.Tensor, total: laze.Tensor) -> None:
            total += len(x)
        total = laze.zeros(())
        count(laze.ones(3), total)
        count(laze.ones(4), total)
        self.assertEqual(total.item(), 7)


if __name__ == "__main__":
    unittest.main()
