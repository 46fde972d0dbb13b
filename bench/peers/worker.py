"""What the workers of all libraries share: inputs, and the loop that answers peers.py (the protocol of ../peer.c)."""

import sys
import time

import numpy as np

CHAIN_ELEMENTS = 1 << 24
PLACES = 1_000_000
TOP = 100
ADDS = 100
ADD_ELEMENTS = 16
BATCH = 128
SIZES = 20
CHECKED_STEPS = 5
CHECKED_STRIDE = 4097
LARGEST_BATCH = 4096
SHAPES = [(64, 128), (128,), (128, 10), (10,)]
LEARNING_RATE = 1e-3  # of AdamW, with the other settings that PyTorch has


def fill(count, first):
    """The numbers of workload_fill in ../workloads.c."""
    integers = (np.arange(count, dtype=np.uint32) + np.uint32(first)) * np.uint32(2654435761)
    return integers.astype(np.float32) * np.float32(2.0**-31) - np.float32(1)


def places():
    """The numbers of workload_places there."""
    return np.arange(PLACES, dtype=np.int64) * 7919 % PLACES


def parameters():
    return [fill(int(np.prod(shape)), 10000 * i).reshape(shape) * np.float32(0.125) for i, shape in enumerate(SHAPES)]


def digits():
    images = fill(LARGEST_BATCH * 64, 100000).reshape(LARGEST_BATCH, 64)
    labels = np.arange(LARGEST_BATCH, dtype=np.int64) * 7 % 10
    return images, labels


def serve(library):
    """Answers requests until the input ends. `library` has chain, functions, adds, step, network, values, sort, topk,
    cumsum, scatter, and finish, which waits for what is still running."""
    network = library.network()
    images, labels = digits()

    def step(which, size):
        library.step(which, images[:size], labels[:size])

    def sizes(first):
        for size in range(first, first + SIZES):
            step(network, size)

    cases = {
        "chain": lambda first: library.chain(),
        "functions": lambda first: library.functions(),
        "adds": lambda first: library.adds(),
        "digits": lambda first: step(network, BATCH),
        "sizes": sizes,
        "sort": lambda first: library.sort(),
        "topk": lambda first: library.topk(),
        "cumsum": lambda first: library.cumsum(),
        "scatter": lambda first: library.scatter(),
    }

    def check(case):
        if case != "digits":
            result = library.numpy(cases[case](0))
            return result[::CHECKED_STRIDE] if result.size > CHECKED_STRIDE else result
        fresh = library.network()
        for _ in range(CHECKED_STEPS):
            step(fresh, BATCH)
        return np.concatenate([value.reshape(-1) for value in library.values(fresh)])

    for line in sys.stdin:
        words = line.split()
        if words[0] == "check":
            check(words[1]).astype(np.float32).tofile(words[2])
            print("ok", flush=True)
        else:
            count, first = int(words[2]), int(words[3])
            run = cases[words[1]]
            start = time.perf_counter()
            for _ in range(count):
                run(first)
            library.finish()
            print((time.perf_counter() - start) / count, flush=True)
