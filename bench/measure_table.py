"""Measures the rows of peers/table.py: how long laze and each peer take, and which share of what the machine can do
that is. `./dev bench --peers --only table` runs it."""

import datetime
import json
import os
import statistics
import subprocess

import results
import turns
from workers import quartiles, say, with_package


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


def start_workers(plugins, environment):
    """{library: process}, of those that are installed, and of the reference."""
    environments = {
        "numpy": environment,
        "torch eager": environment,
        "torch inductor": environment,
        "jax": with_package(environment, "jax"),
        "onnxruntime": with_package(environment, "onnx"),
        "reference": environment,
    }
    workers = {name: turns.start_worker(name, name, own) for name, own in environments.items() if own}
    return {"laze": turns.start_laze("laze", plugins, environment), **workers}


def summary(row, times, limits):
    """What a line says of a row."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    peer = min((name for name in medians if name != "laze"), key=medians.get)
    low, _, high = quartiles([theirs / ours for theirs, ours in zip(times[peer], times["laze"])])
    said = {"row": row.name, "group": row.group, "best_peer": peer, "ratio": medians[peer] / medians["laze"],
            "ratio_low": low, "ratio_high": high, "target": row.target, "share_target": row.share,
            "ratios": {name: median / medians["laze"] for name, median in medians.items() if name != "laze"}}
    if row.limit:
        said.update(limit=row.limit.kind, share=seconds_at_limit(row.limit, limits) / medians["laze"],
                    operations=row.limit.count, bytes=row.limit.read + row.limit.written)
    said["missed"] = ([f"{row.target:g}"] * results.misses_ratio(said) +
                      [f"{row.share or 0:.0%}"] * results.misses_share(said))
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


def save(path, threads, rounds, **measured):
    run = {"date": datetime.date.today().isoformat(), "threads": threads, "rounds": rounds,
           "machine": results.machine(), **measured}
    results.save(path, run)


def measure(programs, plugins, environment, options, folder):
    """Prints the table, or those of its rows that have `options.rows` in their names, and saves it to
    `options.save`."""
    rows = turns.chosen_rows(options.rows)
    threads, rounds = options.threads or os.cpu_count(), options.rounds or turns.ROUNDS
    gauge, faults = turns.Gauge(), []
    limits = measure_limits(programs, threads, gauge)
    show_limits(limits, threads, len(rows), options.json)
    workers = start_workers(plugins, environment)
    versions = {name: worker.ask("version") for name, worker in workers.items() if name != "reference"}
    done, group = [], None
    for row in rows:
        names = list(turns.check(row, [name for name in row.libraries() if name in workers], workers, folder, faults))
        if "laze" not in names or len(names) == 1:
            continue
        times, dropped, busy = turns.measure_row(row, names, workers, rounds, gauge)
        done.append({**summary(row, times, limits), "dropped": dropped, "busy": busy})
        say("")
        if not options.json and row.group != group:
            print(f"\n{row.group}")
        group = row.group
        print(json.dumps(done[-1]) if options.json else line_of(done[-1]), flush=True)
    for worker in workers.values():
        worker.stop()
    if not options.json:
        print(f"\n{sum(not said['missed'] for said in done)} of {len(done)} rows meet their target")
        print(f"{sum(said['dropped'] for said in done)} rounds met other programs and were dropped; rows with 'busy' "
              "behind them had no calm one")
    if options.save:
        save(options.save, threads, rounds, versions=versions, limits=limits, faults=faults, rows=done)
    if faults:
        raise SystemExit("\n".join(f"peers: {fault}" for fault in faults))
