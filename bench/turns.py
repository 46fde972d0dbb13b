"""Rows of peers/table.py in several processes, one after the other, and what tells that other programs ran meanwhile:
what measure_table.py, which compares libraries, and against.py, which compares builds of laze, share."""

import math
import sys
import time

import numpy as np

from workers import HERE, Worker, say, with_paths

sys.path.append(str(HERE))
import table  # noqa: E402

ROUNDS = 5  # where nothing else is asked for
SECONDS = 0.05  # that a library's turn takes, at least
BUSY = 1.2  # times the gauge's best: more, and something else ran
# The C library gives large arrays back to the system when they are freed, and each new one costs a fault a page, which
# is more than what most rows compute. All libraries keep theirs, as laze does by itself.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}


class Gauge:
    """The same work each time, in this process: what it takes longer than ever, other programs take from everyone."""

    def __init__(self):
        self.values, self.out, self.best = np.ones(1 << 16, np.float32), np.empty(1 << 16, np.float32), math.inf
        for _ in range(20):
            self.read()

    def read(self):
        start = time.perf_counter()
        for _ in range(150):
            np.sqrt(self.values, out=self.out)
            np.add(self.values, self.out, out=self.out)
        seconds = time.perf_counter() - start
        self.best = min(self.best, seconds)
        return seconds

    def is_busy(self, seconds):
        return seconds > BUSY * self.best


def chosen_rows(word):
    """Those that have it in their names; None: all."""
    rows = [row for name, row in table.ROWS.items() if word is None or word in name]
    if not rows:
        raise SystemExit(f"bench: no row has '{word}' in its name: bench/peers/table.py has them")
    return rows


def start_worker(name, library, environment):
    """A process that computes rows with a library of peers/worker_table.py."""
    command = [sys.executable, "-W", "ignore", str(HERE / "worker_table.py"), library]
    return Worker(name, command, {**environment, **KEEP_MEMORY})


def start_laze(name, plugins, environment):
    """The same with laze's packages, from the folder plugins/ of a build."""
    return start_worker(name, "laze", with_paths(environment, plugins / "python", plugins / "pytorch"))


def error_of(result, wanted):
    """The largest difference, as a part of the largest value."""
    if result.shape != wanted.shape:
        return math.inf
    error = np.max(np.abs(result - wanted)) / max(np.max(np.abs(wanted)), np.finfo(np.float32).tiny)
    return float(error) if not np.isnan(error) else math.inf


def check(row, names, workers, folder, faults):
    """{library: result} of those whose results agree with PyTorch's in float64; what is wrong with others goes to
    `faults`. Of a large result both are a part (worker_table.py)."""
    path = folder / "result.f64"
    answer = workers["reference"].ask(f"check {row.name} {path}")
    if answer != "ok":
        faults.append(f"{row.name}: PyTorch in float64: {answer}")
        return {}
    wanted, agreeing = np.fromfile(path), {}
    for name in names:
        say(f"{row.name}: result of {name}")
        answer = workers[name].ask(f"check {row.name} {path}")
        result = np.fromfile(path) if answer == "ok" else wanted
        error = error_of(result, wanted)
        if answer == "ok" and error <= row.tolerance:
            agreeing[name] = result
        else:
            difference = f"differs by {error:g} of the largest value, more than {row.tolerance:g}"
            faults.append(f"{row.name}: {name}: {difference if answer == 'ok' else answer}")
    return agreeing


def take_turns(row, names, workers, gauge):
    """A round: {library: seconds}, and the longest that the gauge took before and after them."""
    times, longest = {}, gauge.read()
    for name in names:
        time.sleep(0.005)  # threads that still spin after the last one's work would slow the next
        answer = workers[name].ask(f"time {row.name} {SECONDS}")
        if answer.startswith("error"):
            raise SystemExit(f"bench: {row.name}: {name}: {answer}")
        times[name] = float(answer)
        longest = max(longest, gauge.read())
    return times, longest


def measure_row(row, names, workers, rounds, gauge):
    """({library: seconds in each round}, how many rounds were dropped, whether all were busy). Where they were, those
    that met least of other programs are kept."""
    taken = []
    while len(taken) < 2 * rounds and sum(not gauge.is_busy(longest) for _, longest in taken) < rounds:
        say(f"{row.name}: round {len(taken) + 1}")
        taken.append(take_turns(row, names, workers, gauge))
    calm = [times for times, longest in taken if not gauge.is_busy(longest)]
    kept = calm or [times for times, _ in sorted(taken, key=lambda turn: turn[1])[:rounds]]
    return {name: [times[name] for times in kept] for name in names}, len(taken) - len(kept), not calm
