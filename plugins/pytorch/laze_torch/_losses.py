"""Operators that stand in each step of training, and that PyTorch has only a decomposition of: with fewer calls."""
from __future__ import annotations

from typing import Any

import torch

from laze_torch._backward import Term
from laze_torch._lowering import Lowering, argument_of, aten, lowers, wide

_MEAN, _NONE = 1, 0  # reductions


@lowers(aten.threshold_backward.default)
def _threshold_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, threshold: Any) -> Any:
    return graph.call("where.ScalarSelf", graph.call("le.Scalar", value, threshold), 0.0, grad)


def _terms(graph: Lowering, node: torch.fx.Node, *given: Any) -> list[Term]:
    return [Term(graph, wide(graph, one, argument.meta["val"])) for one, argument in zip(given, node.args)]


@lowers(aten.silu_backward.default)
def _silu_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any) -> Any:
    grad, value = _terms(graph, node, grad, value)
    share = value.call("sigmoid")
    return (grad * share * (value * (share * -1 + 1) + 1)).to(node.args[1].meta["val"].dtype).value


@lowers(aten.mish_backward.default)
def _mish_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any) -> Any:
    grad, value = _terms(graph, node, grad, value)
    bent = value.call("softplus").call("tanh")
    return (grad * (bent + value * value.call("sigmoid") * (bent * bent * -1 + 1))).to(node.args[1].meta["val"].dtype).value


def _classes(node: torch.fx.Node) -> tuple[int, int]:
    """The axis that has the classes, and how many there are axes."""
    rank = argument_of(node, "self", None).meta["val"].dim()
    return (0 if rank < 2 else 1), rank


def _weights(graph: Lowering, weight: Any, axis: int, rank: int) -> Any:
    return graph.call("reshape", weight, [-1 if at == axis else 1 for at in range(rank)])


@lowers(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def _negative_likelihood(graph: Lowering, node: torch.fx.Node, value: Any, target: Any, weight: Any, reduction: int,
                         ignored: Any) -> Any:
    axis, rank = _classes(node)
    counts = graph.call("ne.Scalar", target, ignored)
    chosen = graph.call("where.ScalarOther", counts, target, 0)
    beyond = graph.call("size_tensor", graph.size(argument_of(node, "self", None).meta["val"].shape[axis]))
    # A negative class is none, and does not count from the back.
    chosen = graph.call("where.self", graph.call("lt.Scalar", chosen, 0), beyond, chosen)
    chosen = graph.call("unsqueeze", chosen, axis)

    def at_target(of_class: Any) -> Any:
        picked = graph.call("squeeze.dim", graph.call("gather", of_class, axis, chosen), axis)
        return graph.call("where.ScalarOther", counts, picked, 0.0)
    weighted = value
    if weight is not None:
        weight = _weights(graph, weight, axis, rank)
        weighted = graph.call("mul.Tensor", value, weight)
    losses = graph.call("neg", at_target(weighted))
    dtype = argument_of(node, "self", None).meta["val"].dtype
    if reduction == _NONE and rank > 1:
        return losses, graph.call("zeros", [], dtype=dtype)
    if weight is None:
        total = graph.call("to.dtype", graph.call("sum", counts), dtype)
    else:
        total = graph.call("sum", at_target(graph.call("expand_as", weight, value)))
    if reduction == _NONE:
        return losses, total
    added = graph.call("sum", losses)
    return (graph.call("div.Tensor", added, total) if reduction == _MEAN else added), total


@lowers(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def _negative_likelihood_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, target: Any, weight: Any,
                                  reduction: int, ignored: Any, total: Any) -> Any:
    axis, rank = _classes(node)
    if reduction == _MEAN:
        grad = graph.call("div.Tensor", grad, total)
    target = graph.call("unsqueeze", target, axis)
    counts = graph.call("ne.Scalar", target, ignored)
    chosen = graph.call("where.ScalarOther", counts, target, 0)
    of_classes = graph.call("scatter.value", graph.call("zeros_like", value), axis, chosen, -1.0)
    if 0 < argument_of(node, "grad_output", None).meta["val"].dim() < rank:
        grad = graph.call("unsqueeze", grad, axis)
    if weight is not None:
        grad = graph.call("mul.Tensor", grad, _weights(graph, weight, axis, rank))
    return graph.call("mul.Tensor", of_classes, graph.call("where.ScalarOther", counts, grad, 0.0))
