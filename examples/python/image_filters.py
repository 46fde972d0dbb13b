"""Filters of an image: blur, unsharp mask, edges.

Shows windows as weighted sums of slices, one axis after the other.

    python image_filters.py [PIXELS ON A SIDE]
"""
import sys

import laze

GAUSS = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]


def data(n):
    """Rings around the middle, with noise."""
    laze.manual_seed(7)
    x = laze.linspace(-1, 1, n)
    image = 0.5 + 0.5 * laze.sin(40 * (x * x + x[:, None] ** 2)) + 0.1 * laze.randn(n, n)
    return (image.evaluate(),)


def window(image, weights, dim):
    """The weighted sum of shifted images, where all of them are defined."""
    length = image.shape[dim] - len(weights) + 1
    return sum(weight * image.narrow(dim, shift, length) for shift, weight in enumerate(weights) if weight)


def run(image):
    with laze.step():
        blurred = window(window(image, GAUSS, 0), GAUSS, 1)
        sharp = (1.5 * image[2:-2, 2:-2] - 0.5 * blurred).clamp(0, 1)
        across = window(window(blurred, [1, 2, 1], 0), [-1, 0, 1], 1)
        down = window(window(blurred, [-1, 0, 1], 0), [1, 2, 1], 1)
        edges = (across * across + down * down).sqrt()
        share = (edges > 0.5).float().mean()
    return sharp, edges, share


if __name__ == "__main__":
    sharp, edges, share = run(*data(int(sys.argv[1]) if len(sys.argv) > 1 else 512))
    print(f"sharpened: mean {sharp.mean().item():.3f}; edges: highest {edges.max().item():.3f}")
    print(f"{100 * share.item():.1f} % of the pixels lie on an edge")
