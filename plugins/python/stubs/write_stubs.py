#!/usr/bin/env python3
"""Prints the type stubs of the package, from the schemas that the library has: laze/__init__.pyi.

usage: write_stubs.py     with the built package in PYTHONPATH
"""
import inspect
import keyword
import re

import laze

HEAD = '''# Generated from the operators' schemas by plugins/python/stubs/write_stubs.py.
# Operators and dtypes have names that builtins have as well, so that types stand under other names here.
from builtins import bool as _bool, float as _float, int as _int
from typing import Any, Callable, ContextManager, Iterator, NamedTuple, Sequence, Union, overload

import numpy as _numpy

from laze import autograd as autograd, fft as fft, jit as jit, library as library, linalg as linalg, nn as nn
from laze import optim as optim, special as special
from laze.autograd import enable_grad as enable_grad, grad as grad, inference_mode as inference_mode
from laze.autograd import no_grad as no_grad
from laze.functional import histogramdd as histogramdd, norm as norm, tensor_split as tensor_split
from laze._methods import resize_ as resize_, resize_as_ as resize_as_
from laze.functional import tensordot as tensordot
from laze.autograd import set_grad_enabled as set_grad_enabled
from laze.library import ops as ops

__version__: str
inf: _float
nan: _float
pi: _float
newaxis: None


class dtype:
    name: str
    itemsize: _int
    is_floating_point: _bool
    is_complex: _bool


_dtype = dtype
_DType = Union[dtype, str, type]
_Number = Union[_int, _float, _bool, complex]
_Size = Union[_int, Sequence[_int]]

'''
ARGUMENT = re.compile(r"(?P<type>\w+(?:\(\w+\))?(?:\??\[\d*\])?\??) (?P<name>\w+)(?:=(?P<default>.*))?")
SCHEMA = re.compile(r"(?P<name>\w+)(?:\.\w+)?\((?P<arguments>.*)\) -> (?P<results>.*)")
TYPES = {"Tensor": "Tensor", "Scalar": "_Number", "int": "_int", "SymInt": "_int", "float": "_float", "bool": "_bool",
         "str": "str", "ScalarType": "_DType"}
LISTS = {"Tensor": "Sequence[Tensor]", "Tensor?": "Sequence[Union[Tensor, None]]", "float": "Sequence[_float]",
         "str": "Sequence[str]"}
REFLECTED = "add sub mul matmul truediv floordiv mod pow and or xor lshift rshift divmod".split()


CHANGING = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()


def python_type(text):
    optional, text = text.endswith("?"), text.rstrip("?")
    base = re.match(r"\w+", text).group()
    result = TYPES.get(base, "Any")
    if "[" in text:
        result = LISTS.get(re.match(r"\w+\??", text).group(), "_Size")
    return f"Union[{result}, None]" if optional else result


def parameters(schema, receiver):
    """The parameters of a schema as Python has them; of a method, behind self."""
    written, required_seen = [], True
    for part in re.split(r", (?![^\[]*\])", schema) if schema else []:
        if part == "*":
            written.append("*")
            continue
        match = ARGUMENT.fullmatch(part)
        name = match["name"]
        if receiver and name == "self":
            continue
        name = "input" if name == "self" else name
        name = name + "_" if keyword.iskeyword(name) else name
        written.append(f"{name}: {python_type(match['type'])}" + ("" if match["default"] is None else " = ..."))
    return written


# Functions whose results are what the arguments ask for (src/front.c).
ARRANGED = {"unique": "Any", "unique_consecutive": "Any", "nonzero": "Any"}


def result_type(name, results, classes):
    if name in ARRANGED:
        return ARRANGED[name]
    fields = re.findall(r"Tensor(?:\(\w+\))?(?: (\w+))?", results)
    if results.startswith("("):
        if not all(fields):
            return f"tuple[{', '.join(['Tensor'] * len(fields))}]"
        classes[name] = fields
        return f"_{name}_result"
    return "Any" if results.endswith("[]") else "Tensor"


def with_out(parts, results):
    """The parameters of a function, and out=, where its results can be counted."""
    count = results.count("Tensor")
    out = "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"
    if count == 0 or results.endswith("[]"):
        return parts
    return parts + ([] if "*" in parts else ["*"]) + [f"out: Union[{out}, None] = ..."]


def definitions(name, operator, classes, method=False):
    """The lines that define an operator by one of its names; several of them are overloads."""
    found = []
    for schema in operator.schemas:
        match = SCHEMA.fullmatch(schema)
        parts = parameters(match["arguments"], method)
        if method and not re.search(r"Tensor(\(\w+\))? self", match["arguments"]):
            continue
        if not method and not match["name"].endswith("_"):
            parts = with_out(parts, match["results"])
        if name == "nonzero":
            parts += ([] if "*" in parts else ["*"]) + ["as_tuple: _bool = ..."]
        result = result_type(match["name"], match["results"], classes)
        text = f"def {name}({', '.join((['self'] if method else []) + parts)}) -> {result}: ..."
        if text not in found:
            found.append(text)
    # Sizes may stand one by one.
    one_by_one = r"\((self, |input: Tensor, )?(size|shape|dims): _Size(?=[,)])"
    if len(found) == 1 and re.search(one_by_one, found[0]):
        found.append(re.sub(one_by_one, lambda at: f"({at[1] or ''}*{at[2]}: _int", found[0]).replace("*, ", ""))
    found.sort(key=lambda text: text.count("_Size"))  # one integer before lists of them, which take it as well
    return ["@overload\n" + text for text in found] if len(found) > 1 else found


def tensor_class(classes):
    lines = ["shape: tuple[_int, ...]", "dtype: _dtype", "ndim: _int", "itemsize: _int", "nbytes: _int", "device: str",
             "T: Tensor", "mT: Tensor", "H: Tensor", "mH: Tensor", "real: Tensor", "imag: Tensor",
             "def cpu(self) -> Tensor: ...", "def detach(self) -> Tensor: ...", "def detach_(self) -> Tensor: ...",
             "def set_(self, source: Union[Tensor, None] = ..., storage_offset: _int = ..., "
             "size: Union[_Size, None] = ..., stride: Union[_Size, None] = ...) -> Tensor: ...",
             "data: Tensor", "is_cpu: _bool", "is_cuda: _bool", "is_sparse: _bool",
             "requires_grad: _bool", "is_leaf: _bool", "grad: Union[Tensor, None]",
             "def requires_grad_(self, requires_grad: _bool = ...) -> Tensor: ...",
             "def backward(self, gradient: Union[Tensor, None] = ..., retain_graph: Union[_bool, None] = ..., "
             "create_graph: _bool = ..., inputs: Any = ...) -> None: ...",
             "grad_fn: Union[autograd.Node, None]", "retains_grad: _bool", "def retain_grad(self) -> None: ...",
             "def register_hook(self, hook: Callable[[Tensor], Union[Tensor, None]], /) -> Any: ...",
             "def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None], /) -> Any: ...",
             "def is_inference(self) -> _bool: ...",
             "def item(self) -> _Number: ...", "def tolist(self) -> Any: ...",
             "def numpy(self) -> _numpy.ndarray: ...", "def numel(self) -> _int: ...", "def dim(self) -> _int: ...",
             "def nelement(self) -> _int: ...", "def ndimension(self) -> _int: ...",
             "def element_size(self) -> _int: ...", "def is_same_size(self, other: Tensor, /) -> _bool: ...",
             "def type_as(self, other: Tensor, /) -> Tensor: ...",
             "def tensor_split(self, *arguments: Any, **named: Any) -> tuple[Tensor, ...]: ...",
             "def type(self, dtype: Union[_DType, None] = ..., non_blocking: _bool = ...) -> Any: ...",
             "def resize_(self, *size: _Size, memory_format: Any = ...) -> Tensor: ...",
             "def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Tensor: ...",
             "def norm(self, p: Union[_Number, str, None] = ..., dim: Union[_Size, None] = ..., keepdim: _bool = ..., "
             "out: Union[Tensor, None] = ..., dtype: Union[_DType, None] = ...) -> Tensor: ...",
             "def is_contiguous(self, memory_format: Any = ...) -> _bool: ...",
             "def is_floating_point(self) -> _bool: ...", "def is_complex(self) -> _bool: ...",
             "def is_signed(self) -> _bool: ...",
             "@overload\ndef size(self) -> tuple[_int, ...]: ...", "@overload\ndef size(self, dim: _int) -> _int: ...",
             "def evaluate(self) -> Tensor: ...", "def __len__(self) -> _int: ...", "def __bool__(self) -> _bool: ...",
             "def __complex__(self) -> complex: ...", "def __rdiv__(self, other: Any) -> Tensor: ...",
             "def __int__(self) -> _int: ...", "def __float__(self) -> _float: ...", "def __index__(self) -> _int: ...",
             "def __iter__(self) -> Iterator[Tensor]: ...", "def __getitem__(self, index: Any) -> Tensor: ...",
             "def __setitem__(self, index: Any, value: Any) -> None: ...",
             "def __array__(self, dtype: Any = ..., copy: Union[_bool, None] = ...) -> _numpy.ndarray: ...",
             "def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: Any = ...)"
             " -> Any: ...", "def __dlpack_device__(self) -> tuple[_int, _int]: ..."]
    lines += [f"def __{name}__(self) -> Tensor: ..." for name in ("neg", "pos", "abs", "invert")]
    lines += [f"def __{side}{name}__(self, other: Any) -> Tensor: ..." for name in REFLECTED for side in ("", "r")]
    lines += [f"def __i{name}__(self, other: Any) -> Tensor: ...  # type: ignore[misc]" for name in CHANGING]
    lines += [f"def __{name}__(self, other: Any) -> Tensor: ...  # type: ignore[override]"
              for name in ("eq", "ne", "lt", "le", "gt", "ge")]
    named = set(re.findall(r"def (\w+)|^(\w+):", "\n".join(lines), re.MULTILINE))
    taken = {name for pair in named for name in pair if name}
    for name, value in sorted(vars(laze.Tensor).items()):
        if isinstance(value, laze.Operator) and name not in taken and not keyword.iskeyword(name):
            is_cast = value.__text_signature__ == "(input)" and name != value.schemas[0].split("(")[0].split(".")[0]
            lines += [f"def {name}(self) -> Tensor: ..."] if is_cast else definitions(name, value, classes, method=True)
    return "class Tensor:\n" + "\n".join(f"    {line}" for text in lines for line in text.split("\n")) + "\n"


def functions():
    skipped = {"Tensor", "dtype", "Operator", "Scope"}
    for name in sorted(laze.__all__):
        value = getattr(laze, name)
        if isinstance(value, laze.dtype):
            yield f"{name}: _dtype"
        elif inspect.isclass(value) and issubclass(value, Exception):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            yield f"class {name}({bases}): ..."
    yield ""
    yield "class Operator:\n    schemas: tuple[str, ...]\n    def __call__(self, *args: Any, **kwargs: Any) -> Any: ..."
    yield "def tensor(data: Any, dtype: Union[_DType, None] = ..., *, requires_grad: _bool = ...) -> Tensor: ..."
    yield "def is_grad_enabled() -> _bool: ..."
    yield "def is_inference_mode_enabled() -> _bool: ..."
    yield "def is_anomaly_enabled() -> _bool: ..."
    for name in ("asarray", "as_tensor", "from_numpy"):
        yield f"def {name}(data: Any, dtype: Union[_DType, None] = ...) -> Tensor: ..."
    yield "def from_dlpack(object: Any, /) -> Tensor: ..."
    yield "def detach(input: Tensor, /) -> Tensor: ..."
    yield "def is_tensor(object: Any, /) -> _bool: ..."
    yield "def is_floating_point(input: Tensor, /) -> _bool: ..."
    yield "def is_complex(input: Tensor, /) -> _bool: ..."
    yield "def numel(input: Tensor, /) -> _int: ..."
    yield "def broadcast_shapes(*shapes: Any) -> tuple[_int, ...]: ..."
    yield "@overload\ndef evaluate(tensor: Tensor, /) -> Tensor: ..."
    yield "@overload\ndef evaluate(*tensors: Tensor) -> tuple[Tensor, ...]: ..."
    yield "def set_num_threads(number: _int, /) -> None: ..."
    yield "def get_num_threads() -> _int: ..."
    yield "def manual_seed(seed: _int, /) -> None: ..."
    yield "def get_rng_state() -> Tensor: ..."
    yield "def set_rng_state(state: Tensor, /) -> None: ..."
    yield "def load(path: Any, /) -> Tensor: ..."
    yield "def save(tensor: Any, path: Any, /) -> None: ..."
    yield "def load_safetensors(path: Any, /) -> dict[str, Tensor]: ..."
    yield "def safetensors_metadata(path: Any, /) -> dict[str, str]: ..."
    yield "def save_safetensors(tensors: dict[str, Tensor], path: Any, " \
          "metadata: Union[dict[str, str], None] = ...) -> None: ..."
    yield "def set_budget(nodes: _int = ..., bytes: _int = ...) -> None: ..."
    yield "def scope() -> ContextManager[Any]: ..."
    yield "def step() -> ContextManager[Any]: ..."
    yield "def metrics() -> dict[str, int]: ..."
    yield "def reset_metrics() -> None: ..."
    yield "def metric_samples() -> dict[str, dict[str, int]]: ..."
    yield "def metrics_report(json: bool = False) -> str: ..."


def main():
    classes = {}
    operators = {name: getattr(laze, name) for name in sorted(laze.__all__)
                 if isinstance(getattr(laze, name), laze.Operator)}
    defined = [line for name, operator in operators.items() for line in definitions(name, operator, classes)]
    tensor = tensor_class(classes)
    print(HEAD)
    for name, fields in sorted(classes.items()):
        print(f"class _{name}_result(NamedTuple):")
        print("\n".join(f"    {field}: Tensor" for field in fields) + "\n")
    print(tensor)
    print("\n".join(functions()))
    print("\n".join(defined))


if __name__ == "__main__":
    main()
