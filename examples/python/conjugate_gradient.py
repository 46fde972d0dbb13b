"""Poisson's equation on a square, by conjugate gradients.

Shows a matrix that is never made: its product with a grid is five slices added. The step lengths are quotients of
tensors that stay where they are; nothing is read before the end.

    python conjugate_gradient.py [POINTS ON A SIDE]
"""
import sys

import laze


def data(n):
    """Two charges of opposite sign; the potential is zero around the square."""
    x = laze.linspace(0, 1, n, dtype=laze.float64)[:, None]
    y = laze.linspace(0, 1, n, dtype=laze.float64)[None, :]
    charge = laze.exp(-100 * ((x - 0.3) ** 2 + (y - 0.5) ** 2)) - laze.exp(-100 * ((x - 0.7) ** 2 + (y - 0.5) ** 2))
    return (charge.evaluate(),)


def framed(u):
    """u with a border of zeros."""
    row = laze.zeros(1, u.shape[1], dtype=u.dtype)
    u = laze.cat([row, u, row], dim=0)
    column = laze.zeros(u.shape[0], 1, dtype=u.dtype)
    return laze.cat([column, u, column], dim=1)


def laplace(u):
    f = framed(u)
    return 4 * u - f[:-2, 1:-1] - f[2:, 1:-1] - f[1:-1, :-2] - f[1:-1, 2:]


def run(b, steps=50):
    x = laze.zeros_like(b)
    r = p = b
    rr = (r * r).sum()
    for _ in range(steps):
        with laze.step():
            q = laplace(p)
            alpha = rr / (p * q).sum()
            x, r = x + alpha * p, r - alpha * q
            before, rr = rr, (r * r).sum()
            p = r + (rr / before) * p
    return x


if __name__ == "__main__":
    (b,) = data(int(sys.argv[1]) if len(sys.argv) > 1 else 128)
    x = run(b, 200)
    residual = (b - laplace(x)).square().sum().sqrt() / b.square().sum().sqrt()
    print(f"potential from {x.min().item():.3f} to {x.max().item():.3f}, residual {residual.item():.1e}")
