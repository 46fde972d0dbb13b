#!/usr/bin/env python3
"""Rejects a test that is written and not built: a file `*_test.c` that is no source of a program, and no argument of a
test either.

usage: check_programs.py SOURCE_ROOT BUILD_ROOT

Exit status 1 lists each. Builds that leave some out, without LLVM or with sanitizers, do not run this.
"""
import json
import pathlib
import sys


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    targets = json.loads((build / "meson-info" / "intro-targets.json").read_text())
    built = {pathlib.Path(source).resolve() for target in targets for group in target.get("target_sources", [])
             for source in group.get("sources", [])}
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text())
    built |= {pathlib.Path(word).resolve() for test in tests for word in test["cmd"] if word.endswith("_test.c")}
    written = sorted((root / "tests").rglob("*_test.c"))
    missing = [path for path in written if path.resolve() not in built]
    for path in missing:
        print(f"{path.relative_to(root)} is in no test: name it in the meson.build beside it")
    print(f"{len(written) - len(missing)} of {len(written)} tests are built")
    return 1 if missing or len(written) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
