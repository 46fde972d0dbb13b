"""Lazy tensors: operations record a graph, reading a value compiles and runs it.

    >>> import laze
    >>> x = laze.tensor([[1., 2.], [3., 4.]])
    >>> (x @ x + 1).sum(dim=0)
    tensor([18 24])

Functions and methods have PyTorch's names and rules; help(laze.sum) shows one of them, dir(laze) all. Values go to NumPy
and come from there without copies: numpy.asarray(x), laze.asarray(array).
"""
from laze import _laze, autograd, fft, jit, library, linalg, nn, optim, special
from laze._laze import *  # noqa: F401,F403 - operators are made when the module is loaded
from laze._laze import __version__
from laze.autograd import enable_grad, grad, inference_mode, no_grad, set_grad_enabled
from laze.library import ops

# PyTorch has functions whose names begin with an underscore, which * leaves out.
globals().update({name: value for name, value in vars(_laze).items() if isinstance(value, _laze.Operator)})
from laze.functional import histogramdd, norm, tensor_split, tensordot  # noqa: E402 - in place of operators of these names
from laze import _methods  # noqa: E402
from laze._methods import resize_, resize_as_  # noqa: E402

_laze.Tensor.norm, _laze.Tensor.tensor_split = norm, tensor_split
_laze.Tensor.resize_, _laze.Tensor.resize_as_ = resize_, resize_as_
_laze.Tensor.type = _methods.type

inf = float("inf")
nan = float("nan")
pi = 3.141592653589793
newaxis = None


def __getattr__(name):
    """What is missing is explained, except to those who ask what the module can do, as imports do."""
    if name.startswith("_foreach_"):
        from laze._lists import find
        if find(name) is not None:
            return find(name)
    if name.startswith("_"):
        raise AttributeError(f"module 'laze' has no attribute {name!a}")
    from laze._hints import missing
    raise AttributeError(missing("module 'laze'", name, False))


__all__ = [name for name in dir(_laze) if not name.startswith("_")] + [
    "autograd", "enable_grad", "fft", "grad", "histogramdd", "inf", "inference_mode", "jit", "library", "linalg", "nan",
    "newaxis", "nn", "no_grad", "norm", "ops", "optim", "pi", "resize_as_", "set_grad_enabled", "special", "tensor_split",
    "tensordot"]
