#!/usr/bin/env python3
"""Whether a training step is one graph, and whether the first epoch compiles all that a training needs.

usage: test_digits.py PROGRAM DATA

Exit status 1 says what is not so. The program trains with an empty cache.
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    program, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as cache:
        output = subprocess.run([program, "--quiet", "--epochs", "12", "--data", data], check=True, text=True,
                                stdout=subprocess.PIPE, env={**os.environ, "LAZE_CACHE_DIR": cache}).stdout

    def number(pattern):
        return int(re.search(pattern, output).group(1))
    steps, graphs = number(r"steps +(\d+)"), number(r"in (\d+) graphs run")
    later, interpreted = number(r"\((\d+) after the first epoch"), number(r"(\d+) operations interpreted")
    # Besides the steps: first weights, what the optimiser remembers, and the test at the end.
    if not steps <= graphs <= steps + 4:
        sys.exit(f"{graphs} graphs ran for {steps} steps\n{output}")
    if later or interpreted:
        sys.exit(f"{later} kernels were compiled after the first epoch, {interpreted} operations interpreted\n{output}")
    print(f"{steps} steps in {graphs} graphs")


if __name__ == "__main__":
    main()
