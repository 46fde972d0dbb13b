"""Operators of a program's own, which are part of graphs like others.

    >>> import numpy
    >>> @laze.library.custom_op("mine::sine", mutates_args=())
    ... def sine(x: laze.Tensor, factor: float = 1.0) -> laze.Tensor:
    ...     return numpy.sin(x * factor)
    >>> sine(laze.tensor([0., 1.]), 2.0) * 2
    tensor([0 1.8185949])

Names and rules are PyTorch's (torch.library). What is another way here: a *kernel* is called when a graph runs, on any
thread, with NumPy arrays (memoryviews without NumPy) in place of tensors, and gives arrays; it computes from its
arguments alone. Without a register_fake, results have dtype and shape of the first tensor; a rule has a FakeTensor in
place of each tensor. Code at the keys of gradients and views has tensors, and calls operators.
"""
from __future__ import annotations

import contextlib
import inspect
import re
import typing
import weakref
from typing import Any, Callable, Iterable, Sequence

import laze
from laze import _laze
from laze._laze import dtype as _dtype

__all__ = ["CustomOpDef", "FakeTensor", "Library", "autograd_fallback_mode", "check_kernels", "custom_op", "define",
           "impl", "infer_schema", "ops", "register_autograd", "register_backend", "register_fake", "register_kernel",
           "set_autograd_fallback_mode"]

_KEYS = {"CompositeImplicitAutograd": 0, "Functionalize": 1, "ADInplaceOrView": 2, "Autograd": 3, "AutogradCPU": 3}
_KERNELS = {"": None, "CPU": None, "cpu": None, "default": None, "CompositeExplicitAutograd": None, "llvm": "llvm",
            "interp": "interp"}
_MODES = ("nothing", "warn", "error")


# --- schemas ---

class _Schema:
    """What Python has to know of one: the names of its arguments, and which are tensors, written or keyword-only."""

    def __init__(self, text):
        self.text = text
        self.name, rest = text.split("(", 1)
        arguments, _, results = _cut(rest)
        self.arguments, self.tensors, self.written, self.aliases, self.keywords, keyword = [], [], [], [], [], False
        for argument in _split(arguments):
            if argument == "*":
                keyword = True
                continue
            kind, name = argument.split("=")[0].rsplit(None, 1)
            self.arguments.append(name)
            self.keywords.append(keyword)
            self.tensors.append(kind.startswith("Tensor"))
            self.written.append("!" in kind)
            self.aliases.append(_alias(kind) if "!" in kind else None)
        results = results.strip()
        self.results = _split(results[1:-1]) if results.startswith("(") else [results]
        # The argument that a result is, or None.
        self.of_argument = [self.aliases.index(_alias(result)) if "!" in result else None for result in self.results]
        self.has_lists = any(kind.startswith("Tensor[") for kind in _split(arguments))


def _cut(text):
    """Arguments, and what stands behind the arrow."""
    depth = 1
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[:i], "->", text[i + 1:].split("->", 1)[1]
    raise ValueError(text)


def _split(text):
    return [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", text) if part.strip()]


def _alias(kind):
    return re.search(r"\((\w+)", kind).group(1)


_SIMPLE = {int: "SymInt", float: "float", bool: "bool", str: "str", _dtype: "ScalarType", _laze.Tensor: "Tensor"}


def _type_name(annotation):
    """The schema's name of an annotation."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    is_union = origin is typing.Union or type(annotation).__name__ == "UnionType"
    if is_union and type(None) in parts:
        rest = tuple(part for part in parts if part is not type(None))
        inner = _type_name(rest[0] if len(rest) == 1 else typing.Union[rest])
        return inner and inner + "?"
    if is_union and set(parts) <= {int, float, bool}:
        return "Scalar"
    listed = parts and (origin in (list, tuple) or getattr(origin, "__name__", "") in ("Sequence", "List"))
    if listed and (len(parts) == 1 or (len(parts) == 2 and parts[1] is Ellipsis)):
        inner = _type_name(parts[0])
        return inner + "[]" if inner in ("SymInt", "float", "str", "Tensor") else None
    return None


def _default_text(value):
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, _dtype):
        return value.name.replace("float", "f").replace("uint", "u").replace("int", "i").replace("complex", "c")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(str, value)) + "]"
    return repr(value)


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str],
                 op_name: str | None = None) -> str:
    """The schema of a function, from the annotations of its arguments and results."""
    hints = typing.get_type_hints(prototype_function)
    parts, starred, aliases = [], False, 0
    for name, parameter in inspect.signature(prototype_function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _laze.InvalidArgumentError(f"infer_schema: argument {name!r} stands for any number of them")
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        kind = _type_name(hints.get(name))
        if kind is None:
            raise _laze.InvalidArgumentError(
                f"infer_schema: argument {name!r} has the annotation {hints.get(name)!r}; it is laze.Tensor, int, "
                "float, bool, str, laze.dtype, a list of tensors, numbers or strings, or one of them or None")
        if mutates_args == "unknown" or name in mutates_args:
            if kind == "Tensor":
                kind = f"Tensor(a{aliases}!)"
                aliases += 1
            elif mutates_args != "unknown":
                raise _laze.InvalidArgumentError(f"infer_schema: argument {name!r} is written to, and no laze.Tensor")
        default = "" if parameter.default is parameter.empty else "=" + _default_text(parameter.default)
        parts.append(f"{kind} {name}{default}")
    return f"{op_name or ''}({', '.join(parts)}) -> {_result_text(hints.get('return'))}"


def _result_text(annotation):
    if annotation is type(None) or annotation is None:
        return "()"
    if annotation is _laze.Tensor:
        return "Tensor"
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and parts and all(part is _laze.Tensor for part in parts):
        return "(" + ", ".join(["Tensor"] * len(parts)) + ")"
    raise _laze.InvalidArgumentError(
        f"infer_schema: the result has the annotation {annotation!r}; it is laze.Tensor, a tuple of them, or None")


# --- kernels ---

def _numpy():
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def _array(elements, writable):
    """What a kernel gets for a tensor."""
    data, dtype, shape = elements
    if writable:
        data = bytearray(data)
    numpy = _numpy()
    if numpy:
        try:
            return numpy.frombuffer(data, dtype=dtype.name).reshape(shape)
        except TypeError:
            raise _laze.UnsupportedError(f"NumPy has no {dtype.name}; convert the tensor first") from None
    view = memoryview(data)
    formats = {"float32": "f", "float64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
               "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"}
    if dtype.name not in formats or not all(shape):
        return view
    return view.cast(formats[dtype.name], shape) if shape else view.cast(formats[dtype.name])


def _elements(value, expected, index):
    """The bytes of what a kernel gave."""
    dtype, shape = expected
    if isinstance(value, _laze.Tensor):
        raise _laze.ArgumentTypeError("a kernel gives arrays, and no tensors: it runs when a graph does")
    numpy = _numpy()
    array = numpy.asarray(value) if numpy else memoryview(value)
    name = array.dtype.name if numpy else None
    if tuple(array.shape) != shape or (numpy and name != dtype.name):
        raise _laze.InvalidArgumentError(
            f"result {index} of the kernel is {name or 'memory'} of shape {tuple(array.shape)}, and {dtype.name} of "
            f"shape {shape} was expected; say so with register_fake")
    return array.tobytes()


def _callable(function):
    if not callable(function):
        raise _laze.ArgumentTypeError(f"an operator's code is called, which {function!r} cannot be")
    return function


def _own_results(schema, given):
    """What code gave, without the results that are arguments, and the places of those that are not."""
    given = () if given is None else tuple(given) if isinstance(given, (tuple, list)) else (given,)
    own = [i for i, argument in enumerate(schema.of_argument) if argument is None]
    return (tuple(given[i] for i in own) if len(given) == len(schema.results) else given), own


class _Kernel:
    """What the library calls as a kernel: elements are arrays for the program's function."""

    def __init__(self, schema, function):
        self._schema, self._function = schema, _callable(function)

    def __call__(self, arguments, types):
        schema = self._schema
        made = [self._convert(value, i) for i, value in enumerate(arguments)]
        given, own = _own_results(schema, _spread_call(schema, self._function, made))
        if len(given) != len(own):
            raise _laze.InvalidArgumentError(f"the kernel of {schema.name} gave {len(given)} results for {len(own)}")
        results = [None] * len(types)
        for i, value in zip(own, given):
            results[i] = _elements(value, types[i], i)
        return tuple(results), {i: made[i].tobytes() for i, writes in enumerate(schema.written) if writes}

    def _convert(self, value, index):
        if not self._schema.tensors[index] or value is None:
            return value
        if isinstance(value, list):
            return [_array(item, False) for item in value]
        return _array(value, self._schema.written[index])


def _spread_call(schema, function, arguments):
    """Calls with the arguments of the schema: those behind its "*" by name."""
    positional = [value for value, keyword in zip(arguments, schema.keywords) if not keyword]
    named = {name: value for name, value, keyword in zip(schema.arguments, arguments, schema.keywords) if keyword}
    return function(*positional, **named)


# --- rules for types ---

class FakeTensor:
    """A tensor of which there is dtype and shape alone, in register_fake."""

    def __init__(self, shape: Sequence[int], dtype: Any):
        self.shape, self.dtype = tuple(int(size) for size in shape), dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def new_empty(self, *size: Any, dtype: Any = None) -> FakeTensor:
        """One of another shape, and of this dtype unless another is given."""
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return FakeTensor(shape, dtype or self.dtype)

    new_zeros = new_ones = new_empty

    def clone(self) -> FakeTensor:
        return FakeTensor(self.shape, self.dtype)

    def to(self, dtype: Any) -> FakeTensor:
        return FakeTensor(self.shape, dtype)

    def __repr__(self):
        return f"FakeTensor({self.shape}, {self.dtype})"


class _Rule:
    """What the library calls to know types."""

    def __init__(self, schema, function):
        self._schema, self._function = schema, _callable(function)

    def __call__(self, arguments):
        schema = self._schema
        made = [self._convert(value, i) for i, value in enumerate(arguments)]
        given, own = _own_results(schema, _spread_call(schema, self._function, made))
        if len(given) != len(own) or not all(isinstance(value, FakeTensor) for value in given):
            raise _laze.InvalidArgumentError(f"the rule of {schema.name} gave {given!r} for {len(own)} results; each "
                                             "is a FakeTensor, as x.new_empty(shape) gives one")
        results = [None] * len(schema.results)
        for i, value in zip(own, given):
            results[i] = value.dtype, value.shape
        return tuple(results)

    def _convert(self, value, index):
        if not self._schema.tensors[index] or value is None:
            return value
        if isinstance(value, list):
            return [FakeTensor(item[2], item[1]) for item in value]
        return FakeTensor(value[2], value[1])


# --- code at keys ---

class _Code:
    """What the library calls at a key. With `goes_on` its first argument goes on with the call at the key below."""

    def __init__(self, schema, function, goes_on):
        self._schema, self._function, self._goes_on = schema, _callable(function), goes_on

    def __call__(self, call, arguments):
        schema, function = self._schema, self._function
        if self._goes_on:
            def below(*args, **kwargs):
                return _one(_laze._library_redispatch(call, _ordered(schema, args, kwargs)))
            given = _spread_call(schema, lambda *args, **kwargs: function(below, *args, **kwargs), arguments)
        else:
            given = _spread_call(schema, function, arguments)
        return () if given is None else tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _ordered(schema, args, kwargs):
    names = schema.arguments[len(args):]
    return tuple(args) + tuple(kwargs[name] for name in names)


def _one(results):
    return results[0] if len(results) == 1 else results if results else None


class _Gradient:
    """Code for the key of gradients, from backward and setup_context."""

    def __init__(self, schema, backward, setup_context):
        self._schema, self._backward, self._setup = schema, _callable(backward), setup_context

    def __call__(self, call, arguments):
        schema, backward, setup = self._schema, self._backward, self._setup
        count = schema.keywords.index(True) if True in schema.keywords else len(schema.keywords)
        named = dict(zip(schema.arguments[count:], arguments[count:]))

        def forward(*args):
            results = _laze._library_redispatch(call, args + arguments[count:])
            return results if len(results) > 1 else results[0]

        def setup_context(ctx, inputs, output):
            if setup is None:
                return
            if named:
                setup(ctx=ctx, inputs=inputs, keyword_only_inputs=named, output=output)
            else:
                setup(ctx=ctx, inputs=inputs, output=output)

        function = type(schema.name, (laze.autograd.Function,), {
            "forward": staticmethod(forward), "backward": staticmethod(backward),
            "setup_context": staticmethod(setup_context)})
        result = function.apply(*arguments[:count])
        return result if isinstance(result, tuple) else (result,)


# --- libraries ---

class Library:
    """What a program adds to a namespace: Library("mine", "DEF") declares operators in it, "FRAGMENT" does as well, and
    "IMPL" gives kernels to operators that are declared. What it declared goes with it."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise _laze.InvalidArgumentError(f"Library: kind is 'DEF', 'IMPL' or 'FRAGMENT', and not {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._declared, self._code = [], []
        self._finalizer = weakref.finalize(self, _forget, self._declared, self._code)
        self._finalizer.atexit = False

    def define(self, schema: str, alias_analysis: str = "") -> str:
        """Declares an operator: "scale(Tensor x, float by) -> Tensor". Gives its name."""
        if self.kind == "IMPL":
            raise _laze.StateError("define: a Library of kind 'IMPL' declares nothing")
        text = schema.strip()
        text = text if "::" in text.split("(")[0] else f"{self.ns}::{text}"
        _laze._library_define(text)
        name = text.split("(", 1)[0].strip()
        self._declared.append(name)
        return name.split("::", 1)[1]

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Gives an operator code. dispatch_key "", "CPU" or "CompositeExplicitAutograd": a kernel for every backend;
        "llvm" or "interp": for that one. Others are code over tensors: "CompositeImplicitAutograd" in place of a
        kernel, "Functionalize", "ADInplaceOrView", "Autograd"; with_keyset: with a function first that goes on below.
        """
        name = self._name(op_name)
        key = dispatch_key or self.dispatch_key
        schema = _Schema(_laze._library_schema(name))
        if key in _KERNELS:
            _laze._library_implement(name, _KERNELS[key], _Kernel(schema, fn))
        elif key in _KEYS:
            _laze._library_override(name, _KEYS[key], _Code(schema, fn, with_keyset))
            self._code.append((name, _KEYS[key]))
        else:
            raise _laze.InvalidArgumentError(f"impl: there is no dispatch key {key!r}; there are "
                                             + ", ".join(map(repr, [*_KERNELS, *_KEYS])))

    def _register_fake(self, op_name: Any, fn: Callable[..., Any]) -> None:
        name = self._name(op_name)
        _laze._library_infer(name, _Rule(_Schema(_laze._library_schema(name)), fn))

    def _register_autograd(self, op_name: Any, backward: Callable[..., Any], setup_context: Any) -> None:
        name = self._name(op_name)
        schema = _Schema(_laze._library_schema(name))
        if any(schema.written) or schema.has_lists:
            raise _laze.UnsupportedError(f"register_autograd: {name} writes to arguments or has lists of tensors")
        _laze._library_override(name, _KEYS["Autograd"], _Gradient(schema, backward, setup_context))
        self._code.append((name, _KEYS["Autograd"]))

    def _name(self, op_name):
        if isinstance(op_name, (CustomOpDef, _Overload)):
            return op_name._qualname
        return op_name if "::" in op_name else f"{self.ns}::{op_name}"

    def _destroy(self) -> None:
        """Takes back what it declared and put at keys."""
        self._finalizer()


_LISTS = ("non_native", "supported", "composite", "fake", "autograd")


def _check_list(listing):
    """What is wrong with a plugin's list is said before anything of it counts."""
    unknown = [key for key in listing if key not in ("backend", "namespace", *_LISTS)]
    if unknown:
        raise _laze.InvalidArgumentError(f"register_backend: unknown key {unknown[0]!r}; there are backend, namespace, "
                                         + ", ".join(_LISTS))
    for key in ("backend", "namespace"):
        if not isinstance(listing.get(key), str):
            raise _laze.InvalidArgumentError(f"register_backend: {key} is a string, and not {listing.get(key)!r}")
    if listing["backend"] not in _KERNELS:
        raise _laze.NotFoundError(f"register_backend: there is no backend {listing['backend']!r}; there are "
                                  + ", ".join(sorted(filter(None, _KERNELS))))
    declared = {schema.split("(")[0].strip() for schema in listing.get("non_native", ())}
    for key in _LISTS[1:]:
        for name in listing.get(key, {}):
            if name not in declared and not _is_declared(f"{listing['namespace']}::{name}"):
                raise _laze.NotFoundError(f"register_backend: {key} has {name!r}, and there is no operator "
                                          f"{listing['namespace']}::{name}; non_native declares one")
    both = set(listing.get("supported", {})) & set(listing.get("composite", {}))
    if both:
        raise _laze.InvalidArgumentError(
            f"register_backend: {min(both)!r} is supported, and composite; it is one of them")


def _is_declared(name):
    try:
        _laze._library_schema(name)
    except _laze.NotFoundError:
        return False
    return True


def register_backend(listing: dict[str, Any]) -> Library:
    """Registers all that a plugin has for a backend, or nothing of it: a dict with the keys

    backend      "llvm", "interp", or "default" for every one
    namespace    of the operators that follow, which are named without it
    non_native   schemas of operators that this list declares: ["scale(Tensor x, float by) -> Tensor"]
    supported    kernels for the backend, by operator: {"scale": function}
    composite    code over tensors in place of a kernel, by operator
    fake         rules for types, by operator, as register_fake takes them
    autograd     gradients, by operator: backward, or (backward, setup_context)

    Unknown keys, backends and operators are errors. Gives the Library, with which what it declares goes."""
    _check_list(listing)
    lib = Library(listing["namespace"], "FRAGMENT")
    try:
        for schema in listing.get("non_native", ()):
            lib.define(schema)
        for name, kernel in listing.get("supported", {}).items():
            lib.impl(name, kernel, listing["backend"])
        for name, code in listing.get("composite", {}).items():
            lib.impl(name, code, "CompositeImplicitAutograd")
        for name, rule in listing.get("fake", {}).items():
            lib._register_fake(name, rule)
        for name, given in listing.get("autograd", {}).items():
            lib._register_autograd(name, *(given if isinstance(given, tuple) else (given, None)))
    except BaseException:
        lib._destroy()
        raise
    return lib


def _forget(declared, code):
    for name, key in code:
        with contextlib.suppress(_laze.Error):
            _laze._library_restore(name, key)
    for name in declared:
        with contextlib.suppress(_laze.Error):
            _laze._library_remove(name)


_kept = Library("laze", "FRAGMENT")  # of what is declared without one, for as long as the process runs
_kept._finalizer.detach()


def _qualified(op):
    return op._qualname if isinstance(op, (CustomOpDef, _Overload)) else op


def _decorates(function, given):
    """function(given), or a decorator that calls it."""
    def call(fn):
        function(fn)
        return fn
    return call if given is None else call(given)


def define(qualname: str, schema: str, *, lib: Library | None = None) -> None:
    """Declares an operator: define("mine::scale", "(Tensor x, float by) -> Tensor")."""
    if "::" not in qualname:
        raise _laze.InvalidArgumentError(f"define: a name has a namespace, as 'mine::scale' does, and {qualname!r} has "
                                         "none")
    (lib or _kept).define(qualname + schema)


def impl(qualname: Any, types: str | Sequence[str], func: Callable[..., Any] | None = None, *,
         lib: Library | None = None) -> Any:
    """Gives an operator a kernel for device types or backends: "default" or "cpu" is every one. Decorates as well."""
    keys = (types,) if isinstance(types, str) else tuple(types)

    def register(fn):
        for key in keys:
            (lib or _kept).impl(_qualified(qualname), fn, key)
    return _decorates(register, func)


def register_kernel(op: Any, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *,
                    lib: Library | None = None) -> Any:
    """The same, by an operator or its name; None: every backend."""
    return impl(op, "default" if device_types is None else device_types, func, lib=lib)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Says which dtype and shape results have: func gets a FakeTensor for each tensor and gives x.new_empty(shape).
    Decorates as well. It is called when the operator is, and when the graph runs, and says the same each time."""
    return _decorates(lambda fn: (lib or _kept)._register_fake(_qualified(op), fn), func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
                      lib: Library | None = None) -> None:
    """Says what the gradients of an operator are: backward(ctx, *gradients of results) gives one for each argument,
    None where there is none; setup_context(ctx, inputs, output) saves for it what it needs."""
    (lib or _kept)._register_autograd(_qualified(op), backward, setup_context)


class CustomOpDef:
    """An operator that custom_op declared."""

    def __init__(self, qualname, function, lib):
        self._qualname, self._function, self._lib = qualname, function, lib
        self.__name__ = qualname.split("::")[1]
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call(self._qualname, args, kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /) -> Any:
        return register_kernel(self, device_types, fn, lib=self._lib)

    def register_fake(self, fn: Callable[..., Any], /) -> Any:
        return register_fake(self, fn, lib=self._lib)

    def register_autograd(self, backward: Callable[..., Any], /, *,
                          setup_context: Callable[..., Any] | None = None) -> None:
        register_autograd(self, backward, setup_context=setup_context, lib=self._lib)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


_defined: dict[str, CustomOpDef] = {}


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
              device_types: str | Sequence[str] | None = None, schema: str | None = None) -> Any:
    """Declares an operator by its kernel, whose annotations are the schema. mutates_args: the names of the tensors that
    it writes to, () for none. device_types: the backends that this is the kernel for; None: all. A second declaration
    of that name takes the place of the first."""
    def make(function):
        text = name + schema if schema else infer_schema(function, mutates_args=mutates_args, op_name=name)
        if name in _defined:
            _defined.pop(name)._lib._destroy()
        lib = Library(name.split("::")[0], "FRAGMENT")
        lib._finalizer.atexit = False
        lib.define(text)
        made = _defined[name] = CustomOpDef(name, function, lib)
        register_kernel(made, device_types, function, lib=lib)
        return made
    return make if fn is None else make(fn)


# --- calls ---

def _call(name, args, kwargs):
    return _one(_laze._library_call(name, args, kwargs))


class _Overload:
    """laze.ops.mine.scale, and laze.ops.mine.scale.default, or another overload of it."""

    def __init__(self, qualname):
        self._qualname = qualname

    def __call__(self, *args, **kwargs):
        return _call(self._qualname, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self if name == "default" else _found(f"{self._qualname}.{name}")

    @property
    def _schema(self):
        return _laze._library_schema(self._qualname)

    def __repr__(self):
        return f"<laze.ops {self._qualname}>"


def _found(qualname):
    try:
        _laze._library_schema(qualname)
    except _laze.NotFoundError:
        raise AttributeError(f"there is no operator {qualname!r}; laze.library.define() declares one") from None
    return _Overload(qualname)


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _found(f"{self._name}::{name}")

    def __repr__(self):
        return f"<laze.ops.{self._name}>"


class _Ops:
    """The operators that the program has declared: laze.ops.mine.scale(x, 2.0)."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Namespace(name)

    def __repr__(self):
        return "<laze.ops>"


ops = _Ops()


# --- settings ---

def set_autograd_fallback_mode(mode: str) -> str:
    """What becomes of an operator without gradients whose tensors require some: "nothing" (at first), "warn": a line in
    the log when a backward pass comes to it, "error": an error then. Gives what it was."""
    if mode not in _MODES:
        raise _laze.InvalidArgumentError(f"set_autograd_fallback_mode: mode is one of {_MODES}, and not {mode!r}")
    return _MODES[_laze._library_set_fallback(_MODES.index(mode))]


@contextlib.contextmanager
def autograd_fallback_mode(mode: str) -> Any:
    """The same for `with`."""
    before = set_autograd_fallback_mode(mode)
    try:
        yield
    finally:
        set_autograd_fallback_mode(before)


def check_kernels(enabled: bool) -> bool:
    """Whether kernels and code at keys are watched for what they may not do. Gives what it was."""
    return _laze._library_check(enabled)
