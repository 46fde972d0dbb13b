"""Linear regression by gradient descent.

Shows a training loop: laze.step() computes the new weights at its end, so every turn is the same small graph, which is
compiled once. The two matrix products and the updates of a turn run without going back to Python.

    python linear_regression.py [ROWS]
"""
import sys

import laze

FEATURES = 16


def data(rows):
    laze.manual_seed(0)
    x = laze.randn(rows, FEATURES)
    truth = laze.linspace(-1, 1, FEATURES)
    y = x @ truth + 0.5 + 0.1 * laze.randn(rows)
    return x.evaluate(), y.evaluate()


def run(x, y, steps=100, rate=0.1):
    w, b = laze.zeros(x.shape[1]), laze.tensor(0.0)
    for _ in range(steps):
        with laze.step():
            error = x @ w + b - y
            w = w - rate * (x.T @ error) / len(x)
            b = b - rate * error.mean()
    return w, b


if __name__ == "__main__":
    x, y = data(int(sys.argv[1]) if len(sys.argv) > 1 else 10000)
    w, b = run(x, y)
    print("weights", [round(value, 2) for value in w.tolist()])
    print("bias   ", round(b.item(), 2))
    print("error  ", round((x @ w + b - y).square().mean().item(), 4))
