#!/usr/bin/env python3
"""Writes the numbers of schedules.txt: what PyTorch's schedules give.

Run by hand, in a virtual environment with PyTorch, whenever a call is added there.
"""
import warnings

import torch
from test_schedules import FOLDER, STEPS, Walk


def record(kind, call):
    walk, lines = Walk(torch, kind, call), []
    for step in range(STEPS):
        lines.append("  " + " ".join(float(number).hex() for number in walk.now()))
        walk.step(step)
    return lines


def main():
    path, lines = FOLDER / "schedules.txt", []
    for line in path.read_text().splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += record(*line.split(" ", 1))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that no step of the optimizer was made
    main()
