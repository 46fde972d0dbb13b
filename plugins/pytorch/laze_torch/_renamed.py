"""Operators of PyTorch that laze has by another name."""
from __future__ import annotations

from typing import Any, Callable

import torch

from laze_torch._lowering import Lowering, aten, lowers

_NAMES = {
    aten._linalg_eigvals.default: "linalg_eigvals",
    aten.__lshift__.Scalar: "bitwise_left_shift.Tensor_Scalar",
    aten.__lshift__.Tensor: "bitwise_left_shift.Tensor",
    aten.__rshift__.Scalar: "bitwise_right_shift.Tensor_Scalar",
    aten.__rshift__.Tensor: "bitwise_right_shift.Tensor",
}


def _called(name: str) -> Callable[..., Any]:
    def rule(graph: Lowering, node: torch.fx.Node, *given: Any, **named: Any) -> Any:
        return graph.call(name, *given, **named)
    return rule


for _target, _name in _NAMES.items():
    lowers(_target)(_called(_name))
