"""Losses by how far classes are apart: PyTorch has no gradient of them that is made of other operators, and a
decomposition that counts targets behind the end of a row. Values are [rows, classes]; a vector is one row."""
from __future__ import annotations

from typing import Any

import torch

from laze_torch._backward import Term, _number, _shaped
from laze_torch._lowering import Lowering, aten, lowers, wide

_MEAN = 1  # a reduction


def _matrix(graph: Lowering, value: Any, fake: torch.Tensor) -> Term:
    """As rows, and floats of 16 bits as float32."""
    classes = graph.size(fake.shape[-1]) if fake.dim() else 1
    return Term(graph, graph.call("reshape", wide(graph, value, fake), [-1, classes]))


def _places(graph: Lowering, fake: torch.Tensor) -> Term:
    """The numbers of classes."""
    return Term(graph, graph.call("iota", [graph.size(fake.shape[-1]) if fake.dim() else 1], 0, dtype=torch.int64))


def _share(graph: Lowering, node: torch.fx.Node, grad: Any, reduction: int) -> Term:
    """What a class of each row has of the gradient: [rows, 1]."""
    given, fake = (argument.meta["val"] for argument in node.args[:2])
    count = _number(graph, fake.shape[-1]) if fake.dim() else 1
    if reduction == _MEAN and fake.dim() == 2:
        count = count * _number(graph, fake.shape[0])
    return Term(graph, graph.call("reshape", wide(graph, grad, given), [-1, 1])) / count


def _named(targets: Term) -> Term:
    """Which targets count: those before the first that is below 0."""
    return (targets < 0).to(torch.int64).call("cumsum", 1).equals(0)


@lowers(aten.multilabel_margin_loss_forward.default)
def _of_several(graph: Lowering, node: torch.fx.Node, value: Any, target: Any, reduction: int) -> Any:
    """With which classes are targets, for the way back."""
    scores, fake = (argument.meta["val"] for argument in node.args[:2])
    targets = _matrix(graph, target, fake)
    classes = _named(targets).where(targets, -1).call("unsqueeze", -1)
    chosen = classes.equals(_places(graph, fake)).call("any.dims", [1])
    sizes = [graph.size(size) for size in fake.shape]
    loss = graph.call("multilabel_margin_loss", value, target, reduction)
    if fake.dim() < 2:
        loss = graph.call("reshape", loss, [])
    return loss, chosen.call("reshape", sizes).to(scores.dtype).value


@lowers(aten.multilabel_margin_loss_backward.default)
def _of_several_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, target: Any, reduction: int,
                         is_target: Any) -> Any:
    """Each pair of a target and another class that are too near has a part in both."""
    fakes = [argument.meta["val"] for argument in node.args[1:3]]
    scores, chosen = (_matrix(graph, one, fakes[0]) for one in (value, is_target))
    targets = _matrix(graph, target, fakes[1])
    named = _named(targets)
    places = named.where(targets, 0)
    own = scores.call("gather", 1, places).call("unsqueeze", -1)
    near = scores.call("unsqueeze", 1) - own > -1
    near = near.and_(named.call("unsqueeze", -1)).and_(chosen.equals(0).call("unsqueeze", 1)).to(torch.float32)
    others, own = near.call("sum.dim_IntList", [1]), near.call("sum.dim_IntList", [2])
    found = others.call("scatter_add", 1, places, own * -1) * _share(graph, node, grad, reduction)
    return _shaped(graph, found.value, fakes[0])


@lowers(aten.multi_margin_loss_backward.default)
def _of_one_backward(graph: Lowering, node: torch.fx.Node, grad: Any, value: Any, target: Any, power: int,
                     margin: float, weight: Any = None, reduction: int = _MEAN) -> Any:
    """Each other class that is too near to the target has a part in both."""
    fake = node.args[1].meta["val"]
    scores, own = _matrix(graph, value, fake), Term(graph, graph.call("reshape", target, [-1, 1]))
    room = scores - scores.call("gather", 1, own) + margin
    near = (room > 0).and_(own.call("ne.Tensor", _places(graph, fake)))
    slope = near.where(room * 2 if power == 2 else room.call("ones_like"), 0.0) * _share(graph, node, grad, reduction)
    if weight is not None:
        slope = slope * Term(graph, graph.call("take", wide(graph, weight, fake), own.value))
    found = slope.call("scatter_add", 1, own, slope.call("sum.dim_IntList", [1], True) * -1)
    return _shaped(graph, found.value, fake)
