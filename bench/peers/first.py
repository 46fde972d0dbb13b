"""Ten operators once in a new process (workload_first in ../workloads.c): first.py numpy|torch|lazy."""

import sys


def rows():
    return [[(((32 * i + j) * 2654435761) % 2**32) * 2.0**-31 - 1 for j in range(32)] for i in range(32)]


def numpy():
    import numpy as np

    x = np.array(rows(), dtype=np.float32)
    hidden = np.maximum(x @ x + x, 0)
    mixed = hidden * x - np.tanh(hidden)
    return float((np.exp(-mixed) * x).sum())


def torch(device):
    import torch as t

    if device == "lazy":
        import torch._lazy
        import torch._lazy.ts_backend

        torch._lazy.ts_backend.init()
    x = t.tensor(rows(), device=device)
    hidden = t.relu(x @ x + x)
    mixed = hidden * x - t.tanh(hidden)
    return (t.exp(-mixed) * x).sum().item()


if __name__ == "__main__":
    which = sys.argv[1]
    print(f"{numpy() if which == 'numpy' else torch('lazy' if which == 'lazy' else 'cpu'):.6g}")
