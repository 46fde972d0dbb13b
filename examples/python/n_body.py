"""Stars that attract each other.

Shows broadcasting over all pairs: differences, distances and forces of n x n pairs are sums inside of one kernel, and
take no memory.

    python n_body.py [BODIES]
"""
import sys

import laze

SOFT = 0.05


def data(n):
    laze.manual_seed(5)
    place = laze.randn(n, 3, dtype=laze.float64)
    speed = 0.1 * laze.randn(n, 3, dtype=laze.float64)
    mass = (0.5 + laze.rand(n, dtype=laze.float64)) / n
    return place.evaluate(), speed.evaluate(), mass.evaluate()


def pull(place, mass):
    apart = place[None, :, :] - place[:, None, :]
    squares = (apart * apart).sum(dim=2) + SOFT**2
    return ((mass * squares**-1.5)[:, :, None] * apart).sum(dim=1)


def run(place, speed, mass, steps=10, dt=0.01):
    force = pull(place, mass)
    for _ in range(steps):
        with laze.step():
            half = speed + 0.5 * dt * force
            place = place + dt * half
            force = pull(place, mass)
            speed = half + 0.5 * dt * force
    return place, speed


def energy(place, speed, mass):
    apart = place[None, :, :] - place[:, None, :]
    potential = mass[:, None] * mass / ((apart * apart).sum(dim=2) + SOFT**2).sqrt()
    return 0.5 * (mass * speed.square().sum(dim=1)).sum() - 0.5 * potential.sum()


if __name__ == "__main__":
    place, speed, mass = data(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
    print(f"energy before {energy(place, speed, mass).item():.6f}")
    place, speed = run(place, speed, mass, 100)
    print(f"energy after  {energy(place, speed, mass).item():.6f}")
