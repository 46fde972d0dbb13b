"""Gradients: those of some tensors by others, and where operators are remembered for them.

    >>> x = laze.tensor([1., 2., 3.], requires_grad=True)
    >>> laze.autograd.grad((x * x).sum(), x)
    (tensor([2 4 6]),)

Names and rules are PyTorch's. Of a whole model, loss.backward() adds to the grad of each tensor that requires one.
"""
from __future__ import annotations

import functools
import inspect
import sys
import weakref
from typing import Any, Callable, Sequence

import laze
from laze import _forward_ad as forward_ad
from laze import _laze
from laze._laze import _Node as Node
from laze._laze import is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled

__all__ = ["Function", "Node", "backward", "checkpoint", "detect_anomaly", "enable_grad", "forward_ad", "grad", "inference_mode",
           "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "jvp", "no_grad", "once_differentiable",
           "set_detect_anomaly", "set_grad_enabled"]

sys.modules[__name__ + ".forward_ad"] = forward_ad  # for `import laze.autograd.forward_ad`


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


def jvp(outputs: laze.Tensor | Sequence[laze.Tensor], inputs: laze.Tensor | Sequence[laze.Tensor],
        tangents: laze.Tensor | Sequence[laze.Tensor | None], create_graph: bool = False) -> tuple[laze.Tensor, ...]:
    """How `outputs` change where `inputs`, which they were made from, move along `tangents`: forward mode. A tuple; the
    tangent None is an input that stands still.

    create_graph     what is given has gradients itself
    """
    outputs, inputs, tangents = _tuple(outputs), _tuple(inputs), _tuple(tangents)
    if len(inputs) != len(tangents):
        raise _laze.StateError(f"jvp: tangents has {len(tangents)} for {len(inputs)} inputs")
    return _laze._jvp(outputs, inputs, tangents, create_graph)


def backward(tensors: laze.Tensor | Sequence[laze.Tensor],
             grad_tensors: laze.Tensor | Sequence[laze.Tensor | None] | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs: laze.Tensor | Sequence[laze.Tensor] | None = None) -> None:
    """Adds to the grad of each leaf that `tensors` were made from the gradient of their sum; to that of `inputs` alone,
    leaves or not, where these are given."""
    tensors = _tuple(tensors)
    if inputs is not None and not isinstance(inputs, _laze.Tensor) and len(inputs) == 0:
        raise _laze.StateError("backward: inputs is empty; leave it out for all leaves, or name those that get a gradient")
    inputs = () if inputs is None else _tuple(inputs)
    given = _gradients(grad_tensors, tensors, "backward", "grad_tensors")
    _laze._backward(tensors, given, inputs, retain_graph, create_graph)


class _Mode:
    """For `with`, and to decorate functions with; what was before comes back at the end, also in a generator."""

    _set = staticmethod(_laze._set_grad_enabled)  # gives what was before

    def __init__(self, mode):
        self._mode = mode
        self._before = []

    def __enter__(self):
        self._before.append(self._set(self._mode))

    def __exit__(self, *error):
        self._set(self._before.pop())
        return False

    def _again(self):
        """One of the same mode, of its own: a function may be called by several threads."""
        again = _Mode(self._mode)
        again._set = self._set
        return again

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
        if not isinstance(mode, bool):
            raise _laze.ArgumentTypeError(f"set_grad_enabled: the mode is True or False, and not {mode!r}")
        super().__init__(mode)
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


class inference_mode(_Mode):
    """Inside of it, operators are not remembered, and tensors that are made can never be part of what is: faster still
    than no_grad(), and a mistake is noticed."""

    _set = staticmethod(_laze._set_inference_mode)

    def __new__(cls, mode=True):  # @inference_mode and @inference_mode() decorate alike
        made = super().__new__(cls)
        made.__init__(mode if isinstance(mode, bool) else True)
        return made(mode) if callable(mode) else made

    def __init__(self, mode=True):
        super().__init__(bool(mode))


class detect_anomaly(_Mode):
    """Inside of it, backward passes look for NaN: where one is computed, reading what depends on it is an error that
    names the operator whose gradient it was, and the line that called it."""

    _set = staticmethod(_laze._set_anomaly_mode)

    def __init__(self, check_nan=True):
        super().__init__(bool(check_nan))


class set_detect_anomaly(detect_anomaly):
    """Says so from now on; with `with`, until its end."""

    def __init__(self, mode, check_nan=True):
        super().__init__(mode and check_nan)
        self._before.append(self._set(self._mode))

    def __enter__(self):
        pass


class _Checkpointed:
    """What a checkpoint calls: a function of the tensors among its arguments, with the random numbers of the first time."""

    def __init__(self, function, args, kwargs, preserves):
        self._function, self._kwargs = function, kwargs
        self._places = tuple(map(_is_tensor, args))
        self._others = tuple(None if is_tensor else x for x, is_tensor in zip(args, self._places))
        self._state = _laze.get_rng_state() if preserves else None
        self.count = sum(self._places)
        self.first = []

    def _call(self, tensors):
        spread = _spread(tensors, self._places, None)
        args = (x if is_tensor else other for x, other, is_tensor in zip(spread, self._others, self._places))
        return self._function(*args, **self._kwargs)

    def __call__(self, *tensors):
        if self.first is not None:
            self.first.append(self._call(tensors))
        elif self._state is None:
            self._call(tensors)
        else:
            now = _laze.get_rng_state()
            _laze.set_rng_state(self._state)
            try:
                self._call(tensors)
            finally:
                _laze.set_rng_state(now)


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """function(*args, **kwargs), of which what gradients need is not kept, but computed again in the backward pass from
    the tensors among `args`: less memory, for calling the function twice. It has to do the same each time.

    use_reentrant       is taken for PyTorch's sake; there is one way
    preserve_rng_state  the second time, random numbers are those of the first
    """
    code = _Checkpointed(function, args, kwargs, preserve_rng_state)
    _laze._checkpoint(code, tuple(filter(_is_tensor, args)))
    result, = code.first
    code.first = None
    return result


class RemovableHandle:
    """What registering a hook gives: remove() has it called no more, as the end of `with` does."""

    def __init__(self, number):
        self._number = number

    def remove(self) -> None:
        _laze._remove_hook(self._number)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()
        return False


def _with_tensor(tensor, hook):
    """A hook that is called with a tensor, which it does not keep."""
    reference = weakref.ref(tensor)

    def call(_):
        found = reference()
        if found is not None:
            hook(found)
    return call


class FunctionContext:
    """What forward, backward and jvp of a Function share: its first argument, usually called ctx."""

    def __init__(self, function, needed):
        self._function = function
        self._saving = ()
        self._saved = None
        self._constant = self._dirty = ()
        self._absent = False
        self.needs_input_grad = needed

    def save_for_backward(self, *tensors: laze.Tensor | None) -> None:
        """Keeps tensors for backward and jvp: inputs, outputs, or others. A change of one is noticed."""
        self._saving = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, in backward and jvp."""
        if self._saved is None:
            raise _laze.StateError(f"{self._function.__name__}: saved_tensors are there in backward and jvp only")
        return self._saved

    def mark_non_differentiable(self, *outputs: laze.Tensor) -> None:
        """Says that these outputs have no gradient."""
        self._constant = outputs

    def mark_dirty(self, *inputs: laze.Tensor) -> None:
        """Says that forward has written to these inputs, all of which it gives as outputs."""
        self._dirty = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that there are not are zeros (True, as at first) or None."""
        self._absent = not value

    # What follows is called by the library.

    def _backward(self, given, saved, needed):
        self._saved = saved
        self.needs_input_grad = _spread(needed, self._inputs, False)
        try:
            found = self._function.backward(self, *_spread(given, self._outputs, None))
        finally:
            self._saved = None
        return self._check("backward", found, self._inputs)

    def _jvp(self, given, saved):
        self._saved = saved
        try:
            found = self._function.jvp(self, *_spread(given, self._inputs, None))
        finally:
            self._saved = None
        return self._check("jvp", found, self._outputs)

    def _check(self, name, found, places):
        """Those of tensors; there is one for each argument, or output, and what is behind the last may be None."""
        found = found if isinstance(found, tuple) else (found,)
        if len(found) < len(places) or any(extra is not None for extra in found[len(places):]):
            raise _laze.ArgumentTypeError(f"{self._function.__name__}.{name} gives {len(found)} values for {len(places)}")
        for i, (value, is_tensor) in enumerate(zip(found, places)):
            if value is not None and not is_tensor:
                raise _laze.ArgumentTypeError(f"{self._function.__name__}.{name}: value {i} belongs to no tensor; it is None")
        return tuple(value for value, is_tensor in zip(found, places) if is_tensor)


def _spread(values, places, other):
    """Values of tensors at the places of these, and `other` at those of what is none."""
    values = iter(values)
    return tuple(next(values) if is_tensor else other for is_tensor in places)


def _is_tensor(value):
    return isinstance(value, _laze.Tensor)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a backward whose gradients cannot be differentiated: that is an error then, and no wrong result."""
    @functools.wraps(backward)
    def call(*args):
        return backward(*args)
    call._once_differentiable = True
    return call


class Function:
    """A function with a gradient of its own:

        class Square(laze.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                x, = ctx.saved_tensors
                return 2 * x * gradient

        y = Square.apply(x)

    forward may leave out ctx where there is a setup_context(ctx, inputs, output). backward gets a gradient for each
    output and gives one for each argument, None where there is none. jvp(ctx, *tangents), which is optional, does so the
    other way round for forward mode.
    """

    @staticmethod
    def forward(*args: Any) -> Any:
        raise NotImplementedError("a laze.autograd.Function has a forward")

    @staticmethod
    def backward(ctx: FunctionContext, *gradients: Any) -> Any:
        raise NotImplementedError("this laze.autograd.Function has no backward")

    setup_context: Any = None
    jvp: Any = None

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls forward; what it does is not remembered, but that it was called."""
        is_needed = is_grad_enabled()
        ctx = FunctionContext(cls, tuple(is_needed and _is_tensor(x) and x.requires_grad for x in args))
        with no_grad():
            if cls.setup_context is None:
                outputs = cls.forward(ctx, *args)
            else:
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        ctx._inputs, ctx._outputs = tuple(map(_is_tensor, args)), tuple(map(_is_tensor, several))
        if not all(any(x is output for output in several) for x in ctx._dirty):
            raise _laze.StateError(f"{cls.__name__}: an input that is marked dirty is no output; forward gives it as one")
        if any(ctx.needs_input_grad) and any(ctx._outputs):
            several = cls._attach(ctx, args, several)
        ctx._saving = ctx._constant = ctx._dirty = ()
        return several if isinstance(outputs, tuple) else several[0]

    @classmethod
    def _attach(cls, ctx, args, outputs):
        tensors = tuple(filter(_is_tensor, outputs))
        marks = tuple(any(x is output for x in ctx._constant) + 2 * any(x is output for x in ctx._dirty)
                      for output in tensors)
        flags = (1 if getattr(cls.backward, "_once_differentiable", False) else 0) | (2 if ctx._absent else 0)
        made = _laze._attach(cls.__name__, ctx, tuple(filter(_is_tensor, args)), tensors, tuple(ctx._saving), marks,
                             flags, cls.jvp is not None)
        return tuple(x if x is not None else other
                     for x, other in zip(_spread(made, ctx._outputs, None), outputs))
