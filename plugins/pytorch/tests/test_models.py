"""Models compiled by laze beside eager PyTorch: three steps of training, then batches of two other sizes.

LAZE_TEST_LARGE=1 adds those that take ten seconds and more (./dev pytorch --large).
"""
import copy
import os
import unittest
import warnings

import torch

import laze
import laze_torch
import models

BATCHES = (4, 4, 4, 7, 5)
# How much further off than eager a result may be, where both are compared with the same in float64: the limit of
# PyTorch's own tests of compiled models for tensors of few elements, which is 3, and its tolerance.
MULTIPLIER, TOLERANCE = 3, 1e-4


class Side:
    """A model with its optimiser."""

    def __init__(self, model, dtype, run=None):
        self.model, self.run, self.dtype = model, model if run is None else run, dtype
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(self, case, inputs, targets, state, seed):
        """The named tensors that a step from this state gives."""
        self.model.load_state_dict(state)
        self.optimizer.zero_grad()
        torch.manual_seed(seed)  # of dropout
        output = self.run(*(cast(x, self.dtype) for x in inputs))
        loss = case.loss(output, cast(targets, self.dtype))
        loss.backward()
        grads = {f"grad of {name}": p.grad.clone() for name, p in self.model.named_parameters()}
        self.optimizer.step()
        state = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        return {"output": output.detach(), "loss": loss.detach(), **grads, **state}


def cast(tensor, dtype):
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def kernels():
    metrics = laze.metrics()
    return metrics["kernels_compiled"] + metrics["disk_cache_hits"]


class Models(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)

    def assert_as_good(self, found, eager, exact, what):
        """PyTorch's tolerances; where they do not hold, since float32 adds up in another order, an error beside
        float64 that is no larger than a few of eager's own."""
        try:
            torch.testing.assert_close(found, eager)
        except AssertionError:
            if found.dtype is torch.float64:
                raise
            off, allowed = rms(found, exact), rms(eager, exact)
            scale = exact.double().square().mean().sqrt().item()
            self.assertLessEqual(off, MULTIPLIER * allowed + TOLERANCE / 10 * scale,
                                 f"{what}: eager is off by {allowed:.1e} where values are about {scale:.1e}")

    def check(self, name):
        case, compiles, found = models.CASES[name], [], []
        laze_torch.reset()

        def backend(module, inputs, **settings):
            compiles.append(module)
            return laze_torch.backend(module, inputs, **settings)
        model = case.make().to(case.dtype)
        twin = copy.deepcopy(model)
        run = torch.compile(twin, backend=backend, fullgraph=True, options={"fallback_random": bool(case.left)})
        exactly = copy.deepcopy(model).double()
        sides = Side(twin, case.dtype, run), Side(model, case.dtype), Side(exactly, torch.float64)
        for number, n in enumerate(BATCHES):
            inputs, targets = case.inputs(n), case.targets(n)
            # All start from the same: a rounding that switches a ReLU in one of them would decide what comes after it.
            state = {key: cast(tensor, case.dtype).clone() for key, tensor in exactly.state_dict().items()}
            ours, eager, exact = (side.step(case, inputs, targets, state, number) for side in sides)
            for what, tensor in ours.items():
                self.assert_as_good(tensor, eager[what], exact[what], f"{name}, step {number}, {what}")
            found.append((len(compiles), laze_torch.programs(), kernels()))
        self.assertEqual([made[0] for made in found], [1, 1, 1, 2, 2], "one graph more serves batches of all sizes")
        self.assertEqual(found[-1], found[-2], "a third size made a program, or compiled a kernel")
        self.assertEqual(set(laze_torch.fallbacks()), set(case.left), "PyTorch ran a part of it")


def rms(one, other):
    return (one.double() - other.double()).square().mean().sqrt().item()


def add_tests():
    for name, case in models.CASES.items():
        if case.large and not os.environ.get("LAZE_TEST_LARGE"):
            continue
        def test(self, name=name):
            with torch._dynamo.config.patch(allow_rnn=True), warnings.catch_warnings():
                warnings.simplefilter("ignore", laze_torch.FallbackWarning)
                self.check(name)
        setattr(Models, f"test_{name}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
