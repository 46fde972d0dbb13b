"""Gradients that are limited before a step, and parameters as one vector, as torch.nn.utils has them."""
from __future__ import annotations

from typing import Any, Iterable

import laze
from laze import _laze

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
           "vector_to_parameters"]


def _tuple(parameters):
    return (parameters,) if isinstance(parameters, laze.Tensor) else tuple(parameters)


def get_total_norm(tensors: Any | Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Any:
    """The norm of all elements together. With error_if_nonfinite, it is computed and looked at."""
    tensors, norm_type = _tuple(tensors), float(norm_type)
    if not tensors:
        return laze.tensor(0.0)
    norms = [laze.linalg_vector_norm(tensor.detach(), norm_type) for tensor in tensors]
    total = laze.linalg_vector_norm(laze.stack(norms), norm_type)
    if error_if_nonfinite and not bool(laze.isfinite(total)):
        raise _laze.StateError(f"the norm of order {norm_type} of the gradients is {total.item()}; with "
                               "error_if_nonfinite=False they are scaled by it anyway")
    return total


def clip_grad_norm_(parameters: Any | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Makes the gradients smaller where their norm, that of all together, is above max_norm; gives the norm that they
    had. With error_if_nonfinite, it is computed and looked at, before any gradient changes."""
    parameters = _tuple(parameters)
    if error_if_nonfinite:
        get_total_norm([x.grad for x in parameters if x.grad is not None], norm_type, True)
    return _laze._clip_grad_norm(parameters, float(max_norm), float(norm_type))


def clip_grads_with_norm_(parameters: Any | Iterable[Any], max_norm: float, total_norm: Any,
                          foreach: bool | None = None) -> None:
    """The same by a norm that is known: that of get_total_norm()."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in _tuple(parameters):
        if parameter.grad is not None:
            with laze.no_grad():
                parameter.grad.mul_(factor)


def clip_grad_value_(parameters: Any | Iterable[Any], clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of the gradients to -clip_value to clip_value."""
    _laze._clip_grad_value(_tuple(parameters), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """The elements of all parameters, one after the other."""
    return laze.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Has each parameter have its part of a vector: the other way."""
    first = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[first:first + count].view(parameter.shape)
        first += count
