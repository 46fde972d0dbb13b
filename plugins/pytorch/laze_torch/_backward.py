"""Gradients that PyTorch has as operators of their own, and laze has not: as calls of others.

What pools, pads or resamples is a product with a matrix for each axis, which is what the operator makes of the unit
matrix. So the gradient is a product with the transposed ones, and whatever the operator does at its borders is right.

    forward   [batch, channels, h, w] ──h x H──w x W──> [batch, channels, H, W]
    backward  [batch, channels, H, W] ──H x h──W x w──> [batch, channels, h, w]
"""
from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any, Callable, Sequence

import torch

from laze_torch import _sizes
from laze_torch._lowering import Lowering, argument_of, aten, lowers, name_of, wide

Axis = Callable[[Any, int], Any]  # what an operator makes of a value along one axis alone


def _overloads(*names: str) -> list[Any]:
    return [getattr(aten, name).default for name in names]


def _made(graph: Lowering, value: Any, fake: torch.Tensor) -> Any:
    return graph.call("to.dtype", value, fake.dtype)


def _through_axes(graph: Lowering, node: torch.fx.Node, grad: Any, along: Axis, axes: int) -> Any:
    """The gradient of a product with a matrix for each of the last axes."""
    given, made = node.args[0].meta["val"], node.meta["val"]
    value = wide(graph, grad, given)
    for axis in range(axes):
        size, other = (graph.size(fake.shape[axis - axes]) for fake in (made, given))
        unit = graph.call("reshape", graph.call("eye", size, dtype=torch.float32),
                          [size, 1, *(size if at == axis else 1 for at in range(axes))])
        if given.dtype is torch.float64:
            unit = graph.call("to.dtype", unit, torch.float64)
        matrix = graph.call("reshape", along(unit, axis), [size, other])
        turned = graph.call("transpose.int", value, axis - axes, -1)
        product = graph.call("matmul", turned, graph.call("transpose.int", matrix, 0, 1))
        value = graph.call("transpose.int", product, axis - axes, -1)
    return _made(graph, value, made)


def _only(axis: int, given: Sequence[Any], otherwise: Any) -> list[Any]:
    """What is given of one axis, and of others something that changes nothing."""
    return [value if at == axis else otherwise for at, value in enumerate(given)]


@lowers(*_overloads("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward",
                   "_upsample_nearest_exact1d_backward", "_upsample_nearest_exact2d_backward",
                   "_upsample_nearest_exact3d_backward", "upsample_linear1d_backward", "upsample_bilinear2d_backward",
                   "upsample_trilinear3d_backward", "upsample_bicubic2d_backward", "_upsample_bilinear2d_aa_backward",
                   "_upsample_bicubic2d_aa_backward"))
def _upsampled(graph: Lowering, node: torch.fx.Node, grad: Any, output_size: Any, input_size: Any, *rest: Any,
               **named: Any) -> Any:
    axes = len(output_size)
    aligned = [argument.name for argument in node.target._schema.arguments if argument.name == "align_corners"]
    corners = [argument_of(node, name, False) for name in aligned]
    scales = [argument_of(node, argument.name, None) for argument in node.target._schema.arguments[3 + len(aligned):]]

    def along(unit: Any, axis: int) -> Any:
        return graph.call(name_of(node.target).removesuffix("_backward"), unit, _only(axis, output_size, 1), *corners,
                          *_only(axis, scales, None))
    return _through_axes(graph, node, grad, along, axes)


@lowers(*_overloads("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward"))
def _replicated(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, padding: Any) -> Any:
    axes = len(padding) // 2
    sides = list(zip(padding[::2], padding[1::2]))[::-1]  # the last axis comes first

    def along(unit: Any, axis: int) -> Any:
        given = [size for pair in _only(axis, sides, (0, 0))[::-1] for size in pair]
        return graph.call(f"replication_pad{axes}d", unit, given)
    return _through_axes(graph, node, grad, along, axes)


@lowers(aten.avg_pool3d_backward.default)
def _averaged(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, kernel: Any, stride: Any, padding: Any,
              ceil: bool, padded: bool, divisor: int | None) -> Any:
    kernel, stride, padding = ([*sizes] * (3 if len(sizes) == 1 else 1)
                               for sizes in (kernel, stride or kernel, padding))

    def along(unit: Any, axis: int) -> Any:
        return graph.call("avg_pool3d", unit, _only(axis, kernel, 1), _only(axis, stride, 1), _only(axis, padding, 0),
                          ceil, padded, None if divisor is None else 1)
    if divisor is not None:
        grad = graph.call("div.Scalar", wide(graph, grad, node.args[0].meta["val"]), divisor)
    return _through_axes(graph, node, grad, along, 3)


@lowers(aten._adaptive_avg_pool3d_backward.default)
def _averaged_to_size(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any) -> Any:
    sizes = [graph.size(size) for size in node.args[0].meta["val"].shape[-3:]]
    return _through_axes(graph, node, grad, lambda unit, axis: graph.call("_adaptive_avg_pool3d", unit,
                                                                          _only(axis, sizes, 1)), 3)


def _to_places(graph: Lowering, node: torch.fx.Node, grad: Any, indices: Any, axes: int) -> Any:
    """Gradients that go where their elements were chosen, within the last axes."""
    given, made = (argument.meta["val"] for argument in node.args[:2])
    before = [graph.size(size) for size in made.shape[:-axes]]
    flat, chosen = ([*before, graph.size(math.prod(fake.shape[-axes:]))] for fake in (made, given))
    value = graph.call("reshape", wide(graph, grad, given), chosen)
    zeros = graph.call("zeros", flat, dtype=torch.float64 if given.dtype is torch.float64 else torch.float32)
    added = graph.call("scatter_add", zeros, -1, graph.call("reshape", indices, chosen), value)
    return _made(graph, graph.call("reshape", added, [graph.size(size) for size in made.shape]), made)


@lowers(*_overloads("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward", "fractional_max_pool2d_backward",
                   "fractional_max_pool3d_backward", "max_pool3d_with_indices_backward"))
def _chosen(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, *rest: Any) -> Any:
    return _to_places(graph, node, grad, rest[-1], 3 if "3d" in name_of(node.target) else 2)


@lowers(*_overloads("hardshrink_backward", "softshrink_backward"))
def _shrunk(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, limit: Any) -> Any:
    inside = graph.call("logical_and", graph.call("ge.Scalar", value, -limit), graph.call("le.Scalar", value, limit))
    return graph.call("where.ScalarSelf", inside, 0.0, grad)


@lowers(aten.masked_scatter_backward.default)
def _scattered_by_mask(graph: Lowering, node: torch.fx.Node, grad: Any, mask: Any, sizes: Any) -> Any:
    """The gradient of what was scattered: in the order of the true places, the first ones have it."""
    count = graph.size(math.prod(node.meta["val"].shape))
    flat = graph.call("reshape", graph.call("expand_as", mask, grad), [-1])
    places = graph.call("sub.Scalar", graph.call("cumsum", graph.call("to.dtype", flat, torch.int64), 0), 1)
    taken = graph.call("where.ScalarOther", graph.call("logical_and", flat, graph.call("lt.Scalar", places, count)),
                       places, count)
    zeros = graph.call("zeros", [count + 1], dtype=node.meta["val"].dtype)
    put = graph.call("scatter.src", zeros, 0, taken, graph.call("reshape", grad, [-1]))
    return graph.call("reshape", graph.call("narrow", put, 0, 0, count), list(sizes))


# ---- What formulas are written in.

class Term:
    """A value in a formula: +, -, *, / and comparisons are calls."""

    def __init__(self, graph: Lowering, value: Any):
        self.graph, self.value = graph, value

    def call(self, name: str, *given: Any, **named: Any) -> Term:
        return Term(self.graph, self.graph.call(name, self.value, *map(_value_of, given), **named))

    def _with(self, name: str, other: Any) -> Term:
        return self.call(f"{name}.Tensor" if isinstance(other, Term) else f"{name}.Scalar", other)

    def __add__(self, other: Any) -> Term:
        return self._with("add", other)

    def __sub__(self, other: Any) -> Term:
        return self._with("sub", other)

    def __mul__(self, other: Any) -> Term:
        return self._with("mul", other)

    def __truediv__(self, other: Any) -> Term:
        return self._with("div", other)

    def __ge__(self, other: Any) -> Term:
        return self._with("ge", other)

    def __gt__(self, other: Any) -> Term:
        return self._with("gt", other)

    def __le__(self, other: Any) -> Term:
        return self._with("le", other)

    def __lt__(self, other: Any) -> Term:
        return self._with("lt", other)

    def equals(self, other: Any) -> Term:
        return self._with("eq", other)

    def and_(self, other: Term) -> Term:
        return self.call("logical_and", other)

    def where(self, this: Any, other: Any) -> Term:
        """`this` where it is true."""
        kinds = (isinstance(this, Term), isinstance(other, Term))
        name = {(True, True): "self", (False, True): "ScalarSelf", (True, False): "ScalarOther",
                (False, False): "Scalar"}
        return self.call(f"where.{name[kinds]}", this, other)

    def to(self, dtype: torch.dtype) -> Term:
        return self.call("to.dtype", dtype)


def _value_of(given: Any) -> Any:
    return given.value if isinstance(given, Term) else given


def _number(graph: Lowering, size: Any) -> Any:
    """A size as a number of a formula."""
    made = _sizes.expression(size)
    return int(made) if made.is_Integer else Term(graph, graph.number(made))


# ---- Samples of a grid: a product, over the axes, of weights of the elements around a place.

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_CUBIC = -0.75  # of the curve between four elements


def _place(place: Term, size: Any, aligned: bool) -> tuple[Term, Any]:
    """Where -1 to 1 falls among elements, and what a step along the grid is there."""
    step = (size - 1) / 2 if aligned else size / 2
    return (place + 1) * step - (0 if aligned else 0.5), step


def _clipped(place: Term, size: Any) -> tuple[Term, Term]:
    """A place within the elements, and whether it follows the grid there."""
    last = size - 1
    inside = (place > 0).and_(place < last)
    most = (place < last).where(place, last if isinstance(last, Term) else float(last))
    return (most > 0).where(most, 0.0), inside.to(torch.float32)


def _reflected(place: Term, size: Any, aligned: bool) -> tuple[Term, Term]:
    """A place that is reflected at the borders, and the direction in which it follows the grid."""
    least, span = (0.0, size - 1) if aligned else (-0.5, size)
    if isinstance(span, int) and span == 0:
        return place * 0.0, place * 0.0
    behind = place - least
    sign = (behind < 0).where(-1.0, 1.0)
    behind = behind.call("abs")
    flips = (behind / span).call("floor")
    extra = behind - flips * span
    odd = (flips - (flips / 2).call("floor") * 2).equals(1)
    back = (extra * -1.0) + span
    direction = odd.where(sign * -1.0, sign).to(torch.float32)
    return odd.where(back, extra) + least, direction


def _padded(place: Term, size: Any, padding: int, aligned: bool) -> tuple[Term, Any]:
    if padding == _ZEROS:
        return place, 1.0
    direction: Any = 1.0
    if padding == _REFLECTION:
        place, direction = _reflected(place, size, aligned)
    place, follows = _clipped(place, size)
    return place, follows * direction


def _curve(t: Term) -> list[tuple[Term, Term]]:
    """Weights of the four elements around a place of bicubic sampling, and their slopes."""
    found = []
    for offset in (1.0, 0.0, -1.0, -2.0):
        x = t + offset if offset >= 0 else (t * -1.0) - offset  # the distance
        sign = 1.0 if offset >= 0 else -1.0
        if offset in (0.0, -1.0):
            weight = ((x * (_CUBIC + 2)) - (_CUBIC + 3)) * x * x + 1
            slope = ((x * (3 * (_CUBIC + 2))) - 2 * (_CUBIC + 3)) * x
        else:
            weight = (((x * _CUBIC) - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC
            slope = ((x * (3 * _CUBIC)) - 10 * _CUBIC) * x + 8 * _CUBIC
        found.append((weight, slope * sign))
    return found


def _elements(place: Term, size: Any, mode: int, padding: int, aligned: bool) -> list[tuple[Term, Term, Any]]:
    """Along an axis: which elements, as numbers, with their weights, and how these change along the grid."""
    place, step = _place(place, size, aligned)
    if mode == _BICUBIC:
        first = place.call("floor")
        return [_within(_padded(first + offset, size, padding, aligned)[0].call("round"), size, weight, slope * step)
                for offset, (weight, slope) in zip((-1, 0, 1, 2), _curve(place - first))]
    place, follows = _padded(place, size, padding, aligned)
    if mode == _NEAREST:
        return [_within(place.call("round"), size, place * 0.0 + 1.0, place * 0.0)]
    first = place.call("floor")
    t = place - first
    slope = (t * 0.0 + 1.0) * follows * step
    return [_within(first, size, t * -1.0 + 1.0, slope * -1.0), _within(first + 1, size, t, slope)]


def _within(element: Term, size: Any, weight: Term, slope: Term) -> tuple[Term, Term, Term]:
    """An element that is there; otherwise the first, with no weight."""
    there = (element >= 0).and_(element <= size - 1)
    return there.where(element, 0.0).to(torch.int64), there.where(weight, 0.0), there.where(slope, 0.0)


@lowers(aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default)
def _sampled(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, grid: Any, mode: int, padding: int,
             aligned: bool, mask: Any) -> Any:
    fakes = [argument.meta["val"] for argument in node.args[:3]]
    axes = fakes[1].dim() - 2
    batch, channels = (graph.size(size) for size in fakes[1].shape[:2])
    places, elements = (graph.size(math.prod(fakes[index].shape[2:])) for index in (0, 1))
    given, values, grid = (Term(graph, wide(graph, one, fake)) for one, fake in zip((grad, value, grid), fakes))
    given = given.call("reshape", [batch, channels, places])
    values = values.call("reshape", [batch, channels, elements])
    sizes = [_number(graph, size) for size in fakes[1].shape[2:]]
    found = [_elements(grid.call("select.int", -1, axes - 1 - axis).call("reshape", [batch, 1, places]), sizes[axis],
                       mode, padding, aligned) for axis in range(axes)]
    indices, parts, along = [], [], [[] for _ in range(axes)]
    for chosen in itertools.product(*found):
        index = chosen[0][0]
        for (other, _, _), size in zip(chosen[1:], sizes[1:]):
            index = index * size + other
        index = index.call("expand", [batch, channels, places])
        indices.append(index.value)
        parts.append((given * _product([weight for _, weight, _ in chosen])).value)
        common = (given * values.call("gather", 2, index)).call("sum.dim_IntList", [1], True)
        for axis in range(axes):
            along[axis].append(common * _product([slope if at == axis else weight
                                                  for at, (_, weight, slope) in enumerate(chosen)]))
    zeros = values * 0.0
    of_values = zeros.call("scatter_add", 2, graph.call("cat", indices, 2), graph.call("cat", parts, 2))
    slopes = [functools.reduce(operator.add, terms).call("reshape", [batch, places, 1]).value for terms in along[::-1]]
    return (_shaped(graph, of_values.value, fakes[1]), _shaped(graph, graph.call("cat", slopes, 2), fakes[2]))


def _product(terms: list[Term]) -> Term:
    return functools.reduce(operator.mul, terms)


def _shaped(graph: Lowering, value: Any, fake: torch.Tensor) -> Any:
    return _made(graph, graph.call("reshape", value, [graph.size(size) for size in fake.shape]), fake)


# ---- Segments, one behind the other along an axis.

@lowers(aten._segment_reduce_backward.default)
def _segmented(graph: Lowering, node: torch.fx.Node, grad: Any, output: Any, data: Any, reduce: str,
               lengths: Any = None, offsets: Any = None, axis: int = 0, initial: Any = None) -> Any:
    """Values are [before, segments, elements, behind]: what each segment has of each element. Of several largest elements
    each has its part; eager PyTorch gives each the whole where that is negative."""
    fakes = [argument.meta["val"] for argument in node.args[:3]]
    before = [math.prod(fakes[2].shape[:axis]), fakes[2].shape[axis], math.prod(fakes[2].shape[axis + 1:])]
    outer, elements, behind = (graph.size(size) for size in before)
    segments = graph.size(fakes[0].shape[axis])
    grad, output, data = (Term(graph, wide(graph, one, fake)) for one, fake in zip((grad, output, data), fakes))
    grad, output = (one.call("reshape", [outer, segments, 1, behind]) for one in (grad, output))
    data = data.call("reshape", [outer, 1, elements, behind])
    name = "_segments_of_offsets" if lengths is None else "_segments_of_lengths"
    borders = graph.call(name, offsets if lengths is None else lengths)
    begin, end = (Term(graph, border).call("reshape", [outer, segments, 1, 1]) for border in borders)
    places = Term(graph, graph.call("iota", [elements], 0, dtype=torch.int64)).call("reshape", [1, 1, elements, 1])
    inside = (places >= begin).and_(places < end)
    if reduce in ("min", "max"):
        same = data.equals(output).call("logical_or", data.call("isnan").and_(output.call("isnan"))).and_(inside)
        share = same.to(torch.float32) / same.to(torch.float32).call("sum.dim_IntList", [2], True).call("clamp_min", 1)
    elif reduce == "prod":
        others = inside.and_(data.equals(0))
        zeros = others.to(torch.float32).call("sum.dim_IntList", [2], True)
        kept = inside.and_(data.call("ne.Scalar", 0)).where(data, 1.0).call("prod.dim_int", 2, True)
        alone = kept if initial is None else kept * initial
        share = others.where(zeros.equals(1).where(alone, 0.0), output / data)
    else:
        share = inside.to(torch.float32)
        share = share / share.call("sum.dim_IntList", [2], True) if reduce == "mean" else share
    found = inside.where(grad * share, 0.0).call("sum.dim_IntList", [1])
    return _shaped(graph, found.value, node.meta["val"])


def _directions(apart: Term, distances: Term, power: float) -> Term:
    """How distances change with the first of two points; where points are the same, they have no direction."""
    size, sign = apart.call("abs"), apart.call("sign")
    if power == 1:
        return sign
    if power == math.inf:
        return size.equals(distances).where(sign, 0.0)
    share = (size / distances).call("pow.Tensor_Scalar", power - 1)
    return distances.equals(0).call("logical_or", size.equals(0)).where(0.0, sign * share)


def _no_slope(graph: Lowering, node: torch.fx.Node) -> Any:
    made = node.meta["val"]
    return graph.call("zeros", [graph.size(size) for size in made.shape], dtype=made.dtype)


@lowers(aten._cdist_backward.default)
def _distances(graph: Lowering, node: torch.fx.Node, grad: Any, one: Any, other: Any, power: float,
               distances: Any) -> Any:
    """By the first of two sets of points."""
    made = node.meta["val"]
    none = any(type(size) is int and size == 0 for size in node.args[0].meta["val"].shape)
    if power == 0 or none:  # of no distances, PyTorch's result is not broadcast
        return _no_slope(graph, node)
    grad, distances = (Term(graph, value).call("unsqueeze", -1) for value in (grad, distances))
    apart = Term(graph, one).call("unsqueeze", -2) - Term(graph, other).call("unsqueeze", -3)
    total = (_directions(apart, distances, power) * grad).call("sum.dim_IntList", [-2])
    broadcast = node.args[0].meta["val"].dim() - made.dim()
    return _shaped(graph, (total.call("sum.dim_IntList", list(range(broadcast))) if broadcast else total).value, made)


@lowers(aten._pdist_backward.default)
def _distances_within(graph: Lowering, node: torch.fx.Node, grad: Any, points: Any, power: float,
                      distances: Any) -> Any:
    """Of pairs of points of one set, in the order of an upper triangle."""
    if power == 0:
        return _no_slope(graph, node)
    count = graph.size(node.meta["val"].shape[0])
    pairs = Term(graph, graph.call("triu_indices", count, count, 1, dtype=torch.int64))
    first, second = (pairs.call("select.int", 0, at) for at in (0, 1))
    points = Term(graph, points)
    apart = points.call("index_select", 0, first) - points.call("index_select", 0, second)
    grad, distances = (Term(graph, value).call("unsqueeze", -1) for value in (grad, distances))
    moved = _directions(apart, distances, power) * grad
    zeros = Term(graph, _no_slope(graph, node))
    return zeros.call("index_add", 0, first, moved).call("index_add", 0, second, moved * -1.0).value
