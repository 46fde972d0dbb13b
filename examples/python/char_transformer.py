"""A small transformer that learns to write text, character by character.

Shows training as PyTorch users write it: layers as functions, AdamW with a warm-up, dropout, clipping; each step is one
graph. A checkpoint has all that a training consists of, and --resume goes on to the same bits as if it had never been
interrupted. The same in C: ../char_transformer.c.

    python char_transformer.py [--text FILE] [--steps N] [--checkpoint FILE [--resume]]
"""
import argparse
import math
import os
import pathlib

import laze
from laze.nn import functional as F
from laze.nn import init, utils

SYMBOLS, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 128, 64, 4, 2, 64, 16
DROPOUT, WARMUP, SEED = 0.1, 20, 1
TEXT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide.md"


def make_parameters():
    """{name: tensor}, random as laze.manual_seed() says."""
    last = 0.02 / math.sqrt(2 * LAYERS)  # what is added to x, by all layers together
    shapes = {"embedding": (SYMBOLS, WIDTH), "positions": (LENGTH, WIDTH), "norm.weight": (WIDTH,), "norm.bias": (WIDTH,)}
    for i in range(LAYERS):
        shapes |= {f"{i}.norm1.weight": (WIDTH,), f"{i}.norm1.bias": (WIDTH,), f"{i}.attend": (3 * WIDTH, WIDTH),
                   f"{i}.project": (WIDTH, WIDTH), f"{i}.norm2.weight": (WIDTH,), f"{i}.norm2.bias": (WIDTH,),
                   f"{i}.up": (4 * WIDTH, WIDTH), f"{i}.down": (WIDTH, 4 * WIDTH)}
    parameters = {name: laze.zeros(shape) for name, shape in shapes.items()}
    for name, tensor in parameters.items():
        if name.endswith("weight"):
            init.ones_(tensor)
        elif not name.endswith("bias"):
            init.normal_(tensor, std=last if name.endswith(("project", "down")) else 0.02)
    laze.evaluate(*parameters.values())
    return {name: tensor.requires_grad_() for name, tensor in parameters.items()}


def attend(p, layer, x, training):
    batch, length, _ = x.shape
    heads = F.linear(x, p[f"{layer}.attend"]).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
    mixed = mixed.permute(0, 2, 1, 3).reshape(batch, length, WIDTH)
    return F.dropout(F.linear(mixed, p[f"{layer}.project"]), DROPOUT, training)


def norm(p, name, x):
    return F.layer_norm(x, [WIDTH], p[f"{name}.weight"], p[f"{name}.bias"])


def logits(p, characters, training=False):
    """What comes next after each of characters [batch, LENGTH]."""
    x = F.dropout(F.embedding(characters, p["embedding"]) + p["positions"], DROPOUT, training)
    for i in range(LAYERS):
        x = x + attend(p, i, norm(p, f"{i}.norm1", x), training)
        hidden = F.gelu(F.linear(norm(p, f"{i}.norm2", x), p[f"{i}.up"]))
        x = x + F.dropout(F.linear(hidden, p[f"{i}.down"]), DROPOUT, training)
    return F.linear(norm(p, "norm", x), p["embedding"])


class Training:
    def __init__(self, text):
        laze.manual_seed(SEED)
        self.text = laze.tensor([letter for letter in text if letter < SYMBOLS])
        self.parameters = make_parameters()
        self.optimizer = laze.optim.AdamW(self.parameters.values(), lr=3e-3, betas=(0.9, 0.99))
        self.scheduler = laze.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1, (step + 1) / WARMUP))
        self.step_number = 0

    def batch(self):
        """Rows of characters, and those that come next: from places that follow from the step alone."""
        last = len(self.text) - LENGTH
        first = laze.rand(BATCH, 1, dtype=laze.float64, seed=SEED + self.step_number, offset=0)
        rows = (first * last).to(laze.int64) + laze.arange(LENGTH)
        return self.text[rows], self.text[rows + 1]

    def step(self):
        with laze.step():
            inputs, targets = self.batch()
            found = logits(self.parameters, inputs, training=True)
            self.loss = F.cross_entropy(found.reshape(-1, SYMBOLS), targets.reshape(-1))
            self.loss.backward()
            utils.clip_grad_norm_(self.parameters.values(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.loss = self.loss.detach()
        self.scheduler.step()
        self.step_number += 1

    def save(self, path):
        state = {f"optimizer.{index}.{key}": tensor for index, entries in self.optimizer.state_dict()["state"].items()
                 for key, tensor in entries.items()}
        laze.save_safetensors({**self.parameters, **state, "random": laze.get_rng_state()}, path,
                              metadata={"step": str(self.step_number)})

    def load(self, path):
        tensors = laze.load_safetensors(path)
        self.step_number = self.scheduler.last_epoch = int(laze.safetensors_metadata(path)["step"])
        laze.set_rng_state(tensors["random"])
        with laze.no_grad():
            for name, parameter in self.parameters.items():
                init.copy_(parameter, tensors[name])
        state = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".")
                state.setdefault(int(index), {})[key] = tensor
        groups = [{**group, "lr": self.scheduler.base_lrs[0] * min(1, (self.step_number + 1) / WARMUP)}
                  for group in self.optimizer.state_dict()["param_groups"]]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})

    @laze.no_grad()
    def write(self, count):
        """Text that goes on from the beginning of that which was learnt."""
        window, written = self.text[:LENGTH], []
        for i in range(count):
            likely = F.softmax(logits(self.parameters, window[None])[0, -1] / 0.8, dim=0)
            place = laze.rand(1, dtype=laze.float64, seed=SEED, offset=i)
            letter = (likely.to(laze.float64).cumsum(0) < place).sum().clamp(max=SYMBOLS - 1)
            window = laze.cat([window[1:], letter[None]]).evaluate()
            written.append(int(letter))
        return bytes(written).decode("ascii")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", default=TEXT, help="what is to be learnt (default: docs/guide.md)")
    parser.add_argument("--steps", type=int, default=300, help="steps in all")
    parser.add_argument("--sample", type=int, default=200, help="how many characters are written at the end")
    parser.add_argument("--checkpoint", help="where the training is saved, every 100 steps and at its end")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    options = parser.parse_args()
    training = Training(pathlib.Path(options.text).read_bytes())
    if options.resume and os.path.exists(options.checkpoint):
        training.load(options.checkpoint)
    while training.step_number < options.steps:
        training.step()
        if training.step_number % 50 == 0:
            print(f"step {training.step_number:5}  loss {training.loss:.4f}", flush=True)
        if options.checkpoint and (training.step_number % 100 == 0 or training.step_number == options.steps):
            training.save(options.checkpoint)
    print(training.write(options.sample))


if __name__ == "__main__":
    main()
