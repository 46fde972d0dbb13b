#!/usr/bin/env python3
"""Writes optim.txt: where torch.optim's optimisers lead after 20 steps, for optim_test.c.

Run by hand, in a virtual environment with PyTorch, whenever a case is added:

    python3 tests/conformance/record_optim.py > tests/conformance/optim.txt

A line for each optimiser, its settings and a dtype: the settings, then each tensor by name, with its elements in
hexadecimal. Parameter and gradients are multiples of 1/8, which the test computes as parameter() and gradient() do
here. Optimisers take their plain loops (foreach=False), whose order of operations is the documented one.
"""
import inspect

import torch

STEPS, ELEMENTS = 20, 5
CASES = [
    ("sgd", {}), ("sgd", {"momentum": 0.9}), ("sgd", {"momentum": 0.9, "dampening": 0.5}),
    ("sgd", {"momentum": 0.9, "nesterov": 1}), ("sgd", {"weight_decay": 0.1}), ("sgd", {"maximize": 1}),
    ("sgd", {"momentum": 0.5, "weight_decay": 0.01, "nesterov": 1, "maximize": 1}),
    ("adam", {}), ("adam", {"weight_decay": 0.1}), ("adam", {"amsgrad": 1}), ("adam", {"maximize": 1}),
    ("adam", {"lr": 0.05, "beta1": 0.5, "beta2": 0.75, "eps": 1e-3}),
    ("adamw", {}), ("adamw", {"amsgrad": 1, "lr": 0.03}), ("adamw", {"weight_decay": 0}),
    ("adamw", {"weight_decay": 0.2, "maximize": 1}),
    ("rmsprop", {}), ("rmsprop", {"momentum": 0.9}), ("rmsprop", {"centered": 1}), ("rmsprop", {"alpha": 0.5, "eps": 0.1}),
    ("rmsprop", {"centered": 1, "momentum": 0.5, "weight_decay": 0.1, "maximize": 1}),
    ("adagrad", {}), ("adagrad", {"lr_decay": 0.1}), ("adagrad", {"initial_accumulator_value": 0.5}),
    ("adagrad", {"weight_decay": 0.1, "lr": 0.1, "eps": 1e-3}), ("adagrad", {"maximize": 1}),
    ("adamax", {}), ("adamax", {"lr": 0.05, "beta1": 0.5, "beta2": 0.75, "eps": 1e-3}),
    ("adamax", {"weight_decay": 0.1, "maximize": 1}),
    ("nadam", {}), ("nadam", {"weight_decay": 0.1, "momentum_decay": 0.1}), ("nadam", {"lr": 0.05, "beta1": 0.5}),
    ("nadam", {"weight_decay": 0.2, "decoupled_weight_decay": 1, "maximize": 1}),
    ("radam", {}), ("radam", {"weight_decay": 0.1}), ("radam", {"lr": 0.05, "beta1": 0.5, "beta2": 0.75}),
    ("radam", {"weight_decay": 0.2, "decoupled_weight_decay": 1, "maximize": 1}),
    ("adadelta", {}), ("adadelta", {"rho": 0.5, "eps": 1e-3}), ("adadelta", {"weight_decay": 0.1, "maximize": 1}),
    ("asgd", {}), ("asgd", {"lr": 0.1, "lambd": 0.1, "t0": 4}), ("asgd", {"weight_decay": 0.1, "maximize": 1}),
    ("rprop", {}), ("rprop", {"etaminus": 0.25, "etaplus": 2, "maximize": 1}),
    ("rprop", {"lr": 0.5, "step_size_min": 0.375, "step_size_max": 1}),
]
CLASSES = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
           "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad, "adamax": torch.optim.Adamax,
           "nadam": torch.optim.NAdam, "radam": torch.optim.RAdam, "adadelta": torch.optim.Adadelta,
           "asgd": torch.optim.ASGD, "rprop": torch.optim.Rprop}
FLAGS = ("nesterov", "maximize", "amsgrad", "centered", "decoupled_weight_decay")
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}


def parameter(dtype):
    return torch.tensor([(i * 5 % 7 + 4) / 8 for i in range(ELEMENTS)], dtype=dtype)


def gradient(step, dtype):
    return torch.tensor([((step * 7 + i * 11) % 23 - 9) / 8 for i in range(ELEMENTS)], dtype=dtype)


def arguments(kind, settings):
    defaults = inspect.signature(kind).parameters
    given = {name: bool(value) if name in FLAGS else value for name, value in settings.items()}
    for pair, names in PAIRS.items():
        if any(name in given for name in names):
            given[pair] = tuple(given.pop(name, default) for name, default in zip(names, defaults[pair].default))
    return given


def text(tensor):
    return " ".join(float(value).hex() for value in tensor)


def run(name, settings, dtype):
    torch.set_default_dtype(dtype)  # of the numbers that an optimiser remembers
    x = parameter(dtype).requires_grad_()
    optimizer = CLASSES[name]([x], foreach=False, **arguments(CLASSES[name], settings))
    for step in range(STEPS):
        x.grad = gradient(step, dtype)
        optimizer.step()
    state = {key: value for key, value in optimizer.state[x].items() if value is not None and value.numel() == ELEMENTS}
    return {"parameter": x.detach(), **state}


for name, settings in CASES:
    for word, dtype in (("f32", torch.float32), ("f64", torch.float64)):
        words = " ".join(f"{key}={value}" for key, value in settings.items())
        print(f"{name} {words}".strip(), f"| {word} |",
              " | ".join(f"{key} {text(value)}" for key, value in run(name, settings, dtype).items()))
