#!/usr/bin/env python3
"""Says whether this tree generates the same code as another revision, apart from names.

usage: ./dev same REVISION

Builds both, and compares
  - what opgen writes: every *.gen.c, *.gen.h and installed header, token by token. A name may have become another one, the same
    everywhere; comments, include paths and #line are passed over;
  - what kernels are compiled to: the assembly of every golden graph and of every graph that the benchmarks and the
    digits example compile, line by line. Names of kernels may differ: they are hashes of what the code rests on.

So a change that only moves or renames can be told from one that does more. Exit status: 0 the same, 1 not.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|\S')
NOT_COMPARED = re.compile(r"/\*.*?\*/|^[ \t]*#[ \t]*(?:include|line)\b[^\n]*", re.DOTALL | re.MULTILINE)
PART = re.compile(r'^    \{"(\w+)", "', re.MULTILINE)  # a row of the table in bench.c
NO_GRAPHS = {"chain", "first", "memory"}  # of the benchmarks: they compile none of their own


def say(text):
    print(f"\r\033[K{text}" if sys.stdout.isatty() else text, flush=True)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:150]}", end="", file=sys.stderr, flush=True)


def must(command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors="replace", **options)
    if result.returncode:
        raise SystemExit(f"same: {' '.join(map(str, command))} failed:\n{result.stdout[-4000:]}")
    return result.stdout


def build(source, target):
    progress(f"building {target}")
    if not (target / "build.ninja").exists():
        must(["meson", "setup", "-Dtests=false", target, source])
    must(["ninja", "-C", target, "--quiet"])
    return target


def check_out(source, revision, scratch):
    tree = scratch / "tree"
    commit = must(["git", "-C", source, "rev-parse", "--verify", revision + "^{commit}"]).strip()
    if not tree.exists():
        must(["git", "-C", source, "worktree", "prune"])
        must(["git", "-C", source, "worktree", "add", "--detach", "--force", tree, commit])
    must(["git", "-C", tree, "checkout", "--quiet", "--force", "--detach", commit])
    return tree


class Names:
    """Which name became which: a name has one successor, and a successor one name that it came from."""

    def __init__(self):
        self.new, self.old = {}, {}

    def fit(self, old, new):
        return self.new.setdefault(old, new) == new and self.old.setdefault(new, old) == old

    def changed(self):
        return sorted((old, new) for old, new in self.new.items() if old != new)


def tokens(path):
    """Words of a file with their lines."""
    blank = NOT_COMPARED.sub(lambda found: "\n" * found.group().count("\n"), path.read_text())
    return [(number, word) for number, line in enumerate(blank.split("\n"), 1) for word in TOKEN.findall(line)]


def generated(target):
    return {path.name: path for pattern in ("*.gen.c", "*.gen.h", "include/laze/*.h") for path in target.rglob(pattern)}


def compare_generated(old, new):
    failures, names = [], Names()
    files = generated(old), generated(new)
    for name in sorted(set(files[0]) ^ set(files[1])):
        failures.append(f"{name}: only {'before' if name in files[0] else 'now'}")
    for name in sorted(set(files[0]) & set(files[1])):
        sides = tokens(files[0][name]), tokens(files[1][name])
        for (line, before), (_, now) in zip(*sides):
            fits = names.fit(before, now) if before[0].isalpha() or before[0] == "_" else before == now
            if not fits:
                failures.append(f"{name}:{line}: '{before}' before, now '{now}'")
                break
        else:
            if len(sides[0]) != len(sides[1]):
                failures.append(f"{name}: {len(sides[0])} words before, now {len(sides[1])}")
    return len(files[1]), names.changed(), failures


def graphs_of(source, tree, target):
    """The text of golden graphs, and of graphs that the programs of another tree compile, by name."""
    graphs = {str(path.relative_to(source)): path.read_text() for path in sorted(source.glob("tests/golden/**/*.lz"))}
    parts = set(PART.findall((tree / "bench/bench.c").read_text())) - NO_GRAPHS
    programs = [[target / "bench/bench", "--only", part] for part in sorted(parts)]
    for command in [*programs, [target / "examples/digits"]]:
        progress(f"graphs of {command[0]}")
        environment = dict(os.environ, LAZE_DEBUG="graph", LAZE_CACHE_DIR="", LAZE_BACKEND="llvm")
        output = subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True).stderr
        for text in re.findall(r"^laze 1\n.*?^\}\n", output, re.DOTALL | re.MULTILINE):
            graphs.setdefault(f"{pathlib.Path(command[-1]).name}: {zlib.crc32(text.encode()):08x}", text)
    return {text: name for name, text in graphs.items()}


def assembly(target, path):
    """What a graph is compiled to, with kernels' names in the order in which they come."""
    result = subprocess.run([target / "tools/lazec", "compile", "--emit=asm", path], capture_output=True, text=True)
    seen = {}
    text = result.stdout if result.returncode == 0 else result.stderr
    return re.sub(r"laze_[0-9a-f]{32}", lambda found: seen.setdefault(found.group(), f"kernel{len(seen)}"), text)


def compare_kernels(source, tree, old, new):
    failures, kernels = [], 0
    graphs = graphs_of(source, tree, old)
    with tempfile.NamedTemporaryFile("w+", suffix=".lz") as file:
        for number, (text, name) in enumerate(sorted(graphs.items(), key=lambda item: item[1])):
            progress(f"{number} of {len(graphs)}: {name}")
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            sides = assembly(old, file.name), assembly(new, file.name)
            kernels += len(set(re.findall(r"\bkernel\d+", sides[1])))
            if sides[0] == sides[1]:
                continue
            lines = list(zip(sides[0].split("\n"), sides[1].split("\n")))
            first = next((i for i, pair in enumerate(lines) if pair[0] != pair[1]), len(lines) - 1)
            failures.append(f"{name}: line {first + 1}: '{lines[first][0].strip()}' before, now "
                            f"'{lines[first][1].strip()}'")
    return len(graphs), kernels, failures


def main():
    parser = argparse.ArgumentParser(prog="./dev same", description=__doc__.split("\n\n")[0])
    parser.add_argument("revision", metavar="REVISION", help="to compare with, a name that git knows")
    parser.add_argument("--names", action="store_true", help="print which names of generated code changed")
    options = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parents[2]
    scratch = source / "build-same"
    scratch.mkdir(exist_ok=True)
    tree = check_out(source, options.revision, scratch)
    old = build(tree, scratch / "before")
    new = build(source, scratch / "now")
    files, names, failures = compare_generated(old, new)
    say(f"generated files: {files} compared, {len(names)} names changed")
    for before, now in names if options.names else []:
        say(f"  {before} -> {now}")
    graphs, kernels, differing = compare_kernels(source, tree, old, new)
    say(f"graphs: {graphs} compared, with {kernels} kernels")
    failures += differing
    if kernels == 0:
        failures.append("no graph was compiled to a kernel: nothing was compared")
    for failure in failures:
        say(f"DIFFERS {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
