"""Nodes of PyTorch's graphs as calls of laze's operators, which have the same names and arguments."""
from __future__ import annotations

import functools
import operator
from typing import Any, Callable

import torch

from laze import _laze
from laze_torch import _sizes

aten, prims = torch.ops.aten, torch.ops.prims

# Arguments that say where a tensor lies and how, for results lie as PyTorch expects them, whatever is said here; and
# where numbers are drawn from.
_PLACES = {"device", "generator", "layout", "memory_format", "non_blocking", "pin_memory"}
# Types of schemas where a number is an element, and no size.
_ELEMENTS = ("Tensor", "Optional[Tensor]", "number", "Optional[number]", "Scalar")
# The overload for a number, and the one for what a number is that follows from sizes.
_OF_TENSORS = {f"{name}.Scalar": f"{name}.Tensor"
               for name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge")}
_OF_TENSORS["pow.Tensor_Scalar"] = "pow.Tensor_Tensor"

# What checkpoints have in place of an operator that draws: it gives the state of the generator as well, which the
# second is given. Here, that is the seed of what is drawn, which has neither dims nor the type that PyTorch expects.
_SAVING = torch.ops.higher_order.run_and_save_rng_state
_REPEATING = torch.ops.higher_order.run_with_rng_state
_SEED = torch.empty((), dtype=torch.int64)

# What reads a number from a tensor.
ITEM = aten._local_scalar_dense.default

# Operators that are internal in laze, and the same as PyTorch's of that name.
_INTERNAL = {"_conj", "_linalg_eigh", "_linalg_solve_ex", "_linalg_svd"}

_Value = _laze._Value


class NoLowering(Exception):
    """A node that laze has no operator for, with the reason."""


def name_of(target: Any) -> str:
    """"add.Tensor" of torch.ops.aten.add.Tensor, "relu" of torch.ops.aten.relu.default."""
    name, _, overload = target.name().partition("::")[2].partition(".")
    return f"{name}.{overload}" if overload else name


def has(target: Any) -> bool:
    """Whether laze has an operator, or a rule here, for an operator of PyTorch. One of a program's own, of whatever
    name, is another."""
    own = target.namespace not in ("aten", "prims")
    return target in _RULES or not own and (name_of(target) in _INTERNAL or _laze._has_operator(name_of(target)))


def _called(node: torch.fx.Node) -> tuple[Any, tuple[Any, ...]]:
    """The operator that a node calls, and the positional arguments."""
    if node.target is _SAVING:
        return node.args[0], node.args[1:]
    return (node.args[1], node.args[2:]) if node.target is _REPEATING else (node.target, node.args)


def note_states(graph: torch.fx.Graph, seeds: bool) -> None:
    """Notes the values of what draws from states, of which PyTorch notes none; and with `seeds` what states are."""
    mode = torch._guards.detect_fake_mode([node.meta.get("val") for node in graph.nodes])
    for node in graph.nodes:
        if seeds and node.target is _REPEATING:
            node.args[0].meta["val"] = _SEED
        if node.target is _SAVING or node.target is _REPEATING:
            target, args = _called(node)
            args, kwargs = torch.fx.node.map_arg((args, node.kwargs), lambda operand: operand.meta["val"])
            with mode:
                value = target(*args, **kwargs)
            node.meta["val"] = (_SEED if seeds else None, value) if node.target is _SAVING else value
        if seeds and node.target is operator.getitem and node.args[0].target is _SAVING and node.args[1] == 0:
            node.meta["val"] = _SEED


def begins_at(node: torch.fx.Node) -> torch.fx.Node | None:
    """What gives the number at which a part begins, of a node that takes one or puts one in its place: a number that was
    read from a tensor, which may be below 0, as no size may."""
    if node.target not in (aten.slice.Tensor, aten.slice_scatter.default):
        return None
    start = argument_of(node, "start", None)
    is_given = isinstance(start, torch.fx.Node) and (start.op == "placeholder" or start.target is ITEM)
    return start if is_given and str(_sizes.expression(start.meta["val"])).startswith("u") else None


def _draws_nothing(node: torch.fx.Node) -> bool:
    """Of an operator that may draw random numbers, whether this call does not."""
    return (node.target is _ATTENTION and argument_of(node, "dropout_p", 0.0) == 0 or
            node.target is _SLOPES and not argument_of(node, "training", False))


def argument_of(node: torch.fx.Node, name: str, otherwise: Any) -> Any:
    """An argument of a call by its name in the schema."""
    for index, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            return node.args[index] if index < len(node.args) else node.kwargs.get(name, otherwise)
    return otherwise


class Lowering:
    """One graph of laze that is being built: nodes are added as calls, whose values `values` has by node."""

    def __init__(self, hints: dict[str, int], may_draw: bool):
        self.builder = Tape()
        self.hints, self.may_draw = hints, may_draw
        self.values: dict[torch.fx.Node, Any] = {}
        self.symbols: set[Any] = set()  # whose numbers a run has to have
        self.inputs = 0
        self.seed: Any = None  # an input, where something is drawn

    def input(self, dtype: torch.dtype, sizes: list[int]) -> Any:
        try:
            value = self.builder.input(f"x{self.inputs}", dtype, sizes)
        except _laze.Error as error:
            raise NoLowering(str(error)) from error
        self.inputs += 1
        return value

    def drawn_from(self, stream: int) -> dict[str, Any]:
        """The arguments of an operator that draws: from a stream of the run's seed that no other has."""
        if not self.may_draw:
            raise NoLowering("fallback_random has PyTorch draw")
        if self.seed is None:
            self.seed_place, self.seed = self.inputs, self.input(torch.int64, [])
        return {"seed": self.call("add.Scalar", self.seed, stream), "offset": 0}

    def size(self, size: Any) -> int:
        """A size in the graph, of a number that may be symbolic or an expression."""
        made = _sizes.expression(size)
        for symbol in made.free_symbols - self.symbols:
            if str(symbol) in self.hints:
                self.builder.hint(_sizes.name_of(symbol), self.hints[str(symbol)])
        self.symbols |= made.free_symbols
        return int(made) if made.is_Integer else self.builder.size(_sizes.text(made))

    def call(self, name: str, *positional: Any, **named: Any) -> Any:
        return self.builder.call(name, positional, named)

    def turned(self, value: Any, order: tuple[int, ...]) -> Any:
        """A value with its dims in another order."""
        return value if order == tuple(range(len(order))) else self.call("permute", value, list(order))

    def add(self, node: torch.fx.Node, stream: int) -> None:
        """Records a node, which draws from this stream, if it does; NoLowering says why it cannot be."""
        target, args = _called(node)
        if not isinstance(target, torch._ops.OpOverload):
            raise NoLowering(f"{target} is no operator")
        if not has(target):
            raise NoLowering("laze has no such operator")
        if node.kwargs.get("generator") is not None:
            raise NoLowering(f"{name_of(target)} draws from a generator of its own")
        try:
            if begins_at(node) is not None:
                self.values[node] = _part(self, node, self.values[begins_at(node)])
                return
            positional, named = self.arguments(target, args, node.kwargs)
            if torch.Tag.nondeterministic_seeded in target.tags and not _draws_nothing(node):
                named.update(self.drawn_from(stream))
            if node.target is _REPEATING:
                named["seed"] = self.values[node.args[0]]
            rule = functools.partial(_RULES[target], self, node) if target in _RULES else self.rule_of(target)
            expected = node.meta["val"]
            if node.target is _SAVING:
                made = lowered(self, target, rule, positional, named, lambda _: expected[1])
                self.values[node] = (named["seed"], made)
            else:
                self.values[node] = lowered(self, target, rule, positional, named, lambda _: expected)
        except (_laze.Error, TypeError, _sizes.NoText) as error:
            raise NoLowering(f"{name_of(target)}: {error}") from error

    def arguments(self, target: Any, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        taken = {argument.name: argument.type for argument in target._schema.arguments}
        positional = tuple(self.argument(value, kind) for value, kind in zip(args, taken.values()))
        named = {name: self.argument(value, taken[name]) for name, value in kwargs.items() if name not in _PLACES}
        return positional, named

    def argument(self, value: Any, kind: Any) -> Any:
        held = value.meta["val"] if isinstance(value, torch.fx.Node) else value
        if isinstance(held, torch.Tensor):
            return self.values[value]
        if isinstance(value, (list, tuple)):
            return [self.argument(item, kind) for item in value]
        if not isinstance(held, _sizes.SYMBOLIC):
            return held
        return self.number(_sizes.expression(held)) if str(kind).startswith(_ELEMENTS) else self.size(held)

    def number(self, expression: Any) -> Any:
        """A number that follows from sizes, as a value without dims."""
        if expression.is_Float or expression.is_Rational and not expression.is_Integer:
            return self.call("full", [], float(expression), dtype=torch.float64)
        kind = type(expression).__name__
        if kind in ("IntTrueDiv", "FloatTrueDiv"):
            return self.call("div.Tensor", *(self.real(part) for part in expression.args))
        if kind == "ToFloat":
            return self.real(expression.args[0])
        if expression.is_integer:
            return self.call("size_tensor", self.size(expression))
        if expression.is_Mul or expression.is_Add:
            name = "mul.Tensor" if expression.is_Mul else "add.Tensor"
            return functools.reduce(functools.partial(self.call, name), [self.real(part) for part in expression.args])
        raise _sizes.NoText(str(expression))

    def real(self, expression: Any) -> Any:
        return self.call("to.dtype", self.number(expression), torch.float64)

    def rule_of(self, target: Any) -> Callable[..., Any]:
        """What records an operator that laze has."""
        return lambda *positional, **named: self.record(name_of(target), positional, named)

    def record(self, name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call by name; with a value for a number, the overload that takes tensors."""
        if name in _OF_TENSORS and isinstance(positional[1], _Value):
            name = _OF_TENSORS[name]
        return self.call(name, *positional, **named)

    def checked(self, value: Any, expected: Any) -> Any:
        """A result with the dtype that PyTorch says it has."""
        if isinstance(expected, (list, tuple)):
            return tuple(self.checked(one, other) for one, other in zip(value, expected, strict=True))
        if expected is None or value is None or _dtype_of(value) == _dtype_of(expected):
            return value
        return self.call("to.dtype", value, expected.dtype)


def _dtype_of(value: Any) -> str:
    return str(value.dtype).rpartition(".")[2]


def _is_rounded(value: Any, expected: Any) -> bool:
    """Whether there are floats that PyTorch expects in float64, which laze has made float32 of integers."""
    if isinstance(expected, (list, tuple)):
        return any(map(_is_rounded, value, expected))
    both = value is not None and expected is not None
    return both and (_dtype_of(value), _dtype_of(expected)) == ("float32", "float64")


def _as_floats(graph: Any, held: Any) -> Any:
    """The same with float64 for integers."""
    if isinstance(held, (list, tuple)):
        return [_as_floats(graph, item) for item in held]
    is_whole = hasattr(held, "dtype") and not _dtype_of(held).startswith(("float", "bfloat", "complex"))
    return graph.call("to.dtype", held, torch.float64) if is_whole else held


def lowered(graph: Any, target: Any, rule: Callable[..., Any], positional: Any, named: dict[str, Any],
            expected: Callable[[Any], Any]) -> Any:
    """What a rule makes of arguments, with the dtypes that are expected of that. Integers become float32 in laze where
    they become floats, and in PyTorch its default dtype: where that is float64, they are converted first."""
    made = rule(*positional, **named)
    form = expected(made)
    if _is_rounded(made, form):
        if any(argument.name == "dtype" for argument in target._schema.arguments):
            named = {**named, "dtype": torch.float64}
        positional = _as_floats(graph, positional)
        made = rule(*positional, **{name: held if name == "seed" else _as_floats(graph, held) for name, held in named.items()})
    return graph.checked(made, form)


# ---- What is recorded, as data.

class Tape:
    """A graph of laze that notes how it is built (`calls`), as JSON can say it, so that another can be built alike."""

    def __init__(self) -> None:
        self.builder = _laze._GraphBuilder("main")
        self.values: list[Any] = []
        self.calls: list[Any] | None = []  # None: they have something in them that JSON cannot say
        self._numbers: dict[int, int] = {}  # of values, by identity: `values` keeps them

    def input(self, name: str, dtype: torch.dtype, sizes: list[int]) -> Any:
        return self._note("input", name, dtype, sizes)

    def hint(self, name: str, number: int) -> None:
        self._note("hint", name, number)

    def size(self, text: str) -> int:
        return self._note("size", text)

    def call(self, name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return self._note("call", name, positional, named)

    def finish(self, values: tuple[Any, ...]) -> Any:
        return self.builder.finish(values)

    def numbers(self, values: list[Any]) -> list[int]:
        return [self._numbers[id(value)] for value in values]

    def play(self, calls: list[Any]) -> None:
        """Builds what was noted. A size is an integer that is good in its graph alone, and must be the same in this."""
        for call in calls:
            method, expected, *given = call
            made = getattr(self.builder, method)(*(self._of_plain(held) for held in given))
            if self._enter(made) != expected:
                raise ValueError(f"{method} gave another value than it did")

    def _note(self, method: str, *given: Any) -> Any:
        made = getattr(self.builder, method)(*given)
        if self.calls is not None:
            try:
                self.calls.append([method, None, *map(self._plain, given)])
                self.calls[-1][1] = self._enter(made)
            except TypeError:
                self.calls = None
        return made

    def _enter(self, made: Any) -> Any:
        """The numbers of results; a size as it is."""
        if isinstance(made, tuple):
            return [self._enter(one) for one in made]
        if not isinstance(made, _Value):
            return made
        self._numbers[id(made)] = len(self.values)
        self.values.append(made)
        return len(self.values) - 1

    def _plain(self, held: Any) -> Any:
        if isinstance(held, _Value):
            return {"value": self._numbers[id(held)]}
        if isinstance(held, (list, tuple)):
            return [self._plain(item) for item in held]
        if isinstance(held, dict):
            return {"named": {name: self._plain(item) for name, item in held.items()}}
        if isinstance(held, torch.dtype):
            return {"dtype": str(held).rpartition(".")[2]}
        if isinstance(held, complex):
            return {"complex": [held.real, held.imag]}
        if held is None or type(held) in (bool, int, float, str):
            return held
        raise TypeError(f"a {type(held).__name__} is nothing that can be kept")

    def _of_plain(self, held: Any) -> Any:
        if isinstance(held, list):
            return tuple(self._of_plain(item) for item in held)
        if not isinstance(held, dict):
            return held
        (kind, word), = held.items()
        if kind == "value":
            return self.values[word]
        if kind == "named":
            return {name: self._of_plain(item) for name, item in word.items()}
        return complex(*word) if kind == "complex" else getattr(torch, word)


# ---- What is not called as it is.

_RULES: dict[Any, Callable[..., Any]] = {}


def lowers(*targets: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update(dict.fromkeys(targets, rule))
        return rule
    return enter


def wide(graph: Lowering, value: Any, fake: torch.Tensor) -> Any:
    """Floats of 16 bits as float32, in which sums are computed."""
    return graph.call("to.dtype", value, torch.float32) if fake.dtype in (torch.float16, torch.bfloat16) else value


@lowers(aten.alias.default, aten.clone.default, aten.detach.default, aten.lift.default, aten.lift_fresh.default,
       aten.lift_fresh_copy.default)
def _same(graph: Lowering, node: torch.fx.Node, value: Any) -> Any:
    return value


@lowers(aten.copy.default)
def _copy(graph: Lowering, node: torch.fx.Node, value: Any, source: Any, **_: Any) -> Any:
    shape = [graph.size(size) for size in node.meta["val"].shape]
    return graph.call("expand", graph.call("to.dtype", source, node.meta["val"].dtype), shape)


@lowers(aten._conj_physical.default)
def _conjugate(graph: Lowering, node: torch.fx.Node, value: Any) -> Any:
    return graph.call("conj_physical", value)


@lowers(aten._linalg_det.default, aten._linalg_slogdet.default)
def _determinant(graph: Lowering, node: torch.fx.Node, value: Any) -> Any:
    """The factors, which the way back reads, are those of the transposed matrix where the matrix is contiguous."""
    fake = node.args[0].meta["val"]
    turned = fake.is_contiguous() and not fake.is_complex()
    return graph.call(name_of(node.target), graph.call("transpose.int", value, -2, -1) if turned else value)


@lowers(aten._efficientzerotensor.default)
def _zeros(graph: Lowering, node: torch.fx.Node, sizes: Any, dtype: Any = None) -> Any:
    return graph.call("zeros", sizes, dtype=node.meta["val"].dtype)


@lowers(aten._trilinear.default)
def _trilinear(graph: Lowering, node: torch.fx.Node, *given: Any, unroll_dim: int = 1) -> Any:
    """Sums of products of three values, of which each has dims that the others have not."""
    fake, values, dims = node.meta["val"], given[:3], given[3:6]
    for index, missing in enumerate(dims):
        value = wide(graph, values[index], fake)
        for dim in sorted(missing):
            value = graph.call("unsqueeze", value, dim)
        product = value if index == 0 else graph.call("mul.Tensor", product, value)
    summed = graph.call("sum.dim_IntList", product, list(given[6])) if given[6] else product
    return graph.call("to.dtype", summed, fake.dtype)


@lowers(aten._to_copy.default)
def _to_copy(graph: Lowering, node: torch.fx.Node, value: Any, dtype: Any = None) -> Any:
    return value if dtype is None else graph.call("to.dtype", value, dtype)


@lowers(prims.convert_element_type.default)
def _convert(graph: Lowering, node: torch.fx.Node, value: Any, dtype: Any) -> Any:
    return graph.call("to.dtype", value, dtype)


@lowers(aten.arange.default, aten.arange.start, aten.arange.start_step)
def _arange(graph: Lowering, node: torch.fx.Node, *bounds: Any, dtype: Any = None) -> Any:
    made = node.meta["val"]
    if not any(isinstance(bound, _Value) for bound in bounds):
        return graph.call(name_of(node.target), *bounds, dtype=made.dtype)
    start, step = (0, 1) if len(bounds) == 1 else (bounds[0], bounds[2] if len(bounds) > 2 else 1)
    places = graph.call("iota", [graph.size(made.shape[0])], 0, dtype=torch.int64)
    scaled = graph.record("mul.Scalar", (places, step), {})
    return graph.call("to.dtype", graph.record("add.Scalar", (scaled, start), {}), made.dtype)


@lowers(aten.linspace.Tensor_Tensor, aten.linspace.Tensor_Scalar, aten.linspace.Scalar_Tensor)
def _linspace(graph: Lowering, node: torch.fx.Node, start: Any, end: Any, steps: Any, dtype: Any = None) -> Any:
    """Counted from the nearer end, so that both are met. Where the dtype is of integers, the ends are integers first."""
    made, call = node.meta["val"], graph.call
    wide = torch.complex128 if made.is_complex() else torch.float64

    def number(given: Any) -> Any:
        value = given if isinstance(given, _Value) else call("full", [], given, dtype=wide)
        if not made.is_floating_point() and not made.is_complex():
            value = call("to.dtype", value, made.dtype)
        return call("to.dtype", value, wide)
    start, end, count = number(start), number(end), graph.real(_sizes.expression(made.shape[0]))
    last = call("sub.Scalar", count, 1)
    step = call("div.Tensor", call("sub.Tensor", end, start), call("clamp_min", last, 1))
    places = call("iota", [graph.size(made.shape[0])], 0, dtype=torch.float64)
    ahead = call("add.Tensor", call("mul.Tensor", step, places), start)
    behind = call("add.Tensor", call("mul.Tensor", step, call("sub.Tensor", places, last)), end)
    nearer = call("lt.Tensor", places, call("div.Scalar", call("add.Scalar", count, 1), 2))
    return call("to.dtype", call("where.self", nearer, ahead, behind), made.dtype)


@lowers(aten.scalar_tensor.default)
def _scalar_tensor(graph: Lowering, node: torch.fx.Node, value: Any, dtype: Any = None) -> Any:
    dtype = node.meta["val"].dtype
    if isinstance(value, _Value):
        return graph.call("to.dtype", value, dtype)
    return graph.call("full", [], value, dtype=dtype)


@lowers(aten.gather.default)
def _gather(graph: Lowering, node: torch.fx.Node, value: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    """An index that has no elements may be of any dtype, and of any rank."""
    made = node.meta["val"]
    if any(_sizes.expression(size) == 0 for size in made.shape):
        return graph.call("zeros", [graph.size(size) for size in made.shape], dtype=made.dtype)
    return graph.call("gather", value, dim, index)


def _part(graph: Lowering, node: torch.fx.Node, start: Any) -> Any:
    """The part that begins at a number, which may be counted from the end, or the whole with another part there."""
    call, whole = graph.call, node.args[0]
    part = node.meta["val"] if node.target is aten.slice.Tensor else node.args[1].meta["val"]
    dim = argument_of(node, "dim", 0) % part.dim()
    behind = call("add.Tensor", start, graph.number(_sizes.expression(whole.meta["val"].shape[dim])))
    start = call("where.self", call("lt.Scalar", start, 0), behind, start)
    steps = call("iota", [graph.size(part.shape[dim])], 0, dtype=torch.int64)
    places = call("add.Tensor", call("mul.Scalar", steps, argument_of(node, "step", 1)), start)
    if node.target is aten.slice.Tensor:
        return call("index_select", graph.values[whole], dim, places)
    return call("index_copy", graph.values[whole], dim, places, graph.values[node.args[1]])


@lowers(aten.repeat_interleave.Tensor)
def _repeated(graph: Lowering, node: torch.fx.Node, repeats: Any, output_size: Any = None) -> Any:
    """Each place as often as is said of it: the first one of which the sum is larger."""
    places = graph.call("iota", [output_size], 0, dtype=torch.int64)
    return graph.call("searchsorted.Tensor", graph.call("cumsum", repeats, 0), places, right=True)


@lowers(aten.embedding_renorm.default)
def _renormed(graph: Lowering, node: torch.fx.Node, table: Any, indices: Any, most: float, power: float) -> Any:
    """Rows that are taken, where their norm is too large, are made as long as they may be."""
    call, fake = graph.call, node.meta["val"]
    rows = graph.size(fake.shape[0])
    taken = call("scatter.value", call("zeros", [rows], dtype=torch.bool), 0, call("reshape", indices, [-1]), 1)
    value = wide(graph, table, fake)
    norms = call("linalg_vector_norm", value, power, [1], True)
    scale = call("div.Tensor", call("full_like", norms, most), call("add.Scalar", norms, 1e-7))
    changes = call("logical_and", call("unsqueeze", taken, 1), call("gt.Scalar", norms, most))
    return call("where.self", changes, call("to.dtype", call("mul.Tensor", value, scale), fake.dtype), table)


_SLOPES = aten.rrelu_with_noise_functional.default


@lowers(_SLOPES)
def _random_slopes(graph: Lowering, node: torch.fx.Node, value: Any, noise: Any, lower: float = 1 / 8,
                   upper: float = 1 / 3, training: bool = False, **drawn: Any) -> Any:
    """The result, and the slope of each element."""
    if not training:
        return graph.call("leaky_relu", value, (lower + upper) / 2), noise
    slopes = graph.call("uniform", value, lower, upper, **drawn)
    slopes = graph.call("where.ScalarSelf", graph.call("gt.Scalar", value, 0), 1.0, slopes)
    return graph.call("mul.Tensor", value, slopes), slopes


# ---- Attention, of which PyTorch keeps the logarithm of the sum of the weights for the way back.

_ATTENTION = aten._scaled_dot_product_flash_attention_for_cpu.default


def _weights(graph: Lowering, node: torch.fx.Node, query: Any, key: Any, total: Any = None) -> tuple[Any, Any, float]:
    """The weights of values, the logarithm of their sum, and the scale of products. A row that may look at nothing has
    no weights. That logarithm is rounded: weights that are made of it do not quite add up to 1, as those of the way
    there have to, for on the way back their mean is taken off what is nearly the same."""
    scale = argument_of(node, "scale", None)
    if scale is None:
        scale = float(argument_of(node, "query", None).meta["val"].shape[-1]) ** -0.5
    scores = graph.call("mul.Tensor", graph.call("matmul", query, graph.call("transpose.int", key, -2, -1)), scale)
    mask = argument_of(node, "attn_mask", None)
    if mask is not None:
        scores = graph.call("add.Tensor", scores, wide(graph, graph.values[mask], mask.meta["val"]))
    if argument_of(node, "is_causal", False):
        sizes = [graph.size(argument_of(node, name, None).meta["val"].shape[-2]) for name in ("query", "key")]
        allowed = graph.call("tril", graph.call("ones", sizes, dtype=torch.bool))
        scores = graph.call("where.ScalarOther", allowed, scores, float("-inf"))
    if total is None:
        total, weights = graph.call("logsumexp", scores, [-1], True), graph.call("softmax.int", scores, -1)
    else:
        total = graph.call("unsqueeze", total, -1)
        weights = graph.call("exp", graph.call("sub.Tensor", scores, total))
    none = graph.call("eq.Scalar", total, float("-inf"))
    return graph.call("where.ScalarSelf", none, 0.0, weights), total, scale


def _query(node: torch.fx.Node) -> torch.Tensor:
    return argument_of(node, "query", None).meta["val"]


@lowers(_ATTENTION)
def _attention(graph: Lowering, node: torch.fx.Node, *operands: Any, **_: Any) -> Any:
    query, key, value = (wide(graph, operand, _query(node)) for operand in operands[:3])
    weights, total, _scale = _weights(graph, node, query, key)
    return graph.call("matmul", weights, value), graph.call("squeeze.dim", total, -1)


@lowers(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def _attention_backward(graph: Lowering, node: torch.fx.Node, *operands: Any, **_: Any) -> Any:
    grad, query, key, value, out = (wide(graph, operand, _query(node)) for operand in operands[:5])
    weights, _total, scale = _weights(graph, node, query, key, operands[5])
    of_weights = graph.call("matmul", grad, graph.call("transpose.int", value, -2, -1))
    mean = graph.call("sum.dim_IntList", graph.call("mul.Tensor", grad, out), [-1], True)
    of_scores = graph.call("mul.Tensor", weights, graph.call("sub.Tensor", of_weights, mean))
    of_scores = graph.call("mul.Tensor", of_scores, scale)
    return (graph.call("matmul", of_scores, key),
            graph.call("matmul", graph.call("transpose.int", of_scores, -2, -1), query),
            graph.call("matmul", graph.call("transpose.int", weights, -2, -1), grad))
