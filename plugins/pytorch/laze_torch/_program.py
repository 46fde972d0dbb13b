"""A graph of PyTorch as steps: programs of laze, and what laze has no operator for, which PyTorch runs.

  nodes in order     mm  relu  |  bernoulli  |  mul  sum
  steps              Program   |  Eager      |  Program
"""
from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import torch
from torch._C._dynamo.guards import _empty_strided_cpu

from laze import _laze
from laze_torch import _kept, _sizes
from laze_torch._lowering import Lowering, NoLowering, Tape, begins_at, note_states

Node = torch.fx.Node


def order_of(node: Node) -> tuple[int, ...]:
    """The dims of a node's value as they lie in memory, the one with the widest steps first. Where its elements do not
    lie one behind the other, or nobody knows, they are copied so that they do."""
    fake = node.meta["val"]
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


def _is_number(node: Node) -> bool:
    return isinstance(node.meta["val"], torch.SymInt)


class Program:
    """Consecutive nodes as one graph of laze, which reads and writes memory of PyTorch's as it lies."""

    def __init__(self, form: dict[str, Any], program: Any, plan: Plan):
        """`form`: what of the program JSON can say, but for its size and its place (`kept`)."""
        self.form, self.program = form, program
        inputs, results = ([plan.nodes[place] for place in form[name]] for name in ("inputs", "results"))
        self.inputs, self.results, self.lacking = list(form["inputs"]), form["results"], form["lacking"]
        self.draws = form["seed"] is not None
        lying = [order_of(node) for node in results]
        takes = [None if _is_number(node) else _given_order(order_of(node)) for node in inputs]
        takes += [None] * len(self.lacking)
        if self.draws:
            takes.insert(form["seed"], None)
            self.inputs.insert(form["seed"], plan.seed)
        self.numbers = [self.inputs.index(plan.position[node]) for node in inputs if _is_number(node)]
        self.runner = _laze._Runner(self.program, tuple(takes), tuple(map(_given_order, lying)), _empty_strided_cpu,
                                    _arrange)
        self.places = _places([node.meta["val"] for node in results], lying, plan.symbols)

    @classmethod
    def lowered(cls, lowering: Lowering, inputs: list[Node], results: list[Node], plan: Plan) -> Program:
        # A run finds sizes where inputs have them; one that none has is an input itself.
        given = {size.node.expr for node in inputs if not _is_number(node) for size in node.meta["val"].shape
                 if _is_symbol(size)}
        lacking = [plan.symbols.index(symbol) for symbol in sorted(lowering.symbols - given, key=str)]
        for index in lacking:
            lowering.builder.input(f"size{index}", torch.bool, [lowering.size(plan.symbols[index]), 0])
        values = [lowering.turned(lowering.values[node], order_of(node)) for node in results]
        tape = lowering.builder
        form = {"calls": tape.calls, "values": None if tape.calls is None else tape.numbers(values), "lacking": lacking,
                "inputs": [plan.position[node] for node in inputs], "results": [plan.position[node] for node in results],
                "seed": None if lowering.seed is None else lowering.seed_place}
        return cls(form, tape.finish(tuple(values)), plan)

    @classmethod
    def kept(cls, form: dict[str, Any], plan: Plan) -> Program:
        """That of such a form, for which nothing is lowered."""
        tape = Tape()
        tape.play(form["calls"])
        return cls(form, tape.finish(tuple(tape.values[number] for number in form["values"])), plan)

    def run(self, env: list[Any], known: list[int]) -> None:
        inputs = [env[slot] for slot in self.inputs]
        for at in self.numbers:
            inputs[at] = torch.tensor(inputs[at])
        if self.lacking:
            inputs += [known[index] for index in self.lacking]
        for slot, result in zip(self.results, self.runner(inputs, self.places(known))):
            env[slot] = result


def _given_order(order: tuple[int, ...]) -> tuple[int, ...] | None:
    """What a runner is told: nothing of what is row-major."""
    return None if order == tuple(range(len(order))) else order


def _places(fakes: list[torch.Tensor], orders: list[tuple[int, ...]],
            symbols: Sequence[Any]) -> Callable[[Sequence[int]], tuple[Any, ...]]:
    """What memory for results is made of, sizes, strides and dtype, as a function of the sizes with names."""
    forms = [(tuple(fake.shape), _strides(fake, order), fake.dtype) for fake, order in zip(fakes, orders)]
    numbers = [number for shape, strides, _ in forms for number in (*shape, *strides)]
    if not any(isinstance(number, torch.SymInt) for number in numbers):
        return lambda known, places=tuple(forms): places
    find = _sizes.function([_sizes.expression(number) for number in numbers], symbols)

    def find_places(known: Sequence[int]) -> tuple[Any, ...]:
        found, at, places = find(*known), 0, []
        for fake in fakes:
            middle, end = at + fake.dim(), at + 2 * fake.dim()
            places.append((found[at:middle], found[middle:end], fake.dtype))
            at = end
        return tuple(places)
    return find_places


def _strides(fake: torch.Tensor, order: tuple[int, ...]) -> tuple[Any, ...]:
    """Those of elements without a gap, the dims in this order."""
    strides: list[Any] = [1] * fake.dim()
    step: Any = 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * fake.shape[dim]
    return tuple(strides)


def _arrange(tensor: torch.Tensor, order: tuple[int, ...] | None) -> torch.Tensor:
    """A copy whose elements have no gap between them, the dims in this order."""
    if order is None:
        return tensor.contiguous()
    inverse = [order.index(dim) for dim in range(len(order))]
    return tensor.permute(order).contiguous().permute(inverse)


class Eager:
    """A node that PyTorch runs, and why. The sizes of its results may be known only then."""

    def __init__(self, node: Node, reason: str, plan: Plan):
        self.node, self.reason, self.slot = node, reason, plan.position[node]
        self.form = {"node": self.slot, "reason": reason}
        self.operands = {operand: plan.position[operand] for operand in node.all_input_nodes}
        self.sizes = {operand: _sizes.function([_sizes.expression(operand.meta["val"])], plan.symbols)
                      for operand in node.all_input_nodes if isinstance(operand.meta["val"], _sizes.SYMBOLIC)}
        self.found = [(plan.symbols.index(size), item, dim) for item, dim, size in _sizes_of(node.meta.get("val"))
                      if size in plan.unknown]
        plan.unknown -= {plan.symbols[index] for index, _, _ in self.found}

    @property
    def name(self) -> str:
        target = self.node.target
        return target.name() if isinstance(target, torch._ops.OpOverload) else str(target)

    @property
    def is_check(self) -> bool:
        """Whether it computes nothing, and may raise an error."""
        target = self.node.args[1] if self.node.target is torch.ops.higher_order.with_effects else self.node.target
        return isinstance(target, torch._ops.OpOverload) and not target._schema.returns

    def run(self, env: list[Any], known: list[int]) -> None:
        def value(operand: Node) -> Any:
            return self.sizes[operand](*known)[0] if operand in self.sizes else env[self.operands[operand]]
        args, kwargs = torch.fx.node.map_arg((self.node.args, self.node.kwargs), value)
        env[self.slot] = result = self.node.target(*args, **kwargs)
        for index, item, dim in self.found:
            known[index] = result if dim < 0 else (result if item is None else result[item]).shape[dim]


class Plan:
    """A graph module as steps, which are made once and run for any sizes."""

    def __init__(self, module: torch.fx.GraphModule, draws: bool, known: tuple[int, ...] | None = None):
        """`draws`: whether programs draw random numbers, which PyTorch does otherwise. `known`: the sizes with names, in
        the order of `sources`; None: those that PyTorch has seen."""
        self.may_draw, self.nodes = draws, list(module.graph.nodes)
        self.position = {node: index for index, node in enumerate(self.nodes)}
        note_states(module.graph, draws)
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.outputs = next(node for node in self.nodes if node.op == "output").args[0]
        self.constants = [(self.position[node], operator.attrgetter(node.target)(module))
                          for node in self.nodes if node.op == "get_attr"]
        self.seed = len(self.nodes)  # a run's values: one for each node, and the seed of what it draws
        self.sources = self._find_sizes()
        self.symbols = list(self.sources)
        # Those of results that have to be there to be counted.
        self.unknown = {size for node in self.nodes for _, _, size in _sizes_of(node.meta.get("val"))
                        if size.is_Symbol and size not in self.sources}
        self.symbols += sorted(self.unknown, key=str)
        self.hints = {str(symbol): number for symbol, number in zip(self.symbols, known or self._seen())}
        self.steps: list[Program | Eager] = []
        key = _kept.key_of(self.nodes, [draws, self.hints, [str(symbol) for symbol in self.symbols]])
        self.found = key is not None and self._find(key)  # on disk
        if not self.found:
            self._make_steps()
            if key is not None and all(step.form.get("calls", ()) is not None for step in self.steps):
                _kept.store(key, [step.form for step in self.steps])
        self.draws = any(isinstance(step, Program) and step.draws for step in self.steps)
        self.results = [self._output(output) for output in self.outputs]

    @property
    def fallbacks(self) -> list[Eager]:
        """The nodes that PyTorch runs."""
        return [step for step in self.steps
                if isinstance(step, Eager) and step.reason and step.node.target is not operator.getitem
                and not step.is_check]

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

    def _find(self, key: str) -> bool:
        """Whether there were steps of such a graph on disk, and could be made."""
        forms, unknown = _kept.find(key), set(self.unknown)
        if forms is None:
            return False
        try:
            for form in forms:
                self.steps.append(Program.kept(form, self) if "calls" in form else
                                  Eager(self.nodes[form["node"]], form["reason"], self))
            return True
        except (_laze.Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            _kept.discard(key, f"{type(error).__name__}: {error}")
            self.steps, self.unknown = [], unknown
            return False

    def _make_steps(self) -> None:
        self._begin()
        for node in self.nodes:
            if node.op == "call_function" and _has_tensors(node.meta.get("val")):  # sizes are expressions
                self._take(node)
            elif node.op == "call_function":
                self._note(node)
        self._end()

    def _begin(self) -> None:
        self.lowering, self.inputs, self.pending = Lowering(self.hints, self.may_draw), [], []

    def _end(self) -> None:
        """Makes a program of what was recorded since the last step, with what is used behind it as results."""
        last = self.position[self.pending[-1]] if self.pending else 0
        results = [node for node in self.pending if isinstance(node.meta["val"], torch.Tensor)
                   and any(self.position[user] > last for user in node.users)]
        if results:
            self.steps.append(Program.lowered(self.lowering, self.inputs, results, self))
        self._begin()

    def _note(self, node: Node) -> None:
        """A step for what has no tensors as results: an assertion of PyTorch's, or a number that it reads."""
        step = Eager(node, "", self)
        if step.is_check or step.found:
            self._end()
            self.steps.append(step)

    def _take(self, node: Node) -> None:
        try:
            if node.target is torch.ops.higher_order.with_effects:
                raise NoLowering("its effects have an order")
            if any(size.free_symbols & self.unknown for _, _, size in _sizes_of(node.meta["val"])):
                raise NoLowering("how large its results are is known when it has run")
            if node.target is operator.getitem:
                self._take_item(node)
            else:
                for operand in node.all_input_nodes:
                    self._take_input(operand)
                self._take_number(begins_at(node))
                self.lowering.add(node, self.position[node])
            self.pending.append(node)
        except NoLowering as reason:
            self._end()
            self.steps.append(Eager(node, str(reason), self))

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
        order = order_of(operand)
        sizes = [self.lowering.size(fake.shape[dim]) for dim in order]
        value = self.lowering.input(fake.dtype, sizes)
        self.inputs.append(operand)
        self.lowering.values[operand] = self.lowering.turned(value, tuple(order.index(dim) for dim in range(fake.dim())))

    def _take_number(self, operand: Node | None) -> None:
        """Takes what a run has as a number for a tensor."""
        if operand is not None and operand not in self.lowering.values:
            self.lowering.values[operand] = self.lowering.input(torch.int64, [])
            self.inputs.append(operand)

    # ---- Running.

    def _output(self, output: Any) -> Any:
        """What gives an output: the place of a node, or a function of the sizes."""
        if not isinstance(output, Node):
            return lambda *known: (output,)
        if isinstance(output.meta["val"], _sizes.SYMBOLIC):
            return _sizes.function([_sizes.expression(output.meta["val"])], self.symbols)
        return self.position[output]

    def sizes(self, arguments: list[Any]) -> tuple[int, ...]:
        """The sizes with names that these inputs have."""
        return tuple(arguments[index] if dim < 0 else arguments[index].shape[dim]
                     for index, dim in self.sources.values())

    def run(self, arguments: list[Any], known: tuple[int, ...], seed: torch.Tensor | None) -> list[Any]:
        """`seed`: of what it draws (`draws`)."""
        env = arguments + [None] * (self.seed - len(arguments)) + [seed]
        found = [*known, *[0] * (len(self.symbols) - len(known))]
        for slot, constant in self.constants:
            env[slot] = constant
        for step in self.steps:
            step.run(env, found)
        return [env[result] if isinstance(result, int) else result(*found)[0] for result in self.results]

    def boxed(self) -> Callable[[list[Any]], list[Any]] | None:
        """run() of one program of fixed sizes that draws nothing, in C, which empties the list; None: it is not that."""
        if len(self.steps) != 1 or self.symbols or self.draws or self.constants or isinstance(self.steps[0], Eager):
            return None
        if any(result()[0] is not None for result in self.results if not isinstance(result, int)):
            return None
        program, made, taken = self.steps[0], len(self.steps[0].results), len(self.placeholders)
        # An output is a result, an argument, or nothing, which lie behind each other.
        place = {slot: made + slot for slot in range(taken)} | {slot: at for at, slot in enumerate(program.results)}
        chosen = tuple(place[result] if isinstance(result, int) else made + taken for result in self.results)
        return _laze._Boxed(program.runner, taken, tuple(program.inputs), program.places([]), chosen)


def _sizes_of(held: Any) -> list[tuple[int | None, int, Any]]:
    """Of the tensors of a node: which of several, the dim, and its size as an expression, where it has symbols. A node
    that is a number is its own size, of dim -1."""
    if isinstance(held, (torch.SymInt, torch.SymFloat)):
        return [(None, -1, held.node.expr)]
    items = enumerate(held) if isinstance(held, (list, tuple)) else [(None, held)]
    return [(item, dim, size.node.expr) for item, tensor in items if isinstance(tensor, torch.Tensor)
            for dim, size in enumerate(tensor.shape) if isinstance(size, torch.SymInt)]


def _has_tensors(held: Any) -> bool:
    return isinstance(held, torch.Tensor) or (
        isinstance(held, (list, tuple)) and any(_has_tensors(item) for item in held))
