"""PageRank: what a random surfer visits, over a table of the links that come in.

Shows NumPy arrays that go in without a copy, and indexing by a tensor of integers inside of a compiled loop.

    python pagerank.py [PAGES]
"""
import sys

import laze
import numpy as np

LINKS = 8


def data(pages):
    """Every page is linked from LINKS others, more often from those with small numbers."""
    rng = np.random.default_rng(2)
    sources = (pages * rng.random((pages, LINKS)) ** 2).astype(np.int64)
    degree = np.bincount(sources.ravel(), minlength=pages).astype(np.float32)
    return laze.asarray(sources), laze.asarray(degree)


def run(sources, degree, turns=30, damping=0.85):
    pages = len(degree)
    rank = laze.full((pages,), 1 / pages)
    for _ in range(turns):
        with laze.step():
            share = rank / degree.maximum(1.0)
            lost = laze.where(degree == 0, rank, 0.0).sum()  # of pages without links
            rank = (1 - damping) / pages + damping * (share[sources].sum(dim=1) + lost / pages)
    return rank


if __name__ == "__main__":
    rank = run(*data(int(sys.argv[1]) if len(sys.argv) > 1 else 10000))
    print(f"ranks from {rank.min().item():.2e} to {rank.max().item():.2e}, sum {rank.sum().item():.4f}")
