"""Calls the library where PyTorch would call an operator.

An OpInfo is called as PyTorch's tests call it, but under a mode that sees each function of ATen before it runs:

  nn.functional.embedding(indices, weight, ...)     PyTorch's Python front end, which runs as it is
    torch.embedding(weight, indices, ...)           a function of ATen: arguments become the library's,
      laze.embedding(weight, indices, ...)          which is called by the same name,
    <- a tensor of PyTorch                          and its result goes on

So one rule fits all operators, methods, properties and the functions that op_db wraps around them. What asks only for
the form of a tensor (its rank, its dtype) PyTorch answers itself.
"""
import operator

import torch
import torch.functional
import torch.nn.functional
from torch.overrides import TorchFunctionMode, handle_torch_function

import peer
from library import Absent

METADATA = {"dim", "ndimension", "size", "numel", "nelement", "stride", "is_contiguous", "is_floating_point", "is_complex",
            "is_conj", "is_neg", "element_size", "storage_offset", "data_ptr", "detach", "requires_grad_", "tensor",
            "is_signed", "is_same_size", "result_type", "sym_int"}
PROPERTIES = {"T", "H", "mT", "mH", "real", "imag"}  # all others are metadata
# Functions of Python that leave results out, as the library's do; those of torch.masked are its operators, too.
# What the library has in Python is called whole, too.
FRONT_END = {"unique", "unique_consecutive", "broadcast_shapes", "histogramdd", "nn.functional.gaussian_nll_loss",
             "nn.functional.linear_cross_entropy", "nn.functional.multi_head_attention_forward"}
WITHOUT_WRITING = {"normal_": "normal_functional"}  # others lose their underscore alone
# What PyTorch asks of every call and a library on one device has no use for, by name or by type.
PLACES = {"device", "layout", "pin_memory", "memory_format", "requires_grad", "generator"}


def run_front_end():
    """Keeps functions of PyTorch that are written in Python from handing themselves to the mode whole."""
    for module in (torch.nn.functional, torch.functional, torch._tensor):
        for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
            if hasattr(module, name):
                setattr(module, name, lambda *values: False)


run_front_end()


def hand_over(*names):
    """Functions of PyTorch that are written in Python and the library has: these do hand themselves to the mode."""
    def handed(function):
        def call(*args, **kwargs):
            if torch._C._is_torch_function_mode_enabled():
                return handle_torch_function(function, args[:1], *args, **kwargs)
            return function(*args, **kwargs)
        return call

    for name in names:
        setattr(torch, name, handed(getattr(torch, name)))


hand_over("svd_lowrank", "pca_lowrank")


class Call:
    """One call of the library: the name that it has there, and arguments of PyTorch."""

    def __init__(self, name, is_method, args, kwargs):
        self.name, self.is_method, self.args, self.kwargs = name, is_method, args, kwargs


class Redirection(TorchFunctionMode):
    """While it is entered, functions of ATen are the library's."""

    def __init__(self, library, forms=False):
        super().__init__()
        self.library = library
        self.forms = forms  # those in place and with out= are called as such
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, is_property = name_of(function)
        if name in METADATA or (is_property and name not in PROPERTIES):
            return function(*args, **kwargs)
        is_method = is_property or getattr(function, "__objclass__", None) is not None
        return self.direct(name, is_method, args, kwargs)

    def direct(self, name, is_method, args, kwargs):
        """Calls the library with arguments of PyTorch."""
        # Of what is written to a tensor the values are compared.
        if not self.forms and name.endswith("_") and not name.endswith("__"):
            new = WITHOUT_WRITING.get(name, name.removesuffix("_"))
            name = new if self.library.function(new) else name
        call = Call(name, is_method, *without_places(args, kwargs, name, self.forms))
        self.calls.append(call)
        function, method = self.library.function(call.name), self.library.method(call.name)
        chosen = (method or function) if call.is_method else (function or method)
        if chosen is None:
            raise Absent(f"operator {call.name}")
        args, kwargs = self.convert(call.args), self.convert(call.kwargs)
        if not callable(chosen):  # a property
            return self.library.give(getattr(args[0], call.name))
        result = chosen(*args, **kwargs)
        if self.forms and call.name.endswith("_") and result is not args[0]:
            raise AssertionError(f"{call.name} gives another tensor than the one it changes")
        out = kwargs.get("out")
        if out is not None and not (result is out or (len(result) == len(out) and all(map(operator.is_, result, out)))):
            raise AssertionError(f"{call.name} gives other tensors than out")
        given = self.library.give(result)
        return write_back(call.args[0], given) if self.forms and call.name.endswith("_") else given

    def convert(self, value):
        if isinstance(value, torch.Tensor):
            return self.library.take(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.convert, value)) if type(value) in (list, tuple) else list(map(self.convert, value))
        if isinstance(value, dict):
            return {key: self.convert(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self.convert(value.start), self.convert(value.stop), self.convert(value.step))
        if isinstance(value, torch.dtype):
            return self.library.dtype(value)
        if isinstance(value, complex):
            self.library.dtype(torch.complex64)
        return value


def write_back(place, given):
    """PyTorch's tensor with what a call in place gives: a function in Python may have been given it, and return it."""
    if not isinstance(place, torch.Tensor) or place.dtype != given.dtype:
        return given
    with torch.no_grad():
        return place.resize_(given.shape).copy_(given)


def name_of(function):
    """(its name in ATen, whether it is a property)."""
    if isinstance(function, torch._ops.OpOverload):
        return function._schema.name.removeprefix("aten::"), False
    if getattr(function, "__name__", "") == "__get__":
        return function.__self__.__name__, True
    return getattr(function, "__name__", str(function)), False


def without_places(args, kwargs, name="", forms=False):
    """The arguments of a call without those that name a place: there is only one here, and PyTorch's is the CPU."""
    args = tuple(value for value in args if not isinstance(value, (torch.memory_format, torch.layout, torch.device)))
    left = {key: value for key, value in kwargs.items() if key not in PLACES}
    if name == "to":  # x.to("cpu", dtype, non_blocking, copy): only the dtype says what comes of it
        args = tuple(value for value in args if isinstance(value, (torch.Tensor, torch.dtype)))
        left = {key: value for key, value in left.items() if key in ("dtype", "other")}
    if kwargs.get("layout") not in (None, torch.strided):
        raise Absent(f"layout {kwargs['layout']}")
    if not forms and left.pop("out", None) is not None:
        raise Absent("out=")
    return args, left


def call_library(library, info, sample, function=None):
    """(result, calls, exception or None) of a sample: of info.op, or another function that calls it. What the library
    does not have is Absent."""
    mode = Redirection(library)
    args = (sample.input, *sample.args)
    try:
        if info.name in FRONT_END or info.name.startswith("masked."):
            return mode.direct(peer.aten_name(info), False, args, sample.kwargs), mode.calls, None
        if info.name.startswith("__"):  # an operator of Python, which PyTorch would call by its long name
            if not isinstance(sample.input, torch.Tensor):
                raise Absent(f"{info.name} of a number")
            return mode.direct(info.name, True, args, sample.kwargs), mode.calls, None
        with mode:
            result = (function or info.op)(*args, **sample.kwargs)
    except Absent:
        raise
    except Exception as error:  # a refusal may have any type
        if mode.calls:
            return None, mode.calls, error
        # PyTorch's own parser or front end has refused it. The library is to do so as well.
        try:
            return mode.direct(peer.aten_name(info), False, args, sample.kwargs), mode.calls, None
        except Absent:
            raise
        except Exception as own:
            return None, mode.calls, own
    if not mode.calls:
        raise Absent("calls no function of ATen")
    return result, mode.calls, None
