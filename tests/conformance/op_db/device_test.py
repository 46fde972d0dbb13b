"""Whether the judge of PyTorch's device laze sees what it is there to see: by the CPU in its place, with a fault, or
with an operator that it says it was left."""
import unittest
import warnings

import compiled
import peer
from device import DeviceJudge
from judge import Plan
from judge_test import NOTHING, OPERATORS


class Imitation:
    """The plugin, which counts an operator that is left to the CPU, if one is named."""

    class FallbackWarning(UserWarning):
        pass

    def __init__(self, left=None):
        self.left, self.counted = left, {}

    def reset(self):
        self.counted = {}

    def programs(self):
        return 0

    def fallbacks(self):
        return self.counted

    def call(self):
        if self.left:
            self.counted[self.left] = 1
            warnings.warn(f"{self.left} is left to PyTorch: no such operator", self.FallbackWarning)


def as_it_is(result):
    return result


class OnTheCpu(DeviceJudge):
    """The judge of a device that is the CPU, whose results are changed."""

    def __init__(self, library, change):
        super().__init__(library, NOTHING, Plan(["float32"]))
        self.change = change

    def run(self, cases, backend):
        self.library.call()
        sample = compiled.owned(cases[0].sample)
        return [self.change(cases[0].call(sample.input, *sample.args, **sample.kwargs))], [sample]


def verdicts(library=None, change=as_it_is, operator="sin"):
    """Of each kind of samples of an operator."""
    judge, found = OnTheCpu(library or Imitation(), change), {}
    with peer.reproducible():
        for info, dtype, kind in judge.places(OPERATORS[operator]):
            found[kind] = [judge.judge(info, dtype, sample) for sample in judge.samples(info, dtype, kind)]
    return found


class Verdicts(unittest.TestCase):
    def outcomes(self, *given, **named):
        return {kind: {verdict.outcome for verdict in own} for kind, own in verdicts(*given, **named).items()}

    def test_the_same_agrees(self):
        self.assertEqual(self.outcomes(), {"sample": {"agree"}, "gradient": {"agree"}})

    def test_another_result_differs(self):
        self.assertEqual(self.outcomes(change=lambda x: x * 1.01), {"sample": {"differ"}, "gradient": {"differ"}})

    def test_what_the_cpu_ran_does_not_agree(self):
        found = verdicts(Imitation("aten::sin"))
        self.assertEqual({verdict.outcome for own in found.values() for verdict in own}, {"fell back"})
        self.assertEqual(found["sample"][0].detail, "aten::sin (no such operator)")
        self.assertEqual(self.outcomes(Imitation("aten::sin"), lambda x: x * 1.01)["sample"], {"differ"})

    def test_an_error_refuses(self):
        def fail(result):
            raise RuntimeError("out of order")
        self.assertEqual(self.outcomes(change=fail)["sample"], {"refused"})


if __name__ == "__main__":
    unittest.main()
