#!/usr/bin/env python3
"""Compares the `variants` of the operator tables with what PyTorch has: an entry is a method where torch.Tensor has one
of its base name and the schema an argument `Tensor self` for it to be called on.

    torch_methods.py TABLE...
"""
import re
import sys

import torch


def entries(path):
    """Base name, schema and the lines below of each entry."""
    with open(path, encoding="utf-8") as file:
        blocks = re.split(r"^- func: ", file.read(), flags=re.MULTILINE)[1:]
    for block in blocks:
        schema, _, rest = block.partition("\n")
        yield re.match(r"\w+", schema).group(), schema, rest


def main():
    wrong = 0
    for path in sys.argv[1:]:
        for base, schema, rest in entries(path):
            has_self = re.search(r"[(,] ?Tensor(\(\w!?\))? self\b", schema)
            expected = hasattr(torch.Tensor, base) and has_self is not None and not base.startswith("_")
            if expected == bool(re.search(r"^  variants: .*\bmethod\b", rest, flags=re.MULTILINE)):
                continue
            wrong += 1
            print(f"{path}: {schema}: torch.Tensor has {'a' if expected else 'no such'} method; "
                  f"{'write' if expected else 'drop'} \"variants: function, method\"")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
