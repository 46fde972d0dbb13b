"""The loss of a linear layer that PyTorch computes in chunks, with its gradients: one graph here."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn.modules import linear_cross_entropy  # noqa: F401: it defines the operators

from laze_torch._lowering import Lowering, lowers, wide

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_chunked = torch.ops.torch_nn._linear_cross_entropy_batch_chunked.default
_not_reduced = torch.ops.torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default


def _loss(graph: Lowering, given: tuple[Any, ...], ignored: int, reduction: str, smoothing: float) -> Any:
    value, layer, target, bias, weight = given
    return graph.call("linear_cross_entropy", value, layer, target, linear_bias=bias, weight=weight,
                      reduction=_REDUCTIONS[reduction], ignore_index=ignored, label_smoothing=smoothing)


@lowers(_not_reduced)
def _each(graph: Lowering, node: torch.fx.Node, *given: Any) -> Any:
    return _loss(graph, given[:5], given[5], "none", 0.0)


@lowers(_chunked)
def _one(graph: Lowering, node: torch.fx.Node, value: Any, layer: Any, target: Any, bias: Any, weight: Any,
         reduction: str, ignored: int, smoothing: float, *rest: Any) -> Any:
    """The loss, and its gradients where they are asked for: PyTorch multiplies them by what is given on the way back."""
    call, fakes = graph.call, node.meta["val"]
    loss = _loss(graph, (value, layer, target, bias, weight), ignored, reduction, smoothing)
    inputs, classes = (wide(graph, one, argument.meta["val"]) for one, argument in zip((value, layer), node.args))
    logits = call("matmul", inputs, call("transpose.int", classes, 0, 1))
    if bias is not None:
        logits = call("add.Tensor", logits, wide(graph, bias, node.args[3].meta["val"]))
    count = graph.size(node.args[1].meta["val"].shape[0])
    places = call("iota", [count], 0, dtype=torch.int64)
    chosen = call("eq.Tensor", call("unsqueeze", target, 1), places)
    share = call("to.dtype", call("ne.Scalar", target, ignored), torch.float32)
    if weight is not None:
        weights = call("where.ScalarOther", chosen, wide(graph, weight, node.args[4].meta["val"]), 0.0)
        share = call("mul.Tensor", share, call("sum.dim_IntList", weights, [1]))
    if reduction == "mean":
        share = call("div.Tensor", share, call("sum", share))
    off = call("sub.Tensor", call("softmax.int", logits, -1), call("to.dtype", chosen, torch.float32))
    off = call("mul.Tensor", off, call("unsqueeze", share, 1))
    found = (call("matmul", off, classes), call("matmul", call("transpose.int", off, 0, 1), inputs),
             call("sum.dim_IntList", off, [0]))
    return (loss, *(call("to.dtype", one, fake.dtype) if asked else call("zeros", list(fake.shape), dtype=fake.dtype)
                    for one, fake, asked in zip(found, fakes[1:], rest[-3:])))
