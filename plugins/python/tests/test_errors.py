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
        with self.assertRaises(AttributeError):
            laze.no_such_operator
        with self.assertRaises(AttributeError):
            self.x.no_such_operator

    def test_memory(self):
        self.raised(lambda: (laze.zeros(2**48) + 1).evaluate(), MemoryError)

    def test_types_that_are_not_called(self):
        for kind in (laze.Tensor, laze.dtype, laze.Operator):
            self.raised(kind, TypeError)


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
