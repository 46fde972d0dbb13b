"""What peers.py and measure_table.py share: processes that hold a library each, and what is said of their times."""

import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent / "peers"
# What says how many threads a library takes; NPROC is JAX's.
THREADS = ("LAZE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")


def say(doing):
    """What is being done, on a terminal alone; an empty text takes it away."""
    if sys.stderr.isatty():
        print(f"\r\033[K{doing}", end="", file=sys.stderr, flush=True)


class Worker:
    """One library in its own process."""

    def __init__(self, name, command, environment, cases=None):
        self.name, self.cases = name, cases  # None: all
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"peers: {self.name} ended at the request: {request}")
        return answer.strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def with_paths(environment, *folders):
    """That of a process that imports from these folders as well."""
    paths = [*map(str, folders), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


def with_package(environment, name):
    """That of a process that has JAX or ONNX Runtime, each of which lies in a folder of its own beside what the others
    import; None: it is not installed."""
    folder = pathlib.Path(sys.prefix) / name
    return with_paths(environment, folder) if folder.is_dir() else None


def quartiles(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 4], statistics.median(ordered), ordered[3 * len(ordered) // 4]
