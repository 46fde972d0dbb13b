"""Sizes of PyTorch's symbolic shapes: as text of a graph of laze, and as functions of the sizes that inputs have."""
from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import sympy
import torch

# What follows from sizes.
SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
# What sympy calls it, and the graph's text.
_FUNCTIONS = {"FloorDiv": "floordiv", "CeilDiv": "ceildiv", "CleanDiv": "floordiv", "Mod": "mod", "PythonMod": "mod",
              "Max": "max", "Min": "min"}


class NoText(Exception):
    """A size that the text of graphs has no words for."""


def expression(size: Any) -> Any:
    """The sympy expression of a number, which may be symbolic."""
    return size.node.expr if isinstance(size, SYMBOLIC) else sympy.sympify(size)


def name_of(symbol: Any) -> str:
    """What a symbol is called in the graph, where u8 is a dtype."""
    return f"n{symbol}" if str(symbol).startswith("u") else str(symbol)


def text(size: Any) -> str:
    """A sympy expression in the words of laze's graphs."""
    if isinstance(size, (sympy.Symbol, sympy.Integer)):
        return name_of(size) if size.is_Symbol else str(size)
    parts = [text(part) for part in size.args] if not isinstance(size, sympy.Pow) else []
    if isinstance(size, sympy.Add):
        return "+".join(parts)
    if isinstance(size, sympy.Mul) and all(part.is_integer for part in size.args):
        return "*".join(f"({part})" if "+" in part else part for part in parts)
    if isinstance(size, sympy.Pow) and isinstance(size.exp, sympy.Integer) and size.exp > 0:
        return "*".join([f"({text(size.base)})"] * int(size.exp))
    name = _FUNCTIONS.get(type(size).__name__)
    if name is None:
        raise NoText(str(size))
    return f"{name}({', '.join(parts)})"


def function(sizes: Sequence[Any], symbols: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """What gives these numbers for those of the symbols."""
    numbers = [int(size) for size in sizes if isinstance(size, sympy.Integer)]
    if len(numbers) == len(sizes):
        return lambda *known: tuple(numbers)
    return sympy.lambdify(symbols, tuple(sizes), modules=_MODULES)


_MODULES = [{"FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv, "CeilDiv": lambda a, b: -(-a // b),
             "Mod": operator.mod, "PythonMod": operator.mod, "Max": max, "Min": min, "IntTrueDiv": operator.truediv,
             "FloatTrueDiv": operator.truediv, "ToFloat": float}, "math"]
