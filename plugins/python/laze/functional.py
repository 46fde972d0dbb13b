"""Functions of laze that are written with its operators, as torch.functional has them."""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import laze
from laze import _laze

__all__ = ["histogramdd", "norm", "tensor_split", "tensordot"]


class _Histogram(NamedTuple):
    hist: Any
    bin_edges: tuple[Any, ...]


def _equal_edges(least, greatest, count):
    """The edges of equal bins: from both ends, so that these are exact."""
    at = laze.arange(count + 1, dtype=least.dtype)
    step = (greatest - least) / count
    return laze.where(at < (count + 1) // 2, least + at * step, greatest - (count - at) * step)


def _edges(points, bins, limits):
    """The edges of each axis: those that are given, or those of equal bins between limits, or what points there are."""
    found = []
    for axis, count in enumerate(bins):
        if isinstance(count, laze.Tensor):
            found.append(count)
            continue
        if count < 1:
            raise laze.InvalidArgumentError(f"histogramdd: axis {axis} has {count} bins; 1 or more were expected")
        if limits is not None:
            least, greatest = (laze.tensor(float(limit), dtype=points.dtype) for limit in limits[2 * axis:2 * axis + 2])
        elif points.shape[0] == 0:
            least, greatest = laze.zeros((), dtype=points.dtype), laze.ones((), dtype=points.dtype)
        else:
            least, greatest = points[:, axis].amin(), points[:, axis].amax()
        apart = laze.where(least == greatest, 0.5, 0.0)
        found.append(_equal_edges(least - apart, greatest + apart, count))
    return tuple(found)


def histogramdd(input: Any, bins: int | Sequence[Any], *, range: Sequence[float] | None = None, weight: Any = None,
                density: bool = False) -> _Histogram:
    """How many points, or how much of weight, lie in each of the boxes that bins make of space, and their edges: `input`
    has the coordinates of points along its last axis. bins is a number for each axis, one number, or ascending edges for
    each; range the least and greatest coordinate of each axis; with density, the weight of all space is 1."""
    axes = input.shape[-1] if input.ndim > 1 else 0
    if input.ndim < 2:
        raise laze.InvalidArgumentError(f"histogramdd: input has {input.ndim} dims; points along the last of 2 or more "
                                        "were expected")
    bins = [bins] * axes if isinstance(bins, int) else list(bins)
    if len(bins) != axes or (range is not None and len(range) != 2 * axes):
        raise laze.InvalidArgumentError(f"histogramdd: points of {axes} axes, {len(bins)} bins and "
                                        f"{'no' if range is None else len(range)} limits; bins of each axis and two limits "
                                        "of each were expected")
    points = input.reshape(-1, axes)
    edges = _edges(points, bins, range)
    place, inside, total = laze.zeros(points.shape[0], dtype=laze.int64), laze.ones(points.shape[0], dtype=laze.bool), 1
    for axis, edge in enumerate(edges):
        x, count = points[:, axis].contiguous(), edge.shape[0] - 1
        found = laze.searchsorted(edge, x, right=True) - 1
        inside = inside & (x >= edge[0]) & (x <= edge[count])
        place = place * count + found.clamp(0, count - 1)
        total *= count
    weights = laze.ones(points.shape[0], dtype=input.dtype) if weight is None else weight.reshape(-1)
    sums = laze.zeros(total, dtype=input.dtype)
    sums = sums.index_add(0, laze.where(inside, place, 0), laze.where(inside, weights, 0).to(input.dtype))
    result = sums.reshape([edge.shape[0] - 1 for edge in edges])
    if density:
        result = result / result.sum()
        for axis, edge in enumerate(edges):
            result = result / (edge[1:] - edge[:-1]).reshape([-1] + [1] * (axes - 1 - axis))
    return _Histogram(result, edges)


def tensordot(a: Any, b: Any, dims: int | Sequence[Any] | Any = 2, out: Any = None) -> Any:
    """Products over several dims: the last of `a` with as many first ones of `b`, or those that two lists name."""
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2:
            raise laze.InvalidArgumentError(f"tensordot: dims has {len(dims)} lists; one for each of the two tensors was "
                                            "expected")
        of_a, of_b = ([each] if isinstance(each, int) else list(each) for each in dims)
    elif isinstance(dims, laze.Tensor) and dims.numel() > 1:
        of_a, of_b = dims.tolist()
    else:
        count = int(dims)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise laze.InvalidArgumentError(f"tensordot: dims is {count}, and the tensors have {a.ndim} and {b.ndim} dims; "
                                            "0 to as many as both have was expected")
        of_a, of_b = list(range(-count, 0)), list(range(count))
    return _laze.tensordot(a, b, of_a, of_b, out=out)


def tensor_split(input: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    """Views of parts of a dim: of so many, or of those that begin at indices, which are numbers or a tensor that is read:
    tensor_split(input, indices_or_sections, dim=0)."""
    for name in ("indices_or_sections", "tensor_indices_or_sections"):
        if name in named:
            arguments = (named.pop(name), *arguments)
    if arguments and isinstance(arguments[0], laze.Tensor):
        places = arguments[0]
        if places.dtype != laze.int64 or places.ndim > 1:
            raise laze.InvalidArgumentError(f"tensor_split: the indices are {places.dtype} of {places.ndim} dims; one "
                                            "number or a list of numbers of int64 was expected")
        arguments = (places.tolist(), *arguments[1:])
    return _laze.tensor_split(input, *arguments, **named)


def norm(input: Any, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
         out: Any = None, dtype: Any = None) -> Any:
    """The norm of all elements, or along dims: of order p, "fro" for the root of the sum of squares, or "nuc" for the sum
    of the singular values of matrices."""
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise laze.InvalidArgumentError(f"norm: p is {p!r}; a number, 'fro' or 'nuc' was expected")
    if p != "nuc":
        return laze.linalg_vector_norm(input, 2 if p in (None, "fro") else p, dim, keepdim, dtype=dtype, out=out)
    dims = (-2, -1) if dim is None else dim
    if dim is None and input.ndim != 2:
        raise laze.InvalidArgumentError(f"norm: input has {input.ndim} dims; name the two of its matrices by dim")
    return laze.linalg_matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
