"""The Mandelbrot set.

Shows a long chain of elementwise operators: 50 turns are recorded before anything runs, and become kernels of many
operators each.

    python mandelbrot.py [PIXELS ON A SIDE]
"""
import sys

import laze

TURNS = 50


def data(n):
    re = laze.linspace(-2.0, 0.5, n)[None, :]
    im = laze.linspace(-1.25, 1.25, n)[:, None]
    return re.evaluate(), im.evaluate()


def run(re, im):
    zr, zi = laze.zeros_like(re), laze.zeros_like(im)
    count = laze.zeros(im.shape[0], re.shape[1], dtype=laze.int32)
    for _ in range(TURNS):
        inside = zr * zr + zi * zi < 4
        zr, zi = laze.where(inside, zr * zr - zi * zi + re, zr), laze.where(inside, 2 * zr * zi + im, zi)
        count = count + inside
    return count.evaluate()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    count = run(*data(n))
    for row in count[:: max(n // 24, 1), :: max(n // 64, 1)].tolist():
        print("".join(" .:-=+*#%@"[min(turns, TURNS - 1) // 5] for turns in row))
    print((count == TURNS).sum().item(), "pixels inside")
