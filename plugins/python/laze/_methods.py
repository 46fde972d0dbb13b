"""Methods of tensors that are written with others: resize_, resize_as_ and type, with PyTorch's names and rules."""
from __future__ import annotations

import math
from typing import Any

from laze import _laze

# What PyTorch calls tensors of a dtype, where that is not its name with a capital in front.
_WORDS = {"float16": "Half", "float32": "Float", "float64": "Double", "bfloat16": "BFloat16", "int8": "Char",
          "int16": "Short", "int32": "Int", "int64": "Long", "uint8": "Byte", "uint16": "UInt16", "uint32": "UInt32",
          "uint64": "UInt64", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


def _word(dtype: _laze.dtype) -> str:
    return _WORDS.get(dtype.name, dtype.name.capitalize())


def resize_(self: _laze.Tensor, *size: Any, memory_format: Any = None) -> _laze.Tensor:
    """Has the tensor another shape, and gives it: of the first elements of its memory, where these are enough; otherwise
    it leaves that for a larger one, whose further elements are 0."""
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if self.requires_grad:
        raise _laze.StateError("resize_: the tensor requires a gradient, and cannot have another shape; use reshape()")
    if sizes == self.shape:
        return self
    strides = [math.prod(sizes[axis + 1:]) for axis in range(len(sizes))]
    try:
        source = self.as_strided(sizes, strides)
    except _laze.OutOfRangeError:  # its memory is too small
        source = _laze.resize_(self, sizes)
    return self.set_(source)


def resize_as_(self: _laze.Tensor, the_template: _laze.Tensor, *, memory_format: Any = None) -> _laze.Tensor:
    """Has the tensor the shape of another, and gives it."""
    return resize_(self, the_template.shape)


def type(self: _laze.Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """What the tensor's dtype is called as a type, such as "laze.FloatTensor"; or the tensor in a dtype, which may be
    called so as well."""
    if dtype is None:
        return f"laze.{_word(self.dtype)}Tensor"
    if isinstance(dtype, str):
        word = dtype.rpartition(".")[2]  # "torch.FloatTensor"
        known = (value for value in vars(_laze).values() if isinstance(value, _laze.dtype))
        dtype = next((value for value in known if _word(value) + "Tensor" == word), dtype)
    return self.to(dtype)
