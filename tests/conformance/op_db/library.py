"""The library as the judge sees it: what operators it has, and tensors in and out. Nothing else here knows the package."""
import torch

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.int16, torch.uint16,
          torch.int32, torch.uint32, torch.int64, torch.uint64, torch.bool, torch.complex64, torch.complex128]


class Absent(Exception):
    """What the library does not have, and so cannot do rightly or wrongly; the text is the reason."""


def name_of_dtype(dtype):
    return str(dtype).removeprefix("torch.")


def written_in_python(package):
    """Functions that are no operators, or call one with other arguments, as PyTorch's of that name does."""
    functional = package.nn.functional
    return {"broadcast_shapes": package.broadcast_shapes, "histogramdd": package.histogramdd,
            "linear_cross_entropy": functional.linear_cross_entropy,
            "multi_head_attention_forward": functional.multi_head_attention_forward,
            "tensor_split": package.tensor_split}


class Library:
    """The Python package `laze`, or what a test puts in its place."""

    def __init__(self, package):
        self.package = package
        module = getattr(package, "_laze", package)  # where functions of Python have taken no operator's place
        self.operators = {name: value for name, value in vars(module).items() if isinstance(value, package.Operator)}
        self.functions = {**self.operators, **written_in_python(package)}
        self.dtypes = {dtype: getattr(package, name_of_dtype(dtype))
                       for dtype in DTYPES if hasattr(package, name_of_dtype(dtype))}

    def schemas(self):
        """Whole name ("add.Tensor"): schema, of each operator; the one list of them is the library's."""
        return {schema.partition("(")[0]: schema for function in self.operators.values() for schema in function.schemas}

    def takes_out(self, name):
        """Whether an operator, by its whole name, has an argument out=."""
        schema = self.schemas().get(name, "[]")
        return not schema.endswith("[]") and not name.partition(".")[0].endswith("_")

    def function(self, name):
        return self.functions.get(name)

    def method(self, name):
        """The method or property of tensors, or None."""
        return getattr(self.package.Tensor, name, None)

    def has(self, name):
        return (self.function(name) or self.method(name)) is not None

    def dtype(self, dtype):
        if dtype not in self.dtypes:
            raise Absent(f"dtype {name_of_dtype(dtype)}")
        return self.dtypes[dtype]

    def take(self, tensor):
        """A tensor of the library from one of PyTorch's."""
        if tensor.layout != torch.strided:
            raise Absent(f"layout {str(tensor.layout).removeprefix('torch.')}")
        self.dtype(tensor.dtype)
        return self.package.from_dlpack(tensor.detach().resolve_conj().resolve_neg())

    def tensor_type(self):
        return self.package.Tensor

    def give(self, result):
        """The result of a call as PyTorch would have it; what it takes is computed now."""
        if isinstance(result, self.package.Tensor):
            return torch.from_dlpack(result)
        if isinstance(result, (list, tuple)):
            return tuple(map(self.give, result))
        return result

    # ---- Gradients; tensors are the library's.

    def require(self, tensor):
        return tensor.requires_grad_()

    def requires_grad(self, tensor):
        return tensor.requires_grad

    def detached(self, tensor):
        return tensor.detach()

    def gradients(self, pairs, inputs, create_graph):
        """By each input, of results with the gradients that they are paired with; None where nothing depends on one."""
        if not pairs:
            return [None] * len(inputs)
        outputs, given = zip(*pairs)
        return self.package.autograd.grad(outputs, inputs, given, create_graph=create_graph, allow_unused=True)

    def tangents(self, outputs, inputs, given):
        """Of results that have a history, where inputs move along what is given."""
        return self.package.autograd.jvp(outputs, inputs, given) if outputs else ()
