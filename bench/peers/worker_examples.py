"""The programs of examples/python beside the same in NumPy, in one process, because both take the same data.

Answers requests of peers.py until the input ends: "check NAME" compares results, "time NAME LIBRARY" runs a program
once and gives its seconds. The first argument is the folder that has the package laze.
"""

import importlib
import pathlib
import sys
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
sys.path[:0] = [sys.argv[1], str(EXAMPLES / "python"), str(EXAMPLES / "tests")]

import in_numpy  # noqa: E402


def prepare(name):
    """{library: a function that runs the program}"""
    program, case = importlib.import_module(name), in_numpy.CASES[name]
    data = program.data(case.timed)
    arrays = in_numpy.arrays(data)
    return {"laze": lambda: program.run(*data), "numpy": lambda: case.run(*arrays)}


def answer(runs, words):
    name = words[1]
    if name not in runs:
        runs.clear()  # one program's data at a time
        runs[name] = prepare(name)
    if words[0] == "check":
        ours, theirs = (in_numpy.results(runs[name][library]()) for library in ("laze", "numpy"))
        return "ok" if in_numpy.CASES[name].agree(ours, theirs) else "differs"
    start = time.perf_counter()
    runs[name][words[2]]()
    return time.perf_counter() - start


prepared = {}
for line in sys.stdin:
    print(answer(prepared, line.split()), flush=True)
