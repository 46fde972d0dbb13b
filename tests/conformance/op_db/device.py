"""Judges PyTorch's device laze: samples whose tensors go there within the operator's call, and whose results come back,
beside eager PyTorch on the CPU; so gradients go there and come back as well.

A sample of which the CPU runs an operator has `fell back`, whatever came of it: it is none that agrees.
"""
import functools

import torch

import peer
from compiled import FELL_BACK, Case, CompileJudge, owned, words


def moved(value, device, known):
    """The same with tensors on another device: one that comes twice still does."""
    def move(held):
        if isinstance(held, torch.device):
            return torch.device(device)
        if not isinstance(held, torch.Tensor):
            return held
        if id(held) not in known:
            known[id(held)] = held, held.to(device)
        return known[id(held)][1]
    return peer.changed(value, move)


def run_there(case):
    """(the result, the owned sample that it was made of)."""
    sample, known = owned(case.sample), {}
    there = sample.each(functools.partial(moved, device="laze", known=known))
    peer.start_random(0)
    return moved(case.call(there.input, *there.args, **there.kwargs), "cpu", {}), sample


class DeviceJudge(CompileJudge):
    """Judges results of all samples, and gradients of those that have some. The library is the package laze_torch."""

    def outcome(self, info, dtype, sample):
        case = Case(info, dtype, sample)
        if case.absent:
            return "absent", case.absent, []
        made = self.attempt([case])
        if made.error:
            return "refused", words(made.error), []
        outcome, detail = self.compare_case(case, made.found[0])
        if outcome != "differ" and made.left:
            return FELL_BACK, "; ".join(f"{name} ({reason})" for name, reason in made.left.items()), []
        return outcome, detail, []

    def run(self, cases, backend):
        return zip(*map(run_there, cases))
