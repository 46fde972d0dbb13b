#!/usr/bin/env python3
"""Runs the tests of a build folder through Meson and ends with a summary that counts every check.

usage: run_tests.py BUILD [--rebuild] [meson test options]

--rebuild builds what these tests need first; otherwise they run as they were built.

Test programs written with Check print "N%: Checks: a, Failures: b, Errors: c"; other tests count as one.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

SUMMARY = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", re.MULTILINE)


def count(test):
    """(passed, failed, skipped) of one test program."""
    summary = SUMMARY.findall(test.get("stdout", "") or "")
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    if test["result"] == "SKIP":
        return 0, 0, 1
    if not summary:
        return (1, 0, 0) if good else (0, 1, 0)
    checks, failures, errors = (sum(int(row[i]) for row in summary) for i in range(3))
    bad = failures + errors
    # A program that died, or that failed after its checks (a leak, say), is a failure whatever it counted.
    if not good and bad == 0:
        bad = 1
    return max(checks - bad, 0), bad, 0


def main():
    build, *options = sys.argv[1:]
    log = pathlib.Path(build, "meson-logs", "testlog.json")
    log.unlink(missing_ok=True)
    # Sizes that no machine has must come back as NULL, as they do without the sanitizer.
    options_of_asan = "halt_on_error=1:abort_on_error=1:print_summary=1:allocator_may_return_null=1"
    os.environ.setdefault("ASAN_OPTIONS", options_of_asan)
    # A test of Check that hangs is ended by Meson; how long others take is the machine's affair.
    os.environ.setdefault("CK_TIMEOUT_MULTIPLIER", "20")
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_stacktrace=1")
    how = [] if "--rebuild" in options else ["--no-rebuild"]
    options = [option for option in options if option != "--rebuild"]
    status = subprocess.call(["meson", "test", "-C", build, *how, "--print-errorlogs", *options])
    if not log.exists():
        print("run_tests: meson test wrote no log", file=sys.stderr)
        return 1
    totals = [0, 0, 0]
    with log.open() as lines:
        for line in lines:
            test = json.loads(line)
            result = count(test)
            totals = [a + b for a, b in zip(totals, result)]
            if result[1]:
                print(f"FAILED {test['name']}: {result[1]} of {sum(result)}")
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if status or totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
