"""Gradients: those of some tensors by others, and where operators are remembered for them.

    >>> x = laze.tensor([1., 2., 3.], requires_grad=True)
    >>> laze.autograd.grad((x * x).sum(), x)
    (tensor([2 4 6]),)

Names and rules are PyTorch's. Of a whole model, loss.backward() adds to the grad of each tensor that requires one.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Sequence

import laze
from laze import _laze
from laze._laze import is_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]


def _tuple(tensors):
    return (tensors,) if isinstance(tensors, _laze.Tensor) else tuple(tensors)


def _gradients(gradients, outputs, function, name):
    """One for each output, or None."""
    given = (None,) * len(outputs) if gradients is None else _tuple(gradients)
    if len(given) != len(outputs):
        raise _laze.StateError(f"{function}: {name} has {len(given)} gradients for {len(outputs)} tensors")
    return given


def grad(outputs: laze.Tensor | Sequence[laze.Tensor], inputs: laze.Tensor | Sequence[laze.Tensor],
         grad_outputs: laze.Tensor | Sequence[laze.Tensor | None] | None = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool | None = None,
         materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs` by each of `inputs`, a tuple; no tensor's grad changes.

    grad_outputs     a gradient for each output, or None: then the output has one element
    retain_graph     what the forward pass kept stays for another pass; None: as create_graph
    create_graph     gradients have gradients themselves
    allow_unused     inputs on which no output depends have the gradient None, instead of an error
    materialize_grads  those have zeros instead
    """
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    if materialize_grads and allow_unused is False:
        raise _laze.InvalidArgumentError("grad: with materialize_grads, allow_unused is True or not given")
    given = _gradients(grad_outputs, outputs, "grad", "grad_outputs")
    found = _laze._grad(outputs, given, inputs, retain_graph, create_graph, bool(allow_unused or materialize_grads))
    if materialize_grads:
        found = tuple(_laze.zeros_like(x.detach()) if gradient is None else gradient for x, gradient in zip(inputs, found))
    return found


def backward(tensors: laze.Tensor | Sequence[laze.Tensor],
             grad_tensors: laze.Tensor | Sequence[laze.Tensor | None] | None = None, retain_graph: bool | None = None,
             create_graph: bool = False) -> None:
    """Adds to the grad of each leaf that `tensors` were made from the gradient of their sum."""
    tensors = _tuple(tensors)
    _laze._backward(tensors, _gradients(grad_tensors, tensors, "backward", "grad_tensors"), retain_graph, create_graph)


class _Mode:
    """For `with`, and to decorate functions with; what was before comes back at the end, also in a generator."""

    def __init__(self, mode):
        self._mode = mode
        self._before = []

    def __enter__(self):
        self._before.append(_laze._set_grad_enabled(self._mode))

    def __exit__(self, *error):
        _laze._set_grad_enabled(self._before.pop())
        return False

    def _again(self):
        """One of the same mode, of its own: a function may be called by several threads."""
        return _Mode(self._mode)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generate(*args, **kwargs):
                return _resume(function(*args, **kwargs), self._again)
            return generate

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)
        return call


def _resume(generator, mode):
    """Yields what a generator does, which runs in the mode, and its caller does not."""
    step = functools.partial(next, generator)
    while True:
        try:
            with mode():
                value = step()
        except StopIteration as end:
            return end.value
        try:
            sent = yield value
            step = functools.partial(generator.send, sent)
        except GeneratorExit:
            with mode():
                generator.close()
            raise
        except BaseException as error:
            step = functools.partial(generator.throw, error)


class no_grad(_Mode):
    """Inside of it, operators are not remembered: their results require no gradient."""

    def __new__(cls, function=None):  # @no_grad and @no_grad() decorate alike
        made = super().__new__(cls)
        made.__init__()
        return made if function is None else made(function)

    def __init__(self):
        super().__init__(False)


class enable_grad(_Mode):
    """Inside of it, operators are remembered, also inside of no_grad()."""

    def __new__(cls, function=None):
        made = super().__new__(cls)
        made.__init__()
        return made if function is None else made(function)

    def __init__(self):
        super().__init__(True)


class set_grad_enabled(_Mode):
    """Says from now on whether operators are remembered; with `with`, until its end."""

    def __init__(self, mode):
        super().__init__(bool(mode))
        self._first = _laze._set_grad_enabled(self._mode)

    def __enter__(self):
        before = _laze._set_grad_enabled(self._mode)
        self._before.append(before if self._first is None else self._first)
        self._first = None

    def __call__(self, function):
        if self._first is not None:
            _laze._set_grad_enabled(self._first)  # a decorator says nothing of what comes behind it
            self._first = None
        return super().__call__(function)
