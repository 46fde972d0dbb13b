#!/usr/bin/env python3
"""Tests the tests: makes small changes of the C sources, one at a time, and tells which of them no test notices.

usage: ./dev mutate [N] [--seed S]

Each change (an operator, a constant, a condition, a dropped statement, swapped arguments, an early return, a limit) is
built in a copy of the tree below build-mutate/ and meets the tests, the most likely first, up to the first that fails.
What does not compile, or compiles to the same code, is drawn again. The same seed on the same sources draws the same
changes. Results are kept as they come: a run that was interrupted goes on where it was. docs/mutation.md says more.
"""
import argparse
import collections
import json
import pathlib
import random
import signal
import sys

import deck
import trial
import workbench


class Results:
    """Rows kept in a file, one JSON object a line, the last of a number being valid; those of another tree are passed
    over."""

    def __init__(self, path, tree, fresh):
        self.path, self.tree, self.rows = path, tree, {}
        if fresh:
            path.unlink(missing_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            if row["tree"] == tree:
                self.rows[row["number"]] = row

    def add(self, row):
        row["tree"] = self.tree
        self.rows[row["number"]] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def summary(rows):
    """A table by folder."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        for folder in (row["folder"], "all"):
            counts[folder][row["result"]] += 1
    lines = [f"{'folder':<18}{'changes':>8}{'killed':>8}{'survived':>10}{'score':>8}"]
    for folder in [*deck.FOLDERS, "all"]:
        killed, survived = counts[folder]["killed"], counts[folder]["survived"]
        if killed + survived:
            score = 100 * killed / (killed + survived)
            lines.append(f"{folder:<18}{killed + survived:>8}{killed:>8}{survived:>10}{score:>7.1f}%")
    for result, what in (("equivalent", "compile to the same code at -O2, and are not counted"),
                         ("waiting", "have met a part of the tests only, and are not counted")):
        if counts["all"][result]:
            lines.append(f"{counts['all'][result]} more {what}")
    return "\n".join(lines)


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=20, metavar="N", help="how many changes (20)")
    parser.add_argument("--seed", type=int, help="draws these changes again (otherwise by chance)")
    parser.add_argument("--path", action="append", default=[], help="only in this folder or file; may be repeated")
    parser.add_argument("--only", type=int, action="append", metavar="K", help="only change K of N; may be repeated")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE",
                        help="the survivors of these results, as the tree is now")
    parser.add_argument("--list", action="store_true", help="print the changes, run nothing")
    parser.add_argument("--finish", action="store_true",
                        help="draw no more: what an interrupted run left waiting meets the rest of the tests")
    parser.add_argument("--fresh", action="store_true", help="forget what an interrupted run found")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON document")
    parser.add_argument("--jobs", type=int, default=1, help="commands that the build runs at once (1)")
    options = parser.parse_args(arguments)
    if options.count < 1:
        parser.error("N is at least 1")
    if any(not 0 <= number < options.count for number in options.only or []):
        parser.error(f"--only: changes are numbered from 0 to {options.count - 1}")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    return options


class Run:
    def __init__(self, options):
        self.options = options
        self.rows = []
        self.terminal = sys.stderr.isatty()

    def progress(self, text):
        if self.terminal:
            print("\r\033[K" + text[:150], end="", file=sys.stderr, flush=True)

    def say(self, text):
        self.progress("")
        if not self.options.json:
            print(text, flush=True)

    def prepare(self):
        options = self.options
        source = pathlib.Path(__file__).resolve().parents[2]
        scratch = source.resolve() / "build-mutate"
        scratch.mkdir(exist_ok=True)
        scratch = scratch.resolve()
        self.bench = workbench.Workbench(source, scratch, options.jobs)
        self.progress("building the unchanged tree")
        self.bench.prepare()
        self.deck = deck.Deck(self.bench, options.path, options.count, options.seed)
        name = f"{options.again.stem}-again" if options.again else f"{options.seed}-{options.count}"
        tree = self.bench.digest + "".join(options.path)
        self.results = Results(scratch / f"results-{name}.jsonl", tree, options.fresh)
        self.trial = trial.Trial(self.bench, self.deck, self.results, self.progress)
        self.say(f"seed {options.seed}, {options.count} changes, tree {self.bench.digest}")

    def earlier(self):
        """The survivors of an earlier run that are still there; they are not in the tree yet."""
        latest = {}
        for line in self.options.again.read_text().splitlines():
            row = json.loads(line)
            latest[row["number"]] = row
        for row in latest.values():
            if row["result"] != "survived" or not deck.is_chosen(row["path"], self.options.path):
                continue
            found = self.deck.find(row)
            if found:
                yield found
            else:
                self.say(f"change {row['number']} is gone: its line was rewritten")

    def drawn(self):
        for number in self.options.only or range(self.options.count):
            known = self.results.rows.get(number)
            if known and not self.options.list:
                yield known
            elif not self.options.finish:
                self.progress(f"{number}: drawing")
                yield self.deck.draw(number)

    def list(self):
        for row in self.drawn():
            self.say(f"{row['number']} {row['path']}:{row['line']}: {row['kind']}\n{deck.diff_of(row)}")
            self.bench.write(row["path"], self.deck.texts[row["path"]])

    def meet_all(self):
        self.bench.measure(self.progress)
        for row in self.earlier() if self.options.again else self.drawn():
            row = self.results.rows.get(row["number"], row)
            self.rows.append(row)
            if "result" not in row or self.options.only:
                self.trial.meet(row)
        self.trial.finish([row for row in self.rows if row["result"] == "waiting"])

    def report(self):
        if self.options.json:
            document = {"seed": self.options.seed, "count": self.options.count, "results": self.rows}
            print(json.dumps(document, indent=1))
            return
        for row in self.rows:
            if row.get("result") == "survived":
                self.say(f"{row['path']}:{row['line']}: {row['kind']} survived (change {row['number']})")
                self.say(deck.diff_of(row))
        if self.rows:
            self.say(summary([row for row in self.rows if "result" in row]))


def main():
    run = Run(options_of(sys.argv[1:]))
    for interruption in (signal.SIGINT, signal.SIGTERM):
        signal.signal(interruption, signal.default_int_handler)
    try:
        run.prepare()
        if run.options.list:
            run.list()
        else:
            run.meet_all()
    except workbench.BrokenTree as broken:
        raise SystemExit(f"mutate: {broken}")
    except KeyboardInterrupt:
        run.say("interrupted: the same command goes on from here")
    run.report()


if __name__ == "__main__":
    main()
