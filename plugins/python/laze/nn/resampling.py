"""Functions of torch.nn.functional that say where elements of a picture come from or go to, one call of an operator
each."""
from __future__ import annotations

from typing import Any

import laze

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def _number(table, name, word, caller):
    if word not in table:
        raise laze.InvalidArgumentError(f"{caller}: {name} is {word!r}; expected {', '.join(table)}")
    return table[word]


def _each(value, count):
    """A number for each of `count` dims."""
    return [value] * count if isinstance(value, int) else list(value)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of pictures, as the columns of a matrix."""
    return laze.im2col(input, *(_each(value, 2) for value in (kernel_size, dilation, padding, stride)))


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Pictures of output_size, to which the windows add up that are the columns of a matrix."""
    return laze.col2im(input, *(_each(value, 2) for value in (output_size, kernel_size, dilation, padding, stride)))


def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Any:
    """What pictures are at the points of a grid, whose corners are at -1 and 1."""
    return laze.grid_sampler(input, grid, _number(_MODES, "mode", mode, "grid_sample"),
                             _number(_PADDINGS, "padding_mode", padding_mode, "grid_sample"), bool(align_corners))


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The grid of points to which matrices take those of a picture, for grid_sample."""
    return laze.affine_grid_generator(theta, list(size), bool(align_corners))


def _unpooled_sizes(name, input, kernel, stride, padding, output_size):
    """Sizes of what was pooled: the smallest that windows fill, or those given, which differ by less than a stride."""
    count = len(kernel)
    least = [(size - 1) * step + width - 2 * edge
             for size, step, width, edge in zip(list(input.shape)[-count:], stride, kernel, padding)]
    if output_size is None:
        return least
    sizes = list(output_size)[-count:]
    if len(output_size) not in (count, count + 2) or any(abs(size - near) >= step
                                                         for size, near, step in zip(sizes, least, stride)):
        raise laze.InvalidArgumentError(f"{name}: output_size is {list(output_size)}; expected {least}, or numbers that "
                                        f"differ from these by less than the strides {stride}")
    return sizes


def _unpooling(name, count, unpool):
    def function(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:
        kernel, padding = _each(kernel_size, count), _each(padding, count)
        stride = _each(kernel if stride is None else stride, count)
        sizes = _unpooled_sizes(name, input, kernel, stride, padding, output_size)
        return unpool(input, indices, sizes, stride, padding)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Zeros, but for elements at the places from which they were pooled."
    return function


def _unpool1d(input, indices, sizes, stride, padding):
    return laze.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), sizes + [1]).squeeze(-1)


def _unpool2d(input, indices, sizes, stride, padding):
    return laze.max_unpool2d(input, indices, sizes)


max_unpool1d = _unpooling("max_unpool1d", 1, _unpool1d)
max_unpool2d = _unpooling("max_unpool2d", 2, _unpool2d)
max_unpool3d = _unpooling("max_unpool3d", 3, lambda *arguments: laze.max_unpool3d(*arguments))


def interpolate(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Any:
    """Another number of places along each dim behind the first two: `size`, or `scale_factor` times as many."""
    def each(value):
        return value if value is None or isinstance(value, (list, tuple)) else [value] * (input.ndim - 2)
    factors = each(scale_factor)
    return laze.interpolate(input, each(size), None if factors is None else [float(factor) for factor in factors], mode,
                            align_corners, recompute_scale_factor, antialias)


def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Any:
    """The same as interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate by the nearest element."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate of pictures by lines, from corner to corner."""
    return interpolate(input, size, scale_factor, "bilinear", True)
