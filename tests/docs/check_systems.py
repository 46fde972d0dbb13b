#!/usr/bin/env python3
"""Checks that docs/systems.md and docs/pytorch-tests.md say the truth: where each row lives is there, and so are the
tests that it names.

usage: check_systems.py SOURCE

Where: what stands in backquotes and has a slash is a file or folder. Test: `file: name, name` are tests of a file
(below tests/, unless it is plugins/), `name` alone is a test somewhere, `file` alone is a file. No row says *later*.
Exit status 1 lists what is wrong.
"""
import pathlib
import re
import sys

PAGES = ["docs/systems.md", "docs/pytorch-tests.md"]  # the second has a behaviour and its tests alone
ROW = re.compile(r"^\| (\d+\.\d+(?:(?: to |, )\d+\.\d+)*) \|(.*)\|\s*$")
QUOTED = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w/]+\.(?:c|py|yaml|h|md)$")


def all_tests(root):
    """Names of tests by file."""
    found = {}
    for path in [*root.glob("tests/**/*.c"), *root.glob("tests/**/*.py"), *root.glob("plugins/**/test_*.py")]:
        text = path.read_text(errors="replace")
        names = set(re.findall(r"START_TEST\((\w+)\)|def (test_\w+)|\{\s*\"(\w+)\",", text))
        found[path.relative_to(root).as_posix()] = {name for group in names for name in group if name}
    return found


def files_named(name, tests):
    return [path for path in tests if path == name or path.endswith("/" + name)]


def check_test(quoted, tests, root, fail):
    file, _, names = quoted.partition(": ")
    if not names and not FILE.match(quoted):
        known = any(quoted in found for found in tests.values())
        if not known and not (root / "tests" / quoted).exists():
            fail(f"there is no test {quoted}")
        return
    places = files_named(file, tests)
    if not places:
        if not list(root.glob(f"tests/**/{file}")):
            fail(f"there is no file {file}")
        return
    for name in filter(None, names.split(", ")):
        if not any(name in tests[path] for path in places):
            fail(f"{file} has no test {name}")


def check_row(cells, tests, root, fail):
    where, named = cells[1], cells[-1]
    if "*later*" in "|".join(cells):
        fail("is marked later")
    for quoted in QUOTED.findall(where):
        if "/" in quoted and not (root / quoted).exists():
            fail(f"there is no {quoted}")
    if where.strip() == "–":
        return
    if not QUOTED.findall(named) and "](" not in named:
        fail("names no test")
    for quoted in QUOTED.findall(named):
        if not quoted.startswith(("./dev", "LAZE_")):
            check_test(quoted, tests, root, fail)


def main():
    root = pathlib.Path(sys.argv[1])
    tests, errors, rows = all_tests(root), [], 0
    for page in PAGES:
        for line, text in enumerate((root / page).read_text().splitlines(), 1):
            match = ROW.match(text)
            if not match:
                continue
            number, cells = match[1], match[2].split("|")
            rows += 1
            check_row(cells if page == PAGES[0] else ["", "", *cells[1:]], tests, root,
                      lambda what: errors.append(f"{page}:{line}: row {number}: {what}"))
    print("\n".join(errors) if errors else f"{rows} rows")
    sys.exit(bool(errors) or not rows)


if __name__ == "__main__":
    main()
