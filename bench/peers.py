"""Runs laze beside NumPy, PyTorch (eager, its lazy backend, its inductor) and JAX, each as its users write it, and
compares times.

Every library has a process of its own; after their results were compared they are timed in turns, so that whatever
else the machine does meets all of them. `./dev bench --peers` runs this in a virtual environment that has numpy and
torch. Nothing here is a test: the exit status says whether it could be measured and whether results agree.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import measure_table
import results
import turns
from workers import HERE, THREADS, Worker, quartiles, say, with_package, with_paths

# Settings that make NumPy's matrix products slow or pin them to an old kernel: not how users run it.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
# case: what it is, times in a row, tolerance of the comparison (None: compared as "digits")
CASES = {
    "chain": ("8 elementwise operators, 16M floats", 1, 1e-5),
    "functions": ("the same with exp and tanh", 1, 1e-4),
    "adds": ("100 adds of 16 floats, one read", 20, 1e-5),
    "digits": ("training step, batch 128", 10, 1e-3),
    "sizes": ("training steps at 20 new batch sizes", 1, None),
    "sort": ("sort of a million floats", 1, 0.0),
    "topk": ("100 largest of a million floats", 1, 0.0),
    "cumsum": ("cumsum of a million floats", 1, 1e-2),  # NumPy's is a chain in f32
    "scatter": ("scatter of a million floats", 1, 0.0),
}
# Each is in examples/tests/in_numpy.py as well, in NumPy; both take one thread.
EXAMPLES = sorted(path.stem for path in (HERE.parent.parent / "examples" / "python").glob("*.py")
                  if "def data(" in path.read_text())
EXAMPLE_TARGET = 0.5  # of NumPy's speed
# Steps of models in PyTorch, eager and compiled: what it is, times in a row, and by how much laze is to be faster than
# which of the others.
PLUGIN = {
    "mlp4": ("MLP 64-128-10, batch 4", 20, {"eager": 2, "inductor": 1}),
    "mlp64": ("MLP 64-128-128-10, batch 64", 10, {"inductor": 1}),
    "gpt64": ("GPT of 2 layers, batch 64", 2, {"inductor": 1}),
    "bert64": ("BERT-type encoder, batch 64", 2, {"inductor": 1}),
    "resnet8": ("ResNet-18 on 64x64 images, batch 8", 1, {"inductor": 1}),
    "call": ("a call with 10 inputs of 8 floats", 100, {}),
    "recorded": ("100 calls with tensors of device laze", 20, {}),
}
RECORDED_TARGET = 3e-6  # seconds of each of them
CALL_TARGET = 3e-6  # seconds beyond PyTorch's own part of a call
FIRST_TARGET = 10  # inductor's time for a first step, beside laze's
FIRST_SIZE = 200  # of the batch sizes not seen before; each round takes the next 20


def start_workers(programs, environment):
    python, with_jax = sys.executable, with_package(environment, "jax")
    workers = [
        Worker("laze", [str(programs / "peer")], environment),
        Worker("numpy", [python, str(HERE / "worker_numpy.py")], environment),
        Worker("torch eager", [python, str(HERE / "worker_torch.py")], environment),
        Worker("torch lazy", [python, str(HERE / "worker_torch.py"), "lazy"], environment),
        Worker("torch inductor", [python, str(HERE / "worker_torch.py"), "inductor"], environment, ["digits"]),
    ]
    if with_jax:
        workers.append(Worker("jax", [python, str(HERE / "worker_jax.py")], with_jax, ["digits"]))
    return workers


def with_case(workers, case):
    return [worker for worker in workers if worker.cases is None or case in worker.cases]


def check(workers, cases, folder):
    """Compares every library's results with NumPy's."""
    for case, (_, _, tolerance) in cases.items():
        if tolerance is None:
            continue
        results = {}
        for worker in with_case(workers, case):
            say(f"{case}: result of {worker.name}")
            path = folder / f"{worker.name.replace(' ', '-')}-{case}.f32"
            worker.ask(f"check {case} {path}")
            results[worker.name] = np.fromfile(path, dtype=np.float32).astype(np.float64)
        wanted = results["numpy"]
        for name, result in results.items():
            if result.shape != wanted.shape:
                raise SystemExit(f"peers: {case}: {name} gave {result.size} results, numpy {wanted.size}")
            error = float(np.max(np.abs(result - wanted) / np.maximum(1, np.abs(wanted))))
            if not error <= tolerance:
                raise SystemExit(f"peers: {case}: {name} differs from numpy by {error:g}, more than {tolerance:g}")


def measure(workers, cases, rounds):
    """{case: {library: seconds}}. A round asks every library once; the first warms up and is left out."""
    times = {case: {worker.name: [] for worker in with_case(workers, case)} for case in cases}
    for case, (_, count, _) in cases.items():
        for turn in range(rounds + 1):
            say(f"{case}: round {turn} of {rounds}")
            for worker in with_case(workers, case):
                seconds = float(worker.ask(f"time {case} {count} {FIRST_SIZE + 20 * turn}"))
                time.sleep(0.01)  # threads that still spin after one library's work would slow the next
                if turn > 0:
                    times[case][worker.name].append(seconds)
    say("")
    return times


def measure_examples(package, environment, rounds, as_json):
    """A row for each program of examples/python: the shortest times, which other programs disturb least."""
    one_thread = {**environment, **{name: "1" for name in THREADS}}
    worker = Worker("examples", [sys.executable, str(HERE / "worker_examples.py"), str(package)], one_thread)
    if not as_json:
        print("\nexamples: whole programs in a steady state, one thread each, the shortest of all rounds")
    for name in EXAMPLES:
        say(f"example {name}")
        if worker.ask(f"check {name}") != "ok":
            raise SystemExit(f"peers: examples/python/{name}.py: laze and numpy differ")
        times = {"laze": [], "numpy": []}
        for _ in range(rounds):
            for library, values in times.items():
                values.append(float(worker.ask(f"time {name} {library}")))
        ours, theirs = (1e6 * min(values) for values in times.values())
        speed = theirs / ours
        say("")
        if as_json:
            print(json.dumps({"case": f"example {name}", "laze_us": ours, "numpy_us": theirs, "speed": speed}))
        else:
            missed = "" if speed >= EXAMPLE_TARGET else f"  (target: {EXAMPLE_TARGET})"
            times_of_both = f"laze {ours:>10.1f} us   numpy {theirs:>10.1f} us"
            print(f"  {name:<24} {times_of_both}   {speed:6.2f} of numpy's speed{missed}")
    worker.stop()


def start_plugin(package, environment, kinds):
    environment = with_paths(environment, package / "python", package / "pytorch")
    command = [sys.executable, str(HERE / "worker_plugin.py")]
    return {kind: Worker(f"torch {kind}", [*command, kind], environment) for kind in kinds}


def kinds_of(case, workers):
    """Which of them a case is for."""
    if case == "recorded":
        return ["laze", "eager"]
    return [kind for kind in workers if kind != "floor" or case in ("mlp4", "call")]


def title_of(case, what):
    if case == "recorded":
        return f"device laze: {what}, beside those that the CPU computes"
    return f"torch.compile, {case}: {what}" + (", a training step" if case != "call" else "")


def check_plugin(workers, cases, folder):
    """Compares gradients with those of eager PyTorch."""
    for case in cases:
        results = {}
        for kind, worker in workers.items():
            if kind not in kinds_of(case, workers) or (kind == "floor" and case != "call"):
                continue
            say(f"{case}: result of {kind}")
            worker.ask(f"check {case} {folder / kind}")
            results[kind] = np.fromfile(folder / kind, dtype=np.float32).astype(np.float64)
        wanted = results["eager"]
        for kind, result in results.items():
            error = float(np.max(np.abs(result - wanted)) / np.max(np.abs(wanted)))
            if not error <= 1e-4:
                raise SystemExit(f"peers: {case}: {kind} differs from eager PyTorch by {error:g} of the largest gradient")


def measure_first_steps(package, environment, folder, as_json):
    """The first step, with compiling, and the memory of ten: each in a process of its own that finds no cache."""
    if not as_json:
        print("\ntorch.compile: a first step, compiling, and the memory of ten")
    for case in ("mlp64", "gpt64"):
        seconds, memory = {}, {}
        for kind in ("eager", "laze", "inductor"):
            say(f"first step of {case}: {kind}")
            with tempfile.TemporaryDirectory(dir=folder) as fresh:
                names = ("LAZE_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
                variables = {**environment, **{name: f"{fresh}/{name}" for name in names}}
                worker = start_plugin(package, variables, [kind])[kind]
                worker.ask("first call")  # imports
                seconds[kind] = float(worker.ask(f"first {case}"))
                worker.stop()
                worker = start_plugin(package, variables, [kind])[kind]
                memory[kind] = float(worker.ask(f"memory {case}"))
                worker.stop()
        say("")
        for what, unit, values, target in (("first step", "s", seconds, FIRST_TARGET), ("memory", "MiB", memory, 1)):
            scale = 1 if unit == "s" else 2 ** -20
            ratio = values["inductor"] / values["laze"]
            if as_json:
                print(json.dumps({"case": f"{what} of {case}", "unit": unit, "ratio": ratio,
                                  **{kind: scale * value for kind, value in values.items()}}))
            else:
                row = "   ".join(f"{kind} {scale * value:9.2f}" for kind, value in values.items())
                missed = "" if ratio >= target else f"  (target: {target})"
                print(f"  {what + ' of ' + case + ', ' + unit:<24} {row}   {ratio:6.2f} of inductor's{missed}")


def measure_plugin(package, environment, cases, rounds, folder, as_json):
    """laze_torch beside eager PyTorch and its inductor."""
    workers = start_plugin(package, environment, ["laze", "eager", "inductor", "floor"])
    check_plugin(workers, cases, folder)
    for case, (what, count, targets) in cases.items():
        chosen = kinds_of(case, workers)
        times = {kind: [] for kind in chosen}
        for turn in range(rounds + 1):
            say(f"{case}: round {turn} of {rounds}")
            for kind in chosen:
                seconds = float(workers[kind].ask(f"time {case} {count}"))
                if turn > 0:
                    times[kind].append(seconds)
        say("")
        show(title_of(case, what), times, "laze", as_json)
        ours = statistics.median(times["laze"])
        for kind, target in targets.items():
            if statistics.median(times[kind]) / ours < target and not as_json:
                print(f"  (target: {target} x of {kind})")
        beyond = ours - statistics.median(times["floor"]) if "floor" in times else 0
        if case == "call" and beyond > CALL_TARGET and not as_json:
            print(f"  (target: {1e6 * CALL_TARGET:.0f} us beyond floor; {1e6 * beyond:.1f})")
        if case == "recorded" and ours > 100 * RECORDED_TARGET and not as_json:
            print(f"  (target: {1e6 * RECORDED_TARGET:.0f} us each; {1e6 * ours / 100:.1f})")
    for worker in workers.values():
        worker.stop()


def time_process(command, environment):
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure_first(programs, environment, rounds, folder):
    """Whole-process times of ten operators in a new process; {name: seconds}."""
    python, script = sys.executable, str(HERE / "first.py")
    first, cache, cold = str(programs / "first_result"), folder / "warm", folder / "cold"
    warm = {**environment, "LAZE_CACHE_DIR": str(cache)}
    commands = {
        "laze, nothing cached": ([first], {**environment, "LAZE_CACHE_DIR": str(cold)}),
        "laze, warm disk cache": ([first], warm),
        "numpy": ([python, script, "numpy"], environment),
        "torch eager": ([python, script, "torch"], environment),
        "torch lazy": ([python, script, "lazy"], environment),
        "empty program": ([str(programs / "empty")], environment),
        "empty Python": ([python, "-c", "pass"], environment),
    }
    times = {name: [] for name in commands}
    for turn in range(rounds + 1):
        say(f"first: round {turn} of {rounds}")
        for name, (command, variables) in commands.items():
            shutil.rmtree(cold, ignore_errors=True)
            seconds = time_process(command, variables)
            if turn > 0:
                times[name].append(seconds)
    say("")
    return times


def show(title, times, base, as_json):
    """One table: medians, quartiles and the ratio to `base`."""
    if not as_json:
        print(f"\n{title}")
    reference = statistics.median(times[base])
    for name, values in times.items():
        low, median, high = (1e6 * value for value in quartiles(values))
        ratio = median / (1e6 * reference)
        if as_json:
            row = {"case": title, "library": name, "low_us": low, "median_us": median, "high_us": high, "ratio": ratio}
            print(json.dumps(row))
        else:
            print(f"  {name:<24} {median:>12.1f} us  ({low:.1f} .. {high:.1f})  {ratio:8.2f} x")


def blas_kernels():
    """Which kernel NumPy's matrix products run, where threadpoolctl can tell."""
    try:
        import threadpoolctl
    except ImportError:
        return "unknown (threadpoolctl is not installed)"
    libraries = threadpoolctl.threadpool_info()
    found = [str(library.get("architecture")) for library in libraries if library["user_api"] == "blas"]
    return ", ".join(found) or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default="build", help="the build folder (default: build)")
    parser.add_argument("--only", choices=[*CASES, "first", "examples", "plugin", *PLUGIN, "steps", "table"],
                        help="one case; plugin: those of PyTorch's plugin, from mlp4 to steps; table: many more rows")
    parser.add_argument("--rows", metavar="WORD", help="of the table, the rows that have this in their names, alone")
    parser.add_argument("--save", metavar="FILE", type=pathlib.Path,
                        help="write what is measured of the table to this file of JSON, in place of what it has of as "
                             "many threads; docs/performance.md is made of docs/performance.json")
    parser.add_argument("--rounds", type=int, help=f"(default: 15, and {turns.ROUNDS} for the table)")
    parser.add_argument("--threads", type=int, help="threads of every library (default: what each takes by itself)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if options.rows is not None and options.only not in ("table", None):
        parser.error("--rows chooses from the table: leave --only out, or say --only table")
    if options.save is not None:
        if options.only not in ("table", None):
            parser.error("--save writes the table: leave --only out, or say --only table")
        if not options.save.parent.is_dir():
            parser.error(f"--save: there is no folder {options.save.parent}")
        results.read(options.save)  # what is wrong with it is said now, and not after an hour
    options.only = "table" if options.rows is not None else options.only

    removed = [name for name in UNSET if os.environ.pop(name, None) is not None]
    if removed and "LAZE_PEERS_AGAIN" not in os.environ:  # NumPy in this process has read them already
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LAZE_PEERS_AGAIN": "1"})
    rounds = options.rounds or 15
    environment, programs = dict(os.environ), options.build.resolve() / "bench"
    if options.threads is not None:
        environment.update({name: str(options.threads) for name in THREADS})
    import torch

    if not options.json:
        print(f"numpy {np.__version__} (matrix kernel: {blas_kernels()}), torch {torch.__version__}")
        print("Medians, quartiles in brackets, and times as multiples of laze's.")
        if os.getloadavg()[0] > 0.5:
            print(
                f"Other programs are running (load {os.getloadavg()[0]:.1f}): libraries whose threads wait for each "
                "other suffer most; --threads 1 is fairer."
            )
    with tempfile.TemporaryDirectory(prefix="laze-peers-") as name:
        folder = pathlib.Path(name)
        cases = {case: what for case, what in CASES.items() if options.only in (case, None)}
        if cases:
            workers = start_workers(programs, environment)
            check(workers, cases, folder)
            for case, times in measure(workers, cases, rounds).items():
                show(f"{case}: {CASES[case][0]}", times, "laze", options.json)
            for worker in workers:
                worker.stop()
        if options.only in ("first", None):
            times = measure_first(programs, environment, rounds, folder)
            show("first: ten operators in a new process", times, "laze, warm disk cache", options.json)
        package = options.build.resolve() / "plugins" / "python"
        if not (package / "laze").exists():
            if options.only in ("examples", "plugin", *PLUGIN, "steps", "table"):
                raise SystemExit(f"peers: the Python package is not in {package}: ./dev python builds it")
            return
        if options.only in ("examples", None):
            measure_examples(package, environment, rounds, options.json)
        of_plugin = {case: what for case, what in PLUGIN.items() if options.only in (case, "plugin", None)}
        if of_plugin:
            measure_plugin(package.parent, environment, of_plugin, rounds, folder, options.json)
        if options.only in ("steps", "plugin", None):
            measure_first_steps(package.parent, environment, folder, options.json)
        if options.only in ("table", None):
            measure_table.measure(programs, package.parent, environment, options, folder)


if __name__ == "__main__":
    main()
