"""Schedules that rise and fall, of the momentum, too."""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from laze import _laze
from laze.optim.lr_scheduler import LRScheduler, _each


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to eta_min along half a cosine, within T_0 epochs, and anew: T_mult times as long each
    time. step(epoch) takes parts of epochs as well."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 < 1 or T_mult < 1:
            raise _laze.InvalidArgumentError(f"CosineAnnealingWarmRestarts: T_0 is {T_0} and T_mult {T_mult}: expected 1 "
                                             "or more")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        if epoch is not None and epoch < 0:
            raise _laze.InvalidArgumentError(f"CosineAnnealingWarmRestarts: the epoch is {epoch}: expected 0 or more")
        self._find(epoch)
        super().step(self.last_epoch + 1 if epoch is None else math.floor(epoch))

    def _find(self, epoch):
        """How long this round is, and where in it the epoch lies."""
        if epoch is None:
            self.T_cur = self.T_cur + 1 if self.last_epoch >= 0 else 0
        else:
            self.T_cur, self.T_i = epoch, self.T_0
            if self.T_mult > 1:
                rounds = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur -= self.T_0 * (self.T_mult ** rounds - 1) / (self.T_mult - 1)
                self.T_i *= self.T_mult ** rounds
            else:
                self.T_cur = epoch % self.T_0
        if epoch is None and self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult


class _Momentum:
    """The momentum of an optimiser's groups: what they call so, or the first of their betas."""

    def __init__(self, optimizer):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise _laze.InvalidArgumentError("cycle_momentum is of an optimizer with momentum or betas, and this one has "
                                             "neither; pass cycle_momentum=False")
        self._betas = "betas" in optimizer.defaults

    def set(self, group, value):
        if self._betas:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class _Cycle(LRScheduler):
    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().state_dict().items() if key not in ("_momentum", "_scale")}


class CyclicLR(_Cycle):
    """From base_lr up to max_lr and down again, along lines, of which mode says how their height changes: "triangular"
    not at all, "triangular2" to half after each cycle, "exp_range" by gamma each step; or scale_fn does. The momentum
    falls where the rate rises."""

    def __init__(self, optimizer: Any, base_lr: float | Sequence[float], max_lr: float | Sequence[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.8,
                 max_momentum: float | Sequence[float] = 0.9, last_epoch: int = -1):
        scales = {"triangular": lambda cycle: 1.0, "triangular2": lambda cycle: 1 / 2.0 ** (cycle - 1),
                  "exp_range": lambda step: gamma ** step}
        if scale_fn is None and mode not in scales:
            raise _laze.InvalidArgumentError(f"CyclicLR: mode is {mode!r}: expected {', '.join(scales)}, or a scale_fn")
        self._scale = scale_fn or scales[mode]
        self._by_step = mode == "exp_range" if scale_fn is None else scale_mode != "cycle"
        groups = optimizer.param_groups
        bases = _each(base_lr, len(groups), "base_lr")
        if last_epoch == -1:
            for group, base in zip(groups, bases):
                group["lr"] = base
        self.max_lrs = _each(max_lr, len(groups), "max_lr")
        self._up, self._total = step_size_up, step_size_up + (step_size_down or step_size_up)
        self._momentum = _Momentum(optimizer) if cycle_momentum else None
        self.base_momentums = _each(base_momentum, len(groups), "base_momentum")
        self.max_momentums = _each(max_momentum, len(groups), "max_momentum")
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self._total)
        at, top = 1 + self.last_epoch / self._total - cycle, self._up / self._total
        height = (at / top if at <= top else (at - 1) / (top - 1)) * self._scale(self.last_epoch if self._by_step else cycle)
        if self._momentum:
            for group, base, most in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._momentum.set(group, most - (most - base) * height)
        return [base + (most - base) * height for base, most in zip(self.base_lrs, self.max_lrs)]


class OneCycleLR(_Cycle):
    """From max_lr / div_factor up to max_lr in the first part (pct_start) of all steps, and down to the
    final_div_factor-th of the first rate, along cosines or lines; with three_phase, down in as many steps as up, and to
    the end then. The momentum falls where the rate rises."""

    def __init__(self, optimizer: Any, max_lr: float | Sequence[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True,
                 base_momentum: float | Sequence[float] = 0.85, max_momentum: float | Sequence[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise _laze.InvalidArgumentError("OneCycleLR: total_steps, or epochs and steps_per_epoch, are needed")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if self.total_steps < 1 or not 0 <= pct_start <= 1 or anneal_strategy not in ("cos", "linear"):
            raise _laze.InvalidArgumentError(f"OneCycleLR: {self.total_steps} steps, pct_start {pct_start} and "
                                             f"anneal_strategy {anneal_strategy!r}: expected 1 or more, 0 to 1, and cos or "
                                             "linear")
        self._cosine, last, up = anneal_strategy == "cos", self.total_steps - 1, pct_start * self.total_steps - 1
        rise, fall = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
        # Where each part ends, and between which settings of a group it leads.
        self._parts = [(up, "initial_lr", "max_lr", *rise), (last, "max_lr", "min_lr", *fall)]
        if three_phase:
            self._parts = [self._parts[0], (2 * up, "max_lr", "initial_lr", *fall),
                           (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        self._momentum = _Momentum(optimizer) if cycle_momentum else None
        if last_epoch == -1:
            self._begin(optimizer.param_groups, max_lr, base_momentum, max_momentum, div_factor, final_div_factor)
        super().__init__(optimizer, last_epoch)

    def _begin(self, groups, max_lr, base_momentum, max_momentum, div_factor, final_div_factor):
        for group, most in zip(groups, _each(max_lr, len(groups), "max_lr")):
            group["lr"] = group["initial_lr"] = most / div_factor
            group["max_lr"], group["min_lr"] = most, most / div_factor / final_div_factor
        if self._momentum:
            bases = _each(base_momentum, len(groups), "base_momentum")
            for group, base, most in zip(groups, bases, _each(max_momentum, len(groups), "max_momentum")):
                group["base_momentum"], group["max_momentum"] = base, most

    def _between(self, start, end, part):
        return end + (start - end) / 2 * (math.cos(math.pi * part) + 1) if self._cosine else start + (end - start) * part

    def get_lr(self) -> list[float]:
        step, begins = self.last_epoch, 0.0
        if step > self.total_steps:
            raise _laze.InvalidArgumentError(f"OneCycleLR: step {step} of {self.total_steps}; there is no rate for it")
        for ends, *names in self._parts:
            if step <= ends:
                break
            begins = ends
        else:
            begins = self._parts[-2][0]
        part, found = (step - begins) / (ends - begins), []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[names[0]], group[names[1]], part))
            if self._momentum:
                self._momentum.set(group, self._between(group[names[2]], group[names[3]], part))
        return found
