"""Runs the tests of the plugin in one process, or a share of them, drawn: ./dev pytorch --sanitize [SHARE]."""
import argparse
import pathlib
import random
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def tests_of(suite):
    """Those of a suite of suites, in their order."""
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_of(one)
        else:
            yield one


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("share", type=float, nargs="?", default=1.0, help="how many of them (0.1: a tenth)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    loader = unittest.TestLoader()
    found = list(tests_of(loader.discover(str(HERE), "test_*.py")))
    if loader.errors:
        raise SystemExit("\n".join(loader.errors))
    count = max(1, round(options.share * len(found)))
    print(f"{count} of {len(found)} tests, seed {options.seed}", flush=True)
    drawn = sorted(random.Random(options.seed).sample(range(len(found)), count))
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(found[index] for index in drawn))
    return not result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
