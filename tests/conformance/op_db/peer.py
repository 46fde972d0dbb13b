"""What PyTorch brings along: its operators, their samples, the calls that have to fail, the overloads of its core.

An OpInfo is an operator of op_db with the functions that make its samples; some operators have several, told apart by
a variant. A sample is made by PyTorch's own code from a seed, so (operator, variant, kind, dtype, index, seed) names it.
"""
import collections
import contextlib
import dataclasses
import gc
import itertools
import random
import typing
import warnings

import numpy

warnings.simplefilter("ignore")  # op_db is made of what PyTorch itself will drop one day

gc.disable()  # nothing of op_db is ever freed: to look for what could be takes longer than to make it
import torch  # noqa: E402
from torch.testing._internal import common_methods_invocations  # noqa: E402

gc.freeze()  # nor is it looked at later, by children neither
gc.enable()

# Of an operator's inputs; the order is the order of reports.
DTYPES = ["float32", "float64", "bfloat16", "float16", "int8", "uint8", "int16", "int32", "int64", "bool", "uint16", "uint32",
          "uint64", "complex64"]
KINDS = ["sample", "reference", "error"]
FORMS = IN_PLACE, OUT = "in place", "out"  # kinds of samples: those of calls that give results to tensors there are
GRADIENTS = FIRST, SECOND, FORWARD = "gradient", "second order", "forward mode"  # too: their floats require gradients


@dataclasses.dataclass
class Sample:
    kind: str
    index: int
    input: typing.Any
    args: tuple
    kwargs: dict
    finish: typing.Callable = lambda result: result  # makes a result that is not unique comparable

    def tensors(self):
        return list(tensors_in((self.input, self.args, self.kwargs)))

    def wide(self):
        """The same with widened arguments, which require gradients where they did."""
        return self.each(widened)

    def each(self, change):
        """The same with arguments that a function has changed."""
        return dataclasses.replace(self, input=change(self.input), args=change(self.args), kwargs=change(self.kwargs))


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}


def widened(value):
    """Arguments with their floats of fewer bits, and the names of these dtypes, as float64."""
    def wide(item):
        if isinstance(item, torch.Tensor):
            return item.detach().to(WIDE.get(item.dtype, item.dtype)).requires_grad_(item.requires_grad)
        return WIDE.get(item, item) if isinstance(item, torch.dtype) else item
    return changed(value, wide)


def changed(value, change):
    """Arguments, of which a function has changed each, also in lists and dicts."""
    if isinstance(value, (list, tuple)):
        items = [changed(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: changed(item, change) for key, item in value.items()}
    return change(value)


def operators():
    """Name of op_db: its OpInfos."""
    named = collections.defaultdict(list)
    for info in common_methods_invocations.op_db:
        named[info.name].append(info)
    return dict(named)


# Functions of PyTorch's Python that call one of ATen by another name.
OTHER_NAMES = {"dropout2d": "feature_dropout", "dropout3d": "feature_dropout", "grid_sample": "grid_sampler",
               "lu": "_lu_with_info", "max_unpool1d": "max_unpool2d", "upsample_bilinear": "interpolate",
               "upsample_nearest": "interpolate"}


def aten_name(info):
    """The function of ATen that an OpInfo is about: "linalg_norm" of "linalg.norm", "im2col" of "nn.functional.unfold"."""
    name = info.aten_name
    for prefix in ("nn.functional.", "torch.ops.aten.", "torch."):
        name = name.removeprefix(prefix)
    return OTHER_NAMES.get(name, name.removesuffix(".default").replace(".", "_"))


def title(info):
    return f"{info.name}[{info.variant_test_name}]" if info.variant_test_name else info.name


def core_overloads():
    """Whole name ("add.Tensor", "relu") of each overload that PyTorch tags as core ATen: its schema."""
    found = {}
    for qualified in torch._C._dispatch_get_all_op_names():
        namespace, _, whole = qualified.partition("::")
        base, _, overload = whole.partition(".")
        if namespace != "aten":
            continue
        operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        if torch.Tag.core in operator.tags:
            found[whole] = operator._schema
    return dict(sorted(found.items()))


def forms():
    """(whole names of overloads in place, those with out= by the whole name of the operator whose results they give)."""
    in_place, out, functional = [], collections.defaultdict(list), {}
    known = set(torch._C._dispatch_get_all_op_names())
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::") and
               schema.name + (f".{schema.overload_name}" if schema.overload_name else "") in known]
    for schema in schemas:
        whole = schema.name.removeprefix("aten::") + (f".{schema.overload_name}" if schema.overload_name else "")
        written = [argument for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write]
        if not written:
            functional[whole] = schema
        elif schema.name.endswith("_") and not schema.name.endswith("__") and written[0] == schema.arguments[0]:
            in_place.append(whole)
    by_base = collections.defaultdict(list)
    for whole, schema in functional.items():
        by_base[schema.name].append(whole)
    for schema in schemas:
        names = [argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write]
        if not names or not all(a.kwarg_only for a in schema.arguments if a.name in names):
            continue
        rest = [(a.name, str(a.type)) for a in schema.arguments if a.name not in names]
        for whole in by_base[schema.name]:
            own = [(a.name, str(a.type)) for a in functional[whole].arguments]
            if [one for one in own if one in rest or one[0] not in PLACES] == rest:
                out[whole].append(schema.overload_name)
    return sorted(in_place), dict(out)


# What an operator is told of where its result lies, and which out= has.
PLACES = {"dtype", "layout", "device", "pin_memory", "memory_format"}


def samples(info, kind, dtype, seed):
    """The samples of one kind; calls that have to be refused have dtypes of their own."""
    if kind == "error":
        made = info.error_inputs("cpu", set_seed=False) if info.error_inputs_func else []
    else:
        make = info.reference_inputs if kind == "reference" else info.sample_inputs
        made = make("cpu", dtype_named(dtype), requires_grad=kind in GRADIENTS, set_seed=False)
    made = iter(made)
    for index in itertools.count():
        start_random(seed)  # before each, as PyTorch's tests do: no sample depends on those before it
        sample = next(made, None)
        if sample is None:
            return
        sample = sample.sample_input if kind == "error" else sample
        yield Sample(kind, index, sample.input, sample.args, sample.kwargs, sample.output_process_fn_grad)


def start_random(seed):
    """What common_utils.set_rng_seed does, without looking for the devices that there are: a quarter of all the time."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def dtype_named(name):
    return getattr(torch, name)


def supports(info, dtype):
    return dtype_named(dtype) in info.supported_dtypes("cpu")


@contextlib.contextmanager
def reproducible():
    """One thread: sums and products of PyTorch then have one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(threads)
