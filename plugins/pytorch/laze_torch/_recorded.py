"""Rules that nodes of graphs are lowered by, for tensors of device laze: a call is shown to a rule as if it were a
node, and what the rule calls is recorded.

  nll_loss_forward(x, y, None, 1, -100) ──> rule(Recording, Call, x, y, None, 1, -100) ──> gather, mul, sum, div
"""
from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from laze import _laze
from laze_torch import _lowering

Rule = Callable[..., Any]


class Operand:
    """A tensor, where a rule expects the node that gives it."""

    def __init__(self, tensor: torch.Tensor):
        self.meta = {"val": tensor}


# Nothing here keeps a tensor in a cycle of references, as a nested function that calls itself does: until the garbage
# collector comes, that tensor would be one that a program still has, and so a result of its graph.

def _map(function: Callable[[Any], Any], kind: type, held: Any) -> Any:
    """The same with what a function makes of objects of a kind, also in lists."""
    if isinstance(held, (list, tuple)):
        return [_map(function, kind, item) for item in held]
    return function(held) if isinstance(held, kind) else held


class Call:
    """A call, where a rule expects a node. What it gives is found out when a rule asks for it."""

    def __init__(self, target: Any, arguments: tuple[Any, ...], named: dict[str, Any]):
        self.target = target
        self.args = tuple(_map(Operand, torch.Tensor, held) for held in arguments)
        self.kwargs = {name: _map(Operand, torch.Tensor, held) for name, held in named.items()}

    @property
    def meta(self) -> dict[str, Any]:
        args = [_map(_without_elements, Operand, held) for held in self.args]
        named = {name: _map(_without_elements, Operand, held) for name, held in self.kwargs.items()}
        return {"val": self.target(*args, **named)}


def _without_elements(operand: Operand) -> torch.Tensor:
    tensor = operand.meta["val"]
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


class Recording:
    """What rules have of a Lowering."""

    record = _lowering.Lowering.record
    turned = _lowering.Lowering.turned
    checked = _lowering.Lowering.checked

    def __init__(self) -> None:
        self.values: dict[Operand, Any] = {}

    def value(self, operand: Operand) -> Any:
        made = self.values[operand] = _laze._device_unwrap(operand.meta["val"])
        return made

    def size(self, size: Any) -> int:
        return int(size)

    def call(self, name: str, *positional: Any, **named: Any) -> Any:
        return _laze._call(name, positional, named)


_forms: dict[Any, Any] = {}  # of what calls give, by what they take: tensors without elements, of the right dtypes


def _kind(held: Any) -> Any:
    """What a result's dtype may depend on."""
    if isinstance(held, (list, tuple)):
        return tuple(map(_kind, held))
    if isinstance(held, torch.Tensor):
        return held.dtype, held.dim() == 0
    return held if isinstance(held, torch.dtype) else type(held)


def _form(expected: Any) -> Any:
    if isinstance(expected, (list, tuple)):
        return tuple(map(_form, expected))
    return None if expected is None else torch.empty(0, dtype=expected.dtype, device="meta")


def _expected(call: Call, made: Any) -> Any:
    """What PyTorch says that a call gives; of what it cannot say without elements, nothing."""
    try:
        return _form(call.meta["val"])
    except NotImplementedError:
        return (None,) * len(made) if isinstance(made, tuple) else None


def _wrapped(made: Any) -> Any:
    if isinstance(made, tuple):
        return tuple(map(_wrapped, made))
    return None if made is None else _laze._device_wrap(made)


def recorded(target: Any, rule: Rule, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operator that a rule lowers; where it cannot, otherwise(error, arguments, named) is called."""
    def run(*arguments: Any, **named: Any) -> Any:
        try:
            return record(arguments, named)
        except (_laze.Error, _lowering.NoLowering, TypeError, NotImplementedError) as error:
            return otherwise(error, arguments, named)

    def record(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        graph, call = Recording(), Call(target, arguments, named)
        positional = [_map(graph.value, Operand, held) for held in call.args]
        taken = {name: _map(graph.value, Operand, held) for name, held in call.kwargs.items()
                 if name not in _lowering._PLACES}
        key = (target, torch.get_default_dtype(), _kind(arguments),
               tuple((name, _kind(held)) for name, held in named.items()))

        def expected(made: Any) -> Any:
            if key not in _forms:
                _forms[key] = _expected(call, made)
            return _forms[key]
        return _wrapped(_lowering.lowered(graph, target, functools.partial(rule, graph, call), positional, taken, expected))
    return run
