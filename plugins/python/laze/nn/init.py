"""First values of parameters, as torch.nn.init gives them: each function changes a tensor and gives it back.

    >>> w = laze.nn.init.kaiming_uniform_(laze.zeros(64, 128), nonlinearity="relu").requires_grad_()

They draw from the generator that laze.manual_seed() sets, or from a `seed` (and `offset`) of their own.
"""
from __future__ import annotations

import math
from typing import Any

import laze
from laze import _laze

__all__ = ["calculate_gain", "constant_", "copy_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_",
           "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights are larger for what follows them; `param` is the slope of leaky_relu."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity not in _GAINS:
        raise _laze.InvalidArgumentError(f"there is no gain for {nonlinearity!r}: expected leaky_relu, "
                                         f"{', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


def _fans(tensor):
    """How many inputs a weight [out, in, ...] has for an output, and outputs for an input."""
    if tensor.ndim < 2:
        raise _laze.InvalidArgumentError(f"a weight has 2 dimensions at least, and this tensor {tensor.ndim}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _give(tensor, value):
    with laze.no_grad():
        return tensor.copy_(value)


def _uniform(tensor, low, high, kwargs):
    return _give(tensor, laze.rand(tensor.shape, dtype=tensor.dtype, **kwargs) * (high - low) + low)


def _normal(tensor, mean, std, kwargs):
    return _give(tensor, laze.randn(tensor.shape, dtype=tensor.dtype, **kwargs) * std + mean)


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, **kwargs: int) -> Any:
    """Numbers from a to below b."""
    return _uniform(tensor, a, b, kwargs)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, **kwargs: int) -> Any:
    """Normally distributed numbers."""
    return _normal(tensor, mean, std, kwargs)


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  **kwargs: int) -> Any:
    """Normally distributed numbers from a to b: those outside are drawn again."""
    low, high = (math.erf((limit - mean) / std / math.sqrt(2.0)) for limit in (a, b))
    drawn = laze.erfinv(laze.rand(tensor.shape, dtype=tensor.dtype, **kwargs) * (high - low) + low)
    return _give(tensor, (drawn * (std * math.sqrt(2.0)) + mean).clamp(a, b))


def constant_(tensor: Any, val: float) -> Any:
    return _give(tensor, laze.full_like(tensor.detach(), val))


def copy_(tensor: Any, other: Any) -> Any:
    """The values of another tensor of its shape: those of a checkpoint, say."""
    return _give(tensor, other.detach())


def zeros_(tensor: Any) -> Any:
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    return constant_(tensor, 1.0)


def eye_(tensor: Any) -> Any:
    """Ones on the diagonal of a matrix."""
    return _give(tensor, laze.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """The weight of a convolution that gives back as many channels of its input as it can, in each of its groups."""
    if tensor.ndim not in (3, 4, 5) or groups < 1 or tensor.shape[0] % groups:
        raise _laze.InvalidArgumentError(f"dirac_: the tensor is {tensor.shape} in {groups} groups; expected 3 to 5 dims, "
                                         "and as many rows for each group")
    rows = tensor.shape[0] // groups
    kept = min(rows, tensor.shape[1])
    middle = tuple(size // 2 for size in tensor.shape[2:])
    value = laze.zeros(tensor.shape, dtype=tensor.dtype)
    for group in range(groups):
        for channel in range(kept):
            value[(group * rows + channel, channel) + middle] = 1
    return _give(tensor, value)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01) -> Any:
    """A matrix of normally distributed numbers, of which in each column a part `sparsity` is 0."""
    if tensor.ndim != 2:
        raise _laze.InvalidArgumentError(f"sparse_: the tensor has {tensor.ndim} dimensions, and not 2")
    rows = tensor.shape[0]
    places = laze.rand(tensor.shape).argsort(0).argsort(0)  # an order of each column
    drawn = laze.randn(tensor.shape, dtype=tensor.dtype) * std
    return _give(tensor, laze.where(places < math.ceil(sparsity * rows), 0.0, drawn))


def xavier_uniform_(tensor: Any, gain: float = 1.0, **kwargs: int) -> Any:
    """Numbers whose spread keeps that of activations and gradients, by Glorot and Bengio (2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return _uniform(tensor, -bound, bound, kwargs)


def xavier_normal_(tensor: Any, gain: float = 1.0, **kwargs: int) -> Any:
    """The same, normally distributed."""
    return _normal(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), kwargs)


def _kaiming(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise _laze.InvalidArgumentError(f"mode is {mode!r}: expected fan_in or fan_out")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     **kwargs: int) -> Any:
    """Numbers whose spread keeps that of activations through rectifiers, by He and others (2015)."""
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return _uniform(tensor, -bound, bound, kwargs)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    **kwargs: int) -> Any:
    """The same, normally distributed."""
    return _normal(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), kwargs)


def orthogonal_(tensor: Any, gain: float = 1, **kwargs: int) -> Any:
    """Rows, or columns where there are fewer, that are orthogonal and of length `gain`."""
    if tensor.ndim < 2:
        raise _laze.InvalidArgumentError(f"orthogonal_: the tensor has {tensor.ndim} dimensions, and not 2 or more")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = laze.randn(max(rows, columns), min(rows, columns), **kwargs)
    q, r = laze.linalg_qr(flat)
    q = q * laze.sign(laze.diagonal(r))
    return _give(tensor, (q if rows >= columns else q.T).reshape(tensor.shape) * gain)
