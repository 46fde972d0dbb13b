"""python -m laze: what this installation is, and where it keeps what."""
import os
import pathlib
import platform
import sys
import time

import laze


def cache_folder():
    """As the library finds it (laze/context.h)."""
    named = os.environ.get("LAZE_CACHE_DIR")
    if named is not None:
        return pathlib.Path(named) if named else None
    base, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    if not base and not home:
        return None
    return pathlib.Path(base or pathlib.Path(home) / ".cache") / "laze"


def size_of(folder):
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return f"{len(files)} files, {sum(files) / 2**20:.1f} MiB"


def processor():
    """The processor's name, and those of its features that kernels make use of."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n")
    except OSError:
        return platform.machine(), []
    facts = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    flags = facts.get("flags", facts.get("Features", "")).split()
    known = ["avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512_bf16", "amx_bf16", "asimd", "sve"]
    return facts.get("model name", platform.machine()).strip(), [name for name in known if name in flags]


def first_run():
    """The backend that a first small run used, and what it took."""
    laze.reset_metrics()
    start = time.perf_counter()
    (laze.tensor([1.0]) + 1).item()
    milliseconds = (time.perf_counter() - start) * 1000
    metrics = laze.metrics()
    compiled, found = metrics["kernels_compiled"], metrics["disk_cache_hits"]
    native = compiled + found + metrics["kernel_cache_hits"]
    counts = f"{compiled} kernels compiled, {found} from the cache" if native else "interpreted"
    backend = os.environ.get("LAZE_BACKEND") or ("llvm" if native else "interp")
    return backend, f"{milliseconds:.1f} ms, {counts}"


def main():
    name, features = processor()
    folder = cache_folder()
    backend, run = first_run()
    rows = [("version", f"{laze.__version__}, Python {platform.python_version()}"),
            ("backend", backend),
            ("processor", f"{name} ({' '.join(features)})" if features else name),
            ("threads", str(laze.get_num_threads())),
            ("cache", f"{folder} ({size_of(folder)})" if folder else "none on disk"),
            ("first run", run)]
    print("laze")
    for label, text in rows:
        print(f"  {label:<10} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
