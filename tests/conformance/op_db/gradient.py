"""Judges gradients: a sample is called in both, its results get the same gradients of random numbers, and what comes of
these for its inputs is compared; and so the other way round, where inputs move along random numbers.

    inputs x, w (they require gradients) ── operator ──> results a, b
    random numbers of the shapes of a, b ── backward ──> gradients of x, w      kind "gradient"
    random numbers of their shapes ── gradient of the sum of products ──>       kind "second order", float64
    random numbers of the shapes of x, w ── forward mode ──> tangents of a, b   kind "forward mode", float64

As in PyTorch's tests of gradients, what is called is gradcheck_wrapper of an OpInfo: a matrix of which an operator reads
one triangle is cut to it, so that the other has no part in it.

In the library, one call after the other is recorded, as its functions of ATen are called (adapter.py): a tensor that
came out of one goes into the next with its history.

None counts as zeros. What is not the operator's fault is `absent`: results that have no gradient in PyTorch, either.
"""
import dataclasses
import hashlib

import torch
from torch.autograd import forward_ad

import adapter
import compare
import peer
from judge import Judge, first_line
from library import Absent
from peer import FIRST, FORWARD, SECOND

DTYPES = ["float32", "float64", "bfloat16"]


class Refusal(Exception):
    """What the library, or PyTorch, does not do; the text says where and why."""


class Histories:
    """The library where tensors keep their histories on the way through PyTorch's front end: of each tensor that has
    gone in or come out, its other side is known."""

    def __init__(self, library):
        self.library = library
        self.known = {}  # id of a tensor of PyTorch: (it, that of the library)

    def __getattr__(self, name):
        return getattr(self.library, name)

    def take(self, tensor):
        if id(tensor) not in self.known:
            own = self.library.take(tensor)
            if tensor.requires_grad:
                own = self.library.require(own)
            self.known[id(tensor)] = tensor, own
        return self.known[id(tensor)][1]

    def give(self, result):
        if isinstance(result, (list, tuple)):
            return tuple(map(self.give, result))
        if not isinstance(result, self.library.tensor_type()):
            return result
        tensor = self.library.give(self.library.detached(result))
        self.known[id(tensor)] = tensor, result
        return tensor

    def own(self, tensor):
        """The library's side of a result, or None: it was made elsewhere, as a constant."""
        return self.known.get(id(tensor), (None, None))[1]


def differentiable(tensors):
    return [tensor for tensor in tensors if tensor.requires_grad]


def inputs_of(sample):
    """The tensors by which is differentiated, each once."""
    return list({id(tensor): tensor for tensor in differentiable(sample.tensors())}.values())


def random_like(tensor, *place):
    """Numbers that are the same each time, in both and in all dtypes."""
    seed = int.from_bytes(hashlib.sha256(repr(place).encode()).digest()[:7], "little")
    generator = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if tensor.dtype.is_complex else torch.float64
    return torch.randn(tensor.shape, generator=generator, dtype=wide).to(tensor.dtype)


def zeros_for_none(gradients, inputs):
    return [torch.zeros_like(x) if gradient is None else gradient for gradient, x in zip(gradients, inputs)]


@dataclasses.dataclass
class Request:
    """What is done with a sample."""
    info: object
    dtype: torch.dtype
    sample: object
    second: bool

    def call(self, *args, **kwargs):
        return self.info.gradcheck_wrapper(self.info.op, *args, **kwargs)

    def seen(self, result):
        """What the wrapper leaves of a result that was made without it: nothing where a mask is false."""
        def made(*args, **kwargs):
            return result
        if not self.info.name.startswith("masked."):
            return result
        made.__name__ = self.info.op.__name__
        return self.info.gradcheck_wrapper(made, self.sample.input, *self.sample.args, **self.sample.kwargs)


class Peer:
    """PyTorch's gradients."""

    def __init__(self, request):
        self.request = request
        self.inputs = inputs_of(request.sample)

    def outputs(self):
        sample = self.request.sample
        with torch.enable_grad():
            return list(peer.tensors_in(sample.finish(self.request.call(sample.input, *sample.args, **sample.kwargs))))

    def gradients(self, outputs, cotangents):
        """Of the first or of the second order."""
        second = self.request.second
        found = torch.autograd.grad(outputs, self.inputs, cotangents, create_graph=second, allow_unused=True)
        if not second:
            return zeros_for_none(found, self.inputs)
        kept = [(i, gradient) for i, gradient in enumerate(found) if gradient is not None and gradient.requires_grad]
        if not kept:
            return [torch.zeros_like(x) for x in self.inputs]
        again = torch.autograd.grad([gradient for _, gradient in kept], self.inputs,
                                    [random_like(gradient, SECOND, i) for i, gradient in kept], allow_unused=True)
        return zeros_for_none(again, self.inputs)


class Answer:
    """What PyTorch says of a request: results, what they are given, and the gradients that follow, or an error."""

    def __init__(self, asked):
        self.asked = asked
        self.outputs, self.cotangents, self.expected, self.error = [], [], None, None
        self.absent = self.ask() if asked.inputs else "no input requires a gradient"

    def ask(self):
        """Why there is nothing to compare, or None."""
        try:
            self.outputs = self.asked.outputs()
            self.cotangents = [random_like(output, FIRST, i) if output.requires_grad else None
                               for i, output in enumerate(self.outputs)]
            given = [cotangent for cotangent in self.cotangents if cotangent is not None]
            if not given:
                return "no result has a gradient in PyTorch"
            self.expected = self.asked.gradients(differentiable(self.outputs), given)
        except Exception as failure:
            self.error = failure
        return None if self.outputs else "PyTorch refuses the sample"


def tangents_of(inputs):
    return [random_like(x, FORWARD, i) for i, x in enumerate(inputs)]


class ForwardPeer(Peer):
    """PyTorch's tangents, in forward mode, of the same results."""

    def tangents(self, outputs):
        """Of each result that requires a gradient; None of others."""
        pairs = {id(x): (x.detach(), tangent) for x, tangent in zip(self.inputs, tangents_of(self.inputs))}
        with forward_ad.dual_level():
            duals = {name: forward_ad.make_dual(*pair) for name, pair in pairs.items()}
            moving = self.request.sample.each(
                lambda value: peer.changed(value, lambda item: duals.get(id(item), item)))
            results = peer.tensors_in(moving.finish(self.request.call(moving.input, *moving.args, **moving.kwargs)))
            found = [forward_ad.unpack_dual(result).tangent for result in results]
        return [None if not output.requires_grad else torch.zeros_like(output) if tangent is None else tangent
                for output, tangent in zip(outputs, found)]


def library_outputs(library, request):
    """(the library with histories, results as tensors of PyTorch, calls)."""
    histories = Histories(library)
    sample = request.sample
    result, calls, refusal = adapter.call_library(histories, request.info, sample, request.call)
    if refusal:
        raise Refusal(f"{type(refusal).__name__}: {first_line(refusal)}", calls)
    mode = adapter.Redirection(histories)
    try:
        with mode:
            finished = sample.finish(request.seen(result))
    except Absent:
        raise
    except Exception as error:
        raise Refusal(f"of its results: {first_line(error)}", calls + mode.calls)
    return histories, list(peer.tensors_in(finished)), calls


def has_history(histories, own):
    return own is not None and histories.requires_grad(own)


def library_gradients(histories, request, inputs, outputs, cotangents):
    """Gradients by `inputs` from the library, None where it has none."""
    own = [histories.take(x) for x in inputs]
    pairs = [(histories.own(output), histories.library.take(cotangent))
             for output, cotangent in zip(outputs, cotangents) if cotangent is not None]
    pairs = [(output, cotangent) for output, cotangent in pairs if has_history(histories, output)]
    found = histories.gradients(pairs, own, create_graph=request.second)
    if request.second:
        pairs = [(gradient, histories.library.take(random_like(x, SECOND, i)))
                 for i, (gradient, x) in enumerate(zip(found, inputs))
                 if has_history(histories, gradient)]
        found = histories.gradients(pairs, own, create_graph=False)
    return [None if gradient is None else histories.library.give(histories.detached(gradient)) for gradient in found]


def library_tangents(histories, inputs, outputs):
    """Tangents of `outputs`, None of those that do not depend on an input."""
    own = [histories.own(output) for output in outputs]
    moving = [i for i, output in enumerate(own) if has_history(histories, output)]
    found = histories.tangents([own[i] for i in moving], [histories.take(x) for x in inputs],
                               [histories.library.take(tangent) for tangent in tangents_of(inputs)])
    given = {i: histories.library.give(histories.detached(tangent)) for i, tangent in zip(moving, found)}
    return [given.get(i) for i in range(len(outputs))]


def naming(lacking, detail):
    """What is not equal, and of which result it is no wonder."""
    return f"result {lacking[0]} has no history: {detail}" if detail and lacking else detail


class GradientJudge(Judge):
    """Judges the first order in all dtypes, the second and forward mode in float64."""

    def places(self, infos):
        for info in infos:
            if not info.supports_autograd:
                continue
            for dtype in self.plan.dtypes:
                if dtype in DTYPES and peer.dtype_named(dtype) in info.supported_backward_dtypes("cpu"):
                    yield info, dtype, FIRST
            if "float64" in self.plan.dtypes and peer.supports(info, "float64"):
                if info.supports_gradgrad:
                    yield info, "float64", SECOND
                if info.supports_forward_ad:
                    yield info, "float64", FORWARD

    def outcome(self, info, dtype, sample):
        request = Request(info, peer.dtype_named(dtype), sample, sample.kind == SECOND)
        if sample.kind == FORWARD:
            return self.forward_outcome(request)
        answer = Answer(Peer(request))
        if answer.absent:
            return "absent", answer.absent, []
        return self.against(request, answer)

    def against(self, request, answer):
        """The verdict on what the library gives, beside PyTorch's answer."""
        calls, outputs, cotangents = [], answer.outputs, answer.cotangents
        try:
            histories, own, calls = library_outputs(self.library, request)
            if len(own) != len(outputs) or any(a.shape != b.shape for a, b in zip(own, outputs)):
                return "differ", f"results: {compare.form(own)}, not {compare.form(outputs)}", calls
            lacking = [i for i, (output, cotangent) in enumerate(zip(own, cotangents))
                       if cotangent is not None and not has_history(histories, histories.own(output))]
            found = library_gradients(histories, request, answer.asked.inputs, own, cotangents)
        except Absent as reason:
            return "absent", str(reason), []
        except Exception as refusal:
            if answer.error:
                return "agree", "", calls
            text, calls = refusal.args if isinstance(refusal, Refusal) else (
                f"backward: {type(refusal).__name__}: {first_line(refusal)}", calls)
            return "refused", text, calls
        if answer.error:
            return "differ", f"accepted; PyTorch: {first_line(answer.error)}", calls
        outcome, detail = self.compare_gradients(request, zeros_for_none(found, answer.asked.inputs),
                                                 answer.expected)
        return outcome, naming(lacking, detail), calls

    def forward_outcome(self, request):
        asked = ForwardPeer(request)
        if not asked.inputs:
            return "absent", "no input requires a gradient", []
        try:
            outputs = asked.outputs()
            expected = asked.tangents(outputs)
        except Exception:
            return "absent", "PyTorch refuses the sample", []
        if all(tangent is None for tangent in expected):
            return "absent", "no result has a gradient in PyTorch", []
        calls = []
        try:
            histories, own, calls = library_outputs(self.library, request)
            if len(own) != len(outputs) or any(a.shape != b.shape for a, b in zip(own, outputs)):
                return "differ", f"results: {compare.form(own)}, not {compare.form(outputs)}", calls
            found = library_tangents(histories, asked.inputs, own)
        except Absent as reason:
            return "absent", str(reason), []
        except Exception as refusal:
            text, calls = refusal.args if isinstance(refusal, Refusal) else (
                f"forward mode: {type(refusal).__name__}: {first_line(refusal)}", calls)
            return "refused", text, calls
        wanted = [i for i, tangent in enumerate(expected) if tangent is not None]
        lacking = [i for i in wanted if found[i] is None]
        found = zeros_for_none([found[i] for i in wanted], [outputs[i] for i in wanted])
        outcome, detail = self.compare_gradients(request, found, [expected[i] for i in wanted])
        return outcome, naming(lacking, detail), calls

    def compare_gradients(self, request, found, expected):
        info = request.info
        if self.differences.only_form(info.name):
            found, expected = compare.form(found), compare.form(expected)
            return ("agree", "") if found == expected else ("differ", f"form: {found}, not {expected}")
        difference = self.comparison.difference(found, expected, compare.tolerances(info, request.dtype))
        return ("differ", self.nearness(request, found, expected) + difference) if difference else ("agree", "")

    def nearness(self, request, found, expected):
        """Whether gradients of 16 bits differ because they are rounded between steps: how near both are, in words."""
        if request.dtype not in peer.WIDE:
            return ""
        try:
            wide = dataclasses.replace(request, sample=request.sample.wide())
            asked = Peer(wide)
            outputs = asked.outputs()
            given = [random_like(output, FIRST, i).to(request.dtype).to(output.dtype)
                     for i, output in enumerate(outputs) if output.requires_grad]
            return compare.nearness(found, expected, asked.gradients(differentiable(outputs), given))
        except Exception:  # what PyTorch does not do in float64 says nothing
            return ""
