"""Runs a program of ../python beside the same in NumPy: test_example.py NAME native|interpreter"""
import importlib
import pathlib
import subprocess
import sys
import unittest

try:
    import numpy
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)  # what Meson takes for a skipped test

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "python"
sys.path.insert(0, str(PROGRAMS))

import in_numpy  # noqa: E402
import laze  # noqa: E402

NAME, BACKEND = sys.argv.pop(1), sys.argv.pop(1)
# Programs whose sizes change all the time: what they compile for one size serves every other.
GROWING = {"attention": 2, "recurrent": 1}


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program, cls.case = importlib.import_module(NAME), in_numpy.CASES[NAME]

    def run_counted(self, size):
        data = self.program.data(size)
        laze.reset_metrics()
        results = in_numpy.results(self.program.run(*data))
        return data, results, laze.metrics()

    def test_gives_what_numpy_gives(self):
        data, results, _ = self.run_counted(self.case.small)
        expected = in_numpy.results(self.case.run(*in_numpy.arrays(data)))
        self.assertEqual([a.shape for a in results], [a.shape for a in expected])
        self.assertTrue(self.case.agree(results, expected), (results, expected))

    def test_a_second_run_compiles_nothing(self):
        for _ in range(2):
            self.run_counted(self.case.small)
        _, _, metrics = self.run_counted(self.case.small)
        self.assertGreater(metrics["graphs_run"], 0)
        self.assertEqual(metrics["trace_cache_misses"], 0)
        self.assertEqual(metrics["kernels_compiled"], 0)

    @unittest.skipUnless(BACKEND == "native", "the interpreter runs everything")
    def test_nothing_falls_back_on_the_interpreter(self):
        _, _, metrics = self.run_counted(self.case.small)
        self.assertGreater(metrics["kernels_run"], 0)
        self.assertEqual(metrics["fallbacks"], 0)

    @unittest.skipUnless(NAME in GROWING and BACKEND == "native", "sizes stay as they are")
    def test_new_sizes_compile_nothing(self):
        self.run_counted(self.case.small)
        _, _, metrics = self.run_counted(2 * self.case.small)
        self.assertEqual(metrics["kernels_compiled"], 0)

    def test_prints_what_it_found(self):
        done = subprocess.run([sys.executable, str(PROGRAMS / f"{NAME}.py"), str(self.case.small)],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\d")
        self.assertNotRegex(done.stdout, r"\b(nan|inf)\b")


if __name__ == "__main__":
    unittest.main()
