#!/usr/bin/env python3
"""Writes torch.txt, what PyTorch says operators give, and the table of differences in docs/semantics.md.

Run by ./dev differences, with PyTorch 2.13; torch_recorder.py says what cases and rows are.
"""
import torch_calls
import torch_complex
import torch_core
import torch_elementwise
import torch_fft
import torch_forms
import torch_gradients
import torch_linalg
import torch_lookups
import torch_masked
import torch_pointwise
import torch_products
import torch_resampling
import torch_scatter
import torch_segments
import torch_sorting
import torch_special
import torch_statistics
import torch_windows
from torch_recorder import row, write


def rows():
    row("zero_divisor", "integer division and remainder by zero", "an error", "0",
        "data decides nothing about failing, but for indices")
    row("floor_divide", "`floor_divide` of floats", "from `fmod`, corrected", "`floor(a / b)`", "two operations, each exact")
    row("tiny_divisor", "`fmod` and `remainder` where the quotient overflows", "NaN where vectors compute", "exact",
        "one result for every length")
    row("integer_power", "integer `pow` with a negative number as exponent", "an error", "0, 1 or -1",
        "a number is a tensor without dims")
    row("bool_power", "`pow` of bool with a bool number as exponent", "bool", "an error", "as between tensors")
    row("sign_nan", "`sign` of NaN", "0", "NaN", "a NaN should show")
    row("equal_zeros", "`maximum`, `minimum`, `amax`, ... of 0.0 and -0.0", "the first or the second, by the length",
        "the second", "one result for every length")
    row("half_and_number", "`add` of a float of 16 bits and a number", "the number is rounded first",
        "both are added as `f32`", "as in `mul` and `div`")
    row("index_of_zero", "value of `max.dim` and `min.dim` among 0.0 and -0.0", "the element at the index",
        "the last zero", "it is `amax` or `amin`")
    row("bool_index", "`argmax` and `argmin` of bool", "an error", "the first true or false", "bools are ordered")
    row("any_of_bytes", "`any` and `all` of `u8`", "`u8`", "`bool`", "as of every other dtype")
    row("bool_difference", "`sub` of bool and a number", "an error", "promoted; bools alone are refused", "as in `add`")
    row("promoted_functions", "`relu` and `abs` of bool, `silu` and `logaddexp` of bool and integers", "an error", "promoted",
        "as in other functions")
    row("bool_clamp", "`clamp` of bool between bools", "an error but for one limit as a tensor", "bool",
        "as in `maximum` and `minimum`")
    row("gelu_tail", "`gelu` below about -5, and of infinities", "0 or NaN in `f32`; `1 + erf` cancels", "from `erfc`",
        "accurate in the tail, 0 and inf at the ends")
    row("integer_mean", "`mean` and `var` of integers", "an error", "`f32`", "as `div` of integers")
    row("one_hot_classes", "`one_hot` without `num_classes`", "reads the data", "an error",
        "shapes are known before anything runs")
    row("one_hot_range", "`one_hot` with a class out of range", "an error", "zeros",
        "data decides nothing about failing, but for indices")
    row("negative_index", "negative index in `gather`, `index_select`, `embedding`, and in what writes at indices", "an error", "counts from the back",
        "as in `select`")
    row("view_bool", "`view` of numbers as bool", "bytes as they are", "true where they are not 0", "a bool is 0 or 1")
    row("logsumexp_axes", "`logsumexp` over `dim=[]` without `keepdim`", "an error", "over all dims",
        "as with `keepdim`, and as `sum`")
    row("mixed_products", "`linear` with a bias of another dtype", "an error", "promoted", "it is `add`")
    row("arange_length", "length of an `arange` of integers in a dtype other than `i64`", "rounded beyond 2^53",
        "counted in integers", "exact")
    row("arange_wide", "`arange` of integers over more than 2^63", "empty, or an error", "counted in integers", "exact")
    row("arange_step", "`arange` in integers but `i64` with a step between -1 and 1", "repeats its start", "an error", "as in `i64`")
    row("arange_beyond", "numbers of an `arange` that its dtype does not hold", "wrap", "an error",
        "as of other numbers that a dtype does not hold")
    row("linspace_unsigned", "`linspace` in `u8` from or to a negative number", "an error, or between what the ends wrap to",
        "each number wraps", "as `to` of the same numbers")
    row("arange_values", "numbers of an `arange` in `f32` and `f64`", "rounded otherwise where vectors compute",
        "`start + i * step` in `f64`, and then in the dtype", "one result for every length")
    row("arange_infinite", "`arange` with an infinite step", "its start is left out", "an error",
        "there is no such sequence")
    row("sum_order", "order of sums", "depends on machine, threads and shape", "named above", "the same bits everywhere")
    row("product_order", "order of matrix products", "depends on machine, threads and the number of rows", "named above",
        "the same bits everywhere, and a row's bits are its own")
    row("infinite_part", "`add` and `sub` of complex numbers with an infinite part", "NaN in the other part where vectors "
        "compute", "the sum of the parts", "there is no product in a sum")
    row("window_integers", "`max_pool1d` and `im2col` of integers; average pooling, dilated and transposed convolution of "
        "integers but `i64`", "an error", "computed", "as in `i64`, or as in two dims")
    row("window_empty", "pooling of no channels, convolution to none or of none", "an error, or other sizes",
        "a result without elements, or of zeros", "sums of nothing")
    row("window_rounding", "`blackman_window` and `signal_windows_blackman` at their ends", "rounded in `f32` on the way",
        "rounded once, from `f64`", "accurate near 0")


if __name__ == "__main__":
    rows()
    torch_elementwise.record()
    torch_pointwise.record()
    torch_calls.record()
    torch_scatter.record()
    torch_sorting.record()
    torch_windows.record()
    torch_forms.record()
    torch_lookups.record()
    torch_products.record()
    torch_statistics.record()
    torch_masked.record()
    torch_linalg.record()
    torch_resampling.record()
    torch_complex.record()
    torch_fft.record()
    torch_special.record()
    torch_core.record()
    torch_gradients.record()
    torch_segments.record()
    write()
