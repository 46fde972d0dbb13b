"""Whether the judge sees what it is there to see, by libraries that are wrong on purpose.

A library in the judge's sense made of PyTorch itself: what is right in it agrees whatever PyTorch computes, and each
fault that is put in has to be found, under its own outcome.
"""
import os
import pathlib
import signal
import tempfile
import unittest
import unittest.mock

import torch

import adapter
import compare
import coverage
import differences
import library
import paste
import peer
import report
import worker
from forms import FormsJudge
from judge import Judge, Plan, Verdict
from library import Absent, Library

NOTHING = differences.Differences([], {})
OPERATORS = peer.operators()


class Imitation(Library):
    """PyTorch as the library: `functions` by name, some of them faulty."""

    def __init__(self, functions, dtypes=library.DTYPES, schemas=()):
        self.functions = functions
        self.dtypes = {dtype: dtype for dtype in dtypes}
        self.texts = schemas

    def schemas(self):
        return {text.partition("(")[0]: text for text in self.texts}

    def method(self, name):
        return self.functions.get(name)

    def take(self, tensor):
        self.dtype(tensor.dtype)
        return tensor.clone()

    def give(self, result):
        return result


def outcomes(tested, name, dtype="float32", known=NOTHING, kinds=("sample", "reference")):
    """Outcomes of all samples of an operator, and details of what does not agree."""
    judge = Judge(tested, known, Plan([dtype], seed=3))
    verdicts = []
    with peer.reproducible():
        for info, asked, kind in judge.places(OPERATORS[name]):
            if kind in kinds:
                verdicts += [judge.judge(info, asked, sample) for sample in judge.samples(info, asked, kind)]
    assert verdicts, "op_db has such samples"
    return {verdict.outcome for verdict in verdicts}, [verdict for verdict in verdicts if verdict.detail]


def refusing(*args, **kwargs):
    raise ValueError("this library refuses it\nand says why")


def crashing(*args, **kwargs):
    os.abort()


class WhatIsSeen(unittest.TestCase):
    def test_the_same_results_agree(self):
        for name, function in {"add": torch.add, "cat": torch.cat, "softmax": torch.Tensor.softmax,
                               "var": torch.var}.items():
            self.assertEqual(outcomes(Imitation({name: function}), name)[0], {"agree"}, name)

    def test_a_wrong_value_differs(self):
        def almost(x, other, **kwargs):
            return torch.add(x, other, **kwargs) + 0.001

        found, verdicts = outcomes(Imitation({"add": almost}), "add")
        self.assertIn("differ", found)
        self.assertTrue(any("not close" in verdict.detail for verdict in verdicts))

    def test_one_wrong_element_differs(self):
        def last_is_wrong(x):
            result = torch.exp(x).flatten()
            result[-1:] += 1
            return result.reshape(x.shape)

        self.assertIn("differ", outcomes(Imitation({"exp": last_is_wrong}), "exp")[0])

    def test_a_wrong_dtype_or_shape_differs(self):
        wide = Imitation({"sum": lambda *args, **kwargs: torch.sum(*args, **kwargs).double()})
        flat = Imitation({"neg": lambda x: torch.neg(x).reshape(1, *x.shape)})
        for imitation, name, words in ((wide, "sum", "dtype"), (flat, "neg", "shape")):
            found, verdicts = outcomes(imitation, name)
            self.assertEqual(found, {"differ"}, name)
            self.assertIn(words, verdicts[0].detail)

    def test_a_nan_that_is_no_nan_differs(self):
        self.assertIn("differ", outcomes(Imitation({"sqrt": lambda x: torch.sqrt(x).nan_to_num()}), "sqrt")[0])

    def test_zeros_of_other_signs_agree_as_in_tests_of_pytorch(self):
        self.assertEqual(outcomes(Imitation({"abs": lambda x: torch.abs(x) * 1 + 0.0}), "abs")[0], {"agree"})

    def test_one_rounding_is_nearer_than_several_and_a_fault_is_not(self):
        def once(*args, **kwargs):
            return torch.linalg.cross(*peer.widened(args), **kwargs).to(torch.bfloat16)

        def off(*args, **kwargs):
            return once(*args, **kwargs) * 1.01

        for function, near in ((once, True), (off, False)):
            found, verdicts = outcomes(Imitation({"linalg_cross": function}), "linalg.cross", "bfloat16")
            self.assertIn("differ", found)
            self.assertEqual({verdict.detail.startswith("nearer than PyTorch") for verdict in verdicts}, {near})

    def test_errors_of_a_whole_result_are_about_as_near_or_not(self):
        exact = torch.tensor([1.0, 2.0, 300.0, torch.nan], dtype=torch.float64)
        expected = (exact + torch.tensor([0.0, 0.0, 2.0, 0.0])).bfloat16()
        for change, near in (([0.03, 0.0, 2.0, 0.0], True), ([0.0, 0.0, 8.0, 0.0], False),
                             ([0.0, 0.0, torch.nan, 0.0], False)):
            actual = (exact + torch.tensor(change)).bfloat16()
            self.assertEqual(compare.nearness([actual], [expected], [exact]), compare.AS_NEAR if near else "")
        self.assertEqual(compare.nearness([exact.bfloat16()], [expected], [exact]), compare.NEARER)
        self.assertEqual(compare.nearness([exact.bfloat16()], [expected, expected], [exact]), "")

    def test_one_result_too_few_differs(self):
        first = Imitation({"max": lambda *args, **kwargs: tuple(torch.max(*args, **kwargs))[:1]})
        self.assertIn("differ", outcomes(first, "max")[0])

    def test_a_refusal_is_one(self):
        found, verdicts = outcomes(Imitation({"add": refusing}), "add")
        self.assertEqual(found, {"refused"})
        self.assertEqual(verdicts[0].detail, "ValueError: this library refuses it")
        self.assertTrue(verdicts[0].call.startswith("laze.add(laze.tensor("), verdicts[0].call)

    def test_what_is_not_there_is_absent(self):
        found, verdicts = outcomes(Imitation({}), "add")
        self.assertEqual((found, verdicts[0].detail), ({"absent"}, "operator add"))
        found, verdicts = outcomes(Imitation({"add": torch.add}, dtypes=[torch.int64]), "add")
        self.assertIn("absent", found)
        self.assertIn("dtype float32", {verdict.detail for verdict in verdicts})

    def test_wrong_calls_have_to_be_refused(self):
        found, _ = outcomes(Imitation({"gather": torch.gather}), "gather", kinds=("error",))
        self.assertIn("agree", found)
        found, verdicts = outcomes(Imitation({"gather": lambda x, *args, **kwargs: x}), "gather", kinds=("error",))
        self.assertIn("differ", found)
        self.assertTrue(all("accepted" in verdict.detail for verdict in verdicts if verdict.outcome == "differ"))

    def test_what_pytorch_front_end_does_is_not_the_librarys(self):
        # F.embedding turns its arguments round before it calls ATen.
        imitation = Imitation({"embedding": torch.embedding})
        self.assertIn("agree", outcomes(imitation, "nn.functional.embedding")[0])

    def test_a_crash_and_silence_are_verdicts_and_the_rest_goes_on(self):
        calls = []

        def sometimes(x):
            calls.append(x)
            return crashing() if len(calls) == 3 else torch.neg(x)

        imitation = Imitation({"neg": sometimes})
        judged = dict(worker.run({"neg": OPERATORS["neg"]}, lambda: Judge(imitation, NOTHING, Plan(["float32"])), 1,
                                 lambda now: None))
        found = [verdict.outcome for verdict in judged["neg"] if verdict.kind != "error"]
        self.assertEqual(found[2], "crashed")
        self.assertIn("SIGABRT", judged["neg"][2].detail)
        self.assertEqual(found[3:5], ["agree", "agree"])
        self.assertEqual(found[5], "crashed", "the next process crashes at its third call, too")

    def test_operators_together_are_judged_as_one_by_one(self):
        operators = {name: OPERATORS[name] for name in ("neg", "abs", "sign")}
        tested = Imitation({"neg": crashing, "abs": torch.abs, "sign": torch.sign})
        one, two = (dict(worker.run(operators, lambda: Judge(tested, NOTHING, Plan(["float32"])), 1,
                                    lambda now: None, together=together)) for together in (1, 2))
        self.assertEqual(one, two)
        self.assertEqual({verdict.outcome for verdict in one["neg"]}, {"crashed"})
        self.assertEqual({verdict.outcome for verdict in one["abs"] + one["sign"]}, {"agree"})

    def silent(self, times):
        """Verdicts of neg, whose sample of nine elements gets no answer in so many processes."""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(worker, "ANSWER", 5):
            def sometimes(x):
                silences = len(os.listdir(folder))
                if x.shape == (9,) and silences < times:
                    pathlib.Path(folder, str(silences)).touch()
                    signal.pause()
                return torch.neg(x)

            tested = Imitation({"neg": sometimes})
            return dict(worker.run({"neg": OPERATORS["neg"]}, lambda: Judge(tested, NOTHING, Plan(["float32"])), 1,
                                   lambda now: None))["neg"]

    def test_a_sample_without_an_answer_is_judged_again_and_nothing_is_lost(self):
        # A machine that is busy with something else must not fail a run of an hour.
        self.assertEqual(self.silent(1), self.silent(0))

    def test_a_sample_without_an_answer_twice_is_said_to_be_so(self):
        verdicts = self.silent(2)
        crashed = [verdict for verdict in verdicts if verdict.outcome == "crashed"]
        self.assertEqual([verdict.detail for verdict in crashed], ["no answer in 5 s, 2 times"])
        self.assertEqual({verdict.outcome for verdict in verdicts} - {"crashed"}, {"agree"})
        self.assertEqual(len(verdicts), len(self.silent(0)))


class TheList(unittest.TestCase):
    def list_of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "list.toml")
            path.write_text(text)
            return differences.read(path)

    ENTRY = '[[difference]]\noperators = ["add", "sub"]\noutcome = "differ"\ndetail = "not close"\nreason = "r"\n'

    def verdict(self, **fields):
        return Verdict(**{"operator": "add", "variant": "", "dtype": "float32", "kind": "sample", "index": 0,
                          "outcome": "differ", "detail": "values are not close", **fields})

    def test_an_entry_excuses_what_it_describes_only(self):
        known = self.list_of(self.ENTRY + 'dtypes = ["float32"]\nkinds = ["sample"]\n')
        self.assertIsNotNone(known.find(self.verdict()))
        for fields in ({"operator": "mul"}, {"dtype": "int64"}, {"kind": "error"}, {"outcome": "refused"},
                       {"detail": "dtype"}):
            self.assertIsNone(known.find(self.verdict(**fields)), fields)

    def test_an_entry_that_nothing_shows_is_an_error(self):
        known = self.list_of(self.ENTRY)
        known.find(self.verdict())
        self.assertEqual([operator for operator, _ in known.stale({"add", "sub"}, peer.DTYPES)], ["sub"])
        self.assertEqual(list(known.stale({"add"}, peer.DTYPES)), [], "sub was not judged")

    def test_an_entry_with_other_keys_is_refused(self):
        with self.assertRaisesRegex(ValueError, "needs operators, outcome, reason"):
            self.list_of('[[difference]]\noperators = ["add"]\nreason = "r"\n')
        with self.assertRaisesRegex(ValueError, "entry 1"):
            self.list_of(self.ENTRY + 'dtype = ["float32"]\n')

    def test_the_list_names_operators_and_dtypes_that_there_are(self):
        known = differences.read()
        for entry in known.entries:
            self.assertLessEqual(set(entry.operators) - {"*"}, set(OPERATORS))
            self.assertLessEqual(set(entry.dtypes or []), set(peer.DTYPES))
            self.assertLessEqual(set(entry.kinds or []), set(peer.KINDS))
            self.assertIn(entry.outcome, ("differ", "refused"))
        self.assertLessEqual(set(known.forms), set(OPERATORS))

    def test_values_of_random_operators_are_not_compared_but_their_form_is(self):
        known = differences.Differences([], {"randn_like": "random"})
        draw = {"randn_like": lambda x, **kwargs: torch.ones_like(x, **kwargs)}
        self.assertEqual(outcomes(Imitation(draw), "randn_like", known=known)[0], {"agree"})
        draw = {"randn_like": lambda x, **kwargs: torch.ones(3)}
        self.assertIn("differ", outcomes(Imitation(draw), "randn_like", known=known)[0])


class Samples(unittest.TestCase):
    def values(self, seed):
        info = OPERATORS["add"][0]
        return [sample.tensors()[0].flatten().tolist() for sample in peer.samples(info, "sample", "float32", seed)]

    def test_a_seed_names_the_samples(self):
        self.assertEqual(self.values(1), self.values(1))
        self.assertTrue(self.values(1) != self.values(2))

    def test_a_share_is_drawn_by_place_alone(self):
        plan = Plan(["float32"], seed=1, share=0.25)
        drawn = [i for i in range(1000) if plan.draws("add", "float32", "sample", i)]
        self.assertTrue(400 < len(drawn) < 600)  # the root: of places and of their samples
        self.assertEqual(drawn, [i for i in range(1000) if plan.draws("add", "float32", "sample", i)])
        self.assertNotEqual(drawn, [i for i in range(1000) if plan.draws("sub", "float32", "sample", i)])

    def test_tolerances_are_those_of_pytorchs_tests(self):
        self.assertEqual(compare.tolerances(OPERATORS["add"][0], torch.int64), (0.0, 0.0))
        widened = {info.name: compare.tolerances(info, torch.float32) for infos in OPERATORS.values() for info in infos}
        self.assertEqual(widened["matmul"], (0.0, 1e-5))
        self.assertEqual(widened["exp"], (0.0, 0.0))


class Words(unittest.TestCase):
    def test_a_call_can_be_pasted(self):
        x = torch.tensor([[1.5, float("nan")]])
        call = adapter.Call("sum", False, (x, [0]), {"dtype": torch.float64})
        self.assertEqual(paste.text([call]), "laze.sum(laze.tensor([[1.5, nan]], dtype=laze.float32), [0], dtype=laze.float64)")
        call = adapter.Call("expand", True, (torch.zeros(0, 3), (2, 0, 3)), {})
        self.assertEqual(paste.text([call]), "laze.zeros([0, 3], dtype=laze.float32).expand((2, 0, 3))")

    def test_places_are_left_out_and_results_of_the_callers_are_absent(self):
        args, kwargs = adapter.without_places((1, torch.contiguous_format), {"device": "cpu", "dim": 0})
        self.assertEqual((args, kwargs), ((1,), {"dim": 0}))
        args, kwargs = adapter.without_places((1, "cpu", torch.float64, True), {"copy": False}, "to")
        self.assertEqual((args, kwargs), ((torch.float64,), {}))
        for wrong in ({"out": torch.zeros(1)}, {"layout": torch.sparse_coo}):
            with self.assertRaises(Absent):
                adapter.without_places((), wrong)

    def test_sums_are_of_samples_and_wrong_calls_are_apart(self):
        def verdict(kind, outcome, detail=""):
            return Verdict("add", "", "float32", kind, 0, outcome, detail)

        known = differences.Differences([differences.Entry(["add"], "refused", "reason")], {})
        result = report.Report(known)
        result.add("add", [verdict("sample", "agree")] * 19 + [verdict("reference", "refused"), verdict("sample", "absent", "out="),
                                                              verdict("error", "agree"), verdict("error", "differ", "accepted")])
        result.add("sub", [verdict("sample", "agree"), verdict("sample", "crashed")])
        result.add("mul", [verdict("sample", "absent", "dtype bool")])
        self.assertEqual(result.last_line(), "op_db forward: 20 of 22 samples agree (90.9%); 1 of 2 operators at 95% or more")
        self.assertEqual(list(result.aside_lines()), ["wrong calls: 1 of 2 refused (50.0%)"])
        self.assertEqual([verdict.outcome for verdict in result.unlisted], ["differ", "crashed"])


class Coverage(unittest.TestCase):
    def test_names_are_atens(self):
        names = {name: peer.aten_name(infos[0]) for name, infos in OPERATORS.items()}
        self.assertEqual([names[name] for name in ("linalg.norm", "nn.functional.unfold", "unfold", "special.i0e")],
                         ["linalg_norm", "im2col", "unfold", "special_i0e"])

    def test_missing_overloads_and_arguments_are_seen(self):
        imitation = Imitation({"gelu": 1, "add": 1}, schemas=["gelu(Tensor self) -> Tensor", "add.Scalar(Tensor self, Scalar "
                            "other, Scalar alpha=1) -> Tensor", "own(Tensor self) -> Tensor"])
        found = coverage.measure(imitation)
        self.assertEqual(found["core"], ["add.Scalar", "gelu"])
        self.assertIn("add.Tensor", found["core_missing"])
        self.assertEqual(len(found["core"]) + len(found["core_missing"]), 193)
        self.assertEqual(found["core_arguments_missing"], {"gelu": ["approximate"]})
        self.assertEqual(found["op_db"], ["add", "nn.functional.gelu"])
        self.assertEqual(len(found["op_db"]) + len(found["op_db_missing"]), 636)


class Forms(unittest.TestCase):
    def verdicts(self, functions, name, kind):
        tested = FormsJudge(Imitation(functions), NOTHING, Plan(["float32"], seed=3))
        found = []
        with peer.reproducible():
            for info, dtype, asked in tested.places(OPERATORS[name]):
                if asked == kind:
                    found += [tested.judge(info, dtype, sample) for sample in tested.samples(info, dtype, asked)]
        self.assertTrue(found, "op_db has such samples")
        return {verdict.outcome for verdict in found}, " ".join(verdict.detail for verdict in found)

    def test_right_forms_agree(self):
        self.assertEqual(self.verdicts({"neg_": torch.Tensor.neg_}, "neg", peer.IN_PLACE), ({"agree"}, ""))
        self.assertEqual(self.verdicts({"neg": torch.neg}, "neg", peer.OUT)[0], {"agree"})
        self.assertEqual(self.verdicts({"sort": torch.sort}, "sort", peer.OUT)[0], {"agree"})

    def test_what_code_in_python_writes_to_is_its_result(self):
        functions = {"_lu_with_info": torch._lu_with_info, "resize_as_": torch.Tensor.resize_as_}
        outcome, _ = self.verdicts({**functions, "copy_": torch.Tensor.copy_}, "lu", peer.OUT)
        self.assertEqual(outcome, {"agree"})
        outcome, _ = self.verdicts({**functions, "copy_": lambda x, y: x.zero_()}, "lu", peer.OUT)
        self.assertIn("differ", outcome)

    def test_each_fault_is_found(self):
        outcome, detail = self.verdicts({"neg_": torch.neg}, "neg", peer.IN_PLACE)  # makes a new tensor
        self.assertIn("gives another tensor", detail)
        outcome, detail = self.verdicts({"neg": lambda x, out: torch.neg(x)}, "neg", peer.OUT)
        self.assertIn("gives other tensors than out", detail)
        outcome, _ = self.verdicts({"neg_": lambda x: x.neg_().add_(1)}, "neg", peer.IN_PLACE)
        self.assertIn("differ", outcome)
        outcome, detail = self.verdicts({"add_": lambda x, y, **rest: x}, "add", peer.IN_PLACE)
        self.assertIn("accepted; PyTorch: output with shape", detail)
        self.assertEqual(self.verdicts({}, "neg", peer.IN_PLACE)[0], {"absent"})


if __name__ == "__main__":
    unittest.main()
