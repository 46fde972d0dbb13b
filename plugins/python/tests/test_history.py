"""Python's code in backward passes: hooks, nodes, functions with a backward of their own, inference mode."""
import gc
import threading
import unittest
import weakref

import laze
from laze.autograd import Function, inference_mode, once_differentiable


def leaf(values, **kwargs):
    return laze.tensor(values, requires_grad=True, **kwargs)


class Hooks(unittest.TestCase):
    def test_they_see_and_replace_gradients(self):
        x, seen = leaf([1.0, 2.0]), []
        y = x * 3
        y.register_hook(lambda gradient: gradient * 10)
        y.register_hook(lambda gradient: seen.append(gradient.tolist()))
        handle = x.register_hook(lambda gradient: -gradient)
        y.sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([[10.0, 10.0]], [-30.0, -30.0]))
        handle.remove()
        handle.remove()
        x.grad = None
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [3.0, 3.0])

    def test_what_they_raise_comes_out_and_nothing_has_changed(self):
        class Unlucky(Exception):
            pass

        def fail(gradient):
            raise Unlucky("of all days")

        x = leaf([1.0])
        x.grad = laze.tensor([5.0])
        loss = (x * x).sum()
        with x.register_hook(fail):
            for call in (loss.backward, lambda: laze.grad(loss, x)):
                with self.assertRaisesRegex(Unlucky, "of all days"):
                    call()
        self.assertEqual(x.grad.tolist(), [5.0])
        loss.backward()
        self.assertEqual(x.grad.tolist(), [7.0])

    def test_a_hook_may_begin_another_pass_and_not_its_own(self):
        x, y = laze.tensor([1.0, 2.0], requires_grad=True), laze.tensor([3.0], requires_grad=True)
        own, other = (x * x).sum(), (y * 2).sum()
        x.register_hook(lambda gradient: own.backward(retain_graph=True))
        with self.assertRaisesRegex(laze.Error, "must not begin the pass that called it"):
            own.backward(retain_graph=True)
        z = laze.tensor([1.0], requires_grad=True)
        z.register_hook(lambda gradient: other.backward(retain_graph=True))
        (z * 3).sum().backward()
        self.assertEqual((y.grad.tolist(), z.grad.tolist()), ([2.0], [3.0]))

    def test_what_they_give_is_looked_at(self):
        x = leaf([1.0])
        with x.register_hook(lambda gradient: 1):
            with self.assertRaisesRegex(TypeError, "a hook gives a tensor or None"):
                x.sum().backward()
        with x.register_hook(lambda gradient: gradient.sum()):
            with self.assertRaisesRegex(laze.InvalidArgumentError, r"float32\[\]|f32\[\]"):
                x.sum().backward()
        with self.assertRaises(TypeError):
            x.register_hook(1)
        with self.assertRaises(RuntimeError):
            laze.tensor([1.0]).register_hook(print)
        self.assertIsNone(x.grad)

    def test_after_accumulation(self):
        x, seen = leaf([1.0, 2.0]), []
        x.register_post_accumulate_grad_hook(lambda tensor: seen.append((tensor is x, tensor.grad.tolist())))
        (x * x + x).sum().backward()
        self.assertEqual(seen, [(True, [3.0, 5.0])])
        with self.assertRaisesRegex(laze.StateError, "leaf"):
            (x * 2).register_post_accumulate_grad_hook(print)

    def test_an_optimizer_step_in_a_hook(self):
        x = leaf([1.0, 2.0])

        def step(tensor):
            tensor.grad = None

        x.register_post_accumulate_grad_hook(step)
        (x * x).sum().backward()
        self.assertIsNone(x.grad)

    def test_they_may_run_passes_themselves(self):
        x = leaf([2.0])

        def inner(gradient):
            y = leaf([3.0])
            with laze.enable_grad():
                loss = (y * y).sum()
            loss.backward()
            return gradient * y.grad

        x.register_hook(inner)
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [24.0])

    def test_whether_what_they_do_is_remembered(self):
        x, modes = leaf([2.0]), []
        x.register_hook(lambda gradient: modes.append(laze.autograd.is_grad_enabled()))
        (x * x).sum().backward()
        (x * x).sum().backward(create_graph=True)
        self.assertEqual(modes, [False, True])
        self.assertTrue(laze.autograd.is_grad_enabled())

    def test_they_go_with_what_they_hang_on(self):
        class Hook:
            def __call__(self, gradient):
                pass

        hook = Hook()
        gone = weakref.ref(hook)
        x = leaf([1.0])
        x.register_hook(hook)
        del hook
        self.assertIsNotNone(gone())
        del x
        laze.tensor(1.0)  # where objects that laze kept are let go of
        gc.collect()
        self.assertIsNone(gone())

    def test_what_refers_to_its_own_tensor_goes_when_it_is_removed(self):
        """Python's collector does not see the way through a history (docs/python.md says so)."""
        class Held:
            pass

        for make in (lambda x: x, lambda x: x * 2):
            x, held = make(leaf([1.0])), Held()
            gone = weakref.ref(held)
            handle = x.register_hook(lambda gradient, x=x, held=held: None)
            del x, held
            gc.collect()
            self.assertIsNotNone(gone())
            handle.remove()
            laze.tensor(1.0)
            gc.collect()
            self.assertIsNone(gone())
            x, held = make(leaf([1.0])), Held()
            gone, weak = weakref.ref(held), weakref.ref(x)
            x.register_hook(lambda gradient, x=weak, held=held: None)
            del x, held
            laze.tensor(1.0)
            gc.collect()
            self.assertIsNone(gone())

    def test_on_a_thread_of_its_own(self):
        x, names = leaf([1.0]), []
        x.register_hook(lambda gradient: names.append(threading.current_thread().name))
        thread = threading.Thread(target=(x * x).sum().backward, name="other")
        thread.start()
        thread.join()
        self.assertEqual((names, x.grad.tolist()), (["other"], [2.0]))


class Nodes(unittest.TestCase):
    def test_names_and_edges(self):
        x, w = leaf([1.0]), laze.tensor([2.0])
        y = (x * w).sum()
        self.assertIsNone(x.grad_fn)
        self.assertIsNone(w.grad_fn)
        (mul, result), = y.grad_fn.next_functions
        self.assertEqual((y.grad_fn.name(), mul.name(), result), ("sum.dim_IntList", "mul.Tensor", 0))
        (first, _), (second, _) = mul.next_functions
        self.assertEqual((first.name(), second), ("leaf", None))
        self.assertEqual(y.grad_fn, y.grad_fn)
        self.assertNotEqual(y.grad_fn, mul)
        self.assertEqual(len({y.grad_fn, y.grad_fn, mul}), 2)
        self.assertIn("mul", repr(mul))

    def test_hooks(self):
        x, order = leaf([1.0, 2.0]), []
        y = x * x

        def before(grads):
            order.append("before")
            return (grads[0] * 2,)

        def behind(operands, results):
            order.append("behind")
            self.assertEqual(results[0].tolist(), [2.0, 2.0])
            return tuple(gradient * 5 for gradient in operands)

        y.grad_fn.register_hook(behind)
        y.grad_fn.register_prehook(before)
        y.sum().backward()
        self.assertEqual((order, x.grad.tolist()), (["before", "behind"], [20.0, 40.0]))

    def test_retain_grad(self):
        x = leaf([1.0, 2.0])
        y = x * 2
        y.retain_grad()
        self.assertTrue(y.retains_grad)
        self.assertFalse(x.retains_grad)
        (y * y).sum().backward()
        self.assertEqual((y.grad.tolist(), x.grad.tolist()), ([4.0, 8.0], [8.0, 16.0]))
        y.grad = None
        self.assertIsNone(y.grad)
        with self.assertRaises(RuntimeError):
            laze.tensor([1.0]).retain_grad()

    def test_inputs_of_a_pass(self):
        x, w = leaf([1.0]), leaf([2.0])
        loss = (x * w).sum()
        loss.backward(inputs=[w], retain_graph=True)
        self.assertEqual((x.grad, w.grad.tolist()), (None, [1.0]))
        laze.autograd.backward(loss, inputs=x)
        self.assertEqual(x.grad.tolist(), [2.0])
        with self.assertRaises(TypeError):
            loss.backward(inputs=[1])


class Square(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * factor

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return 2 * x * ctx.factor * gradient, None


class Functions(unittest.TestCase):
    def test_forward_and_backward(self):
        x = leaf([1.0, 2.0])
        y = Square.apply(x * 1, 3)
        self.assertEqual((y.tolist(), y.requires_grad, y.grad_fn.name()), ([3.0, 12.0], True, "Square"))
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [6.0, 12.0])
        self.assertFalse(Square.apply(laze.tensor([1.0]), 3).requires_grad)
        with laze.no_grad():
            self.assertFalse(Square.apply(x, 3).requires_grad)

    def test_twice(self):
        x = leaf([2.0])
        first, = laze.grad(Square.apply(x, 3).sum(), x, create_graph=True)
        second, = laze.grad((first * first).sum(), x)
        self.assertEqual(second.tolist(), [144.0])  # d (6 x)^2

    def test_once(self):
        class Once(Square):
            @staticmethod
            @once_differentiable
            def backward(ctx, gradient):
                return Square.backward(ctx, gradient)

        x = leaf([2.0])
        first, = laze.grad(Once.apply(x, 3).sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "Once"):
            first.sum().backward()

    def test_what_is_saved_is_there_for_one_pass(self):
        x = leaf([2.0])
        loss = Square.apply(x, 1).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        with self.assertRaisesRegex(laze.StateError, "let go of"):
            loss.backward()
        with self.assertRaisesRegex(laze.StateError, "saved_tensors"):
            laze.autograd.FunctionContext(Square, ()).saved_tensors

    def test_setup_context_and_several_outputs(self):
        class Both(Function):
            @staticmethod
            def forward(x, y):
                return x * y, x + y, x > y, "text"

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
                ctx.set_materialize_grads(False)

            @staticmethod
            def backward(ctx, product, total, compared, text):
                x, y = ctx.saved_tensors
                seen.append((total, compared, text, ctx.needs_input_grad))
                return product * y if product is not None else None, None

        seen = []
        x, y = leaf([2.0]), laze.tensor([5.0])
        product, total, compared, text = Both.apply(x, y)
        self.assertEqual((total.requires_grad, compared.requires_grad, text), (True, False, "text"))
        product.sum().backward()
        self.assertEqual((x.grad.tolist(), seen), ([5.0], [(None, None, None, (True, False))]))

    def test_marked_outputs_and_inputs_that_come_out(self):
        class Through(Function):
            @staticmethod
            def forward(ctx, x):
                other = x * 2
                ctx.mark_non_differentiable(other)
                return x, other

            @staticmethod
            def backward(ctx, gradient, other):
                return gradient * 7

        x = leaf([1.0])
        same, other = Through.apply(x)
        self.assertEqual((same.is_leaf, x.is_leaf, other.requires_grad), (False, True, False))
        same.sum().backward()
        self.assertEqual(x.grad.tolist(), [7.0])

    def test_inputs_that_are_written_to(self):
        class Triple(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(3)

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 3

        x = leaf([1.0, 2.0])
        y = x * 5
        part = y[:1]
        self.assertIs(Triple.apply(y), y)
        (y.sum() + part.sum()).backward()
        self.assertEqual((y.tolist(), x.grad.tolist()), ([15.0, 30.0], [30.0, 15.0]))
        plain = laze.tensor([1.0])
        self.assertIs(Triple.apply(plain), plain)
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            Triple.apply(leaf([1.0]))

        class Forgets(Triple):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(3) + 1

        with self.assertRaisesRegex(RuntimeError, "is no output"):
            Forgets.apply(x * 1)

    def test_what_backward_gets_wrong(self):
        class Wrong(Square):
            @staticmethod
            def backward(ctx, gradient):
                return answer

        x = leaf([1.0])
        for answer in ((1, None), gradient_and_more(x), None, (None, x)):
            with self.assertRaises(TypeError):
                Wrong.apply(x, 2).sum().backward()
        self.assertIsNone(x.grad)

    def test_exceptions_come_out(self):
        class Raises(Square):
            @staticmethod
            def backward(ctx, gradient):
                raise KeyError("lost")

        x = leaf([1.0])
        with self.assertRaises(KeyError):
            Raises.apply(x, 2).sum().backward()

    def test_contexts_go_with_their_nodes(self):
        x, contexts = leaf([1.0]), []

        class Watched(Square):
            @staticmethod
            def forward(ctx, x, factor):
                contexts.append(weakref.ref(ctx))
                return Square.forward(ctx, x, factor)

        y = Watched.apply(x, 2)
        self.assertIsNotNone(contexts[0]())
        del y
        laze.tensor(1.0)
        gc.collect()
        self.assertIsNone(contexts[0]())


def gradient_and_more(x):
    return (x, None, x)


class Inference(unittest.TestCase):
    def test_tensors_of_the_mode(self):
        x = leaf([1.0, 2.0])
        with inference_mode():
            self.assertTrue(laze.autograd.is_inference_mode_enabled())
            self.assertFalse(laze.autograd.is_grad_enabled())
            y = x * 2
        self.assertFalse(laze.autograd.is_inference_mode_enabled())
        self.assertEqual((y.is_inference(), x.is_inference(), y.requires_grad), (True, False, False))
        with self.assertRaisesRegex(RuntimeError, "inference mode"):
            x * y
        with self.assertRaises(RuntimeError):
            y.requires_grad_()
        self.assertEqual((x + y).tolist(), [3.0, 6.0])

    def test_as_a_decorator(self):
        x = leaf([1.0])

        @inference_mode
        def first():
            return x * 2

        @inference_mode(False)
        def second():
            return x * 2

        self.assertTrue(first().is_inference())
        with inference_mode():
            self.assertFalse(second().is_inference())
            self.assertTrue(second().requires_grad)


class Anomalies(unittest.TestCase):
    def test_the_forward_line_is_named(self):
        x = leaf([0.0, 4.0])
        with laze.autograd.detect_anomaly():
            self.assertTrue(laze.autograd.is_anomaly_enabled())
            root = (x * x).sqrt()  # this line
            (root * 0).sum().backward()
        self.assertFalse(laze.autograd.is_anomaly_enabled())
        with open(__file__) as file:
            line = next(i for i, text in enumerate(file, 1) if text.endswith("# this line\n"))
        with self.assertRaisesRegex(RuntimeError, f"sqrt.*test_history.py:{line}.*NaN"):
            x.grad.tolist()

    def test_as_a_switch(self):
        with laze.autograd.set_detect_anomaly(True):
            self.assertTrue(laze.autograd.is_anomaly_enabled())
        self.assertFalse(laze.autograd.is_anomaly_enabled())


class Checkpoints(unittest.TestCase):
    def run_with(self, call, **kwargs):
        laze.manual_seed(7)
        x, w = leaf([[0.5, -1.0, 2.0, 0.25] * 64] * 8), leaf(1.5)

        def layers(x, factor, bias=0.0):
            for _ in range(4):
                x = laze.dropout((x * w * factor + bias).sin(), 0.5, True)
            return x, factor

        y, factor = call(layers, x, 1.25, bias=0.5, **kwargs)
        self.assertEqual(factor, 1.25)
        saved = laze.metrics()["autograd_saved_bytes"]
        y.sum().backward()
        return x.grad.tolist(), w.grad.item(), saved, laze.rand(3).tolist()

    def test_gradients_are_equal_and_less_is_kept(self):
        *plain, saved, after = self.run_with(lambda function, *args, **kwargs: function(*args, **kwargs))
        *again, less, after_again = self.run_with(laze.autograd.checkpoint)
        self.assertEqual(plain, again)
        self.assertEqual(after, after_again)  # the second call draws none of the generator's numbers
        self.assertLess(less * 3, saved)

    def test_exceptions_come_out(self):
        times = []

        def second_is_bad(x):
            times.append(x)
            if len(times) > 1:
                raise KeyError("second")
            return x * x

        x = leaf([1.0])
        y = laze.autograd.checkpoint(second_is_bad, x)
        with self.assertRaises(KeyError):
            y.sum().backward()
        times.append(None)
        with self.assertRaises(KeyError):
            laze.autograd.checkpoint(second_is_bad, x)
        self.assertIsNone(x.grad)


if __name__ == "__main__":
    unittest.main()
