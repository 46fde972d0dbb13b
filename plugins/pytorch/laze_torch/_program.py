"""A graph of PyTorch as steps: programs of laze, and what laze has no operator for, which PyTorch runs.

  nodes in order     mm  relu  |  bernoulli  |  mul  sum
  steps              Program   |  Eager      |  Program
"""
from __future__ import annotations

import operator
from typing import Any, Sequence

import torch

from laze_torch import _sizes
from laze_torch._lowering import Lowering, NoLowering

Node = torch.fx.Node


class Place:
    """How a tensor lies in memory at the border of a program: its dims, the one with the widest steps first. Where its
    elements do not lie one behind the other, or nobody knows, they are copied so that they do."""

    def __init__(self, fake: torch.Tensor):
        self.order = _order(fake)
        self.plain = self.order == tuple(range(fake.dim()))
        self.inverse = tuple(self.order.index(dim) for dim in range(fake.dim()))

    def given(self, tensor: torch.Tensor) -> torch.Tensor:
        turned = tensor if self.plain else tensor.permute(self.order)
        return turned if turned.is_contiguous() else turned.contiguous()


def _order(fake: torch.Tensor) -> tuple[int, ...]:
    sizes, strides = ([_hint(size) for size in list_] for list_ in (fake.shape, fake.stride()))
    order = sorted(range(fake.dim()), key=lambda dim: (strides[dim], sizes[dim] != 1), reverse=True)
    expected = 1
    for dim in reversed(order):
        if sizes[dim] != 1 and strides[dim] != expected:
            return tuple(range(fake.dim()))
        expected *= sizes[dim]
    return tuple(order)


def _hint(size: Any) -> int:
    """A size that a symbol stood for when the graph was made: the order of dims is the same for others."""
    return size.node.hint or 0 if isinstance(size, torch.SymInt) else size


def _is_symbol(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and size.node.expr.is_Symbol


class Program:
    """Consecutive nodes as one graph of laze, whose results are written to memory of PyTorch's."""

    def __init__(self, lowering: Lowering, inputs: list[Node], results: list[Node], symbols: Sequence[Any]):
        self.inputs = [(node, Place(node.meta["val"])) for node in inputs]
        self.results = [(node, Place(node.meta["val"])) for node in results]
        # A run finds sizes where inputs have them; one that none has comes as the size of an input of no elements.
        given = {size.node.expr for node, place in self.inputs for size in node.meta["val"].shape if _is_symbol(size)}
        self.lacking = [symbols.index(symbol) for symbol in sorted(lowering.symbols - given, key=str)]
        for index in self.lacking:
            lowering.builder.input(f"size{index}", torch.bool, [lowering.size(symbols[index]), 0])
        values = [lowering.turned(lowering.values[node], place.order) for node, place in self.results]
        self.program = lowering.builder.finish(tuple(values))
        self.sizes = _sizes.function([_sizes.expression(node.meta["val"].shape[dim])
                                      for node, place in self.results for dim in place.order], symbols)

    def run(self, env: dict[Node, Any], known: tuple[int, ...]) -> None:
        memory, at, sizes = [], 0, self.sizes(*known)
        for node, place in self.results:
            rank, dtype = len(place.order), node.meta["val"].dtype
            # The bytes of bools are 0 or 1 before they are written, too.
            make = torch.zeros if dtype is torch.bool else torch.empty
            memory.append(make(sizes[at:at + rank], dtype=dtype))
            at += rank
        inputs = [place.given(env[node]) for node, place in self.inputs]
        inputs += [torch.empty(known[index], 0, dtype=torch.bool) for index in self.lacking]
        self.program.run(tuple(inputs), tuple(memory))
        for (node, place), tensor in zip(self.results, memory):
            env[node] = tensor if place.plain else tensor.permute(place.inverse)


class Eager:
    """A node that PyTorch runs, and why."""

    def __init__(self, node: Node, reason: str, symbols: Sequence[Any]):
        self.node, self.reason = node, reason
        self.sizes = {operand: _sizes.function([_sizes.expression(operand.meta["val"])], symbols)
                      for operand in node.all_input_nodes if isinstance(operand.meta["val"], _sizes.SYMBOLIC)}

    def run(self, env: dict[Node, Any], known: tuple[int, ...]) -> None:
        def value(operand: Node) -> Any:
            return self.sizes[operand](*known)[0] if operand in self.sizes else env[operand]
        args, kwargs = torch.fx.node.map_arg((self.node.args, self.node.kwargs), value)
        env[self.node] = self.node.target(*args, **kwargs)


class Plan:
    """A graph module as steps, which are made once and run for any sizes."""

    def __init__(self, module: torch.fx.GraphModule, name: str, known: tuple[int, ...] | None = None):
        """`known`: the sizes with names, in the order of `sources`; None: those that PyTorch has seen."""
        self.name, self.nodes = name, list(module.graph.nodes)
        self.position = {node: index for index, node in enumerate(self.nodes)}
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.outputs = next(node for node in self.nodes if node.op == "output").args[0]
        self.constants = {node: operator.attrgetter(node.target)(module)
                          for node in self.nodes if node.op == "get_attr"}
        self.sources = self._find_sizes()
        self.symbols = list(self.sources)
        self.hints = {str(symbol): number for symbol, number in zip(self.symbols, known or self._seen())}
        self.steps: list[Program | Eager] = []
        self._begin()
        for node in self.nodes:
            if node.op == "call_function" and _has_tensors(node.meta["val"]):  # sizes are expressions
                self._take(node)
        self._end()
        self.results = [self._output(output) for output in self.outputs]

    @property
    def fallbacks(self) -> list[Eager]:
        """The nodes that PyTorch runs."""
        return [step for step in self.steps if isinstance(step, Eager) and step.node.target is not operator.getitem]

    def _find_sizes(self) -> dict[Any, tuple[int, int]]:
        """Where a run finds the sizes with names: input and dim, or -1 where the input is one itself."""
        sources: dict[Any, tuple[int, int]] = {}
        for index, node in enumerate(self.placeholders):
            held = node.meta["val"]
            dims = enumerate(held.shape) if isinstance(held, torch.Tensor) else [(-1, held)]
            for dim, size in dims:
                if _is_symbol(size):
                    sources.setdefault(size.node.expr, (index, dim))
        return sources

    def _seen(self) -> list[int]:
        return [_hint(held if dim < 0 else held.shape[dim])
                for held, dim in ((self.placeholders[index].meta["val"], dim) for index, dim in self.sources.values())]

    # ---- Making steps.

    def _begin(self) -> None:
        self.lowering, self.inputs, self.pending = Lowering(self.name, self.hints), [], []

    def _end(self) -> None:
        """Makes a program of what was recorded since the last step, with what is used behind it as results."""
        last = self.position[self.pending[-1]] if self.pending else 0
        results = [node for node in self.pending if isinstance(node.meta["val"], torch.Tensor)
                   and any(self.position[user] > last for user in node.users)]
        if results:
            self.steps.append(Program(self.lowering, self.inputs, results, self.symbols))
        self._begin()

    def _take(self, node: Node) -> None:
        try:
            if node.target is operator.getitem:
                self._take_item(node)
            else:
                for operand in node.all_input_nodes:
                    self._take_input(operand)
                self.lowering.add(node)
            self.pending.append(node)
        except NoLowering as reason:
            self._end()
            self.steps.append(Eager(node, str(reason), self.symbols))

    def _take_item(self, node: Node) -> None:
        if node.args[0] not in self.lowering.values:
            raise NoLowering("an item of what came before")
        self.lowering.values[node] = self.lowering.values[node.args[0]][node.args[1]]

    def _take_input(self, operand: Node) -> None:
        fake = operand.meta["val"]
        if operand in self.lowering.values or not isinstance(fake, torch.Tensor):
            return
        if fake.device.type != "cpu" or fake.layout is not torch.strided:
            raise NoLowering(f"a tensor lies on {fake.device} as {fake.layout}")
        place = Place(fake)
        sizes = [self.lowering.size(fake.shape[dim]) for dim in place.order]
        value = self.lowering.builder.input(f"x{len(self.inputs)}", fake.dtype, sizes)
        self.inputs.append(operand)
        self.lowering.values[operand] = self.lowering.turned(value, place.inverse)

    # ---- Running.

    def _output(self, output: Any) -> Any:
        """What gives an output: a node, or a function of the sizes."""
        if not isinstance(output, Node):
            return lambda *known: (output,)
        held = output.meta["val"]
        return _sizes.function([_sizes.expression(held)], self.symbols) if isinstance(held, _sizes.SYMBOLIC) else output

    def sizes(self, arguments: list[Any]) -> tuple[int, ...]:
        """The sizes with names that these inputs have."""
        return tuple(arguments[index] if dim < 0 else arguments[index].shape[dim]
                     for index, dim in self.sources.values())

    def run(self, arguments: list[Any], known: tuple[int, ...]) -> list[Any]:
        env: dict[Node, Any] = {**self.constants, **dict(zip(self.placeholders, arguments))}
        for step in self.steps:
            step.run(env, known)
        return [env[result] if isinstance(result, Node) else result(*known)[0] for result in self.results]


def _has_tensors(held: Any) -> bool:
    return isinstance(held, torch.Tensor) or (
        isinstance(held, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in held))
