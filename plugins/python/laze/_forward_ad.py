"""Forward mode: tensors that carry tangents, with PyTorch's names, as laze.autograd.forward_ad.

    >>> from laze.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     y = laze.sin(forward_ad.make_dual(laze.tensor([0.]), laze.tensor([2.])))
    ...     forward_ad.unpack_dual(y).tangent
    tensor([2])

Tangents follow from what is remembered for gradients, so that nothing has them under no_grad. Levels may be nested.
"""
from __future__ import annotations

import threading
from typing import Any, NamedTuple

import laze
from laze import _laze

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: what a tensor is without its tangent, and that, or None."""
    primal: Any
    tangent: Any


class _Levels(threading.local):
    def __init__(self):
        self.open = []


_levels = _Levels()


def _find(level):
    """The level of a number, if it is open; None: the innermost one."""
    if level is None:
        level = len(_levels.open) - 1
    return _levels.open[level] if 0 <= level < len(_levels.open) else None


def enter_dual_level() -> int:
    """Opens a level, whose number it gives."""
    _levels.open.append(_laze._dual_level())
    return len(_levels.open) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the innermost level: its dual tensors have no tangents any more."""
    if not _levels.open or level not in (None, len(_levels.open) - 1):
        raise _laze.StateError(f"exit_dual_level: {level} is not the innermost level, of {len(_levels.open)} that are open")
    _levels.open.pop()


class dual_level:
    """A level for `with`."""

    def __enter__(self):
        self._level = enter_dual_level()
        return self._level

    def __exit__(self, *error):
        exit_dual_level(level=self._level)
        return False


def make_dual(tensor: laze.Tensor, tangent: laze.Tensor, *, level: int | None = None) -> laze.Tensor:
    """A tensor of the same value that carries a tangent, of the same shape and dtype."""
    found = _find(level)
    if found is None:
        raise _laze.StateError("make_dual: there is no level for the dual tensor; call it inside of dual_level()")
    return found.make(tensor, tangent)


def unpack_dual(tensor: laze.Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """What a tensor is without its tangent, and that: None where the tensor follows from no dual one of the level."""
    found = _find(level)
    return UnpackedDualTensor(*((tensor, None) if found is None else found.unpack(tensor)))
