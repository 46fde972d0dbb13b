#!/usr/bin/env python3
"""Tests the tests: makes small changes of the C sources, one at a time, and tells which of them no test notices.

usage: ./dev mutate [N] [--seed S]

Each change (an operator, a constant, a condition, a dropped statement, swapped arguments, an early return, a limit) is
built in a copy of the tree below build-mutate/ and meets the tests that should notice: first the unit tests of its
folder, then all others, up to the first that fails. What does not compile, or compiles to the same code, is drawn
again. The same seed on the same sources draws the same changes. Results are kept as they come: a run that was
interrupted goes on where it was. docs/mutation.md says more.
"""
import argparse
import collections
import difflib
import json
import pathlib
import random
import sys
import time

import mutations
import workbench

FOLDERS = ["base", "ops/opgen", "shape_inference", "ir", "runtime", "codegen/interp", "codegen/llvm", "codegen/loop",
           "codegen/schedule", "codegen", "lazy", "tools"]
DRAWS = 400  # of one change, until one compiles to other code
Change = collections.namedtuple("Change", "folder path line kind mutation")


def folder_of(name):
    """The folder that a source counts for, or None; files below it count for the longest that is listed."""
    fitting = [folder for folder in FOLDERS if name.startswith(folder + "/")]
    return max(fitting, key=len) if fitting and name.endswith(".c") else None


def is_chosen(name, paths):
    return not paths or any(name == path or name.startswith(path.rstrip("/") + "/") for path in paths)


class Deck:
    """The changes that a seed draws from the sources."""

    def __init__(self, bench, paths, count, seed):
        self.bench, self.seed = bench, seed
        self.texts = {}
        lines = collections.defaultdict(dict)
        for name in bench.files:
            if folder_of(name) and is_chosen(name, paths):
                self.texts[name] = (bench.source / name).read_text()
                if name in bench.compile_commands:
                    lines[folder_of(name)][name] = mutations.code_lines(self.texts[name])
        if not lines:
            raise SystemExit("mutate: no source to change there")
        self.lines = lines
        self.folders = self._share(count)

    def _share(self, count):
        """One folder for each change: as many as its share of all lines, but one of each where there is room."""
        sizes = {folder: sum(files.values()) for folder, files in self.lines.items()}
        total, chosen = sum(sizes.values()), []
        for folder in sorted(sizes):
            chosen += [folder] * max(1, count * sizes[folder] // total)
        generator = random.Random(f"{self.seed} folders")
        while len(chosen) < count:
            chosen.append(generator.choices(sorted(sizes), [sizes[folder] for folder in sorted(sizes)])[0])
        generator.shuffle(chosen)
        return chosen[:count]

    def draw(self, number):
        """The change of this number; it is in the tree already."""
        generator, folder = random.Random(f"{self.seed} {number}"), self.folders[number]
        files = sorted(self.lines[folder])
        for _ in range(DRAWS):
            path = generator.choices(files, [self.lines[folder][name] for name in files])[0]
            found = mutations.all_mutations(self.texts[path])
            if not found:
                continue
            kind = generator.choice(list(found))
            mutation = generator.choice(found[kind])
            if self.bench.change(path, mutations.apply(self.texts[path], mutation)) == "changed":
                line = mutations.line_of(self.texts[path], mutation.start)
                return Change(folder, path, line, kind, mutation)
            self.bench.write(path, self.texts[path])
        raise SystemExit(f"mutate: no change of {folder} compiles")

    def redraw(self, row):
        """The change of an earlier result, in what its line is now; None where the line is gone."""
        text = self.texts.get(row["path"])
        for found in mutations.all_mutations(text).values() if text else []:
            for mutation in found:
                change = Change(row["folder"], row["path"], mutations.line_of(text, mutation.start), row["kind"], mutation)
                if mutation.kind == row["kind"] and changed_lines(text, change) == [row["before"], row["after"]]:
                    return change
        return None


def changed_lines(text, change):
    """What goes and what comes."""
    new = mutations.apply(text, change.mutation)
    sides = {"-": [], "+": []}
    for line in list(difflib.unified_diff(text.split("\n"), new.split("\n"), n=0, lineterm=""))[2:]:
        if line[0] in sides:
            sides[line[0]].append(line[1:])
    return ["\n".join(sides["-"]), "\n".join(sides["+"])]


def diff_of(row):
    marked = [sign + line for sign, side in (("-", "before"), ("+", "after")) for line in row[side].split("\n")]
    return "\n".join("    " + line for line in marked)


class Run:
    def __init__(self, options, bench, results):
        self.options, self.bench, self.results = options, bench, results
        self.terminal = sys.stderr.isatty() and not options.json

    def progress(self, text):
        if self.terminal:
            print(f"\r\033[K{text}"[:150], end="", file=sys.stderr, flush=True)

    def say(self, text):
        self.progress("")
        if not self.options.json:
            print(text, flush=True)

    def meet(self, label, change, text):
        """The result of one change."""
        before, after = changed_lines(text, change)
        row = {"number": label, "folder": change.folder, "path": change.path, "line": change.line, "kind": change.kind,
               "before": before, "after": after}
        start = time.monotonic()
        place = f"{label}: {change.path}:{change.line}"
        changed = mutations.apply(text, change.mutation)
        try:
            self.bench.write(change.path, changed)
            killer = self.bench.kill(change.path, lambda test: self.progress(f"{place} {change.kind}: {test}"))
        finally:
            self.bench.write(change.path, text)
        row["result"] = "killed" if killer else "survived"
        if not killer and self.bench.is_same_optimised(change.path, text, changed):
            row["result"] = "equivalent"
        row["test"], row["how"] = killer or (None, None)
        row["seconds"] = round(time.monotonic() - start, 1)
        self.results.add(row)
        return row

    def report_one(self, row):
        if row["result"] == "survived":
            self.say(f"{row['path']}:{row['line']}: {row['kind']} survived (change {row['number']})\n{diff_of(row)}")


class Results:
    """Rows kept in a file, one JSON object a line; those of another tree are passed over."""

    def __init__(self, path, digest, fresh):
        self.path, self.digest, self.rows = path, digest, {}
        if fresh:
            path.unlink(missing_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            if row["tree"] == digest:
                self.rows[row["number"]] = row

    def add(self, row):
        self.rows[row["number"]] = row
        with self.path.open("a") as file:
            file.write(json.dumps(dict(row, tree=self.digest)) + "\n")


def summary(rows):
    """Lines of a table by folder, and the score."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        for folder in (row["folder"], "all"):
            counts[folder][row["result"]] += 1
    lines = [f"{'folder':<18}{'changes':>8}{'killed':>8}{'survived':>10}{'score':>8}"]
    for folder in [*FOLDERS, "all"]:
        killed, survived = counts[folder]["killed"], counts[folder]["survived"]
        if killed + survived:
            score = 100 * killed / (killed + survived)
            lines.append(f"{folder:<18}{killed + survived:>8}{killed:>8}{survived:>10}{score:>7.1f}%")
    if counts["all"]["equivalent"]:
        lines.append(f"{counts['all']['equivalent']} more compile to the same code at -O2 and are not counted")
    return lines


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=20, metavar="N", help="how many changes (20)")
    parser.add_argument("--seed", type=int, help="draws these changes again (otherwise by chance)")
    parser.add_argument("--path", action="append", default=[], help="only below this folder or in this file; may be repeated")
    parser.add_argument("--only", type=int, action="append", metavar="K", help="only change K of the N; may be repeated")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE", help="the survivors of these results, as the tree is now")
    parser.add_argument("--list", action="store_true", help="print the changes, run nothing")
    parser.add_argument("--fresh", action="store_true", help="forget what an interrupted run found")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON document")
    parser.add_argument("--jobs", type=int, default=1, help="commands that the build runs at once (1)")
    options = parser.parse_args(arguments)
    if options.count < 1:
        parser.error("N is at least 1")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    return options


def changes_of(options, deck, run):
    """(label, change) of what is asked for; a label is the number of a change."""
    if options.again:
        rows = [json.loads(line) for line in options.again.read_text().splitlines()]
        latest = {row["number"]: row for row in rows}
        for row in latest.values():
            if row["result"] == "survived" and is_chosen(row["path"], options.path):
                yield row["number"], lambda row=row: deck.redraw(row)
        return
    for number in options.only or range(options.count):
        if not 0 <= number < options.count:
            raise SystemExit(f"mutate: --only {number}: changes are numbered from 0 to {options.count - 1}")
        yield number, lambda number=number: deck.draw(number)


def main():
    options = options_of(sys.argv[1:])
    source = pathlib.Path(__file__).resolve().parents[2]
    scratch = source / "build-mutate"
    scratch.mkdir(exist_ok=True)
    bench = workbench.Workbench(source, scratch, options.jobs)
    run = Run(options, bench, None)
    rows = []
    try:
        run.progress("building the unchanged tree")
        bench.prepare()
        deck = Deck(bench, options.path, options.count, options.seed)
        name = options.again.stem + "-again" if options.again else f"{options.seed}-{options.count}"
        run.results = Results(scratch / f"results-{name}.jsonl", bench.digest() + "".join(options.path),
                              options.fresh)
        run.say(f"seed {options.seed}, {options.count} changes, tree {bench.digest()}")
        if not options.list:
            bench.measure(run.progress)
        for label, make in changes_of(options, deck, run):
            row = run.results.rows.get(label) if not (options.list or options.only) else None
            if not row:
                run.progress(f"{label}: drawing")
                change = make()
                if change is None:
                    run.say(f"change {label} is gone: its line was rewritten")
                    continue
                text = deck.texts[change.path]
                if options.list:
                    bench.write(change.path, text)
                    before, after = changed_lines(text, change)
                    run.say(f"{label} {change.path}:{change.line}: {change.kind}\n{diff_of({'before': before, 'after': after})}")
                    continue
                row = run.meet(label, change, text)
            rows.append(row)
            run.report_one(row)
    except workbench.BrokenTree as broken:
        raise SystemExit(f"mutate: {broken}")
    except KeyboardInterrupt:
        run.say("interrupted: the same command goes on from here")
    if options.json:
        json.dump({"seed": options.seed, "count": options.count, "results": rows}, sys.stdout, indent=1)
        print()
    elif rows:
        run.say("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
