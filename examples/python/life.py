"""Conway's Game of Life on a torus.

Shows shifted slices: the eight neighbours of all cells are sums of rows and columns that were moved by one, and no
moved copy is stored.

    python life.py [CELLS ON A SIDE]
"""
import sys

import laze


def data(n):
    laze.manual_seed(4)
    return ((laze.rand(n, n) < 0.3).int().evaluate(),)


def three(x, dim):
    """The sum of x and of x moved by one, forwards and backwards, along dim."""
    n = x.shape[dim]
    first, last = x.narrow(dim, 0, 1), x.narrow(dim, n - 1, 1)
    forwards = laze.cat([last, x.narrow(dim, 0, n - 1)], dim=dim)
    backwards = laze.cat([x.narrow(dim, 1, n - 1), first], dim=dim)
    return forwards + x + backwards


def run(cells, turns=20):
    for _ in range(turns):
        with laze.step():
            square = three(three(cells, 0), 1)  # the cell itself is counted as well
            cells = ((square == 3) | ((square == 4) & (cells == 1))).int()
    return cells


if __name__ == "__main__":
    (cells,) = data(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
    cells = run(cells, 100)
    for row in cells[:16, :64].tolist():
        print("".join(".#"[cell] for cell in row))
    print(cells.sum().item(), "cells live")
