"""Judges torch.compile(backend="laze"): samples as a function that is compiled whole, beside eager PyTorch.

    samples of one operator, some at a time
      eager      each one alone                                results, and gradients for random numbers
      compiled   torch.compile(all of them, fullgraph=True)    results; one backward pass for all of them

To compile takes a hundred times longer than to call, and most of that goes to a function and not to what is in it:
therefore several samples share one. Where anything of it is not as it should be, each is compiled alone, and that is
what the verdict is on.

A result is only worth comparing where laze has computed it. A sample of which PyTorch runs an operator has `fell back`,
whatever came of it; a result that is a view is copied by the function, because PyTorch makes views of compiled functions
anew. Of a call that draws numbers, which are others, the form is compared.

`absent` is what is not laze's to do, and no part of the percentages: what PyTorch's own tracer refuses with another
compiler too, for it never shows that to laze; sparse tensors; and operators that find out how large their results are,
which PyTorch runs between programs, once their results were compared. The run says how many of each there are.
"""
import copy
import dataclasses
import itertools
import warnings

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._utils import wrapper_set_seed

import compare
import peer
from gradient import Answer, GradientJudge, Peer, Request, differentiable, naming, zeros_for_none
from judge import first_line
from peer import FIRST

DTYPES = ["float32", "bfloat16", "int64", "bool"]
TOGETHER = 16  # samples in one function
OTHER = "aot_eager"  # the compiler that shows whether PyTorch's tracer is at fault: it runs graphs as they are
FELL_BACK = "fell back"
NEAR = (compare.NEARER, compare.AS_NEAR)
BY_ITSELF = "PyTorch's graph gives it by itself: "
UNKNOWN = "how large its results are is known when it has run"  # a reason to leave an operator to PyTorch


def unseeded(op, *args, **kwargs):
    """In place of what sets a seed within an operator of op_db, which PyTorch's tracer does not take."""
    return op(*args, **kwargs)


def prepare():
    """What compiling needs of PyTorch, before children are made: it takes seconds."""
    common_methods_invocations.wrapper_set_seed = unseeded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.ones(2, requires_grad=True)
        torch.compile(lambda x: x.exp(), backend=OTHER, fullgraph=True)(x).sum().backward()
    torch._dynamo.reset()


def owned(sample):
    """The same with tensors of its own: one that comes twice still does."""
    known = {}

    def own(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in known:
            made = copy.deepcopy(value.detach()) if value.layout is torch.strided else value.detach().clone()
            known[id(value)] = made.requires_grad_(value.requires_grad), value
        return known[id(value)][0]
    return sample.each(lambda value: peer.changed(value, own))


def has_views(outputs, sample):
    """Whether PyTorch would make a result anew, as a view of an input or of another tensor."""
    places = {tensor.untyped_storage().data_ptr() for tensor in sample.tensors() if tensor.layout is torch.strided}
    return any(output._base is not None or output.untyped_storage().data_ptr() in places
               for output in outputs if output.layout is torch.strided)


def copies(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [copies(item) for item in value] if isinstance(value, (list, tuple)) else value


class Case:
    """A sample, and what eager PyTorch makes of it; `absent` says why there is nothing to compare."""

    def __init__(self, info, dtype, sample):
        self.sample = sample
        self.request = Request(info, peer.dtype_named(dtype), owned(sample), second=False)
        self.absent, self.answer, self.expected, outputs = None, None, None, []
        state = torch.get_rng_state()
        if sample.kind == FIRST:
            self.answer = Answer(Peer(self.request))
            outputs, self.expected = self.answer.outputs, self.answer.expected
            self.absent = self.answer.absent or ("PyTorch refuses the sample" if self.answer.error else None)
        else:
            own = self.request.sample
            try:
                self.expected = info.op(own.input, *own.args, **own.kwargs)
                outputs = list(peer.tensors_in(self.expected))
                self.absent = None if outputs else "no result is a tensor"
            except Exception:
                self.absent = "PyTorch refuses the sample"
        self.draws = not torch.equal(state, torch.get_rng_state())
        if not self.absent and any(tensor.layout is not torch.strided for tensor in outputs + sample.tensors()):
            self.absent = "sparse tensors are PyTorch's"
        self.is_view = not self.absent and has_views(outputs, self.request.sample)

    @property
    def call(self):
        """The operator, as it is called where its gradients are asked for or not."""
        wrapper, op = self.request.info.gradcheck_wrapper, self.request.info.op
        if not self.answer or wrapper is wrapper_set_seed or self.request.info.name.startswith("masked."):
            return op

        def wrapped(*args, **kwargs):
            return wrapper(op, *args, **kwargs)
        return wrapped


@dataclasses.dataclass
class Attempt:
    """What came of compiling cases together."""
    found: list = None  # of each case its result, or gradients
    error: Exception = None
    programs: int = 0  # of laze
    left: dict = dataclasses.field(default_factory=dict)  # operators that PyTorch ran: the reasons

    def is_laze_alone(self):
        return self.error is None and self.programs > 0 and not self.left


def compile_and_run(cases, backend):
    """(results of each case, owned samples that they were made of)."""
    torch._dynamo.reset()
    call, views = cases[0].call, [case.is_view for case in cases]

    def function(arguments):
        results = []
        for (args, kwargs), is_view in zip(arguments, views):
            result = call(*args, **kwargs)
            results.append(copies(result) if is_view else result)
        return results
    samples = [owned(case.sample) for case in cases]
    peer.start_random(0)
    made = torch.compile(function, backend=backend, fullgraph=True)
    return made([((sample.input, *sample.args), sample.kwargs) for sample in samples]), samples


def gradients(cases, results, samples):
    """Of each case, by its inputs, or what is missing in words; from one backward pass."""
    outputs = [list(peer.tensors_in(sample.finish(case.request.seen(result))))
               for case, sample, result in zip(cases, samples, results)]
    found, pairs, inputs = {}, [], []
    for i, (case, own) in enumerate(zip(cases, outputs)):
        expected, cotangents = case.answer.outputs, case.answer.cotangents
        lacking = [k for k, output in enumerate(expected) if k < len(own) and output.requires_grad and
                   not own[k].requires_grad]
        if compare.form(own) != compare.form(expected):
            found[i] = f"results: {compare.form(own)}, not {compare.form(expected)}"
        elif lacking:
            found[i] = naming(lacking, "PyTorch's has one")
        else:
            pairs += [(output, given) for output, given in zip(own, cotangents) if given is not None]
            inputs.append((i, Peer(dataclasses.replace(case.request, sample=samples[i])).inputs))
    every = list(itertools.chain(*(own for _, own in inputs)))
    made = iter(torch.autograd.grad([output for output, _ in pairs], every, [given for _, given in pairs],
                                    allow_unused=True) if pairs else ())
    for i, own in inputs:
        found[i] = zeros_for_none(list(itertools.islice(made, len(own))), own)
    return [found[i] for i in range(len(cases))]


def words(error):
    """An error in one line; that of a compiler comes wrapped."""
    error = getattr(error, "inner_exception", error)
    return f"{type(error).__name__}: {first_line(error)}"


class CompileJudge(GradientJudge):
    """Judges results of all samples, and gradients of those that have some. The library is the package laze_torch."""

    def __init__(self, *given):
        super().__init__(*given)
        self.cases, self.together = [], None  # those of a function, and what came of it
        self.alone = set()  # places of which a function of several fell back: it would again

    def places(self, infos):
        for info in infos:
            for dtype in self.plan.dtypes:
                if not peer.supports(info, dtype):
                    continue
                yield info, dtype, "sample"
                if (info.supports_autograd and peer.dtype_named(dtype).is_floating_point and
                        peer.dtype_named(dtype) in info.supported_backward_dtypes("cpu")):
                    yield info, dtype, FIRST

    def samples(self, info, dtype, kind):
        drawn = super().samples(info, dtype, kind)
        while several := list(itertools.islice(drawn, TOGETHER)):
            self.cases, self.together = [Case(info, dtype, sample) for sample in several], None
            yield from several

    def outcome(self, info, dtype, sample):
        case = next((case for case in self.cases if case.sample is sample), None) or Case(info, dtype, sample)
        if case.absent:
            return "absent", case.absent, []
        verdict = self.outcome_together(case)
        return verdict if verdict else self.outcome_alone(case)

    def outcome_together(self, case):
        """Agreement, where a function of several cases is laze's alone; otherwise nothing is said."""
        info, dtype, kind = case.request.info, case.request.dtype, case.sample.kind
        cases = [one for one in self.cases if not one.absent]
        if len(cases) < 2 or case not in cases or (peer.title(info), dtype, kind) in self.alone:
            return None
        if self.together is None:
            self.together = self.attempt(cases)
            if not self.together.is_laze_alone():
                self.alone.add((peer.title(info), dtype, kind))
        if not self.together.is_laze_alone():
            return None
        outcome, _ = self.compare_case(case, self.together.found[cases.index(case)])
        return ("agree", "", []) if outcome == "agree" else None

    def outcome_alone(self, case):
        made = self.attempt([case])
        if made.error:
            other = self.attempt([case], OTHER)
            if other.error:
                return "absent", f"PyTorch does not compile it ({words(other.error)})", []
            return "refused", words(made.error), []
        outcome, detail = self.compare_case(case, made.found[0])
        if outcome == "differ" and not detail.startswith(NEAR):
            other = self.attempt([case], OTHER)
            if other.error is None and self.is_by_itself(case, made.found[0], other.found[0]):
                detail = BY_ITSELF + detail
        if outcome == "differ":
            return outcome, detail, []
        if made.left and all(reason == UNKNOWN for reason in made.left.values()):
            return "absent", "how large results are PyTorch finds", []
        if made.left:
            share = "in part" if made.programs else "wholly"
            return FELL_BACK, f"{share}: {'; '.join(f'{name} ({reason})' for name, reason in made.left.items())}", []
        return (outcome, detail, []) if made.programs else ("absent", "nothing is left to compute", [])

    def run(self, cases, backend):
        return compile_and_run(cases, backend)

    def attempt(self, cases, backend="laze"):
        self.library.reset()
        made = Attempt()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", self.library.FallbackWarning)
            try:
                with torch.set_grad_enabled(cases[0].answer is not None):
                    results, samples = self.run(cases, backend)
                    made.found = gradients(cases, results, samples) if cases[0].answer else results
            except Exception as error:  # of the tracer, of a compiler, of a run
                made.error = error
        made.programs = self.library.programs()
        texts = [str(one.message) for one in told if issubclass(one.category, self.library.FallbackWarning)]
        for name in self.library.fallbacks():
            made.left[name] = next((text.partition(": ")[2] for text in texts if text.startswith(f"{name} ")), "")
        return made

    def is_by_itself(self, case, found, other):
        """Whether what PyTorch's graph gives, run as it is, differs from eager PyTorch as laze's result does."""
        if isinstance(other, str) or self.compare_case(case, other)[0] == "agree":
            return False
        outcome, detail = self.compare_case(case, found, other)
        return outcome == "agree" or detail.startswith(NEAR)

    def compare_case(self, case, found, expected=None):
        """The outcome and its detail, beside eager PyTorch's result or another."""
        expected = case.expected if expected is None else expected
        if isinstance(found, str):
            return "differ", found
        if case.draws:
            ours, theirs = (compare.form(list(peer.tensors_in(value))) for value in (found, expected))
            return ("agree", "") if ours == theirs else ("differ", f"form: {ours}, not {theirs}")
        request = case.request
        if case.answer:
            return self.compare_gradients(request, found, expected)
        return self.compare(request.info, str(request.dtype).removeprefix("torch."), case.sample, found, expected)
