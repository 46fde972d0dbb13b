"""k-means: points are assigned to the nearest centre, and centres move to the mean of their points.

Shows argmin, and sums over groups as a matrix product with one-hot rows. The distances are never stored: the kernel
that computes them keeps the smallest.

    python k_means.py [POINTS]
"""
import sys

import laze

GROUPS = 8


def data(points):
    laze.manual_seed(1)
    angles = laze.arange(GROUPS) * (2 * laze.pi / GROUPS)
    middles = 4 * laze.stack([laze.cos(angles), laze.sin(angles)], dim=1)
    x = middles[laze.arange(points) % GROUPS] + 0.5 * laze.randn(points, 2)
    start = x[:GROUPS]
    return x.evaluate(), start.evaluate()


def nearest(x, centres):
    distances = (x[:, None, :] - centres).square().sum(dim=2)
    return distances.argmin(dim=1)


def run(x, centres, turns=10):
    for _ in range(turns):
        with laze.step():
            members = laze.one_hot(nearest(x, centres), len(centres)).float()
            centres = (members.T @ x) / members.sum(dim=0)[:, None]
    return centres, nearest(x, centres)


if __name__ == "__main__":
    centres, labels = run(*data(int(sys.argv[1]) if len(sys.argv) > 1 else 10000))
    for number, (x, y) in enumerate(centres.tolist()):
        print(f"centre {number}: ({x:5.2f}, {y:5.2f})  {(labels == number).sum().item()} points")
