"""Operators of networks as torch.nn.functional has them.

    >>> laze.nn.functional.mse_loss(laze.tensor([1.0]), laze.tensor([3.0]), reduction="sum")
    tensor(4.0)

They are laze's operators, found by name; reduction is a word here where a schema has a number, and the functions below
take arguments in another order than their operators.
"""
from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import laze
from laze.nn.attention import multi_head_attention_forward  # noqa: F401 - it is one of these, as are those below
from laze.nn.resampling import (  # noqa: F401
    affine_grid, fold, grid_sample, interpolate, max_unpool1d, max_unpool2d, max_unpool3d, unfold, upsample,
    upsample_bilinear, upsample_nearest)

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_BAGS = {"sum": 0, "mean": 1, "max": 2}


def _renorm(weight, rows, max_norm, norm_type):
    """Shortens those rows of a matrix that are named and longer than max_norm, in place."""
    with laze.no_grad():
        norms = laze.linalg_vector_norm(weight, norm_type, 1)
        named = laze.zeros(weight.shape[0], dtype=laze.bool).index_fill(0, rows.reshape(-1), True)
        weight.mul_(laze.where(named & (norms > max_norm), max_norm / (norms + 1e-7), 1.0).unsqueeze(1))


def _row(index, weight, name):
    """The number of a row that may be counted from the end; -1: there is none."""
    if index is None:
        return -1
    if not -weight.shape[0] <= index < weight.shape[0]:
        raise laze.OutOfRangeError(f"{name}: padding_idx is {index}, and the weight has {weight.shape[0]} rows")
    return index % weight.shape[0]


def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """The rows of `weight` that integers say. With max_norm, those are shortened to it first, in `weight` itself."""
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    return laze.embedding(weight, input, _row(padding_idx, weight, "embedding"), scale_grad_by_freq)


def embedding_bag(input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2.0,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Any:
    """Sums, means or largest elements of the rows of `weight` that belong to a bag. Bags are the rows of a matrix of
    integers, or begin at `offsets` in a vector."""
    if mode not in _BAGS:
        raise laze.InvalidArgumentError(f"embedding_bag: mode is {mode!r}; expected {', '.join(_BAGS)}")
    if (input.ndim == 2) != (offsets is None) or input.ndim not in (1, 2):
        raise laze.InvalidArgumentError(f"embedding_bag: input has {input.ndim} dims and offsets are "
                                        f"{'not ' if offsets is None else ''}given; expected 1 with offsets, or 2 without")
    if per_sample_weights is not None and mode != "sum":
        raise laze.UnsupportedError(f"embedding_bag: per_sample_weights are for mode 'sum', and it is {mode!r}")
    if input.ndim == 2:
        offsets = laze.arange(0, input.numel(), input.shape[1])
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    row = None if padding_idx is None else _row(padding_idx, weight, "embedding_bag")
    return laze.embedding_bag(weight, input, offsets, scale_grad_by_freq, _BAGS[mode], False, per_sample_weights,
                              include_last_offset, row)[0]


def _implicit_dim(name, rank):
    """As PyTorch chooses it, with its warning."""
    warnings.warn(f"{name}: the dim is chosen for you, which is deprecated; pass dim=", stacklevel=3)
    return 0 if rank in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Powers of e, divided by their sum along a dim."""
    return laze.softmax(input, _implicit_dim("softmax", input.ndim) if dim is None else dim, dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax."""
    return laze.log_softmax(input, _implicit_dim("log_softmax", input.ndim) if dim is None else dim, dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of the negative."""
    return laze.softmax(-input, _implicit_dim("softmin", input.ndim) if dim is None else dim, dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A draw by weights of which `logits` are the logarithms, that has a gradient; `hard`: 1 at one place and 0 at
    others, with the gradient of what it would be otherwise."""
    noise = -laze.empty_like(logits.detach()).exponential_().log()
    soft = laze.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    place = soft.argmax(dim, keepdim=True)
    return laze.zeros_like(soft.detach()).scatter(dim, place, 1.0) - soft.detach() + soft


def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """Channels with mean 0 and variance 1, times weight, plus bias: by the mean and variance of this batch in training,
    to which the running ones come nearer then, and by the running ones otherwise."""
    if not training and (running_mean is None or running_var is None):
        raise laze.StateError("batch_norm: without training, running_mean and running_var are needed")
    if training and input.numel() == input.shape[1]:
        raise laze.InvalidArgumentError("batch_norm: one value for each channel has no variance; training needs more, "
                                        f"and input is {tuple(input.shape)}")
    result = laze.batch_norm(input, weight, bias, None if training else running_mean, None if training else running_var,
                             training, momentum, eps, False)
    if training:
        dims = [dim for dim in range(input.ndim) if dim != 1]
        with laze.no_grad():
            for running, found in ((running_mean, laze.mean), (running_var, laze.var)):
                if running is not None:
                    running.lerp_(found(input.detach().to(running.dtype), dims), momentum)
    return result


def instance_norm(input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """batch_norm of each sample by itself; the running numbers come nearer to the means of all samples."""
    result = laze.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)
    if use_input_stats and running_mean is not None:
        dims = list(range(2, input.ndim))
        with laze.no_grad():
            for running, found in ((running_mean, laze.mean), (running_var, laze.var)):
                running.lerp_(found(input.detach().to(running.dtype), dims).mean(0), momentum)
    return result


def _power_average(pool, input, norm_type, kernel_size, stride, ceil_mode, count):
    mean = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / norm_type)


def lp_pool1d(input: Any, norm_type: float, kernel_size: int, stride: int | None = None,
              ceil_mode: bool = False) -> Any:
    """The norm of each window."""
    return _power_average(laze.avg_pool1d, input, norm_type, kernel_size, stride or kernel_size, ceil_mode, kernel_size)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The norm of each window."""
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    return _power_average(laze.avg_pool2d, input, norm_type, sizes, stride or sizes, ceil_mode, math.prod(sizes))


def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The norm of each window."""
    sizes = [kernel_size] * 3 if isinstance(kernel_size, int) else list(kernel_size)
    return _power_average(laze.avg_pool3d, input, norm_type, sizes, stride or sizes, ceil_mode, math.prod(sizes))


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros in place of a part p of the elements, and the others divided by 1 - p."""
    return (laze.dropout_ if inplace else laze.dropout)(input, p, training)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """dropout that keeps the mean and the variance of what selu gives."""
    return (laze.alpha_dropout_ if inplace else laze.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """alpha_dropout of whole channels."""
    return (laze.feature_alpha_dropout_ if inplace else laze.feature_alpha_dropout)(input, p, training)


def _channels(rank):
    def function(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if input.ndim not in (rank + 1, rank + 2):
            raise laze.InvalidArgumentError(f"dropout{rank}d: input has {input.ndim} dims; expected {rank + 1}, or "
                                            f"{rank + 2} with a batch")
        op = laze.feature_dropout_ if inplace else laze.feature_dropout
        if input.ndim == rank + 2:
            return op(input, p, training)
        result = op(input.unsqueeze(0), p, training)  # of a view in place: the input changes
        return input if inplace else result.squeeze(0)
    function.__name__ = function.__qualname__ = f"dropout{rank}d"
    function.__doc__ = "dropout of whole channels."
    return function


dropout1d, dropout2d, dropout3d = map(_channels, (1, 2, 3))


def poisson_nll_loss(input: Any, target: Any, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
                     reduction: str = "mean") -> Any:
    """How unlikely numbers are that events happened so often; `log_input`: of the logarithm of what was expected."""
    return laze.poisson_nll_loss(input, target, log_input, full, eps, _reduction(reduction, size_average, reduce))


def logsigmoid(input: Any) -> Any:
    """The logarithm of sigmoid."""
    return laze.log_sigmoid(input)


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


def _reduction(word, size_average=None, reduce=None):
    """The number of a word; the two flags are what PyTorch had in its place once, and have the last word."""
    if size_average is not None or reduce is not None:
        word = "none" if reduce is False else "sum" if size_average is False else "mean"
    if word not in _REDUCTIONS:
        raise laze.InvalidArgumentError(f"reduction is {word!r}: expected none, mean or sum")
    return _REDUCTIONS[word]


def _by_word(operator):
    @functools.wraps(operator, assigned=("__name__", "__doc__"), updated=())
    def function(*args, size_average=None, reduce=None, reduction="mean", **kwargs):
        return operator(*args, reduction=_reduction(reduction, size_average, reduce), **kwargs)
    return function


def _positional(operator):
    """How many arguments an operator takes by position at most."""
    return max(len(schema.partition(", *")[0].partition(") ->")[0].split(", ")) for schema in operator.schemas)


def _or_in_place(operator, form):
    most = _positional(operator)

    @functools.wraps(operator, assigned=("__name__", "__doc__"), updated=())
    def function(*args, inplace=False, **kwargs):
        if len(args) > most and isinstance(args[-1], bool):
            *args, inplace = args
        return (form if inplace else operator)(*args, **kwargs)
    return function


def __getattr__(name):
    operator, form = vars(laze).get(name), vars(laze).get(name + "_")
    if not isinstance(operator, laze.Operator):
        raise AttributeError(f"module 'laze.nn.functional' has no attribute {name!a}")
    if any("int reduction" in schema for schema in operator.schemas):
        operator = _by_word(operator)
    elif isinstance(form, laze.Operator):
        operator = _or_in_place(operator, form)
    globals()[name] = operator
    return operator
