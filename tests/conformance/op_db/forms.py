"""Judges forms of operators that give their results to tensors there are: the variant in place of each sample that has
one in op_db, and the call with out= of each operator that takes it.

PyTorch and the library get tensors of their own. Values are compared as those of any call; beside that the library has
to give back the tensor that it was given, and to refuse what PyTorch refuses: a result that cannot be cast to the
tensor, or has another shape.
"""
import torch

import adapter
import peer
from judge import Judge, first_line
from library import Absent


def empties(result):
    """Tensors for the results of a call; None where one is no tensor."""
    if isinstance(result, torch.Tensor):
        return torch.empty_like(result, memory_format=torch.contiguous_format)
    if not isinstance(result, (list, tuple)) or not result:
        return None
    made = tuple(map(empties, result))
    return None if any(one is None for one in made) else made


def call_library(library, function, args, kwargs):
    """(result, calls, exception or None) of a form."""
    mode = adapter.Redirection(library, forms=True)
    try:
        with mode:
            result = function(*args, **kwargs)
    except Absent:
        raise
    except Exception as error:  # a refusal may have any type
        return None, mode.calls, error
    if not mode.calls:
        raise Absent("calls no function of ATen")
    return result, mode.calls, None


class FormsJudge(Judge):
    def places(self, infos):
        for info in infos:
            for dtype in self.plan.dtypes:
                if not peer.supports(info, dtype):
                    continue
                if info.inplace_variant:
                    yield info, dtype, peer.IN_PLACE
                if info.supports_out:
                    yield info, dtype, peer.OUT

    def outcome(self, info, dtype, sample):
        if sample.kind == peer.IN_PLACE:
            return self.in_place(info, dtype, sample)
        return self.out(info, dtype, sample)

    def in_place(self, info, dtype, sample):
        if not isinstance(sample.input, torch.Tensor):
            return "absent", "PyTorch refuses the sample", []

        def own():
            return sample.input.clone(memory_format=torch.contiguous_format)
        return self.against(info, dtype, sample, info.inplace_variant, (own(), *sample.args), (own(), *sample.args),
                            sample.kwargs, sample.kwargs)

    def out(self, info, dtype, sample):
        args = (sample.input, *sample.args)
        try:
            result = info.op(*args, **sample.kwargs)
        except Exception:
            return "absent", "PyTorch refuses the sample", []
        outs = [empties(result), empties(result)]
        if outs[0] is None:
            return "absent", "a result is no tensor", []
        return self.against(info, dtype, sample, info.op, args, args, *({**sample.kwargs, "out": out} for out in outs))

    def against(self, info, dtype, sample, function, args, peers, kwargs, peers_kwargs):
        """The verdict on a form that is called with `args` and `kwargs`, and in PyTorch with the others."""
        try:
            actual, calls, refusal = call_library(self.library, function, args, kwargs)
        except Absent as reason:
            return "absent", str(reason), []
        try:
            expected = function(*peers, **peers_kwargs)
        except Exception as error:
            return ("agree", "", calls) if refusal else ("differ", f"accepted; PyTorch: {first_line(error)}", calls)
        if refusal:
            return "refused", f"{type(refusal).__name__}: {first_line(refusal)}", calls
        return (*self.compare(info, dtype, sample, actual, expected), calls)
