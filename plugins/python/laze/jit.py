"""Functions of tensors as graphs: recorded once, saved, and run without the function.

    >>> dense = laze.jit.trace(lambda x: (x @ x).relu(), laze.tensor([[1., -2.], [3., 4.]]))
    >>> dense(laze.tensor([[0., 1.], [1., 0.]]))
    tensor([[1 0]
            [0 1]])
    >>> dense.save("dense.lz")

A graph holds what operators did, for the sizes of the inputs that it was traced with. Tensors from outside and numbers
are part of it; random numbers are drawn anew by each call.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Sequence

import laze
from laze import _laze

__all__ = ["Compiled", "Traced", "compile", "load", "trace"]

_PARTITIONS = {"default": 0, "min_cut": 1}


class Traced:
    """A graph that is called with tensors: one result is a tensor, several are a tuple."""

    def __init__(self, graph: Any):
        self._graph = graph

    @property
    def graph(self) -> str:
        """The graph as text, which `lazec` reads."""
        return str(self._graph)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in their order; seed and offset of random numbers need not be passed."""
        return self._graph.inputs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph to a file of text, and large constants to one beside it that ends in ".weights"."""
        self._graph.save(path)

    def __call__(self, *inputs: laze.Tensor) -> Any:
        results = self._graph.call(inputs)
        return results[0] if len(results) == 1 else results

    def __repr__(self):
        return f"<laze.jit.Traced of {', '.join(self.inputs)}>"


class Compiled:
    """A function that was compiled with its gradients, by compile()."""

    def __init__(self, compiled: Any, is_tensor: bool):
        self._compiled, self._is_tensor = compiled, is_tensor

    @property
    def forward(self) -> str:
        """The forward graph as text."""
        return self._compiled.graph(1)

    @property
    def backward(self) -> str | None:
        """The backward graph as text; None where no input required a gradient."""
        return self._compiled.graph(2)

    def __call__(self, *inputs: laze.Tensor) -> Any:
        results = self._compiled.call(inputs)
        return results[0] if self._is_tensor else results


def compile(function: Callable[..., Any], *inputs: laze.Tensor, name: str = "aot",
            partition: str = "default") -> Compiled:
    """Calls `function` once, on tensors that stand for `inputs`, and compiles what it did, with its gradients.

    Calls of the result do what calls of the function did: what it writes to its inputs is written, views are views, and
    results have a history, whose backward pass is one graph. Inputs have to be like those given here: dtypes, sizes,
    strides, which require gradients. What else it uses is a constant: weights that are trained are inputs.

    >>> x, w = laze.ones(2, 3), laze.full((3,), 2., requires_grad=True)
    >>> layer = laze.jit.compile(lambda x, w: (x @ w).tanh().sum(), x, w)
    >>> layer(x, w).backward()

    name       of the graphs
    partition  what the backward pass is given: "default", what it uses of the forward pass; "min_cut", as few bytes as
               can be, where cheap things are computed again
    """
    if partition not in _PARTITIONS:
        raise ValueError(f"compile: partition is {partition!r}; it is one of {', '.join(_PARTITIONS)}")
    is_tensor = []

    def code(*tensors):
        results = function(*tensors)
        is_tensor.append(isinstance(results, _laze.Tensor))
        return _outputs(results)

    compiled = _laze._compile(code, inputs, name, _PARTITIONS[partition])
    return Compiled(compiled, is_tensor[0])


def load(path: str | os.PathLike[str]) -> Traced:
    """The graph in a file that Traced.save() wrote, or any other in text form."""
    return Traced(_laze._load_graph(path))


def _outputs(results):
    return (results,) if isinstance(results, _laze.Tensor) else tuple(results)


def _trace(function, inputs, names, name, strict):
    traced = _laze._trace_begin(inputs, names, name, strict)
    try:
        outputs = _outputs(function(*traced))
        if not all(isinstance(output, _laze.Tensor) for output in outputs):
            raise TypeError("trace: the function gives a tensor, or a list or tuple of tensors")
    except BaseException:
        _laze._trace_end(None)
        raise
    return _laze._trace_end(outputs)


def _other_values(x):
    """Of the same type: integers change places, so that indices stay such."""
    x = x.detach()
    if x.dtype == laze.bool:
        return x.logical_not()
    return -x if x.dtype.is_floating_point or x.dtype.is_complex else x.reshape(-1).flip(0).reshape(x.shape)


def trace(function: Callable[..., Any], *inputs: laze.Tensor, names: Sequence[str] | None = None, name: str = "trace",
          strict: bool = False, check: bool = True) -> Traced:
    """Calls `function` with tensors of the values of `inputs`, and gives what it did with them as a graph.

    names   of the inputs, in the graph's text
    name    of the graph
    strict  reading a value that follows from the inputs is an error, because what is decided by it is baked in
    check   the function is called once more, with other values; where it does something else then, that is an error,
            which names both lines
    """
    names = None if names is None else tuple(names)
    if names is not None and len(names) != len(inputs):
        raise ValueError(f"trace: {len(names)} names for {len(inputs)} inputs")
    graph = _trace(function, inputs, names, name, strict)
    if check:
        others = tuple(_other_values(x).requires_grad_(x.requires_grad) if x.requires_grad else _other_values(x)
                       for x in inputs)
        graph.compare(_trace(function, others, names, name, strict))
    return Traced(graph)
