"""Gradients that are limited before a step, as torch.nn.utils limits them."""
from __future__ import annotations

from typing import Any, Iterable

import laze
from laze import _laze

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def _tuple(parameters):
    return (parameters,) if isinstance(parameters, laze.Tensor) else tuple(parameters)


def clip_grad_norm_(parameters: Any | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Makes the gradients smaller where their norm, that of all together, is above max_norm; gives the norm that they
    had. With error_if_nonfinite, it is computed and looked at."""
    norm = _laze._clip_grad_norm(_tuple(parameters), float(max_norm), float(norm_type))
    if error_if_nonfinite and not bool(laze.isfinite(norm)):
        raise _laze.StateError(f"clip_grad_norm_: the norm of the gradients is {norm.item()}")
    return norm


def clip_grad_value_(parameters: Any | Iterable[Any], clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of the gradients to -clip_value to clip_value."""
    _laze._clip_grad_value(_tuple(parameters), float(clip_value))
