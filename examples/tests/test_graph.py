"""Runs examples/graph: test_graph.py PROGRAM

The three batch sizes give the same probabilities, computed here by hand, and the graph is printed with its open size.
"""
import math
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
WEIGHTS = [[1, 0, -1], [0, 1, 0], [2, 0, 1], [0, -1, 1]]


class Graph(unittest.TestCase):
    def test_one_graph_runs_for_three_sizes(self):
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=250)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        scores = [math.exp(sum(k / 2 * WEIGHTS[k][c] for k in range(4))) for c in range(3)]
        expected = " ".join(f"{score / sum(scores):.3f}" for score in scores)
        rows = [line for line in done.stdout.splitlines() if "rows" in line]
        self.assertEqual(rows, [f"{n:2} rows, the last: {expected}" for n in (1, 8, 64)])
        self.assertIn("graph @dense(%x: f32[n,4]) -> f32[n,3] {", done.stdout)
        self.assertIn('softmax %1, dim=1 : f32[n,3] name("classes")', done.stdout)


if __name__ == "__main__":
    unittest.main()
