"""Gradients that PyTorch has as operators of their own, and laze has not: as calls of others.

What pools, pads or resamples is a product with a matrix for each axis, which is what the operator makes of the unit
matrix. So the gradient is a product with the transposed ones, and whatever the operator does at its borders is right.

    forward   [batch, channels, h, w] ──h x H──w x W──> [batch, channels, H, W]
    backward  [batch, channels, H, W] ──H x h──W x w──> [batch, channels, h, w]
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import torch

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
    kernel, stride, padding = ([*sizes] * (3 if len(sizes) == 1 else 1) for sizes in (kernel, stride or kernel, padding))

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
    given, made = node.args[0].meta["val"], node.meta["val"]
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
