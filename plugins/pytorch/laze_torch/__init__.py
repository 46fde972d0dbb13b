"""PyTorch on laze: graphs that torch.compile finds, forward and backward, as programs of laze; and a device whose
tensors are lazy.

    >>> import torch, laze_torch
    >>> model = torch.compile(torch.nn.Linear(8, 4), backend="laze")
    >>> x = torch.randn(3, device="laze")

What laze has no operator for, PyTorch runs, which fallbacks() counts and a warning names once;
torch.compile(..., options={"strict": True}), and for the device set_strict(), make it an error.
"""
from __future__ import annotations

import collections
import functools
import os
import warnings
from typing import Any, Callable

from laze_torch import _host

_host.check()  # before what other versions of PyTorch may lack is imported

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import list_backends, register_backend

import laze
# Modules enter their rules.
from laze_torch import _backward, _bags, _chunked, _device, _losses, _lowering, _margins, _renamed  # noqa: F401
from laze_torch._device import step
from laze_torch._explain import Explanation, Graph, describe, run_both_ways
from laze_torch._partition import partition
from laze_torch._program import Eager, Plan, Program

__all__ = ["Explanation", "FallbackError", "FallbackWarning", "backend", "explain", "fallbacks", "programs", "reset",
           "graphs", "open_device", "set_budget", "set_strict", "step"]

_OPTIONS = {"fallback_random": False, "strict": False}
_strict = False
_fallbacks: collections.Counter[str] = collections.Counter()
_made: collections.Counter[type] = collections.Counter()  # steps of plans, by their kinds
_graphs: collections.Counter[str] = collections.Counter()  # where plans came from


class FallbackError(laze.Error, RuntimeError):
    """A graph has an operator that laze has not, and was to be run by laze alone."""


class FallbackWarning(UserWarning):
    """PyTorch runs a part of a graph."""


def fallbacks() -> dict[str, int]:
    """How often operators were left to PyTorch, by their names: once for each graph that has one, and for each call
    with tensors of device laze."""
    return dict(_fallbacks)


def programs() -> int:
    """How many programs of laze were made of graphs: one for a graph that laze runs alone."""
    return _made[Program]


def graphs() -> dict[str, int]:
    """How many graphs were "lowered" to laze's operators, and how many were "found" on disk, where another process had
    lowered them."""
    return {name: _graphs[name] for name in ("lowered", "found")}


def reset() -> None:
    """Begins anew with what fallbacks(), programs() and graphs() count, and with what a warning has named."""
    _fallbacks.clear()
    _made.clear()
    _graphs.clear()


def backend(module: torch.fx.GraphModule, inputs: list[Any], *, mode: Any = None, options: dict[str, Any] | None = None,
            **others: Any) -> Callable[..., Any]:
    """What torch.compile(backend="laze") calls with each graph that it finds. Options, all of them False: strict, to
    have what laze has no operator for as an error; fallback_random, to have PyTorch draw random numbers, which are
    those of eager PyTorch then."""
    unknown = set(options or ()) - set(_OPTIONS)
    if unknown:
        raise laze.InvalidArgumentError(
            f"backend laze: there is no option {', '.join(sorted(unknown))}; options are {', '.join(sorted(_OPTIONS))}")
    chosen = {name: bool(value) for name, value in {**_OPTIONS, **(options or {})}.items()}
    return _compile(module, inputs, lambda kind, plan: None, **chosen)


def explain(model: Callable[..., Any], *inputs: Any, options: dict[str, Any] | None = None, **named: Any) -> Explanation:
    """What becomes of a model, or a function, with these inputs, which a copy of it runs once there and back: graphs,
    programs, kernels and memory, what PyTorch runs and why, and what would be traced again. str() of it is for people.

        >>> print(laze_torch.explain(torch.nn.Linear(8, 4), torch.randn(2, 8)))
    """
    graphs: list[Graph] = []
    chosen = {**_OPTIONS, **(options or {})}

    def watched(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        return _compile(module, inputs, lambda kind, plan: graphs.append(describe(kind, plan)), **chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return run_both_ways(model, functools.partial(torch.compile, backend=watched), graphs, inputs, named)


def _compile(module: torch.fx.GraphModule, inputs: list[Any], note: Callable[[str, Plan], None],
             **chosen: bool) -> Callable[..., Any]:
    kinds = {f"{short}_compiler": functools.partial(_runnable, note=functools.partial(note, kind), **chosen)
             for short, kind in (("fw", "forward"), ("bw", "backward"), ("inference", "inference"))}
    compiled = aot_autograd(partition_fn=partition, decompositions=_decompositions(), **kinds)
    return compiled(module, inputs)


@functools.cache
def _decompositions() -> dict[Any, Any]:
    """Those of PyTorch, of what laze has no operator for."""
    from torch._decomp import decomposition_table
    return {target: made for target, made in decomposition_table.items()
            if isinstance(target, torch._ops.OpOverload) and target.namespace in ("aten", "prims")
            and not _lowering.has(target)}


def _runnable(module: torch.fx.GraphModule, inputs: list[Any], note: Callable[[Plan], None], strict: bool,
              fallback_random: bool) -> Callable[[list[Any]], list[Any]]:
    plans = [_plan(module, not fallback_random)]
    for step in plans[0].fallbacks:
        _tell(step, strict)
    note(plans[0])
    boxed = plans[0].boxed()

    def run_boxed(arguments: list[Any]) -> list[Any]:  # a function, for PyTorch wraps what it is given as one
        return boxed(arguments)

    def run(arguments: list[Any]) -> list[Any]:
        taken, known = list(arguments), plans[0].sizes(arguments)
        arguments.clear()
        seed = torch.empty((), dtype=torch.int64).random_() if plans[0].draws else None
        for plan in plans:
            try:
                return plan.run(taken, known, seed)
            except laze.InvalidArgumentError:  # a plan is for sizes of which the same holds as of those it was made for
                if plan.symbols and list(plan.hints.values()) != list(known):
                    continue
                raise
        made = _plan(module, not fallback_random, known)
        results = made.run(taken, known, seed)
        plans.append(made)
        return results
    run_boxed._boxed_call = run._boxed_call = True
    return run if boxed is None else run_boxed


def _plan(module: torch.fx.GraphModule, draws: bool, known: tuple[int, ...] | None = None) -> Plan:
    made = Plan(module, draws, known)
    _made.update(map(type, made.steps))
    _graphs["found" if made.found else "lowered"] += 1
    return made


@functools.cache
def open_device() -> None:
    """Makes PyTorch know device laze. Importing the package does, unless TORCH_DEVICE_BACKEND_AUTOLOAD=0 is in the
    environment: a device besides the CPU costs each call of a compiled function 3 us, and what a forked child may do."""
    _device.open_device(_tell_of_device)


def set_strict(strict: bool = True) -> None:
    """Whether it is an error that an operator of a tensor of device laze is run by PyTorch."""
    global _strict
    _strict = strict


def set_budget(nodes: int = 100_000, bytes: int = 0) -> None:
    """How much may be recorded before some of it is computed early: operators, and bytes of results (0: no limit)."""
    laze.set_budget(nodes, bytes)


def _tell(step: Eager, strict: bool) -> None:
    _count(step.name, f"{step.name} is left to PyTorch, and splits the graph: {step.reason}", strict)


def _tell_of_device(name: str, reason: str) -> None:
    _count(name, f"{name} is left to PyTorch, which runs it on copies: {reason}", _strict)


def _count(name: str, text: str, strict: bool) -> None:
    if strict:
        raise FallbackError(text)
    if name not in _fallbacks:
        warnings.warn(text, FallbackWarning, stacklevel=2)
    _fallbacks[name] += 1


if "laze" not in list_backends(exclude_tags=()):  # the package is not installed, and has no entry point
    register_backend(backend, name="laze")
if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
    open_device()
