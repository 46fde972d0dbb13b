"""Whether the judge sees what is wrong of gradients: by PyTorch as the library, with functions whose gradients are faulty
on purpose."""
import unittest

import torch

import differences
import peer
import report
from gradient import GradientJudge
from judge import Plan
from judge_test import NOTHING, OPERATORS, Imitation


class Differentiating(Imitation):
    """PyTorch as a library that has gradients."""

    def __init__(self, functions):
        super().__init__({name: torch.enable_grad()(function) for name, function in functions.items()})

    def take(self, tensor):
        return tensor.detach().clone()

    def tensor_type(self):
        return torch.Tensor

    def require(self, tensor):
        return tensor.requires_grad_()

    def requires_grad(self, tensor):
        return tensor.requires_grad

    def detached(self, tensor):
        return tensor.detach()

    def gradients(self, pairs, inputs, create_graph):
        if not pairs:
            return [None] * len(inputs)
        outputs, given = zip(*pairs)
        return torch.autograd.grad(outputs, inputs, given, create_graph=create_graph, allow_unused=True)


    @torch.enable_grad()
    def tangents(self, outputs, inputs, given):
        if not outputs:
            return ()
        zeros = [torch.zeros_like(output, requires_grad=True) for output in outputs]
        found = torch.autograd.grad(outputs, inputs, zeros, create_graph=True, allow_unused=True)
        pairs = [pair for pair in zip(found, given) if pair[0] is not None and pair[0].requires_grad]
        return torch.autograd.grad([gradient for gradient, _ in pairs], zeros, [tangent for _, tangent in pairs],
                                   allow_unused=True, materialize_grads=True)


class Faulty(torch.autograd.Function):
    """x * x, whose gradient is what the test says."""

    @staticmethod
    def forward(context, x, formula):
        context.save_for_backward(x)
        context.formula = formula
        return x * x

    @staticmethod
    def backward(context, grad):
        return context.formula(context.saved_tensors[0], grad), None


def square(formula):
    return Differentiating({"square": lambda x: Faulty.apply(x, formula)})


def outcomes(tested, name, dtype="float64", known=NOTHING):
    """{kind: outcomes of its samples}, and the verdicts of what does not agree."""
    judge = GradientJudge(tested, known, Plan([dtype], seed=3))
    verdicts = []
    with peer.reproducible():
        for info, asked, kind in judge.places(OPERATORS[name]):
            verdicts += [judge.judge(info, asked, sample) for sample in judge.samples(info, asked, kind)]
    kinds = {kind: {verdict.outcome for verdict in verdicts if verdict.kind == kind} for kind in peer.GRADIENTS}
    return kinds, [verdict for verdict in verdicts if verdict.outcome != "agree"]


class WhatIsSeen(unittest.TestCase):
    def test_the_same_gradients_agree(self):
        for name, functions in {"mul": {"mul": torch.mul}, "cat": {"cat": torch.cat}, "var": {"var": torch.var},
                                "max": {"max": torch.max, "maximum": torch.maximum},
                                "nn.functional.embedding": {"embedding": torch.embedding}}.items():
            for kind, found in outcomes(Differentiating(functions), name)[0].items():
                self.assertLessEqual(found, {"agree", "absent"}, (name, kind))
                self.assertIn("agree", found, (name, kind))

    def test_results_that_are_not_unique_are_made_so_in_both(self):
        functions = {"linalg_svd": lambda x, **kwargs: torch.linalg.svd(x, **kwargs), "abs": torch.abs,
                     "narrow": torch.narrow, "__getitem__": torch.Tensor.__getitem__, "mH": torch.adjoint}
        found, verdicts = outcomes(Differentiating(functions), "linalg.svd")
        self.assertIn("agree", found["gradient"])
        self.assertNotIn("differ", found["gradient"], verdicts[:1])

    def test_a_wrong_gradient_differs(self):
        found, verdicts = outcomes(square(lambda x, grad: grad * 2.001 * x), "square")
        self.assertIn("differ", found["gradient"])
        self.assertIn("not close", verdicts[0].detail)

    def test_a_wrong_second_gradient_differs_alone(self):
        found, _ = outcomes(square(lambda x, grad: grad * (x + x.detach())), "square")
        self.assertEqual(found["gradient"], {"agree"})
        self.assertIn("differ", found["second order"])
        self.assertEqual(found["forward mode"], {"agree"})

    def test_a_wrong_tangent_differs_alone(self):
        class Turned(Differentiating):
            def tangents(self, outputs, inputs, given):
                return [-tangent for tangent in super().tangents(outputs, inputs, given)]

        found, verdicts = outcomes(Turned({"square": lambda x: Faulty.apply(x, lambda x, grad: grad * 2 * x)}), "square")
        self.assertEqual({kind for kind, words in found.items() if "differ" in words}, {"forward mode"})
        self.assertIn("not close", verdicts[0].detail)

    def test_a_result_without_a_history_differs_and_says_so(self):
        found, verdicts = outcomes(Differentiating({"square": lambda x: torch.square(x.detach())}), "square")
        self.assertIn("differ", found["gradient"])
        self.assertTrue(all("has no history" in verdict.detail for verdict in verdicts))

    def test_none_is_zeros(self):
        def rounded(x, **kwargs):
            return torch.round(x.detach(), **kwargs)

        self.assertEqual(outcomes(Differentiating({"round": rounded}), "round")[0]["gradient"], {"agree"})

    def test_refusals_forward_and_backward(self):
        def refuses(x, grad):
            raise ValueError("no formula")

        def cannot(x):
            raise ValueError("no operator")

        for tested, words in ((square(refuses), "^backward: ValueError: no formula"),
                              (Differentiating({"square": cannot}), "^ValueError: no operator")):
            found, verdicts = outcomes(tested, "square", "float32")
            self.assertEqual(found["gradient"], {"refused"})
            self.assertRegex(verdicts[0].detail, words)

    def test_one_rounding_is_nearer_and_a_fault_is_not(self):
        def once(x, other, **kwargs):
            return torch.linalg.cross(x.double(), other.double(), **kwargs).to(x.dtype)

        def off(x, other, **kwargs):
            return once(x * 1.01, other, **kwargs)

        for function, near in ((once, True), (off, False)):
            found, verdicts = outcomes(Differentiating({"linalg_cross": function}), "linalg.cross", "bfloat16")
            self.assertIn("differ", found["gradient"])
            self.assertEqual({verdict.detail.startswith("nearer than PyTorch") for verdict in verdicts}, {near})


class TheList(unittest.TestCase):
    def test_it_names_operators_dtypes_and_kinds_that_there_are(self):
        known = differences.read_gradients()
        for entry in known.entries:
            self.assertLessEqual(set(entry.operators) - {"*"}, set(OPERATORS))
            self.assertLessEqual(set(entry.dtypes or []), set(peer.DTYPES))
            self.assertLessEqual(set(entry.kinds or []), set(peer.GRADIENTS))
        self.assertIn("nn.functional.dropout", known.forms, "what is random forward is random backward")

    def test_what_is_refused_forward_is_listed_there(self):
        known = differences.read_gradients()
        carried = [entry for entry in known.entries if entry.is_carried]
        self.assertTrue(carried)
        self.assertEqual([pair for pair in known.stale(set(OPERATORS), peer.DTYPES) if pair[1] in carried], [])

    def test_orders_are_summed_apart(self):
        judge = GradientJudge(square(lambda x, grad: grad * 2 * x.detach()), NOTHING, Plan(["float64"]))
        with peer.reproducible():
            verdicts = [judge.judge(info, dtype, sample) for info, dtype, kind in judge.places(OPERATORS["square"])
                        for sample in judge.samples(info, dtype, kind)]
        result = report.Report(NOTHING, report.GRADIENT)
        result.add("square", verdicts)
        self.assertRegex(result.last_line(), r"^op_db gradient: (\d+) of \1 samples agree \(100.0%\); 1 of 1 operators")
        second, forward = result.aside_lines()
        self.assertRegex(second, r"^op_db second order: \d+ of \d+ samples agree \(.*; 0 of 1 operators")
        self.assertRegex(forward, r"^op_db forward mode: (\d+) of \1 samples agree \(100.0%\); 1 of 1 operators")


if __name__ == "__main__":
    unittest.main()
