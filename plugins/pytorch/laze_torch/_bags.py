"""Bags of rows of a table, summed up: PyTorch has the way back of what `embedding_bag` calls as operators of their own.

  indices  [2 0 | 1 | 3 3 2]     offsets [0 2 3]     bags of the places [0 0 1 2 2 2]
"""
from __future__ import annotations

from typing import Any

import torch

from laze_torch import _sizes
from laze_torch._backward import Term
from laze_torch._lowering import Lowering, NoLowering, aten, lowers, wide

_SUM, _MEAN, _MAX = range(3)


@lowers(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def _bags(graph: Lowering, node: torch.fx.Node, *given: Any, **named: Any) -> Any:
    """The bags of places have no elements where PyTorch's way back does not read them."""
    sums, bags, counts, largest = graph.call("_embedding_bag", *given, **named)
    if _sizes.expression(node.meta["val"][1].shape[0]) == 0:
        bags = graph.call("zeros", [0], dtype=torch.int64)
    return sums, bags, counts, largest


def _of_places(graph: Lowering, node: torch.fx.Node, indices: Any, offsets: Any, padding: int) -> tuple[Term, Term]:
    """The bag of each index, and whether it counts."""
    at = 1 if node.target is aten._embedding_bag_backward.default else 2
    places = graph.call("iota", [graph.size(node.args[at].meta["val"].shape[0])], 0, dtype=torch.int64)
    bag = Term(graph, graph.call("searchsorted.Tensor", offsets, places, right=True)) - 1
    return bag, Term(graph, indices).call("ne.Scalar", padding)


@lowers(aten._embedding_bag_backward.default)
def _of_table(graph: Lowering, node: torch.fx.Node, grad: Any, indices: Any, offsets: Any, bags: Any, counts: Any,
              largest: Any, rows: int, by_frequency: bool, mode: int, sparse: bool, weights: Any,
              padding: int = -1) -> Any:
    if sparse:
        raise NoLowering("its gradient is sparse")
    fake, kind = node.args[0].meta["val"], node.meta["val"].dtype
    value, count = Term(graph, wide(graph, grad, fake)), Term(graph, counts).call("unsqueeze", -1)
    width = graph.size(fake.shape[1])
    zeros = Term(graph, graph.call("zeros", [rows, width], dtype=torch.promote_types(fake.dtype, torch.float32)))
    if mode == _MAX:
        return zeros.call("scatter_add", 0, largest, (count > 0).where(value, 0.0)).to(kind).value
    bag, counted = _of_places(graph, node, indices, offsets, padding)
    each = (value / count if mode == _MEAN else value).call("index_select", 0, bag)
    if weights is not None:
        each = each * Term(graph, weights).call("unsqueeze", -1)
    each = counted.call("unsqueeze", -1).where(each, 0.0)
    if by_frequency:
        once = counted.to(torch.float32)
        often = Term(graph, graph.call("zeros", [rows], dtype=torch.float32)).call("index_add", 0, indices, once)
        each = each / often.call("index_select", 0, indices).call("clamp_min", 1).call("unsqueeze", -1)
    return zeros.call("index_add", 0, indices, each).to(kind).value


@lowers(aten._embedding_bag_per_sample_weights_backward.default)
def _of_weights(graph: Lowering, node: torch.fx.Node, grad: Any, table: Any, indices: Any, offsets: Any, bags: Any,
                mode: int, padding: int = -1) -> Any:
    fake = node.args[0].meta["val"]
    bag, counted = _of_places(graph, node, indices, offsets, padding)
    each = Term(graph, wide(graph, grad, fake)).call("index_select", 0, bag)
    rows = Term(graph, wide(graph, table, fake)).call("index_select", 0, indices)
    return counted.where((each * rows).call("sum.dim_IntList", [1]), 0.0).to(node.meta["val"].dtype).value
