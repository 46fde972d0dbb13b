#!/usr/bin/env python3
"""Runs what the documentation shows, as it stands there.

usage: check_docs.py SOURCE BUILD llvm|no-llvm [PAGE...]

The blocks of a page are taken in order, in a scratch folder that looks like the root of the source tree with the build
folder as build/ and the tools in PATH:

  sh     is run, and must succeed; a text block right after it is what it prints (on standard output)
  c      with a main(): saved under the name that the text behind it gives ("Saved as `first.c`"), so that the commands
         which follow can compile it
  python   is run, behind the blocks of Python before it on the page (what those print is not looked at), or saved as c is;
           a text block right after it is what it prints. Not where the package was not built
  lz, and text that starts with "laze 1"   must be a right graph
  yaml   that is a whole entry of an operator table: opgen must take it in place of the entry of that name

In expected output a line "..." stands for any lines, and "..." at the end of a line for its rest; times and long
hexadecimal numbers are not compared. Lines that call ./dev are not run: the commands they name must exist, as must
files that are linked to. Text outside of blocks and tables has lines of at most 120 letters. A comment before a block
changes what is checked:

  <!-- docs: fails -->        the command must fail
  <!-- docs: native -->       only where the native backend was built
  <!-- docs: python -->       only where the Python package was built
  <!-- docs: not run -->      the commands are not run
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^ {0,3}```(\w*)\s*$")
DIRECTIVE = re.compile(r"^<!-- docs: ([a-z ,]+) -->$")
COMPILES = re.compile(r"(cc|gcc|clang|bash build\.sh) ")  # not under sanitizers, which a program needs at link time
DEV = re.compile(r"\./dev ([a-z]+)")
DEV_LINE = re.compile(r"^\s*\./dev\b")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
SAVED = re.compile(r"[Ss]aved as `([^`/]+\.(?:c|py))`")
SECONDS = 120
WIDTH = 120
# Pages whose blocks change the sources: tests/extending/follow.py does what they say.
FOLLOWED = {"docs/extending.md"}


class Block:
    def __init__(self, page, line, language, directives):
        self.page, self.line, self.language, self.directives = page, line, language, directives
        self.lines, self.adjacent = [], False

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def place(self):
        return f"{self.page}:{self.line}"


def read_blocks(page, path):
    """The fenced blocks of a page. `adjacent`: only blank lines lie between a block and the one before it."""
    blocks, current, directives, gap = [], None, set(), True
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if current is None and fence:
            current = Block(page, number, fence.group(1), directives)
            current.adjacent = not gap
        elif current is not None and fence:
            blocks.append(current)
            current, directives, gap = None, set(), False
        elif current is not None:
            current.lines.append(line)
        elif DIRECTIVE.match(line):
            directives = set(DIRECTIVE.match(line).group(1).split(", "))
        elif line.strip():
            gap, directives = True, set()
    if current is not None:
        raise SystemExit(f"{current.place()}: the block is not closed")
    return lines, blocks


def comparable(line):
    line = re.sub(r"\b[0-9]+(\.[0-9]+)? (us|ms|s)\b", "# \\2", line.rstrip())
    line = re.sub(r"[0-9a-f]{16,}", "#", line)
    return re.sub(r"\s+# (us|ms|s)\b", " # \\1", line)


def same_line(expected, found):
    return found.startswith(expected[:-3]) if expected.endswith("...") else expected == found


def matches(expected, found):
    """Whether lines are as expected, where "..." stands for any lines."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(matches(expected[1:], found[i:]) for i in range(len(found) + 1))
    return bool(found) and same_line(expected[0], found[0]) and matches(expected[1:], found[1:])


class Checker:
    def __init__(self, source, build, native):
        self.source, self.build, self.native = source, build, native
        self.failures, self.counts = [], {}
        self.commands = set(re.findall(r"^cmd_(\w+)\(\)", (source / "dev").read_text(), re.MULTILINE))
        options = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())
        sanitizers = next((o["value"] for o in options if o["name"] == "b_sanitize"), "none")
        self.package = build / "plugins" / "python"
        self.sanitized = sanitizers not in ("none", "", [], ["none"])

    def fail(self, block, message):
        self.failures.append(f"{block.place()}: {message}")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def make_root(self, root):
        """Files of the tree by links, so that what commands write lands in the scratch folder."""
        for entry in self.source.iterdir():
            if not entry.name.startswith(("build", ".")):
                (root / entry.name).symlink_to(entry)
        (root / "build").symlink_to(self.build)

    def environment(self, home):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAZE_", "MESON"))}
        kept.update(PYTHONPATH=str(self.package), PYTHONDONTWRITEBYTECODE="1")
        kept.update(PATH=f"{self.build / 'tools'}:{kept['PATH']}", HOME=str(home), LC_ALL="C.UTF-8",
                    LAZE_CACHE_DIR=str(home / "cache"))
        return kept

    def run(self, root, script, stdin=""):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=root, env=self.environment(root.parent),
                              input=stdin, capture_output=True, text=True, timeout=SECONDS)

    def check_page(self, page, home):
        lines, blocks = read_blocks(page, self.source / page)
        followed = [] if page in FOLLOWED else blocks
        root = home / "tree"
        root.mkdir(parents=True)
        self.make_root(root)
        python = []
        for index, block in enumerate(followed):
            following = blocks[index + 1] if index + 1 < len(blocks) else None
            expected = following if following and following.adjacent and following.language == "text" else None
            if block.language == "sh":
                self.check_commands(block, expected, root)
            elif block.language == "c" and re.search(r"\bint main\b", block.text):
                self.save_program(block, lines, root)
            elif block.language == "python" and "not run" not in block.directives:
                self.check_python(block, python, expected, lines, root)
            elif block.language == "lz" or (block.language == "text" and block.text.startswith("laze 1\n")):
                self.check_graph(block, root)
            elif block.language == "yaml" and block.text.startswith("- func:"):
                self.check_entry(block, home)
        shown = {number for block in blocks for number in range(block.line, block.line + len(block.lines) + 2)}
        for number, line in enumerate(lines, 1):
            self.check_line(page, number, line)
            if len(line) > WIDTH and number not in shown and not line.startswith("|"):
                self.failures.append(f"{page}:{number}: {len(line)} letters; break the line at {WIDTH}")

    def check_line(self, page, number, line):
        """What a line names has to exist: commands of ./dev and files that it links to."""
        for name in DEV.findall(line):
            if name not in self.commands:
                self.failures.append(f"{page}:{number}: ./dev has no command '{name}'")
        for target in LINK.findall(line):
            if not self.find_linked(page, target).exists():
                self.failures.append(f"{page}:{number}: there is no {target} to link to")

    def find_linked(self, page, target):
        """The file that a link names; build/ is the build folder, for pages that are made there."""
        path = pathlib.PurePath(os.path.normpath(pathlib.PurePath(page).parent / target))
        return self.build.joinpath(*path.parts[1:]) if path.parts[:1] == ("build",) else self.source / path

    def check_commands(self, block, expected, root):
        commands = [line for line in block.lines if not DEV_LINE.match(line)]
        compiles = self.sanitized and any(COMPILES.match(line) for line in commands)
        not_run = "not run" in block.directives or ("native" in block.directives and not self.native) or (
            "python" in block.directives and not self.has_package())
        if not commands or not_run or compiles:
            self.count("skipped")
            return
        self.count("run")
        result = self.run(root, "\n".join(commands))
        failed, should_fail = result.returncode != 0, "fails" in block.directives
        if failed != should_fail:
            self.fail(block, f"exit code {result.returncode}\n{result.stdout}{result.stderr}")
        if expected is None:
            return
        self.compare(expected, self.as_below_build(result.stdout), result)

    def as_below_build(self, output):
        """Output with the names of sources as a program has them that was built in build/."""
        return output.replace(os.path.relpath(self.source, self.build) + "/", "../")

    def save_program(self, block, lines, root):
        name = next((m.group(1) for line in lines[block.line + len(block.lines):] if (m := SAVED.search(line))), None)
        if name is None:
            self.fail(block, "a program with main(), but no text behind it that says \"Saved as `name.c`\"")
            return
        self.count("programs")
        (root / name).write_text(block.text)

    def has_package(self):
        return (self.package / "laze" / "__init__.pyi").exists() and not self.sanitized

    def check_python(self, block, before, expected, lines, root):
        end = block.line + len(block.lines)
        near = "\n".join(lines[end:end + 4])
        if expected is None and SAVED.search(near):
            self.save_program(block, lines, root)
            return
        if not self.has_package():
            self.count("skipped")
            return
        mark = "---- this block"
        program = root / "block.py"
        program.write_text("\n".join([part.text for part in before] + [f"print({mark!r}, flush=True)", block.text]))
        before.append(block)
        self.count("run")
        result = self.run(root, "python3 block.py")
        printed = result.stdout.partition(mark + "\n")[2]
        failed = result.returncode != 0
        if failed != ("fails" in block.directives):
            self.fail(block, f"exit code {result.returncode}\n{result.stdout}{result.stderr}")
        if failed:
            printed += result.stderr.strip().rpartition("\n")[2] + "\n"
            before.pop()
        if expected is not None:
            self.compare(expected, printed, result)

    def compare(self, expected, printed, result):
        self.count("compared")
        found = [comparable(line) for line in printed.rstrip("\n").split("\n")]
        wanted = [comparable(line) for line in expected.text.rstrip("\n").split("\n")]
        if not matches(wanted, found):
            self.fail(expected, f"the commands before print\n{result.stdout}{result.stderr}")

    def check_graph(self, block, root):
        self.count("graphs")
        result = self.run(root, "lazec check -", block.text)
        if result.returncode != 0:
            self.fail(block, f"is no right graph: {result.stderr.strip()}")

    def check_entry(self, block, home):
        """opgen on the tables, with this entry in place of the one of its name or else behind the others."""
        self.count("entries")
        tables = home / f"tables-{block.line}"
        tables.mkdir()
        first, replaced = block.lines[0], False
        for path in sorted((self.source / "ops" / "native_functions").glob("*.yaml")):
            entries = re.split(r"(?m)^(?=- func:)", path.read_text())
            for i, entry in enumerate(entries):
                if entry.split("\n")[0] == first:
                    entries[i], replaced = block.text + "\n", True
            (tables / path.name).write_text("".join(entries))
        if not replaced:
            (tables / "documented.yaml").write_text(block.text)
        rules = self.source / "ops" / "rules.yaml"
        command = [self.build / "ops" / "opgen", "--rules", rules, "--output", home / "gen"]
        for name in ("context.h", "dtype.h", "status.h", "tensor.h"):
            command += ["--api", self.source / "include" / "laze" / name]
        command += sorted(tables.iterdir())
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS)
        if result.returncode != 0:
            self.fail(block, f"opgen refuses the entry:\n{result.stderr}")


def pages_of(source):
    pages = ["README.md", "ops/README.md", "bench/README.md"]
    pages += sorted(str(path.relative_to(source)) for path in (source / "docs").rglob("*.md"))
    return [page for page in pages if (source / page).exists()]


def main():
    source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    checker = Checker(source, build, sys.argv[3] == "llvm")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="laze-docs-"))
    try:
        for number, page in enumerate(sys.argv[4:] or pages_of(source)):
            checker.check_page(page, scratch / str(number))
    finally:
        shutil.rmtree(scratch)
    print("\n".join(checker.failures))
    print(", ".join(f"{count} {what}" for what, count in sorted(checker.counts.items())))
    return 1 if checker.failures or not checker.counts.get("run") else 0


if __name__ == "__main__":
    sys.exit(main())
