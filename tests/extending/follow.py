#!/usr/bin/env python3
"""Follows docs/extending.md literally, in a scratch copy of the source tree.

usage: follow.py SOURCE --check           whether every instruction can be followed
       follow.py SOURCE BUILD [TEST...]   follow them below BUILD, build with -Werror, run the tests and the examples

What a reader is told to do with a block of code stands in the sentence before it, and is what is done here:

  ... a new file `FILE`:
  ... at the end of `FILE`:                     with a blank line before the block
  ... `FILE` goes on with:                      without one
  ... in `FILE`, after `TEXT`:                  after the one line that contains it; also: before, instead of
  ... saved as `NAME`:                          where the commands of the page run
  ... in `FILE`, put `WORDS` after `TEXT`.      in that line; no block
  ... as the page stands:                       the table of how many lines and files each section takes

A block of any other kind has to be `sh` or `text`. Commands run on both backends and have to print the text that
follows on each; on the native one nothing may be interpreted, unless a comment before the block says
<!-- extending: interpreted -->.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
import check_docs  # noqa: E402

PAGE = "docs/extending.md"
PLACES = {
    "create": re.compile(r"\ba new file `([^`]+)`:$", re.IGNORECASE),
    "append": re.compile(r"at the end of `([^`]+)`:$", re.IGNORECASE),
    "go_on": re.compile(r"`([^`]+)` goes on with:$"),
    "insert": re.compile(r"\bin `([^`]+)`, (after|before|instead of) `([^`]+)`:$", re.IGNORECASE),
    "save": re.compile(r"\bsaved as `([^`/]+)`:$", re.IGNORECASE),
}
FUNC = re.compile(r"^- func: (\w+)", re.MULTILINE)
PUT = re.compile(r"\bin `([^`]+)`, put `([^`]+)` after `([^`]+)`", re.IGNORECASE)
INTERPRETED = "<!-- extending: interpreted -->"
SECONDS = 120
# Suites that do not know the tables, or call operators that stand in them already.
UNTOUCHED = ["extending", "mutate", "base", "runtime", "threads", "examples", "optim", "lazy", "autograd", "tracing",
             "system"]


class Fault(Exception):
    """An instruction that cannot be followed, with its line of the page."""


class Tree:
    """The files of the source tree as the instructions leave them."""

    def __init__(self, source):
        self.source, self.changed = source, {}

    def read(self, path):
        if path in self.changed:
            return self.changed[path]
        if not (self.source / path).is_file():
            raise Fault(f"there is no file {path}")
        return (self.source / path).read_text()

    def create(self, path, text):
        if path in self.changed or (self.source / path).exists():
            raise Fault(f"{path} exists already")
        self.changed[path] = text

    def append(self, path, text):
        before = self.read(path)
        self.changed[path] = before + ("" if before.endswith("\n\n") else "\n") + text

    def go_on(self, path, text):
        self.changed[path] = self.read(path) + text

    def place_of(self, path, words):
        """The lines of a file, and which of them is the only one with these words."""
        lines = self.read(path).split("\n")
        found = [number for number, line in enumerate(lines) if words in line]
        if len(found) != 1:
            where = f"in lines {', '.join(str(number + 1) for number in found)}" if found else "in no line"
            raise Fault(f"`{words}` is {where} of {path}; it has to be in one")
        return lines, found[0]

    def insert(self, path, where, words, text):
        lines, at = self.place_of(path, words)
        first, last = {"after": (at + 1, at + 1), "before": (at, at), "instead of": (at, at + 1)}[where.lower()]
        self.changed[path] = "\n".join(lines[:first] + text[:-1].split("\n") + lines[last:])

    def put(self, path, words, behind):
        lines, at = self.place_of(path, behind)
        if lines[at].count(behind) != 1:
            raise Fault(f"`{behind}` is more than once in line {at + 1} of {path}")
        lines[at] = lines[at].replace(behind, f"{behind} {words}")
        self.changed[path] = "\n".join(lines)


class Section:
    def __init__(self, title):
        self.title, self.lines = title, {}  # lines by file
        self.saved, self.commands = {}, []

    def count(self, path, text):
        self.lines[path] = self.lines.get(path, 0) + len([line for line in text.split("\n") if line.strip()])


def sentence_before(lines, number):
    """The paragraph that ends right before line `number` (from 1), as one line."""
    end = number - 1
    while end > 0 and (not lines[end - 1].strip() or lines[end - 1].startswith("<!--")):
        end -= 1
    start = end
    while start > 0 and lines[start - 1].strip() and not lines[start - 1].startswith(("```", "<!--")):
        start -= 1
    return " ".join(line.strip() for line in lines[start:end])


def paragraphs(lines, shown):
    """(line, text) of every paragraph outside of blocks."""
    start, text = 0, []
    for number, line in enumerate(lines + [""], 1):
        if line.strip() and number not in shown:
            start, text = start if text else number, text + [line.strip()]
        elif text:
            yield start, " ".join(text)
            text = []


class Follower:
    def __init__(self, source):
        self.tree = Tree(source)
        self.page = source / PAGE
        self.sections, self.table = [], None

    def read(self):
        """Follows all instructions, in the order of the page."""
        lines, blocks = check_docs.read_blocks(PAGE, self.page)
        shown = {number for block in blocks for number in range(block.line, block.line + len(block.lines) + 2)}
        steps = [(block.line, block) for block in blocks]
        steps += list(paragraphs(lines, shown))
        for number, step in sorted(steps, key=lambda pair: pair[0]):
            try:
                if isinstance(step, str):
                    self.read_text(step)
                else:
                    self.follow(step, sentence_before(lines, number), lines)
            except Fault as fault:
                raise Fault(f"{PAGE}:{number}: {fault}") from None
        counts = table_of(self.sections)
        if self.table and self.table.lines != counts:
            raise Fault("\n".join([f"{self.table.place()}: the table should be"] + counts))

    def read_text(self, text):
        if text.startswith("## "):
            self.sections.append(Section(text[3:]))
        for path, words, behind in PUT.findall(text):
            self.tree.put(path, words, behind)
            self.sections[-1].count(path, words)

    def follow(self, block, sentence, lines):
        if sentence.endswith("as the page stands:"):
            self.table = block
            return
        section = self.sections[-1]
        for kind, pattern in PLACES.items():
            match = pattern.search(sentence)
            if not match:
                continue
            if kind == "save":
                section.saved[match.group(1)] = block.text
                return
            getattr(self.tree, kind)(*match.groups(), block.text)
            section.count(match.group(1), block.text)
            return
        if block.language == "sh":
            section.commands.append((block, lines[block.line - 2] == INTERPRETED, []))
        elif block.language == "text" and section.commands and block.adjacent:
            section.commands[-1][2].extend(block.lines)
        else:
            raise Fault(f"the sentence before the block says nothing that can be followed: \"{sentence[-90:]}\"")

    def write(self, target):
        """The whole tree below `target`; files that stay as they are keep their times."""
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.tree.source, check=True,
                                capture_output=True, text=True).stdout.split("\n")
        wanted = {path for path in listed if path and (self.tree.source / path).is_file()} | set(self.tree.changed)
        for path in wanted:
            content = self.tree.changed[path].encode() if path in self.tree.changed else None
            self.write_file(self.tree.source / path, target / path, content)
        for path in target.rglob("*"):
            if path.is_file() and str(path.relative_to(target)) not in wanted:
                path.unlink()

    @staticmethod
    def write_file(source, target, content):
        if content is None:
            content = source.read_bytes()
        if target.exists() and target.read_bytes() == content:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        if source.exists():
            shutil.copymode(source, target)

    def operators(self):
        """The operators that the page adds, without the names of overloads."""
        added = "".join(text for path, text in self.tree.changed.items() if path.startswith("ops/native_functions/"))
        present = "".join(path.read_text() for path in (self.tree.source / "ops" / "native_functions").glob("*.yaml"))
        return sorted(set(FUNC.findall(added)) - set(FUNC.findall(present)))

    def changed_sources(self):
        return sorted(path for path in self.tree.changed if path.endswith((".c", ".h")))


class Trial:
    """The scratch tree, built and tried."""

    def __init__(self, follower, folder):
        self.follower, self.tree, self.build = follower, folder / "tree", folder / "build"
        self.work = folder / "work"
        self.failures = []

    def call(self, *command, **options):
        return subprocess.run([str(part) for part in command], check=True, **options)

    def make(self):
        self.follower.write(self.tree)
        if not (self.build / "build.ninja").exists():
            self.call("meson", "setup", self.build, self.tree, "-Dwerror=true", "-Doptimization=1", "-Dc_args=-g1",
                      stdout=subprocess.DEVNULL, env=os.environ | ({"CC_LD": "mold"} if shutil.which("mold") else {}))
        self.call("meson", "compile", "-C", self.build, "laze", "lazec", *self.generators(), stdout=subprocess.DEVNULL)
        if shutil.which("clang-format"):
            self.call("clang-format", "--dry-run", "--Werror", *self.follower.changed_sources(), cwd=self.tree)

    def test(self, names):
        """All tests of suites that an operator could matter to; but what takes minutes over all operators is tried on
        the new ones, as the others were before, and of random programs, which draw from all of them, there are fewer."""
        chosen = {"LAZE_TEST_OPERATORS": ",".join(self.follower.operators()), "LAZE_TEST_PART": "8"}
        left_out = [word for suite in UNTOUCHED for word in ("--no-suite", suite)]
        self.call(sys.executable, self.tree / "tests" / "run_tests.py", self.build, "--rebuild", *left_out, *names,
                  cwd=self.tree, env=os.environ | chosen)

    def generators(self):
        targets = json.loads((self.build / "meson-info" / "intro-targets.json").read_text())
        return ["laze-llvm"] if any(target["name"] == "laze-llvm" for target in targets) else []

    def backends(self):
        return ["interp"] + (["llvm"] if self.generators() else [])

    def run_examples(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        for section in self.follower.sections:
            for name, text in section.saved.items():
                (self.work / name).write_text(text)
            for block, interpreted, expected in section.commands:
                for backend in self.backends():
                    self.run_commands(block, interpreted, expected, backend)

    def run_commands(self, block, interpreted, expected, backend):
        result = self.run_block(block, backend, "verify")
        found = [check_docs.comparable(line) for line in result.stdout.rstrip("\n").split("\n")]
        wanted = [check_docs.comparable(line) for line in expected]
        if result.returncode != 0:
            self.failures.append(f"{block.place()} on {backend}: exit code {result.returncode}\n{result.stderr}")
        elif wanted and not check_docs.matches(wanted, found):
            self.failures.append(f"{block.place()} on {backend} prints\n{result.stdout}")
        elif backend != "interp":
            self.check_fallbacks(block, interpreted, backend)

    def check_fallbacks(self, block, interpreted, backend):
        shown = self.run_block(block, backend, "schedule")
        if ("interpreted" in shown.stdout + shown.stderr) != interpreted:
            kind = "is native code, against the comment before it," if interpreted else "is interpreted"
            self.failures.append(f"{block.place()} {kind} on {backend}\n{shown.stdout}{shown.stderr}")

    def run_block(self, block, backend, switches):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAZE_", "MESON"))}
        kept.update(PATH=f"{self.build / 'tools'}:{kept['PATH']}", LAZE_BACKEND=backend, LAZE_CACHE_DIR="",
                    LAZE_DEBUG=switches, LC_ALL="C.UTF-8")
        return subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=self.work, env=kept, text=True,
                              capture_output=True, timeout=SECONDS)


def kind_of(path):
    if path.endswith(".yaml"):
        return "tables"
    if path.startswith("tests/"):
        return "tests"
    if path.endswith("meson.build"):
        return "build"
    return "C"


def table_of(sections):
    kinds = ["tables", "C", "build", "tests"]
    lines = [f"{'':46}files lines  of them" + "".join(f"{kind:>7}" for kind in kinds)]
    for section in sections:
        by_kind = {kind: sum(n for path, n in section.lines.items() if kind_of(path) == kind) for kind in kinds}
        columns = "".join(f"{by_kind[kind] or '':>7}" for kind in kinds)
        if section.lines:
            lines.append(f"{section.title:46}{len(section.lines):>5}{sum(by_kind.values()):>6}{'':9}{columns}".rstrip())
    return lines


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    follower = Follower(source)
    try:
        follower.read()
    except Fault as fault:
        print(fault)
        return 1
    if sys.argv[2] == "--check":
        print(f"{len(follower.tree.changed)} files would change")
        return 0 if follower.tree.changed else 1
    trial = Trial(follower, pathlib.Path(sys.argv[2]).resolve())
    try:
        trial.make()
        trial.run_examples()
        print("\n".join(trial.failures))
        if not trial.failures:
            trial.test(sys.argv[3:])
    except subprocess.CalledProcessError as error:
        trial.failures.append(str(error))
        print(error)
    print("\n".join(table_of(follower.sections)))
    return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
