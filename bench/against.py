"""Compares two builds of laze over the rows of peers/table.py, and says which rows are slower now.

Slower is what noise does not explain. Rows of which results have other bits are named too: an order that nobody meant
to change did. Each build has a process of its own; they are timed in turns, and rounds in which other programs ran are
dropped, as those of the table (turns.py). `./dev bench --against OLD` runs this in the virtual environment of the
peers, of which it needs NumPy and PyTorch, which computes in float64 what results have to agree with. Exit status: 0
measured, and no row is slower; 1 some row is, or is wrong, or none could be measured; 2 wrong usage.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import turns
from workers import THREADS, quartiles, say

NOISE = 0.03  # by which part of its time a row may change without a reason
ATTEMPTS = 3  # in which a row has to seem slower
# What builds have to have in common.
OPTIONS = ("buildtype", "optimization", "debug", "b_ndebug", "b_sanitize", "llvm")


def plugins_of(build):
    plugins = build.resolve() / "plugins"
    if not (plugins / "python" / "laze").exists():
        raise SystemExit(f"bench: {build} has no Python package in plugins/python: it has to be a folder that ./dev "
                         "build has built, where Python's headers are (./dev setup python3-dev)")
    return plugins


def options_of(build):
    """How it was configured."""
    listed = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())
    return {option["name"]: option["value"] for option in listed if option["name"] in OPTIONS}


def differences(old, new):
    """One text for each option that they do not have in common."""
    ours, theirs = options_of(new), options_of(old)
    return [f"{name} is {theirs.get(name)} in the old one and {ours.get(name)} in the new one"
            for name in OPTIONS if ours.get(name) != theirs.get(name)]


def ratios(times):
    """The old time / the new one, in each round."""
    return [old / new for old, new in zip(times["old"], times["new"])]


def is_slower(times):
    """In three rounds of four at least, by more than noise."""
    return quartiles(ratios(times))[2] < 1 - NOISE


class Pair:
    """A process of each build, and the reference."""

    def __init__(self, old, new, environment):
        self.plugins, self.environment = {"old": old, "new": new}, environment
        self.workers = {"reference": turns.start_worker("reference", "reference", environment), **self.start()}

    def start(self):
        return {name: turns.start_laze(name, plugins, self.environment) for name, plugins in self.plugins.items()}

    def start_again(self):
        for name in self.plugins:
            self.workers[name].stop()
        self.workers.update(self.start())

    def stop(self):
        for worker in self.workers.values():
            worker.stop()


def measure(row, pair, rounds, gauge):
    """As turns.measure_row(). Where memory lies in a process is chance too: while a row seems slower it is measured
    again in new ones, a few times, and all of its rounds count."""
    times, all_dropped, any_busy = {"old": [], "new": []}, 0, False
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            pair.start_again()
        more, dropped, busy = turns.measure_row(row, list(times), pair.workers, rounds, gauge)
        times = {name: times[name] + more[name] for name in times}
        all_dropped, any_busy = all_dropped + dropped, any_busy or busy
        if not is_slower(times):
            break
    return times, all_dropped, any_busy


def summary(row, times, results):
    """What a line says of a row."""
    low, _, high = quartiles(ratios(times))
    said = {"row": row.name, "group": row.group, "ratio": statistics.median(ratios(times)), "ratio_low": low,
            "ratio_high": high, "slower": is_slower(times), "faster": low > 1 + NOISE,
            "same_bits": results["old"].tobytes() == results["new"].tobytes()}
    said["us"] = {name: dict(zip(("low", "median", "high"), (1e6 * value for value in quartiles(values))))
                  for name, values in times.items()}
    return said


def line_of(said):
    old, new = (said["us"][name]["median"] for name in ("old", "new"))
    notes = [note for note, holds in (("SLOWER", said["slower"]), ("faster", said["faster"]),
                                      ("other bits", not said["same_bits"]), ("busy", said["busy"])) if holds]
    return (f"  {said['row']:<50} {old:>10.1f} us {new:>10.1f} us   {said['ratio']:6.3f} ({said['ratio_low']:.3f} .. "
            f"{said['ratio_high']:.3f})   {', '.join(notes)}".rstrip())


def show_summary(rows, as_json):
    named = {what: [said["row"] for said in rows if holds(said)] for what, holds in
             (("slower", lambda said: said["slower"]), ("faster", lambda said: said["faster"]),
              ("other_bits", lambda said: not said["same_bits"]))}
    if as_json:
        print(json.dumps({"rows": len(rows), "dropped": sum(said["dropped"] for said in rows), **named}))
        return
    print(f"\nrows: {len(rows)}; slower by more than noise: {len(named['slower'])}, faster: {len(named['faster'])}, "
          f"with other bits: {len(named['other_bits'])}; rounds dropped: {sum(said['dropped'] for said in rows)}")
    for what, title in (("slower", "slower"), ("other_bits", "other bits")):
        if named[what]:
            print(f"{title}: {'; '.join(named[what])}")


def compare(options, pair, folder):
    """Prints a line for each row, and a summary. Whether rows were measured, none is slower, and the new build has none
    wrong."""
    rounds, gauge, group = options.rounds or turns.ROUNDS, turns.Gauge(), None
    done, faults, wrong = [], [], False
    for row in turns.chosen_rows(options.rows):
        results = turns.check(row, ["old", "new"], pair.workers, folder, faults)
        wrong = wrong or "new" not in results
        if len(results) < 2:
            continue
        times, dropped, busy = measure(row, pair, rounds, gauge)
        done.append({**summary(row, times, results), "dropped": dropped, "busy": busy})
        say("")
        if not options.json and row.group != group:
            print(f"\n{row.group}")
        group = row.group
        print(json.dumps(done[-1]) if options.json else line_of(done[-1]), flush=True)
    say("")
    show_summary(done, options.json)
    for fault in faults:
        print(f"bench: {fault}", file=sys.stderr)
    return bool(done) and not wrong and not any(said["slower"] for said in done)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="./dev bench --against")
    parser.add_argument("old", type=pathlib.Path, metavar="OLD", help="the build folder to compare with")
    parser.add_argument("--build", type=pathlib.Path, default="build", help="the build folder (default: build)")
    parser.add_argument("--rows", metavar="WORD", help="the rows that have this in their names, alone")
    parser.add_argument("--rounds", type=int, help=f"(default: {turns.ROUNDS})")
    parser.add_argument("--threads", type=int, help="threads of both builds (default: what laze takes by itself)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser.parse_args()


def main():
    options = read_options()
    environment = dict(os.environ)
    if options.threads is not None:
        environment.update({name: str(options.threads) for name in THREADS})
    old, new = plugins_of(options.old), plugins_of(options.build)
    for difference in differences(options.old, options.build):
        print(f"bench: the builds were configured differently: {difference}", file=sys.stderr)
    if not options.json:
        print(f"old: {options.old}, new: {options.build}; medians, old / new with quartiles: below 1 is slower now")
    with tempfile.TemporaryDirectory(prefix="laze-against-") as folder:
        pair = Pair(old, new, environment)
        good = compare(options, pair, pathlib.Path(folder))
        pair.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
