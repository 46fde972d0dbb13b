"""Failures are exceptions of the kind a Python program expects, with the library's message and the caller's line."""
import inspect
import subprocess
import sys
import unittest

import laze


def here():
    return inspect.currentframe().f_back.f_lineno


class Kinds(unittest.TestCase):
    def setUp(self):
        self.x = laze.zeros(2, 3)

    def raised(self, function, kind):
        with self.assertRaises(kind) as caught:
            function()
        self.assertIsInstance(caught.exception, laze.Error)
        self.assertIsInstance(caught.exception, RuntimeError)
        return str(caught.exception)

    def test_values(self):
        self.assertIn("do not broadcast", self.raised(lambda: self.x + laze.zeros(5), ValueError))
        self.assertIn("reshape", self.raised(lambda: self.x.reshape(5), ValueError))

    def test_axes_and_indices(self):
        self.raised(lambda: self.x.select(0, 9), IndexError)
        self.raised(lambda: self.x.sum(dim=7), IndexError)
        self.raised(lambda: self.x.size(3), IndexError)

    def test_integers_beyond_64_bits_name_the_call_and_the_number(self):
        for name, call in [("add", lambda: self.x + 2**70), ("reshape", lambda: self.x.reshape(2**70, 1)),
                           ("zeros", lambda: laze.zeros([1, 2**70])), ("tensor", lambda: laze.tensor(2**70)),
                           ("manual_seed", lambda: laze.manual_seed(2**70))]:
            self.assertIn(f"{name}: {2**70} does not fit", self.raised(call, OverflowError))

    def test_numbers_that_the_dtype_does_not_hold(self):
        """NumPy raises; silently, 2**40 would be 0 in int32."""
        i = laze.tensor([1, 2], dtype=laze.int32)
        calls = {"tensor": [lambda: laze.tensor(2**40, dtype=laze.int32), lambda: laze.tensor([1, -2**40], dtype="int32"),
                            lambda: laze.asarray([[2**31]], dtype=laze.int32), lambda: laze.tensor(1e10, dtype=laze.int32),
                            lambda: laze.tensor([1e30], dtype=laze.int64),
                            lambda: laze.tensor(float("-inf"), dtype=laze.int64),
                            lambda: laze.tensor(10**400, dtype=laze.float32), lambda: laze.tensor(10**5000)],
                 "full": [lambda: laze.full((2,), 2**40, dtype=laze.int32), lambda: laze.full([2], 3e9, dtype="int32")],
                 "full_like": [lambda: laze.full_like(i, 2**31)],
                 "add": [lambda: i + 2**40, lambda: 2**40 + i, lambda: laze.add(i, other=2**31), lambda: i.add(2**40)],
                 "sub": [lambda: 2**31 - i], "mul": [lambda: i * -2**40], "floor_divide": [lambda: i // 2**40],
                 "div": [lambda: laze.div(i, 2**40, rounding_mode="floor")], "clamp": [lambda: i.clamp(0, 2**40)],
                 "where": [lambda: laze.where(i > 1, i, 2**40)], "maximum": [lambda: laze.maximum(i, 2**40)],
                 "pow": [lambda: i**(2**40)], "bitwise_and": [lambda: i & 2**40]}
        for name, several in calls.items():
            for call in several:
                self.assertRegex(self.raised(call, OverflowError), f"^{name}: .* does not fit in ")
        self.assertIn("-2147483648 to 2147483647; give dtype=laze.int64", self.raised(calls["full"][0], OverflowError))
        self.assertIn("NaN has no value in int32",
                      self.raised(lambda: laze.tensor(float("nan"), dtype=laze.int32), ValueError))

    def test_numbers_at_the_ends_of_a_dtype(self):
        i = laze.tensor([-2**31, 2**31 - 1], dtype=laze.int32)
        self.assertEqual(i.tolist(), [-2**31, 2**31 - 1])
        self.assertEqual(laze.tensor([2147483647.5, -2147483648.9], dtype=laze.int32).tolist(), [2**31 - 1, -2**31])
        self.assertEqual(laze.tensor([-2**63, 2**63 - 1]).tolist(), [-2**63, 2**63 - 1])
        self.assertEqual((i & 2**31 - 1).tolist(), [0, 2**31 - 1])
        self.assertEqual((i.to(laze.int64) + 2**40).tolist(), [2**40 - 2**31, 2**40 + 2**31 - 1])
        self.assertEqual((i / 2**40).dtype, laze.float32)
        self.assertEqual(laze.rand(2, seed=2**40, offset=2**41).shape, (2,))
        self.assertEqual(laze.rand(2, seed=2**40).tolist(), laze.rand(2, seed=2**40, offset=0).tolist())
        self.assertEqual(laze.arange(2**30, 2**31, 2**29, dtype=laze.int32).tolist(), [2**30, 2**30 + 2**29])

    def test_sequences_beyond_their_dtype(self):
        """They would wrap, and count on from the other end."""
        for call in (lambda: laze.arange(2**40, 2**40 + 3, dtype=laze.int32), lambda: laze.arange(2**31 + 1, dtype="int32"),
                     lambda: laze.arange(-2**31, -2**31 - 2, -1, dtype=laze.int32),
                     lambda: laze.arange(0, 2**33, 2**32, dtype=laze.int32)):
            self.assertRegex(self.raised(call, OverflowError), "arange: from .* not all of these fit in i32, which holds")
        self.assertEqual(laze.arange(2**31 - 1, 2**31, dtype=laze.int32).tolist(), [2**31 - 1])
        self.assertEqual(laze.arange(0, 1, 2**40, dtype=laze.int32).tolist(), [0])
        self.assertEqual(laze.arange(2**40, 2**40, dtype=laze.int32).tolist(), [])

    def test_comparisons_with_numbers_that_the_dtype_does_not_hold(self):
        """They are answered as for whole numbers, as in NumPy: converted to int32, 2**40 would be 0."""
        for dtype in (laze.int32, laze.int64, laze.float32, laze.bool):
            values = [0, 1] if dtype == laze.bool else [-5, 0, 7]
            x = laze.tensor(values, dtype=dtype)
            for number in (2**31, -2**31 - 1, 2**40, -2**40, 2**63, -2**63 - 1, 2**70, -2**70):
                with self.subTest(dtype=dtype, number=number):
                    self.assertEqual((x < number).tolist(), [v < number for v in values])
                    self.assertEqual((x <= number).tolist(), [v <= number for v in values])
                    self.assertEqual((x > number).tolist(), [v > number for v in values])
                    self.assertEqual((x >= number).tolist(), [v >= number for v in values])
                    self.assertEqual((x == number).tolist(), [v == number for v in values])
                    self.assertEqual((number != x).tolist(), [v != number for v in values])
        self.assertEqual(laze.lt(laze.tensor([1], dtype=laze.int32), other=2**40).tolist(), [True])
        self.raised(lambda: laze.zeros(2) < 10**400, OverflowError)

    def test_strings_that_are_no_text(self):
        for call in [lambda: laze.zeros(2, dtype="\ud800"), lambda: laze.add(self.x, **{"\ud800": 1}),
                     lambda: laze.div(self.x, 2, rounding_mode="\ud800"), lambda: laze.load("\ud800"),
                     lambda: laze.gradient(self.x, spacing=["\ud800", self.x]), lambda: laze.save(self.x, "a\0b")]:
            self.assertRegex(self.raised(call, ValueError), "surrogate")
        self.assertIn("'no path'", self.raised(lambda: laze.load(["no path"]), TypeError))

    def test_slices(self):
        for call in [lambda: self.x[::-1], lambda: self.x[:, ::0]]:
            self.assertRegex(self.raised(call, ValueError), "steps above 0; .*laze.arange")

    def test_functions_name_themselves_and_what_they_were_given(self):
        for name, call in [("manual_seed", lambda: laze.manual_seed("a")), ("size", lambda: self.x.size("a")),
                           ("set_num_threads", lambda: laze.set_num_threads("a")),
                           ("set_budget", lambda: laze.set_budget(nodes="a"))]:
            self.assertIn(f"{name}: expected an integer, and was given 'a'", self.raised(call, TypeError))
        for call in [lambda: self.x.size(2**70), lambda: laze.set_budget(bytes=2**70)]:
            self.raised(call, OverflowError)
        for number in (0, -3, 1025, 2**40):
            self.assertIn(f"set_num_threads: {number} ", self.raised(lambda: laze.set_num_threads(number), ValueError))

        self.assertIn("set_num_threads: True ", self.raised(lambda: laze.set_num_threads(True), TypeError))

    def test_sizes_that_are_none_and_lists_that_are_too_long(self):
        for call in (lambda: laze.zeros(-1), lambda: laze.zeros(laze.tensor(-1)), lambda: laze.ones((2, -1))):
            self.assertRegex(self.raised(call, laze.Error), r"axis \d has size -1; sizes are 0")
        message = self.raised(lambda: laze.zeros(2**55).tolist(), MemoryError)
        self.assertIn("36028797018963968 elements", message)

    def test_kinds_of_objects(self):
        for call in [lambda: laze.add(self.x), lambda: laze.add(self.x, "a"), lambda: laze.add(self.x, {}),
                     lambda: laze.sum(), lambda: laze.sum(self.x, "a"), lambda: self.x.sum(1, 2, 3),
                     lambda: laze.cat(self.x), lambda: laze.zeros("a"), lambda: self.x.reshape(1.5),
                     lambda: self.x.reshape((2, "a")), lambda: laze.relu(3.5j), lambda: laze.add(self.x, 1, alpha="b"),
                     lambda: laze.sum(self.x, dim=0, axis=0), lambda: self.x.sum(0, dim=0),
                     lambda: laze.zeros(2, dtype="float33")]:
            self.raised(call, TypeError)

    def test_unknown_names(self):
        self.assertIn("'foo'", self.raised(lambda: laze.sum(self.x, foo=1), TypeError))
        for owner in (laze, self.x):
            with self.assertRaises(AttributeError) as caught:
                owner.no_such_operator
            self.assertIn("'no_such_operator'; dir()", str(caught.exception))
        with self.assertRaises(ImportError):
            from laze import no_such_operator  # noqa: F401

    def test_memory(self):
        self.raised(lambda: (laze.zeros(2**48) + 1).evaluate(), MemoryError)

    def test_types_that_are_not_called(self):
        for kind in (laze.Tensor, laze.dtype, laze.Operator):
            self.raised(kind, TypeError)


class Words(unittest.TestCase):
    def test_names_of_c_become_those_of_python_and_nothing_else_does(self):
        """A file or a name of the caller's may look like one."""
        x = laze.tensor([1.0], requires_grad=True)
        path = "/tmp/laze_no_such/laze_tensor_set.npy"
        with self.assertRaisesRegex(OSError, path):
            laze.load(path)
        with self.assertRaisesRegex(laze.Error, "'laze_tensor_set'"):
            laze.add(x, x, laze_tensor_set=1)
        y = (x * x).sum()
        y.backward()
        with self.assertRaisesRegex(laze.Error, r"\(retain_graph=True\)"):
            y.backward()
        scope = {"laze": laze, "x": x}
        code = compile("x.unsqueeze_(0)", "laze_tensor_file.py", "eval")
        with self.assertRaisesRegex(laze.Error, "^laze_tensor_file.py:1: unsqueeze_: "):
            eval(code, scope)


class Places(unittest.TestCase):
    def test_a_call_that_fails_names_its_line(self):
        with self.assertRaises(ValueError) as caught:
            line = here(); laze.zeros(2) + laze.zeros(3)  # noqa: E702
        self.assertIn(f"{__file__}:{line}: add", str(caught.exception))

    def test_a_run_that_fails_names_the_line_of_the_call(self):
        line = here() + 1
        picked = laze.index_select(laze.arange(3), 0, laze.tensor([7]))
        doubled = picked * 2
        with self.assertRaises(IndexError) as caught:
            doubled.tolist()
        self.assertIn(f"{__file__}:{line}: index_select: index 7", str(caught.exception))
        with self.assertRaises(IndexError):  # for good
            doubled.item() if doubled.numel() == 1 else doubled.sum().item()

    def test_all_ways_to_read_raise_it(self):
        failed = laze.index_select(laze.arange(3), 0, laze.tensor([7]))
        for read in (lambda: failed.tolist(), lambda: failed.item(), lambda: repr(failed), lambda: memoryview(failed),
                     lambda: failed.evaluate(), lambda: failed.__dlpack__(), lambda: bool(failed)):
            with self.assertRaises(IndexError):
                read()


class Scopes(unittest.TestCase):
    def test_a_step_computes_what_is_held(self):
        laze.reset_metrics()
        with laze.step():
            held = laze.arange(3) + 1
        runs = laze.metrics()["graphs_run"]
        self.assertEqual(runs, 1)
        self.assertEqual(held.tolist(), [1, 2, 3])
        self.assertEqual(laze.metrics()["graphs_run"], runs)

    def test_a_step_reports_a_run_that_fails(self):
        with self.assertRaises(IndexError):
            with laze.step():
                held = laze.index_select(laze.arange(3), 0, laze.tensor([7]))
        del held

    def test_an_exception_inside_goes_on(self):
        for scope in (laze.scope, laze.step):
            with self.assertRaises(ZeroDivisionError):
                with scope():
                    1 // 0
        with laze.scope() as outer, laze.scope():
            value = laze.arange(2) + 1
        self.assertEqual(value.tolist(), [1, 2])
        del outer

    def test_a_scope_is_entered_once_at_a_time(self):
        scope = laze.scope()
        with scope:
            with self.assertRaises(RuntimeError):
                scope.__enter__()
        with scope:
            pass
        with self.assertRaisesRegex(laze.StateError, "not begun"):
            scope.__exit__(None, None, None)

    def test_a_scope_that_ends_out_of_order_can_be_ended_later(self):
        outer, inner = laze.scope(), laze.scope()
        outer.__enter__()
        inner.__enter__()
        with self.assertRaisesRegex(laze.StateError, "innermost"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)


class Metrics(unittest.TestCase):
    def test_names_and_reset(self):
        (laze.arange(5) + 1).tolist()
        metrics = laze.metrics()
        self.assertGreater(metrics["graphs_run"], 0)
        self.assertIn("current_bytes", metrics)
        laze.reset_metrics()
        self.assertEqual(laze.metrics()["graphs_run"], 0)


class Environment(unittest.TestCase):
    def test_a_wrong_setting_is_an_exception_and_no_crash(self):
        import os
        code = "import laze; print((laze.arange(2) + 1).tolist())"
        result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "LAZE_BACKEND": "no-such-backend"},
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("no-such-backend", result.stderr)
        self.assertIn("laze.NotFoundError", result.stderr)


if __name__ == "__main__":
    unittest.main()
