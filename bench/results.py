"""The file of results, docs/performance.json: `./dev bench --peers --only table --save FILE` writes it, and
performance_page.py makes a page of it. It has a run for each number of threads:

    {"format": 1, "runs": [{"date", "threads", "rounds", "machine", "versions", "limits", "faults", "rows"}]}

Limits are operations and bytes a second. A row has what measure_table.summary() says of it. Needs the standard library
alone.
"""

import json
import os
import pathlib
import platform
import re

FORMAT = 1
# What /proc/cpuinfo calls the units that rows may run on, and their names.
VECTORS = {"avx2": "AVX2", "fma": "FMA", "avx512f": "AVX-512", "amx_bf16": "AMX", "asimd": "NEON", "sve": "SVE"}


def text_of(path):
    """Of a file that not every system has."""
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def caches():
    """{name: bytes} of the first processor's, without that of instructions."""
    sizes = {}
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (text_of(folder / name).strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and re.fullmatch(r"\d+[KM]", size):
            sizes[f"L{level}"] = int(size[:-1]) << {"K": 10, "M": 20}[size[-1]]
    return sizes


def machine():
    """What this one is."""
    facts = dict(re.findall(r"^([^:\t]+?)\s*: (.*)$", text_of("/proc/cpuinfo"), re.MULTILINE))
    flags = facts.get("flags", facts.get("Features", "")).split()
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", text_of("/proc/meminfo"), re.MULTILINE)
    return {"processor": facts.get("model name", platform.machine()), "cores": os.cpu_count(), "caches": caches(),
            "vectors": [name for flag, name in VECTORS.items() if flag in flags],
            "memory": int(memory[1]) << 10 if memory else None, "system": platform.system()}


def read(path):
    """The runs of a file; none where there is no file."""
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    if found.get("format") != FORMAT:
        raise SystemExit(f"bench: {path} has format {found.get('format')}, and not {FORMAT}: measure again")
    return found["runs"]


def misses_ratio(row):
    return row["ratio"] < row["target"]


def misses_share(row):
    return bool(row["share_target"]) and row["share"] < row["share_target"]


def misses(row):
    """Whether a row of a run misses a target."""
    return misses_ratio(row) or misses_share(row)


def rounded(value):
    """With five digits, which is more than is measured."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


def text_of_run(run):
    """A line for each member, and for each row."""
    lines = [f"  {json.dumps(name)}: {json.dumps(rounded(value))}" for name, value in run.items() if name != "rows"]
    rows = ",\n".join(f"   {json.dumps(rounded(row))}" for row in run["rows"])
    return "{\n" + ",\n".join([*lines, f'  "rows": [\n{rows}\n  ]']) + "\n }"


def save(path, run):
    """In place of the run with as many threads that the file has, if it has one."""
    runs = [*(other for other in read(path) if other["threads"] != run["threads"]), run]
    texts = ", ".join(text_of_run(run) for run in sorted(runs, key=lambda run: run["threads"]))
    path.write_text(f'{{"format": {FORMAT}, "runs": [{texts}]}}\n')
