"""Schedules of learning rates beside PyTorch's: schedules.txt has calls, and the rates that those give there."""
import pathlib
import unittest

FOLDER = pathlib.Path(__file__).parent
STEPS = 18
METRICS = [1, .9, .91, .92, .9, .9, .9, .8, .8, .8, .8, .8, .8, .8, .79999, .8, .8, 1]  # for ReduceLROnPlateau


def read_cases(path=FOLDER / "schedules.txt"):
    """Triples of an optimizer, a call, and numbers."""
    cases = []
    for line in path.read_text().splitlines():
        if line.startswith("  "):
            cases[-1][2].extend(float.fromhex(word) for word in line.split())
        elif line and not line.startswith("#"):
            kind, _, call = line.partition(" ")
            cases.append((kind, call, []))
    return cases


class Walk:
    """A schedule of a package, laze or PyTorch, step by step."""

    def __init__(self, package, kind, call):
        leaves = [package.ones(2).requires_grad_() for _ in range(2)]
        groups = [{"params": leaves[:1]}, {"params": leaves[1:], "lr": 0.4}]
        self.optimizer = (package.optim.SGD(groups, lr=0.1, momentum=0.9) if kind == "sgd"
                          else package.optim.Adam(groups, lr=0.1))
        self.kind, self.plateau = kind, "Plateau" in call
        self.make = lambda: eval(call, {**vars(package.optim.lr_scheduler), "optimizer": self.optimizer})
        self.schedule = self.make()

    def now(self):
        first, second = self.optimizer.param_groups
        return [first["lr"], second["lr"], first["momentum"] if self.kind == "sgd" else first["betas"][0]]

    def step(self, step):
        self.schedule.step(*([METRICS[step]] if self.plateau else []))

    def begin_again(self):
        """As a program does that goes on from a checkpoint."""
        state, groups = self.schedule.state_dict(), [dict(group) for group in self.optimizer.param_groups]
        self.schedule = self.make()
        for group, saved in zip(self.optimizer.param_groups, groups):
            group.clear()
            group.update(saved)
        self.schedule.load_state_dict(state)


class Schedules(unittest.TestCase):
    def setUp(self):
        import laze
        self.package = laze

    def compare(self, restarts):
        cases = read_cases()
        self.assertGreaterEqual(len(cases), 25)
        for kind, call, expected in cases:
            with self.subTest(call):
                walk = Walk(self.package, kind, call)
                for step in range(STEPS):
                    for found, wanted in zip(walk.now(), expected[3 * step:3 * step + 3]):
                        self.assertAlmostEqual(found, wanted, delta=1e-14, msg=f"step {step}")
                    self.assertEqual(list(walk.schedule.get_last_lr()), walk.now()[:2])
                    if step == restarts:
                        walk.begin_again()
                    walk.step(step)

    def test_rates_are_those_of_pytorch(self):
        """A rate that is off trains another model, and nobody sees why."""
        self.compare(None)

    def test_a_schedule_goes_on_from_its_state(self):
        self.compare(7)

    def test_a_number_may_be_a_tensor(self):
        walk = Walk(self.package, "sgd", "ReduceLROnPlateau(optimizer, patience=0)")
        for value in (1.0, 2.0):
            walk.schedule.step(self.package.tensor(value))
        self.assertEqual(walk.now()[0], 0.1 * 0.1)

    def test_an_epoch_may_be_named(self):
        for call in ("StepLR(optimizer, 3)", "MultiStepLR(optimizer, [2, 5])", "ConstantLR(optimizer)",
                     "LinearLR(optimizer)", "ExponentialLR(optimizer, 0.5)", "CosineAnnealingLR(optimizer, 9)",
                     "PolynomialLR(optimizer, 9, 2.0)", "LambdaLR(optimizer, lambda e: 1 / (1 + e))",
                     "CosineAnnealingWarmRestarts(optimizer, 3, 2)", "CosineAnnealingWarmRestarts(optimizer, 4)"):
            with self.subTest(call):
                stepped, named = Walk(self.package, "sgd", call), Walk(self.package, "sgd", call)
                for epoch in range(1, 8):
                    stepped.step(epoch)
                named.schedule.step(7)
                self.assertAlmostEqual(named.now()[0], stepped.now()[0], delta=1e-15)

    def test_what_is_refused(self):
        for call, text in (("OneCycleLR(optimizer, 0.1)", "total_steps"), ("CyclicLR(optimizer, 0, 1, mode='a')", "mode"),
                           ("OneCycleLR(optimizer, [0.1], total_steps=2)", "2 groups"),
                           ("OneCycleLR(optimizer, 0.1, total_steps=2, pct_start=2.0)", "pct_start"),
                           ("CosineAnnealingWarmRestarts(optimizer, 0)", "T_0"), ("ConstantLR(optimizer, 2)", "factor"),
                           ("ReduceLROnPlateau(optimizer, factor=1)", "factor"), ("ChainedScheduler([])", "no schedulers"),
                           ("SequentialLR(optimizer, [StepLR(optimizer, 1)], [1])", "milestones")):
            with self.subTest(call), self.assertRaisesRegex(ValueError, text):
                Walk(self.package, "sgd", call)
        walk = Walk(self.package, "sgd", "OneCycleLR(optimizer, 0.1, total_steps=2)")
        walk.step(0)
        walk.step(1)
        with self.assertRaisesRegex(ValueError, "step 3 of 2"):
            walk.step(2)
        with self.assertRaisesRegex(ValueError, "momentum"):
            self.package.optim.lr_scheduler.OneCycleLR(
                self.package.optim.Adagrad([self.package.ones(1).requires_grad_()]), 0.1, total_steps=2)


if __name__ == "__main__":
    unittest.main()
