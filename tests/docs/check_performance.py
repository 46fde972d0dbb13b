#!/usr/bin/env python3
"""Checks that docs/performance.md and its pictures are what docs/performance.json gives, and that the page says why
rows miss their targets; before that, in a folder of its own, that the script which makes them notices what is wrong.

usage: check_performance.py SOURCE
"""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path("bench", "performance_page.py")
PAGE = """# Page

<!-- made: machine -->
<!-- end -->
<!-- made: sections -->
<!-- end -->
<!-- made: table products -->
<!-- end -->
<!-- made: missed
  slow *
  late -->
<!-- end -->
"""


def row_of(name, ratio, share=0.95):
    """A row that is to reach a ratio of 1 and 90% of the limit."""
    missed = ["1"] * (ratio < 1) + ["90%"] * (share < 0.9)
    return {"row": name, "group": "products", "best_peer": "jax", "ratio": ratio, "ratio_low": 0.9 * ratio,
            "ratio_high": 1.1 * ratio, "target": 1.0, "share_target": 0.9, "limit": "flops", "share": share,
            "operations": 2e9, "bytes": 12e6, "missed": missed, "ratios": {"numpy": 2 * ratio, "jax": ratio},
            "us": {"laze": {"low": 900.0, "median": 1000.0, "high": 1100.0}}, "dropped": 0, "busy": False}


def run_of(threads, rows):
    limits = {"flops": 2e11, "read_64": 2e10, "copy_64": 2e10, "read_512": 1e10, "copy_512": 1e10}
    machine = {"processor": "a processor", "cores": 2, "caches": {"L1": 49152}, "vectors": ["AVX2"],
               "memory": 1 << 34, "system": "Linux"}
    return {"date": "2026-01-01", "threads": threads, "rounds": 5, "machine": machine, "limits": limits, "faults": [],
            "versions": {"laze": "0.1.0", "numpy": "2", "jax": "1"}, "rows": rows}


class Folder:
    """A tree that has a page, results and nothing else."""

    def __init__(self, source, root, results):
        self.source, self.root, self.results = source, root, results
        (root / "docs").mkdir()
        self.page = root / "docs" / "performance.md"

    def begin(self, *rows, page=PAGE, threads=(1, 2)):
        (self.root / "docs" / "performance.json").unlink(missing_ok=True)
        for count in threads:
            self.results.save(self.root / "docs" / "performance.json", run_of(count, list(rows)))
        self.page.write_text(page)

    def run(self, *options):
        """(status, what is printed)"""
        command = [sys.executable, "-B", str(self.source / SCRIPT), str(self.root), *options]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr


def check_script(folder):
    """Texts that say what the script does wrong."""
    def expect(what, found, status, *words):
        if found[0] != status or any(word not in found[1] for word in words):
            yield f"{what}: status {found[0]}, and not {status} with {', '.join(words)}\n{found[1]}"

    rows = [row_of("fast", 1.5), row_of("slow one", 0.5), row_of("late", 1.2, share=0.4)]
    folder.begin(*rows)
    yield from expect("a page that was not made", folder.run("--check"), 1, "performance.md", "ratios.svg",
                      "./dev bench --page")
    yield from expect("making it", folder.run(), 0)
    yield from expect("what was made", folder.run("--check"), 0)
    made = folder.page.read_text()
    for text in ("| slow one | 0.50 of 1, 50% short | | 0.50 of 1, 50% short | |", "| late | | 40% of 90% |",
                 "| fast | 1.00 ms | | | 3.00 | **1.50** |"):
        if text not in made:
            yield f"the page has no {text}:\n{made}"
    yield from expect("making it again", folder.run(), 0)
    if folder.page.read_text() != made:
        yield "a page that is made twice is another one"
    folder.page.write_text(made.replace("0.50 of 1", "0.60 of 1"))
    yield from expect("a number that was changed", folder.run("--check"), 1, "performance.md is not")
    folder.begin(*rows, row_of("other", 0.9))
    yield from expect("a row without a reason", folder.run(), 1, "'other' misses a target")
    folder.begin(*rows, page=PAGE.replace("table products", "table networks"))
    yield from expect("a section without a table", folder.run(), 1, "made: table products")
    folder.begin(*rows, page=PAGE.replace("-->\n<!-- end -->\n<!-- made: missed", "-->\n<!-- made: missed"))
    yield from expect("a list without an end", folder.run(), 1, "<!-- end -->")
    folder.begin(row_of("fast", 1.5), threads=(1,))
    yield from expect("one run, which misses nothing", folder.run(), 0)
    if "None of these rows misses a target" not in folder.page.read_text():
        yield "a list of no rows does not say so"


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source / "bench"))
    import results
    with tempfile.TemporaryDirectory(prefix="laze-performance-") as root:
        wrong = list(check_script(Folder(source, pathlib.Path(root), results)))
    for text in wrong:
        print(text)
    sys.stdout.flush()
    status = subprocess.call([sys.executable, "-B", str(source / SCRIPT), str(source), "--check"])
    return 1 if wrong or status else 0


if __name__ == "__main__":
    sys.exit(main())
