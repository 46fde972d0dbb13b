"""Measures the rows of peers/table.py: how long laze and each peer take, and which share of what the machine can do
that is. `./dev bench --peers --only table` runs it."""

import json
import math
import os
import statistics
import subprocess
import sys
import time

import numpy as np

from workers import HERE, Worker, quartiles, say, with_package, with_paths

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


def run_limits(programs, threads):
    """{name: operations or bytes a second} of so many processes beside each other."""
    running = [subprocess.Popen([str(programs / "limits")], stdout=subprocess.PIPE, text=True) for _ in range(threads)]
    limits = {}
    for process in running:
        lines, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit("peers: bench/limits failed: what it wrote above says why")
        for line in lines.splitlines():
            name, value = line.split()
            limits[name] = limits.get(name, 0) + 1e9 * float(value)
    return limits


def measure_limits(programs, threads, gauge):
    """What so many threads can do at most. Measured again where other programs ran, a few times."""
    limits = {}
    for _ in range(4):
        say("limits of the machine")
        before, found = gauge.read(), run_limits(programs, threads)
        limits = {name: max(value, limits.get(name, 0)) for name, value in found.items()}
        if not gauge.is_busy(max(before, gauge.read())):
            break
    say("")
    return limits


def seconds_at_limit(limit, limits):
    """Arrays of rows have 16 to 64 MB: memory at the speed of 64 MB. What is written is copied, and the rest read."""
    if limit.kind == "flops":
        return limit.count / limits["flops"]
    return 2 * limit.written / limits["copy_64"] + max(0, limit.read - limit.written) / limits["read_64"]


def start_workers(package, environment):
    """{library: process}, of those that are installed, and of the reference."""
    environment = {**environment, **KEEP_MEMORY}
    environments = {
        "laze": with_paths(environment, package / "python", package / "pytorch"),
        "numpy": environment,
        "torch eager": environment,
        "torch inductor": environment,
        "jax": with_package(environment, "jax"),
        "onnxruntime": with_package(environment, "onnx"),
        "reference": environment,
    }
    command = [sys.executable, "-W", "ignore", str(HERE / "worker_table.py")]
    return {name: Worker(name, [*command, name], own) for name, own in environments.items() if own}


def error_of(path, wanted):
    """The largest difference, as a part of the largest value."""
    result = np.fromfile(path)
    if result.shape != wanted.shape:
        return math.inf
    error = np.max(np.abs(result - wanted)) / max(np.max(np.abs(wanted)), np.finfo(np.float32).tiny)
    return float(error) if not np.isnan(error) else math.inf


def check(row, workers, folder, faults):
    """The libraries whose results agree with PyTorch's in float64; what is wrong with others goes to `faults`."""
    path = folder / "result.f64"
    answer = workers["reference"].ask(f"check {row.name} {path}")
    if answer != "ok":
        faults.append(f"{row.name}: PyTorch in float64: {answer}")
        return []
    wanted, agreeing = np.fromfile(path), []
    for name in [name for name in row.libraries() if name in workers]:
        say(f"{row.name}: result of {name}")
        answer = workers[name].ask(f"check {row.name} {path}")
        error = error_of(path, wanted) if answer == "ok" else 0
        if answer == "ok" and error <= row.tolerance:
            agreeing.append(name)
        else:
            difference = f"differs by {error:g} of the largest value, more than {row.tolerance:g}"
            faults.append(f"{row.name}: {name}: {difference if answer == 'ok' else answer}")
    return agreeing


def take_turns(row, workers, names, gauge):
    """A round: {library: seconds}, and the longest that the gauge took before and after them."""
    times, longest = {}, gauge.read()
    for name in names:
        time.sleep(0.005)  # threads that still spin after the last one's work would slow the next
        answer = workers[name].ask(f"time {row.name} {SECONDS}")
        if answer.startswith("error"):
            raise SystemExit(f"peers: {row.name}: {name}: {answer}")
        times[name] = float(answer)
        longest = max(longest, gauge.read())
    return times, longest


def measure_row(row, workers, names, rounds, gauge):
    """({library: seconds in each round}, how many rounds were dropped, whether all were busy). Where they were, those
    that met least of other programs are kept."""
    taken = []
    while len(taken) < 2 * rounds and sum(not gauge.is_busy(longest) for _, longest in taken) < rounds:
        say(f"{row.name}: round {len(taken) + 1}")
        taken.append(take_turns(row, workers, names, gauge))
    calm = [times for times, longest in taken if not gauge.is_busy(longest)]
    kept = calm or [times for times, _ in sorted(taken, key=lambda turn: turn[1])[:rounds]]
    return {name: [times[name] for times in kept] for name in names}, len(taken) - len(kept), not calm


def summary(row, times, limits):
    """What a line says of a row."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    peer = min((name for name in medians if name != "laze"), key=medians.get)
    low, _, high = quartiles([theirs / ours for theirs, ours in zip(times[peer], times["laze"])])
    said = {"row": row.name, "group": row.group, "best_peer": peer, "ratio": medians[peer] / medians["laze"],
            "ratio_low": low, "ratio_high": high, "target": row.target, "share_target": row.share}
    if row.limit:
        said.update(limit=row.limit.kind, share=seconds_at_limit(row.limit, limits) / medians["laze"])
    missed = [f"{row.target:g}"] * (said["ratio"] < row.target)
    if row.share and said["share"] < row.share:
        missed.append(f"{row.share:.0%}")
    said["missed"] = missed
    said["us"] = {name: dict(zip(("low", "median", "high"), (1e6 * value for value in quartiles(values))))
                  for name, values in times.items()}
    return said


def line_of(said):
    ours, theirs = (said["us"][name]["median"] for name in ("laze", said["best_peer"]))
    share = f"{said['share']:5.0%} of {said['limit']}" if "limit" in said else ""
    missed = f"  (target: {', '.join(said['missed'])})" if said["missed"] else ""
    busy = "  busy" if said["busy"] else ""
    return (f"  {said['row']:<50} {ours:>10.1f} us   {said['best_peer']:<14} {theirs:>10.1f} us  {said['ratio']:6.2f} "
            f"({said['ratio_low']:.2f} .. {said['ratio_high']:.2f})  {share:<16}{missed}{busy}".rstrip())


def show_limits(limits, threads, count, as_json):
    if as_json:
        print(json.dumps({"threads": threads, **limits}))
        return
    rates = {name: 1e-9 * value for name, value in limits.items()}
    print(f"\ntable: laze, the best peer, its time / laze's with quartiles, laze's share of the limit; rows: {count}")
    print(f"Limits of {threads} thread{'s' * (threads > 1)}: {rates['flops']:.0f} GFLOP/s; memory "
          f"{rates['read_64']:.1f} GB/s read and {rates['copy_64']:.1f} GB/s copied with arrays of 64 MB, by which "
          f"rows are measured, and {rates['read_512']:.1f} and {rates['copy_512']:.1f} with 512 MB.")


def measure(programs, package, environment, options, folder):
    """Prints the table, or those of its rows that have `options.rows` in their names."""
    rows = [row for name, row in table.ROWS.items() if options.rows is None or options.rows in name]
    if not rows:
        raise SystemExit(f"peers: no row has '{options.rows}' in its name: bench/peers/table.py has them")
    threads, rounds = options.threads or os.cpu_count(), options.rounds or ROUNDS
    gauge, faults = Gauge(), []
    limits = measure_limits(programs, threads, gauge)
    show_limits(limits, threads, len(rows), options.json)
    workers = start_workers(package, environment)
    met = measured = all_dropped = 0
    group = None
    for row in rows:
        names = check(row, workers, folder, faults)
        if "laze" not in names or len(names) == 1:
            continue
        times, dropped, busy = measure_row(row, workers, names, rounds, gauge)
        said = {**summary(row, times, limits), "dropped": dropped, "busy": busy}
        say("")
        if not options.json and row.group != group:
            print(f"\n{row.group}")
        group = row.group
        print(json.dumps(said) if options.json else line_of(said), flush=True)
        met, measured, all_dropped = met + (not said["missed"]), measured + 1, all_dropped + dropped
    for worker in workers.values():
        worker.stop()
    if not options.json:
        print(f"\n{met} of {measured} rows meet their target")
        print(f"{all_dropped} rounds met other programs and were dropped; rows with 'busy' behind them had no calm one")
    if faults:
        raise SystemExit("\n".join(f"peers: {fault}" for fault in faults))
