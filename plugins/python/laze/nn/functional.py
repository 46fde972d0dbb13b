"""Operators of networks as torch.nn.functional has them.

    >>> laze.nn.functional.mse_loss(laze.tensor([1.0]), laze.tensor([3.0]), reduction="sum")
    tensor(4.0)

They are laze's operators, found by name; reduction is a word here where a schema has a number, and the functions below
take arguments in another order than their operators.
"""
from __future__ import annotations

import functools
from typing import Any

import laze
from laze.nn.attention import multi_head_attention_forward  # noqa: F401 - it is one of these

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def embedding(input: Any, weight: Any, padding_idx: int | None = None, scale_grad_by_freq: bool = False) -> Any:
    """The rows of `weight` that integers say."""
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    return laze.embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Zeros in place of a part p of the elements, and the others divided by 1 - p."""
    return laze.dropout(input, p, training)


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """How far a distribution is from another, of whose logarithms `input` consists; "batchmean" divides by the first
    axis."""
    total = "sum" if reduction == "batchmean" else reduction
    result = laze.kl_div(input, target, _reduction(total), log_target=log_target)
    return result / input.shape[0] if reduction == "batchmean" else result


def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
                         reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
                         options: Any = None) -> Any:
    """cross_entropy of what a linear layer gives, whose weight is [classes, ..., features]. PyTorch's options, which say
    in which parts it computes that, change nothing: it is one graph."""
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise laze.InvalidArgumentError(f"linear_cross_entropy: linear_bias is {linear_bias.shape}, and "
                                        f"{linear_weight.shape[:-1]} was expected")
    return laze.linear_cross_entropy(input, linear_weight, target, linear_bias=linear_bias, weight=weight,
                                     reduction=_reduction(reduction), ignore_index=ignore_index,
                                     label_smoothing=label_smoothing)


def _reduction(word):
    if word not in _REDUCTIONS:
        raise laze.InvalidArgumentError(f"reduction is {word!r}: expected none, mean or sum")
    return _REDUCTIONS[word]


def _by_word(operator):
    @functools.wraps(operator, assigned=("__name__", "__doc__"), updated=())
    def function(*args, reduction="mean", **kwargs):
        return operator(*args, reduction=_reduction(reduction), **kwargs)
    return function


def __getattr__(name):
    operator = vars(laze).get(name)
    if not isinstance(operator, laze.Operator):
        raise AttributeError(f"module 'laze.nn.functional' has no attribute {name!a}")
    if any("int reduction" in schema for schema in operator.schemas):
        operator = _by_word(operator)
    globals()[name] = operator
    return operator
