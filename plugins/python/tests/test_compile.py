"""laze.jit.compile: compiled functions do what functions do, gradients and writes included."""
import unittest

import laze


def layer(x, w, mean):
    hidden = x @ w
    mean.mul_(0.5).add_(hidden.detach().mean(0) * 0.5)
    hidden = laze.dropout(hidden.tanh(), 0.5, True)
    return hidden, (hidden * hidden).mean()


def inputs():
    x = laze.arange(8, dtype=laze.float32).reshape(2, 4) / 8
    w = (laze.arange(12, dtype=laze.float32).reshape(4, 3) / 12 - 0.3).requires_grad_()
    return x, w, laze.zeros(3)


class Compile(unittest.TestCase):
    def test_row_4_5_calls_do_what_the_function_does(self):
        for partition in ("default", "min_cut"):
            given, others = inputs(), inputs()
            compiled = laze.jit.compile(layer, *inputs(), partition=partition)
            laze.manual_seed(3)
            for _ in range(3):
                _, loss = layer(*given)
                loss.backward()
            laze.manual_seed(3)
            for _ in range(3):
                _, loss = compiled(*others)
                loss.backward()
            self.assertEqual(given[2].tolist(), others[2].tolist())
            for a, b in zip(given[1].grad.flatten().tolist(), others[1].grad.flatten().tolist()):
                self.assertAlmostEqual(a, b, places=5)

    def test_row_4_10_each_call_draws_other_numbers(self):
        compiled = laze.jit.compile(layer, *inputs())
        laze.manual_seed(5)
        first, second, next_one = compiled(*inputs())[0], compiled(*inputs())[0], laze.rand(1)
        self.assertNotEqual(first.tolist(), second.tolist())
        laze.manual_seed(5)
        self.assertEqual(compiled(*inputs())[0].tolist(), first.tolist())
        laze.manual_seed(5)
        layer(*inputs()), layer(*inputs())
        self.assertEqual(laze.rand(1).tolist(), next_one.tolist())

    def test_row_4_1_outputs_are_inputs_and_views(self):
        def function(x):
            x.add_(1)
            y = x * 2
            return x, x.t(), y, y[0], y
        x = laze.zeros(2, 2)
        same, view, y, row, again = laze.jit.compile(function, laze.zeros(2, 2))(x)
        self.assertIs(same, x)
        self.assertIs(again, y)
        view[0, 1] = 5
        self.assertEqual(x.tolist(), [[1, 1], [5, 1]])
        row.fill_(7)
        self.assertEqual(y.tolist(), [[7, 7], [2, 2]])

    def test_intermediates_that_python_let_go_of_are_bases(self):
        def function(x):
            y = x.exp()
            return y[:2], y[1:]
        first, second = laze.jit.compile(function, laze.zeros(3))(laze.zeros(3))
        first[1] = 9
        self.assertEqual(second.tolist(), [9, 1])

    def test_graphs_are_text(self):
        compiled = laze.jit.compile(layer, *inputs(), name="layer")
        self.assertIn("mutation(arg2)", compiled.forward)
        self.assertIn("gradient(arg1)", compiled.backward)
        self.assertIsNone(laze.jit.compile(laze.exp, laze.zeros(2)).backward)

    def test_what_goes_wrong_is_raised(self):
        x = laze.zeros(2)
        with self.assertRaises(ZeroDivisionError):
            laze.jit.compile(lambda x: 1 // 0, x)
        with self.assertRaisesRegex(TypeError, "output 0 of the function is a .*str"):
            laze.jit.compile(lambda x: ["text"], x)
        with self.assertRaisesRegex(ValueError, "partition is 'half'"):
            laze.jit.compile(laze.exp, x, partition="half")
        weights = laze.ones(2, requires_grad=True)
        with self.assertRaisesRegex(laze.Error, "from outside that requires a gradient"):
            laze.jit.compile(lambda x: x * weights, x)
        with self.assertRaisesRegex(laze.Error, r"input 0 is f32\[3\]"):
            laze.jit.compile(laze.exp, x)(laze.zeros(3))
        self.assertEqual(laze.jit.compile(laze.exp, x)(x).tolist(), [1, 1])

    def test_equal_functions_are_compiled_once(self):
        given = inputs()
        before = laze.metrics()
        for _ in range(3):
            laze.jit.compile(layer, *given, name="once")
        after = laze.metrics()
        self.assertGreaterEqual(after["aot_cache_hits"] - before["aot_cache_hits"], 2)
        self.assertLessEqual(after["aot_cache_misses"] - before["aot_cache_misses"], 1)


if __name__ == "__main__":
    unittest.main()
