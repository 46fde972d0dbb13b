"""Learning rates that change as a training goes on: scheduler.step() behind optimizer.step().

Names, arguments and rates are PyTorch's. Another rate compiles nothing: it is an input of the graph.
"""
from __future__ import annotations

import bisect
import collections
import math
from typing import Any, Callable, Sequence

from laze import _laze

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]


class LRScheduler:
    """What all schedulers have. get_lr() of a class gives the next rate of each group."""

    def __init__(self, optimizer: Any, last_epoch: int = -1):
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])  # another schedule may have changed the rate already
            elif "initial_lr" not in group:
                raise _laze.InvalidArgumentError(f"last_epoch is {last_epoch}, and group {index} has no \"initial_lr\", "
                                                 "from which the rates follow")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def get_lr(self) -> list[float]:
        raise NotImplementedError

    def _lrs(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_epoch_lr(self) -> list[float]:
        """The rates of this epoch, whatever those were before: what step(epoch) gives."""
        return self.get_lr()

    def step(self, epoch: int | None = None) -> None:
        """Gives the groups their next rates, or those of an epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr() if epoch is None else self.get_epoch_lr()):
            group["lr"] = lr
        self._last_lr = self._lrs()

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("optimizer", "lr_lambdas")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)


def _each(value, groups, name):
    """A value for each group: one for all, or a list of them."""
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise _laze.InvalidArgumentError(f"there are {groups} groups, and {name} has {len(values)} values")
    return values


class LambdaLR(LRScheduler):
    """The first rate times what a function of the epoch gives; one function, or one for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
                 last_epoch: int = -1):
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise _laze.InvalidArgumentError(f"there are {groups} groups, and {len(self.lr_lambdas)} functions")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LambdaLR):
    """The rate times what a function of the epoch gives, after each; one function, or one for each group."""

    def get_lr(self) -> list[float]:
        return [lr * function(self.last_epoch) if self.last_epoch > 0 else lr
                for lr, function in zip(self._lrs(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """The rate times gamma after each step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        falls = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [lr * self.gamma if falls else lr for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of some epochs."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = collections.Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The first rate times factor within total_iters epochs, and the first rate then."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise _laze.InvalidArgumentError(f"ConstantLR: factor is {factor}: expected 0 to 1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._lrs()]
        return [lr / self.factor if self.last_epoch == self.total_iters else lr for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        return [base * (self.factor if self.last_epoch < self.total_iters else 1) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """From the first rate down to 0 within total_iters epochs, by a power of what is left of these."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, total = self.last_epoch, self.total_iters
        if not 0 < epoch <= total:
            return self._lrs()
        return [lr * ((1 - epoch / total) / (1 - (epoch - 1) / total)) ** self.power for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        left = 1 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * left ** self.power for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma after each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma if self.last_epoch > 0 else lr for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to eta_min within T_max epochs, along half a cosine."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, span, least = self.last_epoch, self.T_max, self.eta_min
        if epoch == 0:
            return self._lrs()
        if (epoch - 1 - span) % (2 * span) == 0:  # at the bottom, from where no factor leads up
            rise = (1 - math.cos(math.pi / span)) / 2
            return [lr + (base - least) * rise for lr, base in zip(self._lrs(), self.base_lrs)]
        factor = (1 + math.cos(math.pi * epoch / span)) / (1 + math.cos(math.pi * (epoch - 1) / span))
        return [factor * (lr - least) + least for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class LinearLR(LRScheduler):
    """From start_factor to end_factor times the first rate within total_iters epochs: a warm-up."""

    def __init__(self, optimizer: Any, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise _laze.InvalidArgumentError(f"LinearLR: start_factor is {start_factor} and end_factor {end_factor}: "
                                             "expected above 0 and from 0 on, and 1 at most")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, rise = self.last_epoch, self.end_factor - self.start_factor
        if epoch == 0:
            return [lr * self.start_factor for lr in self._lrs()]
        if epoch > self.total_iters:
            return self._lrs()
        before = self.total_iters * self.start_factor + (epoch - 1) * rise
        return [lr * (1 + rise / before) for lr in self._lrs()]

    def get_epoch_lr(self) -> list[float]:
        part = min(self.last_epoch, self.total_iters) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * part
        return [base * factor for base in self.base_lrs]


class _Joined(LRScheduler):
    """What schedulers of schedulers have in common."""

    def _join(self, schedulers, optimizer):
        self._schedulers = list(schedulers)
        if not self._schedulers:
            raise _laze.InvalidArgumentError(f"{type(self).__name__}: there are no schedulers; pass one or more")
        self.optimizer = self._schedulers[0].optimizer if optimizer is None else optimizer
        for index, scheduler in enumerate(self._schedulers):
            if getattr(scheduler, "optimizer", None) is not self.optimizer:
                raise _laze.InvalidArgumentError(f"{type(self).__name__}: scheduler {index} is of another optimizer")

    def state_dict(self) -> dict[str, Any]:
        own = {key: value for key, value in vars(self).items() if key not in ("optimizer", "_schedulers")}
        return {**own, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Joined):
    """One scheduler after the other: the next from each of the milestones on."""

    def __init__(self, optimizer: Any, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
                 last_epoch: int = -1):
        self._join(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise _laze.InvalidArgumentError(f"SequentialLR: {len(schedulers)} schedulers and {len(milestones)} "
                                             "milestones; one less of these was expected")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:  # they have begun when they were made
            scheduler.last_epoch -= 1
        first = self._schedulers[bisect.bisect_right(self._milestones, 0)]
        first.step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        self.last_epoch += 1
        index = bisect.bisect_right(self._milestones, self.last_epoch)
        begins = index > 0 and self._milestones[index - 1] == self.last_epoch
        scheduler = self._schedulers[index]
        scheduler.step(*([0] if begins else []))
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Joined):
    """Several schedulers at once, each of which changes what the others before have given."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Any = None):
        self._join(schedulers, optimizer)
        self._last_lr = self._lrs()

    def step(self) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._lrs()


class ReduceLROnPlateau(LRScheduler):
    """The rate times factor where a number, which step() is told, has not become better for more than `patience` epochs.

    Better is less (mode "min") or more ("max"), by more than `threshold`: of the best so far ("rel"), or as it is
    ("abs"). Behind a change, `cooldown` epochs do not count.
    """

    def __init__(self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: float | Sequence[float] = 0, eps: float = 1e-8):
        if factor >= 1 or mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise _laze.InvalidArgumentError(f"ReduceLROnPlateau: factor is {factor}, mode {mode!r} and threshold_mode "
                                             f"{threshold_mode!r}: expected below 1, min or max, rel or abs")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = _each(min_lr, len(optimizer.param_groups), "min_lr")
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0
        self._last_lr = self._lrs()

    def _is_better(self, value):
        sign = -1 if self.mode == "min" else 1
        relative = self.threshold_mode == "rel"
        wanted = self.best * (1 + sign * self.threshold) if relative else self.best + sign * self.threshold
        return value < wanted if self.mode == "min" else value > wanted

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """`metrics` is a number, or a tensor of one, which is computed."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                rate = max(float(group["lr"]) * self.factor, least)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
        self._last_lr = self._lrs()


from laze.optim.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR  # noqa: E402 - which begin with the above
