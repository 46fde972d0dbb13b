#!/usr/bin/env python3
"""Makes the tables in docs/performance.md, and its pictures, of docs/performance.json, which has what was measured.

usage: performance_page.py SOURCE [--check]

`./dev bench --page` runs it; with --check, which a test does, it says what is not as the results have it, and writes
nothing. It needs the standard library alone. On the page it writes what stands between comments:

  <!-- made: machine -->          what was measured on, with what, and the limits
  <!-- made: sections -->         how many rows of each section meet their targets
  <!-- made: table SECTION -->    the rows of a section, a table for each run
  <!-- made: missed               the rows with such names that miss a target, and by how much; * stands for anything,
    mm 64x64x64                   and of several lists the first that has a row counts
    mm * transposed -->
  <!-- end -->                    ends what is made

What stands below a list of rows is why they miss their targets: each row that misses one has to be in a list.
"""

import fnmatch
import math
import pathlib
import re
import sys

import performance_pictures as pictures
import results

PAGE, RESULTS = "docs/performance.md", "docs/performance.json"
COMMAND = "./dev bench --page"
MADE = re.compile(r"(<!-- made: ([\w ]+?)((?:\n +[^\n]+?)*) -->\n)((?:(?!<!-- made: ).)*?)(<!-- end -->\n)", re.DOTALL)
PEERS = tuple(pictures.NAMES)


def threads_of(run):
    name = pictures.threads_of(run)
    return name[0].upper() + name[1:]


def table_of(heads, rows):
    lines = [f"| {' | '.join(cells)} |".replace("  ", " ") for cells in [heads, *rows]]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]]) + "\n"


def time_of(us):
    """With three digits."""
    unit, value = ("us", us) if us < 999.5 else ("ms", us / 1000)
    return f"{value:.2f} {unit}" if value < 9.995 else f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"


# ---- What was measured on

def size_of(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def machine_of(run):
    """{what: text} of a run."""
    machine, limits = run["machine"], {name: 1e-9 * rate for name, rate in run["limits"].items()}
    versions = [f"{'laze' if name == 'laze' else pictures.NAMES[name]} {version}"
                for name, version in run["versions"].items() if name != "torch inductor"]  # PyTorch's
    memory = f", {machine['memory'] / 2 ** 30:.0f} GiB of memory" if machine["memory"] else ""
    return {
        "measured": f"{run['date']}, {run['rounds']} round{'s' * (run['rounds'] != 1)}",
        "processor": f"{machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}",
        "vectors": ", ".join(machine["vectors"]) or "unknown",
        "caches": ", ".join(f"{name} {size_of(size)}" for name, size in machine["caches"].items()) or "unknown",
        "multiply-adds": f"{limits['flops']:.0f} GFLOP/s",
        "memory, arrays of 64 MB": f"{limits['read_64']:.1f} GB/s read, {limits['copy_64']:.1f} GB/s copied",
        "memory, arrays of 512 MB": f"{limits['read_512']:.1f} GB/s read, {limits['copy_512']:.1f} GB/s copied",
        "versions": ", ".join(versions),
        "not measured": "; ".join(run["faults"]).replace("|", "/") or "nothing",
    }


def make_machine(runs, *_):
    columns = [machine_of(run) for run in runs]
    rows = [[what, *(column[what] for column in columns)] for what in columns[0]]
    return table_of(["", *map(threads_of, runs)], rows)


# ---- Sections

def sections_of(runs):
    return list(dict.fromkeys(row["group"] for run in runs for row in run["rows"]))


def mean_ratio(rows):
    return math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))


def counts_of(rows):
    """How many there are, are at least as fast as every peer, and meet their targets; and the mean ratio."""
    if not rows:
        return ["", "", "", ""]
    return [f"{len(rows)}", f"{sum(row['ratio'] >= 1 for row in rows)}",
            f"{sum(not results.misses(row) for row in rows)}", f"{mean_ratio(rows):.2f}"]


def make_sections(runs, *_):
    made = []
    for run in runs:
        rows = [[section, *counts_of([row for row in run["rows"] if row["group"] == section])]
                for section in sections_of(runs)]
        heads = [threads_of(run), "rows", "no peer is faster", "meet their targets", "mean ratio"]
        made.append(table_of(heads, [*rows, ["all", *counts_of(run["rows"])]]))
    return "\n".join(made)


def bold(text, condition):
    return f"**{text}**" if condition else text


def target_of(row):
    """The ratio and the share that a row is to reach; bold where it does not."""
    share = row["share_target"]
    parts = [bold(f"{row['target']:g}", results.misses_ratio(row))]
    return ", ".join(parts + [bold(f"{share:.0%}", results.misses_share(row))] if share else parts)


def cells_of(row):
    best = row["best_peer"]
    peers = [bold(f"{row['ratios'][name]:.2f}", name == best) if name in row["ratios"] else "" for name in PEERS]
    quartiles = f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}{', busy' * row['busy']}"
    share = f"{row['share']:.0%} of {row['limit']}" if "limit" in row else ""
    return [row["row"], time_of(row["us"]["laze"]["median"]), *peers, quartiles, share, target_of(row)]


def make_table(runs, section, *_):
    made = []
    for run in runs:
        rows = [cells_of(row) for row in run["rows"] if row["group"] == section]
        heads = [threads_of(run), "laze", *pictures.NAMES.values(), "quartiles", "share of limit", "target"]
        made += [table_of(heads, rows)] if rows else []
    return "\n".join(made) or "None of these rows is among the results.\n"


# ---- Rows that miss their targets

def shortfall(row):
    """By how much a row misses its targets: of the ratio, and of the limit."""
    if row is None:
        return ["", ""]
    missing = 1 - row["ratio"] / row["target"]
    ratio = f"{row['ratio']:.2f} of {row['target']:g}, {missing:.0%} short" if results.misses_ratio(row) else ""
    return [ratio, f"{row['share']:.0%} of {row['share_target']:.0%}" if results.misses_share(row) else ""]


def make_missed(runs, _, names):
    by_name = [{row["row"]: row for row in run["rows"]} for run in runs]
    heads = ["Row"] + [f"{threads_of(run)}: {what}" for run in runs for what in ("ratio", "of the limit")]
    rows = [[name, *(cell for rows in by_name for cell in shortfall(rows.get(name)))] for name in names]
    return table_of(heads, rows) if rows else "None of these rows misses a target in these results.\n"


def missed_rows(runs):
    return list(dict.fromkeys(row["row"] for run in runs for row in run["rows"] if results.misses(row)))


def choose(names, patterns):
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


# ---- The page

def make_page(text, runs):
    """(the page, what is wrong with it)"""
    left, wrong = missed_rows(runs), []
    made_sections = set()

    def make(match):
        begin, words, lines, _, end = match.groups()
        kind, _, argument = words.partition(" ")
        makers = {"machine": make_machine, "sections": make_sections, "table": make_table, "missed": make_missed}
        if kind not in makers:
            wrong.append(f"{PAGE}: nothing is made by <!-- made: {words} -->")
            return match[0]
        made_sections.update([argument] if kind == "table" else [])
        names = choose(left, [line.strip() for line in lines.split("\n")]) if kind == "missed" else []
        left[:] = [name for name in left if name not in names]
        return f"{begin}\n{makers[kind](runs, argument, names)}\n{end}"

    page = MADE.sub(make, text)
    if text.count("<!-- made: ") != len(MADE.findall(text)):
        wrong.append(f"{PAGE}: a comment <!-- made: ... --> has no <!-- end --> behind it, or is not written as above")
    wrong += [f"{PAGE}: there is no <!-- made: table {section} -->" for section in sections_of(runs)
              if section not in made_sections]
    wrong += [f"{PAGE}: '{name}' misses a target, and the page does not say why: write its name, or a pattern, behind "
              f"'<!-- made: missed' above the reason, and run {COMMAND}" for name in left]
    return page, wrong


def make_all(source):
    """({file: text}, what is wrong)"""
    runs = results.read(source / RESULTS)
    if not runs:
        raise SystemExit(f"bench: there is no {RESULTS}: ./dev bench --peers --only table --save {RESULTS} measures it")
    page, wrong = make_page((source / PAGE).read_text(), runs)
    return {PAGE: page, "docs/pictures/ratios.svg": pictures.ratios(runs),
            "docs/pictures/roofline.svg": pictures.roofline(runs[0])}, wrong


def main():
    source, check = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["--check"]
    files, wrong = make_all(source)
    for name, text in files.items():
        path = source / name
        if check and (not path.exists() or path.read_text() != text):
            wrong.append(f"{name} is not what {RESULTS} gives: {COMMAND} makes it again")
        elif not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    print("\n".join(wrong) or f"{len(files)} files are as {RESULTS} has it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
