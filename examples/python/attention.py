"""Attention of one token after the other, over keys and values that grow.

Shows a cache that is one row longer at each step: sizes are arguments of kernels, so that no length is compiled.

    python attention.py [TOKENS]
"""
import sys

import laze

HEADS, WIDTH = 4, 32


def data(tokens):
    laze.manual_seed(8)
    size = HEADS * WIDTH
    x = laze.randn(tokens, size)
    weights = [laze.randn(size, size) * size**-0.5 for _ in range(4)]
    return x.evaluate(), [w.evaluate() for w in weights]


def run(x, weights):
    """The rows that a causal attention gives for the tokens of x; a row is fed back into the next token."""
    wq, wk, wv, wo = weights
    keys = values = laze.zeros(HEADS, 0, WIDTH)
    row, rows = laze.zeros(x.shape[1]), []
    for token in x:
        with laze.step():
            row = laze.tanh(token + row)
            q, k, v = ((row @ w).reshape(HEADS, 1, WIDTH) for w in (wq, wk, wv))
            keys, values = laze.cat([keys, k], dim=1), laze.cat([values, v], dim=1)
            scores = (q @ keys.transpose(1, 2)) * WIDTH**-0.5
            row = (laze.softmax(scores, dim=2) @ values).reshape(-1) @ wo
            rows.append(row)
    return laze.stack(rows)


if __name__ == "__main__":
    x, weights = data(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
    rows = run(x, weights)
    print("last row", [round(value, 3) for value in rows[-1, :6].tolist()], "...")
    print("norms of the first and last", [round(rows[i].square().sum().sqrt().item(), 3) for i in (0, -1)])
