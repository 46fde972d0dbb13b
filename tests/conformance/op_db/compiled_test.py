"""Whether the judge of torch.compile sees what it is there to see: by compilers that run PyTorch's graphs as they are,
but for a fault, or that leave an operator to PyTorch."""
import unittest
import warnings

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend

import compiled
import differences
import peer
import report
from judge import Plan, Verdict
from judge_test import NOTHING, OPERATORS


def as_it_is(results):
    return results


def off(results):
    return [x + 0.001 if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in results]


class Imitation:
    """The plugin, made of PyTorch; `left` are names of operators that it counts as left to PyTorch."""

    class FallbackWarning(UserWarning):
        pass

    def __init__(self, forward=as_it_is, backward=as_it_is, left=()):
        self.forward, self.backward, self.left = forward, backward, left
        self.reset()

    def reset(self):
        self.made, self.counted = 0, {}

    def programs(self):
        return self.made

    def fallbacks(self):
        return self.counted

    def compiler(self, change):
        def compile_graph(module, inputs):
            names = [node.target.name().partition(".")[0] for node in module.graph.nodes if node.op == "call_function" and
                     isinstance(node.target, torch._ops.OpOverload)]
            for name in names:
                if name in self.left and name not in self.counted:
                    self.counted[name] = 1
                    warnings.warn(f"{name} is left: {self.left[name]}", self.FallbackWarning)
            self.made += any(name not in self.left for name in names)

            def run(arguments):
                given, arguments[:] = list(arguments), []
                return change(list(module(*given)))
            run._boxed_call = True
            return run
        return compile_graph

    def compile(self, module, inputs, **others):
        forward, backward = self.compiler(self.forward), self.compiler(self.backward)
        return aot_autograd(fw_compiler=forward, bw_compiler=backward, inference_compiler=forward)(module, inputs)


class Registered:
    """The imitation that torch.compile finds by the plugin's name."""
    now = None


@register_backend(name="laze")
def laze(module, inputs, **others):
    return Registered.now.compile(module, inputs)


def judged(imitation, name, dtype="float32", known=NOTHING):
    """{kind: verdicts} of all samples of an operator."""
    Registered.now = imitation
    judge = compiled.CompileJudge(imitation, known, Plan([dtype], seed=3))
    found = {}
    with peer.reproducible():
        for info, asked, kind in judge.places(OPERATORS[name]):
            found.setdefault(kind, []).extend(judge.judge(info, asked, sample)
                                              for sample in judge.samples(info, asked, kind))
    assert all(found.values()), "op_db has such samples"
    return found


def outcomes(*given, **named):
    return {kind: {verdict.outcome for verdict in verdicts} for kind, verdicts in judged(*given, **named).items()}


class WhatIsSeen(unittest.TestCase):
    def test_the_same_results_and_gradients_agree(self):
        for name in ("exp", "var", "nn.functional.embedding"):
            self.assertEqual(outcomes(Imitation(), name), {"sample": {"agree"}, "gradient": {"agree"}}, name)
        self.assertEqual(outcomes(Imitation(), "add", "int64"), {"sample": {"agree"}})

    def test_a_wrong_value_differs(self):
        self.assertIn("differ", outcomes(Imitation(forward=off), "exp")["sample"])

    def test_a_wrong_gradient_differs_alone(self):
        self.assertEqual(outcomes(Imitation(backward=off), "sin"), {"sample": {"agree"}, "gradient": {"differ"}})

    def test_a_view_is_worth_what_was_computed_of_it(self):
        # PyTorch makes views of inputs anew, whatever the compiler gives.
        self.assertIn("differ", outcomes(Imitation(forward=off), "squeeze")["sample"])

    def test_one_sample_of_those_compiled_together_differs_alone(self):
        def one_is_wrong(results):
            return [x + 1 if isinstance(x, torch.Tensor) and x.shape == () else x for x in results]

        verdicts = judged(Imitation(forward=one_is_wrong), "cos")["sample"]
        self.assertEqual(len([verdict for verdict in verdicts if verdict.outcome == "differ"]), 1)
        self.assertGreater(len([verdict for verdict in verdicts if verdict.outcome == "agree"]), 1)

    def test_what_pytorch_runs_fell_back_and_agrees_with_nothing(self):
        verdicts = judged(Imitation(left={"aten::tanh": "no reason"}), "tanh")
        self.assertEqual({verdict.outcome for verdict in verdicts["sample"]}, {"fell back"})
        self.assertEqual(verdicts["sample"][0].detail, "wholly: aten::tanh (no reason)")
        verdicts = judged(Imitation(left={"aten::tanh": "no reason"}), "nn.functional.tanhshrink")
        self.assertEqual(verdicts["sample"][0].detail, "in part: aten::tanh (no reason)")

    def test_what_fell_back_and_is_wrong_differs(self):
        self.assertEqual(outcomes(Imitation(forward=off, left={"aten::sin": ""}), "sin")["sample"], {"differ"})

    def test_of_what_is_drawn_the_form_is_compared(self):
        def other_numbers(results):
            return [torch.randn_like(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in results]

        def double(results):
            return [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in results]

        self.assertEqual(outcomes(Imitation(forward=other_numbers), "nn.functional.dropout")["sample"], {"agree", "differ"},
                         "some of the samples drop nothing out")
        self.assertEqual(outcomes(Imitation(forward=double), "nn.functional.dropout")["sample"], {"differ"})

    def test_what_pytorchs_graph_gives_by_itself_is_said(self):
        """PyTorch's tracer makes a quotient, a product and a sum of addcdiv, each of which is rounded."""
        def far_off(results):
            return [x * 1.5 for x in results]

        for imitation, is_said in ((Imitation(), True), (Imitation(forward=far_off), False)):
            details = [verdict.detail for verdict in judged(imitation, "addcdiv", "bfloat16")["sample"]]
            self.assertEqual(any(detail.startswith(compiled.BY_ITSELF) for detail in details), is_said)

    def test_a_compiler_that_fails_refuses_and_a_tracer_that_fails_does_not(self):
        def fail(results):
            raise ValueError("this compiler refuses it\nand says why")

        verdict = judged(Imitation(forward=fail), "exp")["sample"][0]
        self.assertEqual((verdict.outcome, verdict.detail), ("refused", "ValueError: this compiler refuses it"))
        verdicts = judged(Imitation(), "linalg.lstsq")["sample"]  # the sizes of its results are not known
        self.assertEqual({verdict.outcome for verdict in verdicts}, {"absent"})
        self.assertIn("PyTorch does not compile it", verdicts[0].detail)

    def test_inputs_that_a_call_changes_are_each_sides_own(self):
        self.assertEqual(outcomes(Imitation(), "nn.functional.relu")["sample"], {"agree"})


class Words(unittest.TestCase):
    def test_what_fell_back_is_counted_by_operators(self):
        result = report.Report(NOTHING, report.COMPILED)
        left = [Verdict("sort", "", "float32", kind, i, "fell back", detail)
                for i, (kind, detail) in enumerate([("sample", "wholly: aten::sort.stable (why)"),
                                                    ("gradient", "in part: aten::sort.stable (why); aten::b (why)")])]
        row = result.add("sort", [*left, Verdict("sort", "", "float32", "sample", 2, "agree")])
        self.assertEqual(result.left_line(),
                         "fell back: 2 samples, 1 of them wholly, for 2 operators: aten::sort.stable 2, aten::b 1")
        self.assertEqual(result.last_line(), "op_db compile: 1 of 2 samples agree (50.0%); 0 of 1 operators at 95% or more")
        self.assertEqual(list(result.aside_lines()), ["op_db compile gradients: 0 of 1 samples agree (0.0%); 0 of 1 "
                                                      "operators at 95% or more"])
        self.assertEqual(report.line(row, report.COMPILED).split()[:8], ["sort", "2", "1", "0", "0", "1", "0", "0"])

    def test_the_list_names_what_there_is(self):
        for entry in differences.read(differences.COMPILED).entries:
            self.assertLessEqual(set(entry.operators) - {"*"}, set(OPERATORS))
            self.assertLessEqual(set(entry.dtypes or []), set(peer.DTYPES))
            self.assertLessEqual(set(entry.kinds or []), {"sample", "gradient"})
            self.assertIn(entry.outcome, ("differ", "refused", "fell back"))


compiled.prepare()

if __name__ == "__main__":
    unittest.main()
