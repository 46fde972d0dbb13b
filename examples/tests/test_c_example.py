"""Runs a program in C beside the same in plain loops: test_c_example.py PROGRAM PLAIN_LOOPS

Text and whole numbers are equal, other numbers nearly: sums have another order. (In the middle, conjugate gradients
answer a change of the last bit with changes of the fifth digit, whoever computes them: few steps are compared, and many,
after which the result no longer depends on the way.)
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM, PLAIN = sys.argv.pop(1), sys.argv.pop(1)
NAME = pathlib.Path(PROGRAM).name
SIZES = {"life": [("40", "100"), ("9", "3"), ("64", "0")], "conjugate_gradient": [("64", "10"), ("33", "8"), ("24", "150"), ("8", "1")]}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=250)


class Example(unittest.TestCase):
    def test_gives_what_loops_give(self):
        for sizes in SIZES[NAME]:
            with self.subTest(sizes=sizes):
                done, plain = output(PROGRAM, *sizes), output(PLAIN, NAME, *sizes)
                self.assertEqual((done.returncode, done.stderr, plain.returncode), (0, "", 0))
                self.assertEqual(NUMBER.sub("#", done.stdout), NUMBER.sub("#", plain.stdout))
                for found, expected in zip(NUMBER.findall(done.stdout), NUMBER.findall(plain.stdout)):
                    tolerance = 2e-6 if "e" not in expected else max(0.1 * abs(float(expected)), 1e-9)
                    self.assertLess(abs(float(found) - float(expected)), tolerance, (found, expected))

    def test_says_how_it_is_called(self):
        done = output(PROGRAM, "no number")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: " + NAME, done.stderr)

    def test_turns_are_one_graph(self):
        done = subprocess.run([PROGRAM, "16", "50"], capture_output=True, text=True, timeout=250,
                              env={**os.environ, "LAZE_DEBUG": "miss"})
        self.assertLess(done.stderr.count("miss:"), 8, done.stderr)


if __name__ == "__main__":
    unittest.main()
