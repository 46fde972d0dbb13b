"""Learning rates that change as a training goes on: scheduler.step() behind optimizer.step().

Names, arguments and rates are PyTorch's. Another rate compiles nothing: it is an input of the graph.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from laze import _laze

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "StepLR"]


class LRScheduler:
    """What all schedulers have. get_lr() of a class gives the next rate of each group."""

    def __init__(self, optimizer: Any, last_epoch: int = -1):
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group["initial_lr"] = group["lr"]
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

    def step(self) -> None:
        """Gives the groups their next rates."""
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = self._lrs()

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("optimizer", "lr_lambdas")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)


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


class StepLR(LRScheduler):
    """The rate times gamma after each step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        falls = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [lr * self.gamma if falls else lr for lr in self._lrs()]


class ExponentialLR(LRScheduler):
    """The rate times gamma after each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma if self.last_epoch > 0 else lr for lr in self._lrs()]


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
