"""What of a joint graph is the way there, and what the way back: PyTorch's partition, on a graph in which what is
computed twice is merged.

PyTorch merges too (`cse`), and imports for that its whole inductor: 0.6 s of a process's first step.
"""
from __future__ import annotations

import operator
from typing import Any

import torch
from torch._functorch import config
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from laze_torch._sizes import SYMBOLIC

# Operators whose results differ, and such of which nobody knows beforehand how large these are.
_APART = {torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}


def partition(joint: GraphModule, inputs: Any, **named: Any) -> tuple[GraphModule, GraphModule]:
    """What aot_autograd calls with a joint graph: the two graphs."""
    joint.graph.eliminate_dead_code()
    merge(joint.graph)
    with config.patch(cse=False):
        return min_cut_rematerialization_partition(joint, inputs, **named)


def merge(graph: torch.fx.Graph) -> None:
    """Has uses of a node that computes what one before it does use that one. Results that do not share memory in eager
    PyTorch are kept apart: their memory is their own."""
    returned = _storages(next(node for node in graph.nodes if node.op == "output").all_input_nodes)
    made: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if _writes(node.target):  # what reads the same memory before and behind it may differ
            made.clear()
        elif _may_merge(node.target) and not _storages([node]) & returned:
            key = node.target, _key(node.args), tuple((name, _key(held)) for name, held in node.kwargs.items())
            first = made.setdefault(key, node)
            if first is not node:
                node.replace_all_uses_with(first)
                graph.erase_node(node)


def _writes(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def _may_merge(target: Any) -> bool:
    if isinstance(target, torch._ops.OpOverload):
        return _APART.isdisjoint(target.tags) and target.overloadpacket is not torch.ops.aten.empty
    return getattr(target, "__module__", None) == operator.getitem.__module__  # arithmetic of sizes, too


def _storages(nodes: list[torch.fx.Node]) -> set[int]:
    """The memory of tensors, by numbers that are its own as long as the nodes are there."""
    held = [node.meta.get("val") for node in nodes]
    values = [value for item in held for value in (item if isinstance(item, (list, tuple)) else [item])]
    return {value.untyped_storage()._cdata for value in values
            if isinstance(value, torch.Tensor) and value.layout is torch.strided}


def _key(held: Any) -> Any:
    """What tells arguments apart: 1, 1.0 and True are three, and so are 0.0 and -0.0."""
    if isinstance(held, (list, tuple)):
        return tuple(map(_key, held))
    if isinstance(held, SYMBOLIC):
        return held.node.expr
    return (type(held), repr(held)) if isinstance(held, (float, complex)) else (type(held), held)
