"""Which changes a seed draws from the sources.

A change is written down as a row, a dictionary of what JSON can hold: its number, folder, path, line and kind, the
range of the file that it replaces and by what, the lines before and after; later its result.
"""
import collections
import difflib
import random

import mutations

FOLDERS = ["base", "ops/opgen", "shape_inference", "ir", "runtime", "codegen/interp", "codegen/llvm", "codegen/loop",
           "codegen/native", "codegen/schedule", "codegen", "lazy", "tools"]
DRAWS = 400  # of one change, until one compiles to other code


def folder_of(name):
    """The folder that a source counts for, or None; files below it count for the longest that is listed."""
    fitting = [folder for folder in FOLDERS if name.startswith(folder + "/")]
    return max(fitting, key=len) if fitting and name.endswith(".c") else None


def is_chosen(name, paths):
    return not paths or any(name == path or name.startswith(path.rstrip("/") + "/") for path in paths)


def changed_lines(text, mutation):
    """What goes and what comes."""
    sides = {"-": [], "+": []}
    new = mutations.apply(text, mutation).split("\n")
    for line in list(difflib.unified_diff(text.split("\n"), new, n=0, lineterm=""))[2:]:
        if line[0] in sides:
            sides[line[0]].append(line[1:])
    return "\n".join(sides["-"]), "\n".join(sides["+"])


def diff_of(row):
    marked = [sign + line for sign, side in (("-", "before"), ("+", "after")) for line in row[side].split("\n")]
    return "\n".join("    " + line for line in marked)


class Deck:
    def __init__(self, bench, paths, count, seed):
        self.bench, self.seed, self.texts = bench, seed, {}
        self.lines = collections.defaultdict(dict)
        for name in bench.files:
            if folder_of(name) and is_chosen(name, paths) and name in bench.compile_commands:
                self.texts[name] = (bench.source / name).read_text()
                self.lines[folder_of(name)][name] = mutations.code_lines(self.texts[name])
        if not self.lines:
            raise SystemExit("mutate: no source to change there")
        self.folders = self._share(count)

    def _share(self, count):
        """One folder for each change: as many as its share of all lines, but one of each where there is room."""
        sizes = {folder: sum(files.values()) for folder, files in self.lines.items()}
        total, chosen, names = sum(sizes.values()), [], sorted(sizes)
        for folder in names:
            chosen += [folder] * max(1, count * sizes[folder] // total)
        generator = random.Random(f"{self.seed} folders")
        while len(chosen) < count:
            chosen += generator.choices(names, [sizes[folder] for folder in names])
        generator.shuffle(chosen)
        return chosen[:count]

    def _row(self, number, folder, path, mutation):
        text = self.texts[path]
        before, after = changed_lines(text, mutation)
        return {"number": number, "folder": folder, "path": path, "line": mutations.line_of(text, mutation.start),
                "kind": mutation.kind, "range": [mutation.start, mutation.end], "new": mutation.new, "before": before,
                "after": after}

    def draw(self, number):
        """The change of this number; it is in the tree already."""
        generator, folder = random.Random(f"{self.seed} {number}"), self.folders[number]
        files = sorted(self.lines[folder])
        for _ in range(DRAWS):
            path = generator.choices(files, [self.lines[folder][name] for name in files])[0]
            found = mutations.all_mutations(self.texts[path])
            if not found:
                continue
            mutation = generator.choice(found[generator.choice(list(found))])
            if self.bench.change(path, mutations.apply(self.texts[path], mutation)) == "changed":
                return self._row(number, folder, path, mutation)
            self.bench.write(path, self.texts[path])
        raise SystemExit(f"mutate: no change of {folder} compiles")

    def find(self, row):
        """The change of an earlier result in what the file is now; None where its line is gone."""
        text = self.texts.get(row["path"], "")
        lines, first = text.split("\n"), row["before"].split("\n")[0]
        for mutation in mutations.all_mutations(text).get(row["kind"], []):
            if lines[mutations.line_of(text, mutation.start) - 1] != first:
                continue
            again = self._row(row["number"], row["folder"], row["path"], mutation)
            if (again["before"], again["after"]) == (row["before"], row["after"]):
                return again
        return None

    def text_with(self, path, rows):
        """A file with the changes of these rows, which do not overlap."""
        text = self.texts[path]
        for row in sorted((row for row in rows if row["path"] == path), key=lambda row: row["range"], reverse=True):
            text = text[:row["range"][0]] + row["new"] + text[row["range"][1]:]
        return text
