"""Operators under the names of a part of PyTorch: torch.fft.rfft is the operator fft_rfft."""
from laze import _laze


def of(part, others=None):
    """__getattr__ and __dir__ of a module for the operators whose names begin with `part`, and for `others`, operators by
    their names in this part."""
    prefix, others = part + "_", others or {}

    def find(name):
        operator = vars(_laze).get(prefix + name) or vars(_laze).get(others.get(name))
        if isinstance(operator, _laze.Operator):
            return operator
        raise AttributeError(f"module 'laze.{part}' has no attribute {name!a}")

    def names():
        return sorted({*others, *(name[len(prefix):] for name in vars(_laze) if name.startswith(prefix))})
    return find, names
