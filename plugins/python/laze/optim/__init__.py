"""Optimisers: what changes parameters by their gradients.

    >>> w = laze.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = laze.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8 1.6], requires_grad=True)

Names, defaults, formulas and state are PyTorch's. A step is recorded, with the backward pass before it, and computed at
the end of `with laze.step():`; outside of one, step() computes what was recorded so far and is still held.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable

import laze
from laze import _laze
from laze.optim import lr_scheduler

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop",
           "Rprop", "lr_scheduler"]

# Settings of two numbers, and what the library calls these.
_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"),
          "step_sizes": ("step_size_min", "step_size_max")}


def _settings(group, names):
    """What a group says as the library has it: numbers."""
    settings = {}
    for name in names:
        if name in _PAIRS:
            settings.update(zip(_PAIRS[name], map(float, group[name])))
        else:
            settings[name] = float(group[name])
    return settings


class Optimizer:
    """What all optimisers have: groups of parameters, steps, and a state that can be saved."""

    _algorithm: str

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]):
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self._optimiser = _laze._optimiser(self._algorithm)
        self._set: list[dict[str, float]] = []  # what the library was told last, by group
        if isinstance(params, laze.Tensor):
            raise _laze.ArgumentTypeError("params is a list of tensors or of groups, and not a tensor")
        groups = list(params)
        if not groups:
            raise _laze.InvalidArgumentError("the list of parameters is empty")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a dict of `params` and of settings that differ from the defaults."""
        params = param_group["params"]
        params = [params] if isinstance(params, laze.Tensor) else list(params)
        group = {**self.defaults, **param_group, "params": params}
        settings = _settings(group, self.defaults)
        self._optimiser.add(tuple(params), settings)
        self.param_groups.append(group)
        self._set.append(settings)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Takes the gradients away, or (set_to_none=False) makes them zeros. Before the end of a step of laze's they
        then need no memory that lasts."""
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = None if set_to_none else parameter.grad
                if gradient is None:
                    parameter.grad = None
                elif gradient.requires_grad:  # its history is that of what it was
                    parameter.grad = laze.zeros_like(gradient.detach())
                else:
                    gradient.zero_()

    def _tell(self):
        """Tells the library of settings that have changed in param_groups."""
        for index, group in enumerate(self.param_groups):
            settings = _settings(group, self.defaults)
            if settings != self._set[index]:
                self._optimiser.set(index, settings)
                self._set[index] = settings

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Gives each parameter that has a gradient its next value. `closure` computes the loss first, and the
        gradients; its result is given back."""
        loss = None
        if closure is not None:
            with laze.enable_grad():
                loss = closure()
        self._tell()
        self._optimiser.step()
        return loss

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        """What is remembered of each parameter, as it is now: {parameter: {"exp_avg": tensor, ...}}."""
        params = [parameter for group in self.param_groups for parameter in group["params"]]
        return {params[index]: entries for index, entries in self._entries().items()}

    def _entries(self):
        found: dict[int, dict[str, Any]] = {}
        for name, tensor in self._optimiser.get_state().items():
            index, _, key = name.partition(".")
            found.setdefault(int(index), {})[key] = tensor
        return found

    def state_dict(self) -> dict[str, Any]:
        """The state and the settings, for load_state_dict() of an optimiser with the same parameters."""
        groups, first = [], 0
        for group in self.param_groups:
            count = len(group["params"])
            groups.append({**group, "params": list(range(first, first + count))})
            first += count
        return {"state": self._entries(), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() gave, of this class or of PyTorch's."""
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in groups]
        if sizes != [len(group["params"]) for group in self.param_groups]:
            raise _laze.InvalidArgumentError("load_state_dict: there are groups of "
                                             f"{', '.join(map(str, sizes)) or 'no'} parameters, and the optimiser has "
                                             f"{', '.join(str(len(g['params'])) for g in self.param_groups)}")
        state = {f"{index}.{key}": value if isinstance(value, laze.Tensor) else laze.tensor(value)
                 for index, entries in state_dict["state"].items() for key, value in entries.items()
                 if value is not None}
        before = [dict(group) for group in self.param_groups]
        for group, loaded in zip(self.param_groups, groups):
            group.update({key: value for key, value in loaded.items() if key != "params"})
        try:
            self._tell()
            self._optimiser.set_state(state)
        except Exception:
            for group, old in zip(self.param_groups, before):
                group.clear()
                group.update(old)
            self._tell()
            raise

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {value}" for key, value in sorted(group.items()) if key != "params"]
        return "\n".join(lines + [")"])


# PyTorch's foreach, fused and capturable choose between implementations, of which there is one here.


class SGD(Optimizer):
    """Steps down the gradient, with momentum."""

    _algorithm = "sgd"

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, fused: bool | None = None):
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize})


class Adam(Optimizer):
    """Steps by the mean of gradients, over the root of the mean of their squares."""

    _algorithm = "adam"

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, fused: bool | None = None, capturable: bool = False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad, "maximize": maximize})


class AdamW(Adam):
    """Adam with a weight decay that is taken from the parameters, and not added to gradients."""

    _algorithm = "adamw"

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, fused: bool | None = None, capturable: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class RMSprop(Optimizer):
    """Steps by the gradient, over the root of the mean of its squares."""

    _algorithm = "rmsprop"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False):
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
                                  "momentum": momentum, "centered": centered, "maximize": maximize})


class Adagrad(Optimizer):
    """Steps by the gradient, over the root of the sum of its squares."""

    _algorithm = "adagrad"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, *, maximize: bool = False,
                 foreach: bool | None = None, fused: bool | None = None):
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "eps": eps,
                                  "maximize": maximize})


class Adadelta(Optimizer):
    """Steps by the gradient, over the root of the mean of its squares, times that of the steps before."""

    _algorithm = "adadelta"

    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False):
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})


class Adamax(Optimizer):
    """Adam, over the largest of the gradients so far, which fades."""

    _algorithm = "adamax"

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})


class NAdam(Optimizer):
    """Adam by the mean of gradients as it will be after the next step (Nesterov)."""

    _algorithm = "nadam"

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})


class RAdam(Optimizer):
    """Adam whose first steps are those of gradients alone, until the root follows from enough of their squares."""

    _algorithm = "radam"

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, capturable: bool = False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})


class ASGD(Optimizer):
    """Steps down the gradient that become shorter; the state has the mean of where they led, "ax", from step t0 on."""

    _algorithm = "asgd"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False):
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "maximize": maximize})


class Rprop(Optimizer):
    """Steps by the signs of gradients, of a size that grows for each element where its sign stays as it was."""

    _algorithm = "rprop"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False):
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})
