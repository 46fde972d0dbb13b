"""Trains models in laze and in PyTorch from the same parameters, on the same batches, and compares the loss of each step.

  ./dev conformance training [--steps N] [--only NAME] [--save FILE]

A line for each model; the exit status is 1 where a loss differs by more than 1e-3, or laze compiled something after the
first steps. The models are written once: names of functions and arguments are the same in both.
"""
import argparse
import contextlib
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional

import laze
import models

TOLERANCE = 1e-3


class Side:
    """One of the two libraries."""

    def __init__(self, library, functional, tensor, step, clip):
        self.library, self.functional, self.tensor, self.step, self.clip = library, functional, tensor, step, clip

    def parameters(self, model):
        return {name: self.tensor(array).requires_grad_() for name, array in model.parameters().items()}

    def train(self, model, steps):
        """The loss of each step."""
        parameters = self.parameters(model)
        kind, settings = model.optimiser
        optimizer = getattr(self.library.optim, kind)(list(parameters.values()), **settings)
        scheduler = self.library.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        losses = []
        for number in range(steps):
            batch = [self.tensor(array) for array in model.batch(number)]
            with self.step():
                loss = model.loss(self.library, self.functional, parameters, *batch)
                loss.backward()
                self.clip(list(parameters.values()), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                loss = loss.detach()
            scheduler.step()
            losses.append(loss.item())
        return np.array(losses)


def sides():
    yield Side(laze, laze.nn.functional, laze.tensor, laze.step, laze.nn.utils.clip_grad_norm_)
    yield Side(torch, torch.nn.functional, torch.tensor, contextlib.nullcontext, torch.nn.utils.clip_grad_norm_)


def compare(model, steps):
    """(what to print, whether it is well, the losses of both)."""
    ours, theirs = sides()
    ours.train(model, 2)  # compiles
    laze.reset_metrics()
    found, wanted = ours.train(model, steps), theirs.train(model, steps)
    metrics = laze.metrics()
    differences = np.abs(found - wanted)
    well = bool(np.isfinite(found).all() and differences.max() <= TOLERANCE)
    quiet = metrics["kernels_compiled"] == 0 and metrics["fallbacks"] == 0
    text = (f"{model.name:<12} {steps} steps, loss {wanted[0]:.4f} -> {wanted[-1]:.4f} (laze {found[-1]:.4f}), "
            f"differs by at most {differences.max():.1e} (step {differences.argmax()}; {TOLERANCE:g} is allowed)")
    if not quiet:
        text += f", and {metrics['kernels_compiled']} kernels were compiled, {metrics['fallbacks']} calls interpreted"
    return text, well and quiet, (found, wanted)


def main():
    parser = argparse.ArgumentParser(prog="./dev conformance", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["training"])
    parser.add_argument("--steps", type=int, default=200, help="of each model (default: 200)")
    parser.add_argument("--only", choices=[model.name for model in models.ALL], help="one model")
    parser.add_argument("--save", type=pathlib.Path, help="writes the losses of both, as JSON")
    options = parser.parse_args()
    wrong, curves = 0, {}
    for model in models.ALL:
        if options.only in (None, model.name):
            text, well, (found, wanted) = compare(model, options.steps)
            print(("agrees   " if well else "differs  ") + text, flush=True)
            wrong += not well
            curves[model.name] = {"laze": found.tolist(), "torch": wanted.tolist()}
    if options.save:
        options.save.write_text(json.dumps(curves))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
