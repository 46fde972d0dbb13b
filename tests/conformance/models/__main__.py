"""Trains architectures of torchvision and transformers through torch.compile(backend="laze") beside eager PyTorch: a
step for each of three batches, gradients beside those in float64.

  ./dev conformance models [--only WORD] [--list]

A line for each: whether it agrees, how many graphs PyTorch found, how far off the worst tensor is of what is allowed,
and what PyTorch ran of it itself. Where a model agrees only in float64, it says so. The exit status is 1 where one
differs or fails.
"""
import argparse
import copy
import logging
import os
import sys
import warnings

import torch
from torch import nn

import laze
import laze_torch
import zoo

BATCHES = (2, 3, 5)
# How many times eager's own error a result in float32 may be off, beside float64: as in PyTorch's own runs of whole
# models. And how much of its own size, in both. Where ReLUs follow each other behind norms of few elements, a rounding
# switches some, which changes gradients by any amount, in eager as well: such a model is compared in float64 once more.
MULTIPLIER, TOLERANCE = 3, {torch.float32: 1e-4, torch.float64: 1e-9}


def rms(one, other=0.0):
    return (one.double() - other).square().mean().sqrt().item()


def without_chance(model):
    """The model with nothing dropped at random: eager draws other numbers."""
    for module in model.modules():
        for name in ("p", "dropout", "drop_prob", "layerdrop", "activation_dropout", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model.train()


def cast(inputs, dtype):
    return {name: x.to(dtype) if x.is_floating_point() else x for name, x in inputs.items()}


def step(run, model, architecture, inputs):
    """The result and the gradients, by name."""
    model.zero_grad()
    result = architecture.result(run(**inputs))
    result.square().mean().backward()
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {"result": result.detach(), **grads}


def kernels():
    return laze.metrics()["kernels_compiled"] + laze.metrics()["disk_cache_hits"]


class Comparison:
    """One architecture, run."""

    def __init__(self, architecture, dtype):
        self.dtype = dtype
        torch._dynamo.reset()
        torch.manual_seed(0)
        laze_torch.reset()
        self.graphs, self.worst, self.late_kernels = 0, (0.0, ""), 0
        model = without_chance(architecture.make()).to(dtype)
        twin, exact = copy.deepcopy(model), copy.deepcopy(model).double()
        run = torch.compile(twin, backend=self.count)
        for n in BATCHES:
            inputs = cast(architecture.inputs(n), dtype)
            before = kernels()
            ours = step(run, twin, architecture, inputs)
            self.late_kernels = kernels() - before
            eager, wide = step(model, model, architecture, inputs), cast(inputs, torch.float64)
            self.compare(ours, eager, step(exact, exact, architecture, wide), n)
        self.fallbacks, self.programs = laze_torch.fallbacks(), laze_torch.programs()

    def count(self, module, inputs):
        self.graphs += 1
        return laze_torch.backend(module, inputs)

    def compare(self, ours, eager, exact, n):
        if list(ours) != list(eager):
            raise AssertionError(f"gradients of {set(ours) ^ set(eager)}")
        least = 1e-3 * max(map(rms, exact.values()))  # a gradient that is nothing but roundings has no size of its own
        for name, value in exact.items():
            allowed = MULTIPLIER * rms(eager[name], value) + TOLERANCE[self.dtype] * max(rms(value), least)
            self.worst = max(self.worst, (rms(ours[name], value) / allowed, f"{name}, batch of {n}"))

    @property
    def agrees(self):
        return self.worst[0] <= 1

    @property
    def off(self):
        return f"{self.worst[0]:.0%} of what is allowed" + ("" if self.agrees else f" ({self.worst[1]})")

    @property
    def text(self):
        text = f"{self.graphs} graphs, {self.programs} programs, off by {self.off}"
        if self.late_kernels:
            text += f", {self.late_kernels} kernels for the third batch"
        for name, count in self.fallbacks.items():
            text += f"; PyTorch runs {name} in {count}"
        return text


def compare(architecture):
    """(one word, what to print)."""
    try:
        comparison = Comparison(architecture, torch.float32)
        if comparison.agrees:
            return "agrees", comparison.text
        exact = Comparison(architecture, torch.float64)
        if exact.agrees:
            return "agrees", f"{exact.text} in float64; in float32 {comparison.off}"
        return "differs", f"{comparison.text}; in float64 {exact.off}"
    except Exception as error:
        return "fails", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def main():
    parser = argparse.ArgumentParser(prog="./dev conformance models", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", help=argparse.SUPPRESS)  # where torchvision and transformers are
    parser.add_argument("--only", default="", help="those whose names have this word")
    parser.add_argument("--list", action="store_true", help="only their names")
    options = parser.parse_args()
    if options.packages:
        sys.path.append(options.packages)  # behind the peers' own
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    counts = {"agrees": 0, "differs": 0, "fails": 0}
    for architecture in zoo.architectures():
        if options.only.lower() in architecture.name.lower():
            if options.list:
                print(architecture.name)
                continue
            word, text = compare(architecture)
            counts[word] += 1
            print(f"{word:<8} {architecture.name}: {text}", flush=True)
    if not options.list:
        print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return counts["differs"] + counts["fails"] > 0


if __name__ == "__main__":
    sys.exit(main())
