"""The graph that is cut in a way there and a way back: what is computed twice is merged, and nothing else is."""
import operator
import subprocess
import sys
import textwrap
import unittest

import torch
from torch.fx.experimental.proxy_tensor import make_fx

import laze_torch  # noqa: F401: PyTorch's part of it is there then
from laze_torch._partition import merge

aten = torch.ops.aten


def merged(function, *inputs, mode="fake"):
    """The targets of the nodes that are left, in their order, of a graph that still gives what the function gives."""
    module = make_fx(function, tracing_mode=mode)(*inputs)
    merge(module.graph)
    module.graph.lint()
    module.recompile()
    if not any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in module.graph.nodes):
        torch.testing.assert_close(module(*inputs), function(*inputs))
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


class Merging(unittest.TestCase):
    def test_what_is_computed_twice(self):
        x = torch.randn(3)
        self.assertEqual(merged(lambda x: aten.sin(x) * 2 + aten.cos(aten.sin(x) * 2), x),
                         [aten.sin.default, aten.mul.Tensor, aten.cos.default, aten.add.Tensor])
        self.assertEqual(merged(lambda x: aten.max.dim(x, 0)[0] + aten.max.dim(x, 0)[0], torch.randn(3, 2)).count(
            aten.max.dim), 1)

    def test_sizes_that_are_computed_twice(self):
        def function(x):
            return x.new_zeros(x.shape[0] * 2) + x.new_zeros(x.shape[0] * 2)
        self.assertEqual(merged(function, torch.randn(5), mode="symbolic").count(operator.mul), 1)

    def test_numbers_that_are_equal_and_not_the_same(self):
        """1 / 0.0 and 1 / -0.0 differ, and a sum of integers times 1.0 is no sum of integers."""
        x = torch.zeros(2, dtype=torch.int64)
        for one, other in ((0.0, -0.0), (1, 1.0), (1, True)):
            self.assertEqual(merged(lambda x: aten.sin(x * one) + aten.sin(x * other), x).count(aten.mul.Tensor), 2,
                             (one, other))

    def test_results_have_memory_of_their_own(self):
        def function(x):
            return aten.exp(x), aten.exp(x)
        self.assertEqual(merged(function, torch.randn(2)), [aten.exp.default] * 2)

    def test_what_draws_or_comes_before_a_write(self):
        self.assertEqual(merged(lambda x: aten.rand_like(x) - aten.rand_like(x), torch.ones(2)).count(
            aten.rand_like.default), 2)

        def writes(x):
            y = x.clone()
            before = aten.sin(y) + 1
            aten.add_.Tensor(y, 1)
            return before + aten.sin(y) + 1
        self.assertEqual(merged(writes, torch.ones(2)).count(aten.sin.default), 2)


class Importing(unittest.TestCase):
    def test_a_model_that_trains_has_no_need_of_inductor(self):
        """What rewrites graphs there takes longer to import than a small model to be compiled."""
        code = """
            import sys, torch, laze_torch
            model = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU()), backend="laze")
            model(torch.randn(2, 3)).sum().backward()
            print(laze_torch.programs(), [name for name in ("lowering", "pattern_matcher")
                                          if f"torch._inductor.{name}" in sys.modules])
        """
        result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                                timeout=300)
        self.assertEqual(result.stdout.split(maxsplit=1), ["2", "[]\n"], result.stderr)


if __name__ == "__main__":
    unittest.main()
