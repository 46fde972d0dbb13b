#!/usr/bin/env python3
"""Writes optim.txt: where torch.optim's optimisers lead after 20 steps, for optim_test.c.

Run by hand, in a virtual environment with PyTorch, whenever a case is added:

    python3 tests/conformance/record_optim.py > tests/conformance/optim.txt

A line for each optimiser, its settings and a dtype: the settings, then each tensor by name, with its elements in
hexadecimal. Parameter and gradients are multiples of 1/8, which the test computes as parameter() and gradient() do
here. Optimisers take their plain loops (foreach=False), whose order of operations is the documented one.
"""
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
]
CLASSES = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
           "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad}


def parameter(dtype):
    return torch.tensor([(i * 5 % 7 + 4) / 8 for i in range(ELEMENTS)], dtype=dtype)


def gradient(step, dtype):
    return torch.tensor([((step * 7 + i * 11) % 23 - 9) / 8 for i in range(ELEMENTS)], dtype=dtype)


def arguments(settings):
    given = {name: bool(value) if name in ("nesterov", "maximize", "amsgrad", "centered") else value
             for name, value in settings.items() if not name.startswith("beta")}
    if "beta1" in settings:
        given["betas"] = (settings["beta1"], settings["beta2"])
    return given


def text(tensor):
    return " ".join(float(value).hex() for value in tensor)


def run(name, settings, dtype):
    x = parameter(dtype).requires_grad_()
    optimizer = CLASSES[name]([x], foreach=False, **arguments(settings))
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
