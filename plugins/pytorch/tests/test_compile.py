"""torch.compile(backend="laze") beside eager PyTorch: values, gradients, sizes that change, what is left to PyTorch."""
import copy
import math
import unittest
import warnings

import torch
from torch import nn

import laze
import laze_torch


def compiled(function, **settings):
    return torch.compile(function, backend="laze", fullgraph=True, **settings)


class Compiling(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.left = dict(laze_torch.fallbacks())

    def assert_close(self, actual, expected, tolerance=1e-5):
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        if expected.numel() == 0:
            return
        wide = torch.complex128 if expected.is_complex() else torch.float64
        actual, expected = actual.detach().to(wide), expected.detach().to(wide)
        worst, largest = (actual - expected).abs().max().item(), expected.abs().max().item()
        self.assertLessEqual(worst, tolerance * max(largest, 1e-6))

    def assert_nothing_left(self):
        self.assertEqual(laze_torch.fallbacks(), self.left, "PyTorch ran a part of it")

    def assert_same(self, function, *inputs, tolerance=1e-6, **settings):
        """The function's values, from laze alone."""
        expected, actual = function(*inputs), compiled(function, **settings)(*inputs)
        results = ((made if isinstance(made, tuple) else (made,)) for made in (actual, expected))
        for one, other in zip(*results, strict=True):
            if isinstance(other, torch.Tensor):
                self.assert_close(one, other, tolerance)
            else:
                self.assertEqual(one, other)
        self.assert_nothing_left()
        return actual

    def assert_trains(self, model, make, steps=3, tolerance=2e-5):
        """Gradients beside those in float64, where both start from the same parameters, for a batch of another size in
        each step: neither may be further off than a few roundings."""
        twin, exact = copy.deepcopy(model), copy.deepcopy(model).double()
        run = compiled(twin)
        for step in range(steps):
            x = make(3 + step)
            for one, given in ((run, x), (exact, x.double() if x.is_floating_point() else x)):
                one(given).pow(2).mean().backward()
            largest = max(p.grad.abs().max().item() for p in exact.parameters())
            for (name, p), q in zip(twin.named_parameters(), exact.parameters()):
                worst = (p.grad.double() - q.grad).abs().max().item()
                self.assertLessEqual(worst, tolerance * largest, f"{name} in step {step}")
        self.assert_nothing_left()


class Models(Compiling):
    def test_perceptron(self):
        self.assert_trains(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), lambda n: torch.randn(n, 8))

    def test_activations_and_norms(self):
        self.assert_trains(nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.SiLU(),
                                         nn.Linear(4, 4), nn.Tanh(), nn.LogSoftmax(-1)), lambda n: torch.randn(n, 8))

    def test_convolution(self):
        self.assert_trains(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                         nn.Conv2d(8, 8, 3, groups=2), nn.Flatten(), nn.Linear(32, 4)),
                           lambda n: torch.randn(n, 3, 8, 8))

    def test_transformer(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(11, 16)
                self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
                self.end = nn.Linear(16, 11)

            def forward(self, tokens):
                mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
                return self.end(self.layer(self.words(tokens), src_mask=mask, is_causal=True))
        self.assert_trains(Model(), lambda n: torch.randint(0, 11, (n, 5)))

    def test_running_statistics_are_kept(self):
        model = nn.BatchNorm1d(4)
        twin = copy.deepcopy(model)
        x = torch.randn(6, 4)
        self.assert_close(compiled(twin)(x), model(x))
        self.assert_close(twin.running_mean, model.running_mean)
        self.assert_close(twin.running_var, model.running_var)
        self.assertEqual(twin.num_batches_tracked, 1)

    def test_optimiser_and_loss_follow_eager(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        twin = copy.deepcopy(model)
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        losses = []
        for net in (model, compiled(twin)):
            optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
            losses.append([])
            for _ in range(20):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimiser.step()
                losses[-1].append(loss.item())
        self.assertLess(losses[0][-1], losses[0][0])
        self.assertLess(max(abs(a - b) for a, b in zip(*losses)), 1e-5)


class Attention(Compiling):
    def attend(self, dtype=torch.float32, **named):
        inputs = [torch.randn(2, 2, 5, 8, dtype=dtype, requires_grad=True) for _ in range(3)]
        twins = [x.detach().clone().requires_grad_() for x in inputs]

        def attention(q, k, v):
            return nn.functional.scaled_dot_product_attention(q, k, v, **named)
        expected, actual = attention(*inputs), compiled(attention)(*twins)
        given = torch.randn_like(expected)
        expected.backward(given)
        actual.backward(given)
        tolerance = 1e-5 if dtype is torch.float32 else 2e-2
        self.assert_close(actual, expected, tolerance)
        for x, y in zip(twins, inputs):
            self.assert_close(x.grad, y.grad, tolerance)
        self.assert_nothing_left()

    def test_plain_causal_scaled_and_masked(self):
        for named in ({}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": torch.randn(5, 5)},
                      {"attn_mask": torch.rand(5, 5) > 0.3}):
            with self.subTest(named):
                torch._dynamo.reset()
                self.attend(**named)

    def test_in_16_bits(self):
        self.attend(torch.bfloat16, is_causal=True)

    def test_a_row_that_may_look_at_nothing(self):
        mask = torch.zeros(5, 5)
        mask[2] = -math.inf
        self.attend(attn_mask=mask)


class Sizes(Compiling):
    def test_one_program_serves_batches_of_all_sizes(self):
        model = compiled(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
        kernels = []
        for n in (4, 5, 6, 64, 33):
            model(torch.randn(n, 8)).sum().backward()
            kernels.append(laze.metrics()["kernels_compiled"])
        self.assertEqual(kernels[1:], [kernels[1]] * 4, "another size compiled a kernel")

    def test_numbers_that_follow_from_sizes(self):
        def function(x):
            return x.sum() / x.shape[0] + x.mean() * (x.shape[0] // 2 + 1), x.shape[0] * 2, torch.full((2,), x.shape[0])
        for n in (4, 7):
            self.assert_same(function, torch.randn(n, 3), dynamic=True)

    def test_sizes_that_are_expressions(self):
        for n in (4, 6):
            x = torch.randn(n, 3)
            self.assert_same(lambda x: torch.cat([x, x]).reshape(-1, 2, 3)[1:].flatten(), x, dynamic=True)

    def test_a_size_that_no_tensor_has(self):
        run = compiled(lambda n, x: (torch.arange(n) * 2, x + 1), dynamic=True)
        for n in (5, 9):
            numbers, y = run(n, torch.ones(3))
            self.assertEqual(numbers.tolist(), list(range(0, 2 * n, 2)))
        self.assert_nothing_left()

    def test_what_does_not_hold_of_other_sizes(self):
        """Sizes that were one by chance in the first call are two in the second."""
        run = compiled(lambda x, y: x[: y.shape[0]] + y, dynamic=True)
        for n, m in ((4, 4), (6, 3), (3, 3), (9, 2)):
            x, y = torch.randn(n), torch.randn(m)
            self.assert_close(run(x, y), x[:m] + y)
        self.assert_nothing_left()

    def test_no_elements(self):
        self.assert_same(lambda x: (x + 1, x.sum(), x > 0), torch.empty(0, 3))


class Memory(Compiling):
    def test_results_lie_as_eager_has_them(self):
        x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
        for function in (lambda x: x * 2, lambda x: x.permute(3, 0, 1, 2) + 1, lambda x: (x + 1).transpose(1, 2)):
            torch._dynamo.reset()
            self.assertEqual(self.assert_same(function, x).stride(), function(x).stride())

    def test_inputs_that_do_not_lie_in_one_piece(self):
        self.assert_same(lambda x, y: x @ y, torch.randn(8, 6)[::2, ::3], torch.randn(4, 2).t()[:, ::2])

    def test_inputs_are_left_alone_and_written_where_they_are_changed(self):
        def function(x, y):
            y.add_(x)
            return x * y
        x, y = torch.randn(3), torch.randn(3)
        kept, twin = x.clone(), y.clone()
        expected = function(x, y)
        self.assert_close(compiled(function)(x, twin), expected)
        self.assertTrue(torch.equal(x, kept) and torch.equal(y, twin))

    def test_dtypes(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128):
            torch._dynamo.reset()
            x = (torch.rand(5) * 4).to(dtype)
            self.assert_same(lambda x: (torch.cat([x, x]), x == x, x * 1), x)

    def test_floats_of_integers_have_the_digits_of_the_default_dtype(self):
        def function(x):
            return (x / 3, x.sqrt() * 0.1, x.sigmoid(), torch.linspace(0, 1, 7), torch.full((2,), 0.1), x.pow(-0.5),
                    torch.where(x > 1, 0.1, 0.2), x.float().mean(), torch.softmax(x / 7, 0))
        for default, tolerance in ((torch.float64, 1e-15), (torch.float32, 1e-6)):
            torch._dynamo.reset()
            torch.set_default_dtype(default)
            self.addCleanup(torch.set_default_dtype, torch.float32)
            self.assert_same(function, torch.arange(1, 8), tolerance=tolerance)
            torch._dynamo.reset()
            self.assertEqual(compiled(lambda: torch.rand(3))().dtype, default)
        self.assert_nothing_left()

    def test_constants_and_inputs_as_results(self):
        self.assert_same(lambda x: (x, torch.tensor([1.0, 2.0]) + x, x.detach()), torch.randn(2))

    def test_memory_does_not_grow(self):
        run = compiled(lambda x: (x * 2).relu())
        x = torch.randn(1000)
        run(x)
        before = laze.metrics()["current_bytes"]
        for _ in range(100):
            run(x)
        self.assertEqual(laze.metrics()["current_bytes"], before)


class Drawing(Compiling):
    """Random numbers come from a seed that each run draws from PyTorch's generator."""

    def test_the_way_back_has_the_mask_of_the_way_there(self):
        x = torch.ones(1000, requires_grad=True)
        y = compiled(torch.nn.Dropout(0.25))(x)
        y.sum().backward()
        self.assert_close(x.grad, y, 0)
        self.assertEqual(y.unique().tolist(), [0, torch.tensor(1 / 0.75).item()])
        self.assertLess(abs((y > 0).double().mean().item() - 0.75), 0.06)  # four standard deviations
        self.assert_nothing_left()

    def test_numbers_follow_from_the_seed(self):
        run = compiled(lambda: (torch.rand(100), torch.rand(100), torch.randn(100), torch.randint(9, (100,))))
        torch.manual_seed(5)
        first, second = run(), run()
        torch.manual_seed(5)
        again = run()
        for one, other, same in zip(first, second, again):
            self.assertTrue(torch.equal(one, same))
            self.assertFalse(torch.equal(one, other), "the same numbers in the next run")
        self.assertFalse(torch.equal(first[0], first[1]), "two operators drew the same")
        self.assert_nothing_left()

    def test_distributions(self):
        n = 20000
        x = torch.full((n,), 0.3)
        uniform, normal, whole, order, flips, chosen = compiled(lambda x: (
            torch.rand_like(x), torch.randn_like(x), torch.randint(3, 7, (n,)), torch.randperm(n), torch.bernoulli(x),
            torch.multinomial(x[:3], 3)))(x)
        for values, mean, variance in ((uniform, 0.5, 1 / 12), (normal, 0, 1), (whole, 4.5, 1.25), (flips, 0.3, 0.21)):
            values = values.double()
            self.assertLess(abs(values.mean().item() - mean), 5 * (variance / n) ** 0.5)
            self.assertLess(abs(values.var().item() - variance), 0.05)
        self.assertEqual((whole.min().item(), whole.max().item()), (3, 6))
        self.assertTrue(torch.equal(order.sort().values, torch.arange(n)))
        self.assertEqual(chosen.sort().values.tolist(), [0, 1, 2])
        self.assert_nothing_left()

    def test_dropout_that_is_off_draws_nothing(self):
        model, x = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval(), torch.randn(2, 4)
        before = torch.get_rng_state()
        self.assert_same(model, x)
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_a_checkpoint_draws_again_what_it_drew(self):
        from torch.utils.checkpoint import checkpoint
        drop = nn.Dropout(0.5)
        for options in ({}, {"fallback_random": True}):
            torch._dynamo.reset()
            x = torch.ones(64, requires_grad=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", laze_torch.FallbackWarning)
                y = compiled(lambda x: checkpoint(lambda x: drop(x.sin()).exp(), x, use_reentrant=False),
                             options=options)(x)
                y.sum().backward()
            kept = y != 1
            self.assertTrue(torch.equal(x.grad != 0, kept) and 0 < kept.sum() < 64)
            if not options:
                self.assert_nothing_left()


class Explaining(Compiling):
    def test_a_model(self):
        model, x = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)), torch.randn(3, 4, requires_grad=True)
        state, drawn = copy.deepcopy(model.state_dict()), torch.get_rng_state()
        told = laze_torch.explain(model, x)
        self.assertEqual([graph.kind for graph in told.graphs], ["forward", "backward"])
        for graph in told.graphs:
            self.assertEqual((len(graph.programs), graph.fallbacks, graph.open_sizes), (1, [], {}))
            self.assertGreater(graph.programs[0]["kernels"], 0)
            self.assertRegex(str(told), rf"{graph.kind}: {graph.operators} operators of PyTorch, 1 program of \d+ kernel")
        self.assertIn("mm", told.graphs[0].texts[0])
        self.assertIn("the first other one is traced once more", str(told))
        self.assertTrue(torch.equal(torch.get_rng_state(), drawn), "it drew from the user's generator")
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, state[name]), f"{name} of the user's model changed")
        self.assertTrue(x.grad is None and all(parameter.grad is None for parameter in model.parameters()))

    def test_what_is_left_and_what_breaks(self):
        def function(x, n):
            y = x.sin()
            print(end="")
            return y[torch.randint(2, (n,), generator=None)]
        told = laze_torch.explain(function, torch.randn(3, 2), 4)
        self.assertEqual([name for graph in told.graphs for name, _ in graph.fallbacks], ["aten::randint.generator"])
        self.assertEqual(len(told.graph_breaks), 1)
        self.assertIn("left to PyTorch: aten::randint.generator: laze has no such operator", str(told))
        self.assertIn("graph break: ", str(told))
        self.assertEqual(str(laze_torch.explain(lambda: 3)), "PyTorch found no graph")

    def test_open_sizes(self):
        x = torch.randn(6, 4)
        torch._dynamo.mark_dynamic(x, 0)
        told = laze_torch.explain(lambda x: x.relu(), x)
        self.assertEqual(list(told.graphs[0].open_sizes.values()), [6])
        self.assertEqual(told.graphs[0].programs[0]["output_bytes"], 96)
        self.assertRegex(str(told), r"compiled for any s\d+ \(now 6\)")


class Left(Compiling):
    def test_fallback_random_has_the_numbers_of_eager(self):
        """The way back has the mask of the way there, and both are what eager draws."""
        model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 6))
        twin, x = copy.deepcopy(model), torch.randn(4, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", laze_torch.FallbackWarning)
            torch.manual_seed(7)
            expected = model(x)
            torch.manual_seed(7)
            actual = compiled(twin, options={"fallback_random": True})(x)
            expected.sum().backward()
            actual.sum().backward()
        self.assert_close(actual, expected)
        for p, q in zip(twin.parameters(), model.parameters()):
            self.assert_close(p.grad, q.grad)
        self.assertNotEqual(laze_torch.fallbacks(), self.left)

    def test_what_laze_has_not_is_named_once_counted_and_right(self):
        @torch.library.custom_op("laze_torch_test::thrice", mutates_args=())
        def thrice(x: torch.Tensor) -> torch.Tensor:
            return x * 3

        @thrice.register_fake
        def _(x):
            return torch.empty_like(x)
        x = torch.randn(4)
        with self.assertWarnsRegex(laze_torch.FallbackWarning, "laze_torch_test::thrice"):
            self.assert_close(compiled(lambda x: thrice(x + 1) * 2)(x), (x + 1) * 6)
        torch._dynamo.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("error", laze_torch.FallbackWarning)  # once
            self.assert_close(compiled(lambda x: thrice(x))(x), x * 3)
        self.assertEqual(laze_torch.fallbacks()["laze_torch_test::thrice"], 2)
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "thrice is left to PyTorch"):
            compiled(lambda x: thrice(x), options={"strict": True})(x)

    def test_an_operator_of_a_programs_own_is_no_namesake(self):
        """One called as an operator of laze, and another."""
        @torch.library.custom_op("laze_torch_test::sin", mutates_args=())
        def sin(x: torch.Tensor) -> torch.Tensor:
            return x.cos()
        sin.register_fake(torch.empty_like)
        x = torch.randn(4)
        with self.assertWarnsRegex(laze_torch.FallbackWarning, "laze_torch_test::sin"):
            self.assert_close(compiled(lambda x: sin(x) * 2)(x), x.cos() * 2)

    def test_options_that_there_are_not(self):
        with self.assertRaisesRegex(Exception, "no option speed; options are fallback_random, strict"):
            compiled(lambda x: x + 1, options={"speed": 9})(torch.ones(1))

    def test_an_error_is_an_exception_and_nothing_is_lost(self):
        run, x = compiled(lambda x, i: x[i]), torch.randn(3)
        with self.assertRaisesRegex(Exception, "5"):
            run(x, torch.tensor([5]))
        self.assert_close(run(x, torch.tensor([2])), x[[2]])


if __name__ == "__main__":
    unittest.main()
