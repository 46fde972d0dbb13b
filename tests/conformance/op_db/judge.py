"""Judges one operator: each sample is called in the library and in PyTorch, and the two are compared.

  agree    the same result, or both refuse
  differ   another result, or one where PyTorch refuses ("accepted")
  refused  an error where PyTorch has a result
  crashed  the process ended, or gave no answer in time (said by the worker's parent)
  absent   the library lacks the dtype, the operator or the form of call
"""
import dataclasses
import hashlib
import math

import adapter
import compare
import paste
import peer
from library import Absent


@dataclasses.dataclass
class Verdict:
    operator: str
    variant: str
    dtype: str  # of the samples that were asked for; of a wrong call, that of its first tensor
    kind: str
    index: int
    outcome: str
    detail: str = ""
    call: str = ""

    def place(self):
        variant = f"[{self.variant}]" if self.variant else ""
        return f"{self.operator}{variant} {self.dtype} {self.kind} {self.index}"


@dataclasses.dataclass
class Plan:
    """What to judge of each operator."""
    dtypes: list
    seed: int = 0
    share: float = 1.0  # of the samples, drawn by where they are found

    def draws(self, *place):
        """Of a share of all samples, its root is drawn twice: of what an operator has samples of, and of those samples,
        for it is making them that takes most of the time."""
        if self.share >= 1:
            return True
        digest = hashlib.sha256(repr((self.seed, *place)).encode()).digest()
        return int.from_bytes(digest[:8], "little") < math.sqrt(self.share) * 2**64


class Judge:
    def __init__(self, library, differences, plan):
        self.library, self.differences, self.plan = library, differences, plan
        self.comparison = compare.Comparison()

    def places(self, infos):
        """(OpInfo, dtype, kind) of what there is to judge of an operator, in order."""
        for info in infos:
            for dtype in self.plan.dtypes:
                if peer.supports(info, dtype):
                    yield info, dtype, "sample"
                    if info.reference_inputs_func:  # otherwise they are the samples once more
                        yield info, dtype, "reference"
            yield info, "", "error"

    def samples(self, info, dtype, kind):
        for sample in peer.samples(info, kind, dtype, self.plan.seed):
            chosen = dtype or dtype_of(sample)
            if chosen in self.plan.dtypes and self.plan.draws(peer.title(info), chosen, kind, sample.index):
                yield sample

    def judge(self, info, dtype, sample):
        """The verdict of one sample."""
        outcome, detail, calls = self.outcome(info, dtype, sample)
        call = paste.text(calls) if outcome not in ("agree", "absent") else ""
        return Verdict(info.name, info.variant_test_name, dtype or dtype_of(sample), sample.kind, sample.index, outcome,
                       detail, call)

    def outcome(self, info, dtype, sample):
        try:
            actual, calls, refusal = adapter.call_library(self.library, info, sample)
        except Absent as reason:
            return "absent", str(reason), []
        try:
            expected = info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception as error:
            if refusal:
                return "agree", "", calls
            return "differ", f"accepted; PyTorch: {first_line(error)}", calls
        if sample.kind == "error":
            return "absent", "PyTorch does not refuse it", calls
        if refusal:
            return "refused", f"{type(refusal).__name__}: {first_line(refusal)}", calls
        return (*self.compare(info, dtype, sample, actual, expected), calls)

    def compare(self, info, dtype, sample, actual, expected):
        if self.differences.only_form(info.name):
            actual, expected = compare.form(actual), compare.form(expected)
            return ("agree", "") if actual == expected else ("differ", f"form: {actual}, not {expected}")
        difference = self.comparison.difference(sample.finish(actual), sample.finish(expected),
                                                compare.tolerances(info, peer.dtype_named(dtype)))
        return ("differ", nearness(info, sample, actual, expected) + difference) if difference else ("agree", "")


def nearness(info, sample, actual, expected):
    """Whether floats of 16 bits differ because they are rounded between steps: how near both are, in words."""
    if not any(tensor.dtype in peer.WIDE for tensor in sample.tensors()):
        return ""
    try:
        exact = info.op(*peer.widened((sample.input, *sample.args)), **peer.widened(sample.kwargs))
        return compare.nearness(*(sample.finish(result) for result in (actual, expected, exact)))
    except Exception:  # what PyTorch does not do in float64 says nothing
        return ""


def dtype_of(sample):
    tensors = sample.tensors()
    return str(tensors[0].dtype).removeprefix("torch.") if tensors else "float32"


def first_line(error):
    return (str(error).strip().splitlines() or [""])[0]
