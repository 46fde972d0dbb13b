"""The models that both libraries train: first parameters and batches as NumPy arrays, the loss as calls of functions that
both have."""
import functools
import gzip
import math
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLASSES = 10


@functools.cache
def digits():
    """Images [n, 64] in 0 to 1, and labels."""
    with gzip.open(ROOT / "examples" / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return table[:, :64] / np.float32(16), table[:, 64].astype(np.int64)


@functools.cache
def characters():
    text = (ROOT / "docs" / "guide.md").read_bytes()
    return np.array([letter for letter in text if letter < 128], dtype=np.int64)


def normal(seed, shape, std):
    return (np.random.default_rng(seed).standard_normal(shape) * std).astype(np.float32)


class Perceptron:
    """Two layers on digits."""

    name, optimiser, size = "mlp", ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}), 128

    def parameters(self):
        return {"w1": normal(1, (128, 64), math.sqrt(2 / 64)), "b1": np.zeros(128, np.float32),
                "w2": normal(2, (CLASSES, 128), math.sqrt(1 / 128)), "b2": np.zeros(CLASSES, np.float32)}

    def batch(self, step):
        images, labels = digits()
        rows = np.random.default_rng(step).integers(0, len(labels), self.size)
        return images[rows], labels[rows]

    def loss(self, library, functional, p, images, labels):
        hidden = library.relu(functional.linear(images, p["w1"], p["b1"]))
        return functional.cross_entropy(functional.linear(hidden, p["w2"], p["b2"]), labels)


class Convolutions(Perceptron):
    """Two convolutions and a layer behind them, on digits."""

    name, optimiser, size = "convolution", ("Adam", {"lr": 2e-3}), 32

    def parameters(self):
        return {"k1": normal(3, (8, 1, 3, 3), math.sqrt(2 / 9)), "c1": np.zeros(8, np.float32),
                "k2": normal(4, (16, 8, 3, 3), math.sqrt(2 / 72)), "c2": np.zeros(16, np.float32),
                "w": normal(5, (CLASSES, 64), math.sqrt(1 / 64)), "b": np.zeros(CLASSES, np.float32)}

    def loss(self, library, functional, p, images, labels):
        x = images.reshape(self.size, 1, 8, 8)
        x = functional.max_pool2d(library.relu(functional.conv2d(x, p["k1"], p["c1"], padding=1)), 2)
        x = functional.max_pool2d(library.relu(functional.conv2d(x, p["k2"], p["c2"], padding=1)), 2)
        return functional.cross_entropy(functional.linear(x.reshape(self.size, 64), p["w"], p["b"]), labels)


class Transformer:
    """Two layers that say which character comes next."""

    name, optimiser = "transformer", ("AdamW", {"lr": 1e-3, "betas": (0.9, 0.99), "weight_decay": 0.1})
    width, heads, layers, length, size = 32, 4, 2, 32, 8

    def parameters(self):
        width = self.width
        p = {"embedding": normal(6, (128, width), 0.1), "positions": normal(7, (self.length, width), 0.1),
             "norm.weight": np.ones(width, np.float32), "norm.bias": np.zeros(width, np.float32)}
        for i in range(self.layers):
            p |= {f"{i}.norm1.weight": np.ones(width, np.float32), f"{i}.norm1.bias": np.zeros(width, np.float32),
                  f"{i}.attend": normal(10 * i + 8, (3 * width, width), 0.1),
                  f"{i}.project": normal(10 * i + 9, (width, width), 0.1),
                  f"{i}.norm2.weight": np.ones(width, np.float32), f"{i}.norm2.bias": np.zeros(width, np.float32),
                  f"{i}.up": normal(10 * i + 10, (4 * width, width), 0.1),
                  f"{i}.down": normal(10 * i + 11, (width, 4 * width), 0.1)}
        return p

    def batch(self, step):
        text = characters()
        rows = np.random.default_rng(step).integers(0, len(text) - self.length, self.size)[:, None]
        rows = rows + np.arange(self.length)
        return text[rows], text[rows + 1]

    def attend(self, functional, p, layer, x):
        heads = functional.linear(x, p[f"{layer}.attend"])
        heads = heads.reshape(self.size, self.length, 3, self.heads, self.width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        mixed = mixed.permute(0, 2, 1, 3).reshape(self.size, self.length, self.width)
        return functional.linear(mixed, p[f"{layer}.project"])

    def norm(self, functional, p, name, x):
        return functional.layer_norm(x, [self.width], p[f"{name}.weight"], p[f"{name}.bias"])

    def loss(self, library, functional, p, inputs, targets):
        x = functional.embedding(inputs, p["embedding"]) + p["positions"]
        for i in range(self.layers):
            x = x + self.attend(functional, p, i, self.norm(functional, p, f"{i}.norm1", x))
            hidden = functional.gelu(functional.linear(self.norm(functional, p, f"{i}.norm2", x), p[f"{i}.up"]))
            x = x + functional.linear(hidden, p[f"{i}.down"])
        logits = functional.linear(self.norm(functional, p, "norm", x), p["embedding"])
        return functional.cross_entropy(logits.reshape(-1, 128), targets.reshape(-1))


ALL = [Perceptron(), Convolutions(), Transformer()]
