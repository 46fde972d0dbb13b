"""laze.jit: functions become graphs that are saved, loaded and run on other inputs."""
import os
import subprocess
import sys
import tempfile
import unittest

import laze


def branch(x):
    if float(x.sum()) > 0:
        return x.exp()
    return x.cos()


class Tracing(unittest.TestCase):
    def test_row_3_1_calls_are_nodes_with_places_and_names(self):
        traced = laze.jit.trace(lambda x, y: (x * y).relu(), laze.tensor([1.0, -2.0]), laze.tensor([3.0, 3.0]),
                                names=["x", "y"], name="product")
        self.assertIn("graph @product(%x: f32[2], %y: f32[2]) -> f32[2] {", traced.graph)
        self.assertIn("test_tracing.py:", traced.graph)
        self.assertEqual(traced.inputs, ("x", "y"))
        self.assertEqual(traced(laze.tensor([2.0, 2.0]), laze.tensor([5.0, -5.0])).tolist(), [10.0, 0.0])

    def test_row_3_3_tensors_from_outside_are_constants(self):
        weights = laze.rand(4, 3)
        traced = laze.jit.trace(lambda x: x @ weights, laze.ones(2, 4))
        self.assertEqual(traced(laze.eye(4)[:2]).tolist(), weights[:2].tolist())

    def test_row_3_4_random_numbers_are_drawn_by_each_call(self):
        laze.manual_seed(3)
        traced = laze.jit.trace(lambda x: x + laze.rand(3) + 10 * laze.rand(3), laze.zeros(3), check=False)
        laze.manual_seed(3)
        expected = (laze.zeros(3) + laze.rand(3) + 10 * laze.rand(3)).tolist()
        laze.manual_seed(3)
        first, second = traced(laze.zeros(3)).tolist(), traced(laze.zeros(3)).tolist()
        self.assertEqual(first, expected)
        self.assertNotEqual(first, second)
        self.assertEqual(traced.inputs, ("arg0", "seed", "offset"))

    def test_row_3_5_a_trace_is_saved_and_run_by_another_process(self):
        weights = laze.rand(8, 8)
        traced = laze.jit.trace(lambda x: (x @ weights).softmax(dim=1), laze.ones(2, 8))
        x = laze.rand(2, 8)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layer.lz")
            traced.save(path)
            self.assertEqual(sorted(os.listdir(folder)), ["layer.lz", "layer.lz.weights"])
            again = laze.jit.load(path)
            self.assertEqual(again.graph, traced.graph)
            script = f"import laze; print(laze.jit.load({path!r})(laze.tensor({x.tolist()!r})).tolist())"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200)
            self.assertEqual((done.stderr, done.stdout.strip()), ("", str(traced(x).tolist())))

    def test_row_3_5_control_flow_that_was_baked_in_is_reported(self):
        x = laze.tensor([1.0, 2.0])
        with self.assertRaisesRegex(laze.Error, r"exp \(.*test_tracing.py:\d+\).*cos \(.*test_tracing.py:\d+\)"):
            laze.jit.trace(branch, x)
        with self.assertRaisesRegex(laze.Error, "was read while it was traced"):
            laze.jit.trace(branch, x, strict=True)
        self.assertIn("exp", laze.jit.trace(branch, x, check=False).graph)

    def test_row_3_6_gradients_are_in_the_graph(self):
        def step(x, y):
            loss = ((x.tanh() - y) ** 2).sum()
            return laze.grad(loss, x)[0], loss

        x = laze.tensor([0.5, -1.0], requires_grad=True)
        traced = laze.jit.trace(step, x, laze.tensor([1.0, 1.0]))
        expected = [t.tolist() for t in step(x, laze.tensor([0.0, 2.0]))]
        found = [t.tolist() for t in traced(x.detach(), laze.tensor([0.0, 2.0]))]
        for one, other in zip(expected[0] + [expected[1]], found[0] + [found[1]]):
            self.assertAlmostEqual(one, other, places=5)
        self.assertEqual(traced.graph.count(" = tanh "), 1)

    def test_what_is_wrong_is_said(self):
        x = laze.ones(3)
        with self.assertRaises(ZeroDivisionError):
            laze.jit.trace(lambda x: 1 // 0, x)
        with self.assertRaises(TypeError):
            laze.jit.trace(lambda x: "no tensor", x)
        with self.assertRaises(TypeError):
            laze.jit.trace(lambda x: x, 3)
        with self.assertRaises(ValueError):
            laze.jit.trace(lambda x: x, x, names=["a", "b"])
        with self.assertRaises(FileNotFoundError):
            laze.jit.load("/nowhere/graph.lz")
        traced = laze.jit.trace(lambda x: x + 1, x)  # no trace is left open
        with self.assertRaisesRegex(laze.Error, r"f32\[3\] is declared"):
            traced(laze.ones(4))
        with self.assertRaisesRegex(laze.Error, "2 inputs"):
            traced(x, x)

    def test_objects_go(self):
        for _ in range(50):
            traced = laze.jit.trace(lambda x: x * 2 + 1, laze.ones(100))
            traced(laze.zeros(100))
        before = laze.metrics()["current_bytes"] if hasattr(laze, "metrics") else 0
        for _ in range(50):
            traced = laze.jit.trace(lambda x: x * 2 + 1, laze.ones(100))
            traced(laze.zeros(100))
        after = laze.metrics()["current_bytes"] if hasattr(laze, "metrics") else 0
        self.assertLessEqual(after, before + 4096)


if __name__ == "__main__":
    unittest.main()
