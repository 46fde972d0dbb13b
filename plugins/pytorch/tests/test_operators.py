"""Operators of PyTorch's graphs that laze has not by their names, gradients above all: beside eager PyTorch, from laze
alone. What finds out how large its results are, PyTorch runs between programs."""
import itertools
import math
import unittest
import warnings

import torch
from torch.nn import functional as F

import laze_torch
from test_compile import Compiling, compiled


class Operators(Compiling):
    def assert_gradients(self, function, *inputs, tolerance=1e-5):
        """Results, and gradients of all inputs that are floats."""
        torch._dynamo.reset()
        twins = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]  # which lie as these do
        inputs = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        expected, actual = function(*inputs), compiled(function)(*twins)
        self.assert_close(actual, expected, tolerance)
        given = torch.randn_like(expected)
        expected.backward(given)
        actual.backward(given)
        for x, y in zip(inputs, twins):
            if x.grad is not None:
                self.assert_close(y.grad, x.grad, tolerance)
        self.assert_nothing_left()

    def test_resampling(self):
        for axes, modes in ((1, ("nearest", "nearest-exact", "linear")), (2, ("nearest", "bilinear", "bicubic")),
                            (3, ("nearest", "nearest-exact", "trilinear"))):
            x = torch.randn(2, 3, *(4, 5, 6)[:axes])
            for mode in modes:
                corners = (None,) if mode.startswith("nearest") else (False, True)
                for aligned, sizes in itertools.product(corners, ({"size": [7, 3, 9][:axes]}, {"scale_factor": 1.6})):
                    with self.subTest(mode=mode, aligned=aligned, **sizes):
                        self.assert_gradients(lambda x: F.interpolate(x, mode=mode, align_corners=aligned, **sizes), x)

    def test_resampling_without_aliases(self):
        for mode, size in itertools.product(("bilinear", "bicubic"), ([3, 2], [9, 11])):
            with self.subTest(mode=mode, size=size):
                self.assert_gradients(lambda x: F.interpolate(x, size, mode=mode, antialias=True), torch.randn(2, 2, 7, 6))

    def test_padding_by_borders(self):
        for axes, padding in ((1, (2, 1)), (2, (1, 0, 2, 3)), (3, (1, 2, 0, 1, 2, 0)), (2, (-1, 1, 2, -2))):
            with self.subTest(padding):
                self.assert_gradients(lambda x: F.pad(x, padding, mode="replicate"), torch.randn(2, 3, *(4, 5, 6)[:axes]))

    def test_pools_of_three_axes(self):
        x = torch.randn(2, 2, 6, 7, 8)
        for named in ({}, {"stride": 1, "padding": 1}, {"ceil_mode": True, "padding": (1, 0, 1), "stride": (2, 3, 2)},
                      {"count_include_pad": False, "padding": 1}, {"divisor_override": 5}):
            with self.subTest(**named):
                self.assert_gradients(lambda x: F.avg_pool3d(x, (2, 3, 2), **named), x)
        self.assert_gradients(lambda x: F.adaptive_avg_pool3d(x, (4, 7, 3)), x)

    def test_chosen_elements(self):
        for function, axes in ((lambda x: F.max_pool3d(x, 2, 1), 3), (lambda x: F.adaptive_max_pool2d(x, (3, 4)), 2),
                               (lambda x: F.adaptive_max_pool3d(x, (3, 2, 4)), 3)):
            self.assert_gradients(function, torch.randn(2, 3, *(5, 6, 7)[:axes]))

    def test_sums_of_16_bits_are_rounded_once(self):
        x = torch.randn(2, 3, 6, 6).bfloat16()
        self.assert_gradients(lambda x: F.interpolate(x, [3, 11], mode="bilinear"), x, tolerance=1e-2)
        self.assert_gradients(lambda x: F.adaptive_max_pool2d(x, (4, 4)), x, tolerance=1e-2)

    def test_samples_of_a_grid(self):
        for axes in (2, 3):
            x, grid = torch.randn(2, 3, *(5, 4, 6)[:axes]), torch.randn(2, *(4, 3, 2)[:axes], axes)
            modes = ("bilinear", "nearest", "bicubic") if axes == 2 else ("bilinear", "nearest")
            for mode, padding, aligned in itertools.product(modes, ("zeros", "border", "reflection"), (False, True)):
                with self.subTest(axes=axes, mode=mode, padding=padding, aligned=aligned):
                    self.assert_gradients(lambda x, grid: F.grid_sample(x, grid, mode, padding, aligned), x, grid,
                                          tolerance=1e-4)

    def test_segments(self):
        plain, zeros = torch.randn(7, 3), torch.randn(7, 3)
        zeros[4, 1], zeros[5, 1], zeros[1, 0] = 0, 0, 0
        for reduce, initial in itertools.product(("sum", "mean", "max", "min", "prod"), (None, 2.0)):
            for name, values in (("lengths", [2, 0, 4, 1]), ("offsets", [0, 3, 6, 7])):
                if initial is None and name == "lengths" and reduce != "sum":
                    values = [2, 1, 3, 1]  # what a segment without elements has is not a number
                with self.subTest(reduce=reduce, initial=initial, name=name):
                    self.assert_gradients(lambda x, at: torch.segment_reduce(x, reduce, **{name: at}, initial=initial,
                                                                             axis=0),
                                          zeros if reduce == "prod" else plain, torch.tensor(values))

    def test_distances(self):
        x, y = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
        y[0, 1] = x[0, 2]
        for power in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
            with self.subTest(power):
                self.assert_gradients(lambda x, y: torch.cdist(x, y, power), x, y, tolerance=1e-4)
                self.assert_gradients(lambda x: torch.pdist(x, power), torch.cat([x[0], x[0, :1]]), tolerance=1e-4)

    def test_determinants(self):
        """PyTorch's way back takes the factors for those of the transposed matrix, or not, by how the matrix lies."""
        for x in (torch.randn(3, 3), torch.randn(3, 3).t(), torch.randn(2, 4, 4), torch.randn(2, 4, 4).mT):
            for function in (torch.linalg.det, lambda x: torch.linalg.slogdet(x)[1],
                             lambda x: torch.linalg.solve(x, torch.ones(x.shape[-1], 2))):
                self.assert_gradients(function, x, tolerance=1e-4)

    def test_bags_of_rows(self):
        table, indices, offsets = torch.randn(5, 3), torch.tensor([2, 0, 1, 3, 3, 2, 0]), torch.tensor([0, 2, 2, 5])
        for mode, padding in itertools.product(("sum", "mean", "max"), (None, 3)):
            with self.subTest(mode=mode, padding=padding):
                self.assert_gradients(lambda table: F.embedding_bag(indices, table, offsets, mode=mode,
                                                                    padding_idx=padding), table)
        weights = torch.randn(7)
        for padding in (None, 3):
            self.assert_gradients(lambda table, weights: F.embedding_bag(
                indices, table, offsets, mode="sum", per_sample_weights=weights, padding_idx=padding), table, weights)
        self.assert_same(lambda table: F.embedding_bag(indices, table, offsets), table)
        # What is no number is the largest; a run that found no row with it would be refused.
        column, gradients = torch.tensor([[1.0], [math.nan], [3.0]]), []
        for run in (lambda function: function, compiled):
            leaf = column.clone().requires_grad_()
            run(lambda leaf: F.embedding_bag(torch.tensor([1, 0, 2, 0]), leaf, torch.tensor([0, 2]), mode="max"))(
                leaf).sum().backward()
            gradients.append(leaf.grad)
        self.assertEqual(*(gradient.tolist() for gradient in gradients))
        leaf = column.clone().requires_grad_()  # eager PyTorch takes it for the largest where it comes first alone
        compiled(lambda leaf: F.embedding_bag(torch.tensor([0, 1, 2, 0]), leaf, torch.tensor([0, 2]), mode="max"))(
            leaf).sum().backward()
        self.assertEqual(leaf.grad.tolist(), [[0], [1], [1]])
        # By how often a row was taken: eager PyTorch divides by how often another row was.
        twin = table.clone().requires_grad_()
        run = compiled(lambda table: F.embedding_bag(indices, table, offsets, mode="sum", scale_grad_by_freq=True))
        run(twin).sum().backward()
        self.assert_close(twin.grad, torch.tensor([1.0, 1, 1, 1, 0]).unsqueeze(1).expand(5, 3))

    def test_rows_that_may_not_be_long(self):
        indices = torch.tensor([[2, 0], [2, 4]])
        for power in (2.0, 1.0, float("inf")):
            tables = [torch.randn(5, 3) * 3 for _ in range(2)]
            tables[1].copy_(tables[0])
            found = [call(table) for table, call in
                     zip(tables, (lambda table: F.embedding(indices, table, max_norm=1.5, norm_type=power),
                                  compiled(lambda table: F.embedding(indices, table, max_norm=1.5, norm_type=power))))]
            self.assert_close(found[1], found[0], 1e-6)
            self.assert_close(tables[1], tables[0], 1e-6)  # which is written to
        self.assert_nothing_left()

    def test_weights_of_attention_add_up_to_one(self):
        """Where one weight is nearly 1, what is left of its gradient is the difference of numbers that are nearly the
        same."""
        for first in (300.1, 600.3, 1000.7):
            key, found = torch.tensor([first, first - 7]).reshape(1, 1, 2, 1), []
            for dtype, call in ((torch.float64, F.scaled_dot_product_attention),
                                (torch.float32, compiled(F.scaled_dot_product_attention))):
                twin, value = key.to(dtype, copy=True).requires_grad_(), torch.tensor([3, 1], dtype=dtype)
                call(torch.ones(1, 1, 1, 1, dtype=dtype), twin, value.reshape(1, 1, 2, 1)).sum().backward()
                found.append(twin.grad.flatten())
            self.assertLess(((found[1] - found[0]) / found[0]).abs().max(), 1e-3)

    def test_slopes_that_are_drawn(self):
        x = torch.linspace(-2, 2, 40).requires_grad_()
        run = compiled(lambda x: F.rrelu(x, 0.1, 0.4, training=True))
        torch.manual_seed(1)
        drawn = run(x)
        drawn.sum().backward()
        slopes = (drawn / x).detach()
        self.assertTrue(((slopes >= 0.1) & (slopes <= 0.4) | (x > 0) & (slopes == 1)).all())
        self.assertGreater(slopes[:20].std(), 0.02)
        self.assert_close(x.grad, slopes, 1e-6)  # the same slopes on the way back
        torch.manual_seed(1)
        self.assert_close(run(x), drawn, 0)
        self.assert_same(lambda x: F.rrelu(x, 0.1, 0.4), x.detach())
        self.assert_nothing_left()

    def test_parts_that_begin_where_a_tensor_says(self):
        x = torch.randn(4, 6)
        for start in (torch.tensor(1), torch.tensor(-2)):
            self.assert_gradients(lambda x: x.sin().narrow(1, start, 2) * 3, x)
            self.assert_gradients(lambda x: x.T.narrow(0, start, 2).cumsum(0), x)
        with self.assertRaisesRegex(Exception, "4"):
            compiled(lambda x, start: x.narrow(1, start, 3).exp())(x, torch.tensor(4))

    def test_places_between_tensors(self):
        """Ends are integers where the results are, before distances are: 1.7 to 9.9 is 1 to 9."""
        low, high = torch.tensor(1.7), torch.tensor(9.9)
        for dtype, steps in itertools.product((torch.int64, torch.uint8, torch.float32, torch.complex64), (0, 1, 2, 5, 8)):
            with self.subTest(dtype=dtype, steps=steps):
                torch._dynamo.reset()
                self.assert_same(
                    lambda low, high: (torch.linspace(low, high, steps, dtype=dtype),
                                       torch.linspace(low, 9.9, steps, dtype=dtype),
                                       torch.linspace(9.9, low, steps, dtype=dtype)), low, high)
        for size in (3, 4):  # a number of places that is known when it runs
            self.assert_same(lambda x, low: torch.linspace(low, 4, x.shape[0]) * x, torch.randn(size), low)

    def test_others(self):
        x, y, weight = torch.randn(4, 3), torch.randn(4, 5), torch.randn(2, 3, 5)
        self.assert_gradients(lambda x, y, weight: F.bilinear(x, y, weight), x, y, weight)
        self.assert_gradients(lambda x: F.hardshrink(x, 0.4) + F.softshrink(x, 0.3), x)
        self.assert_gradients(lambda x, y: x.masked_scatter(x[:, :1] > 0, y), x, y)
        repeats = torch.tensor([2, 0, 1, 3])
        self.assert_gradients(lambda x: x.repeat_interleave(repeats, 0, output_size=6), x)
        for none in (torch.empty(0, dtype=torch.uint8), torch.empty(2, 0, dtype=torch.int64)):
            self.assert_same(lambda x: x.gather(0, none) + 1, torch.randn(3))

    def test_a_chunked_loss(self):
        from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
        x, layer, bias = torch.randn(6, 4), torch.randn(5, 4), torch.randn(5)
        target, weight = torch.tensor([1, 0, 4, -100, 2, 2]), torch.rand(5)
        for reduction, weighted in itertools.product(("mean", "sum", "none"), (False, True)):
            with self.subTest(reduction=reduction, weighted=weighted), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assert_gradients(
                    lambda x, layer, bias: F.linear_cross_entropy(
                        x, layer, target, linear_bias=bias, weight=weight if weighted else None, reduction=reduction,
                        options=LinearCrossEntropyOptions(batch_chunk_size=2, allow_retain_graph=True)), x, layer, bias)


class Found(Compiling):
    """What is known only once it has run."""

    def assert_left(self, function, names, *inputs):
        laze_torch.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", laze_torch.FallbackWarning)
            for x in inputs:
                self.assert_close(compiled(function)(x), function(x))
        self.assertEqual(set(laze_torch.fallbacks()), names)
        self.assertGreater(laze_torch.programs(), 0)

    def test_results_whose_sizes_are_found(self):
        x = torch.randn(4, 5)
        self.assert_left(lambda x: (x[x > 0] * 2).cumsum(0) + torch.nonzero(x).sum(),
                         {"aten::index.Tensor", "aten::nonzero"}, x, -x)
        self.assert_left(lambda x: sum(torch.masked_select(x, x > limit / 9).sum() for limit in range(10)),
                         {"aten::masked_select"}, x)  # their sizes are u0, u1, ...: u8 is a dtype, too

    def test_gradients_of_results_whose_sizes_are_found(self):
        x = torch.randn(4, 5, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(lambda x: torch.masked_select(x, x > 0).exp().sum())(x).backward()
        self.assert_close(x.grad, torch.where(x > 0, x.exp(), 0))

    def test_checks_stay_pytorchs(self):
        x = torch.randn(3, 3) + 3 * torch.eye(3)
        self.assert_same(lambda x: torch.linalg.inv(x) @ torch.linalg.solve(x, x), x, tolerance=1e-5)
        with self.assertRaisesRegex(Exception, "singular"):
            compiled(torch.linalg.inv)(torch.zeros(3, 3))

    def test_a_dtype_that_laze_has_not(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            half = torch.randn(3).chalf()
            self.assert_close(compiled(lambda x: x.clone())(half).cfloat(), half.cfloat(), 0)


if __name__ == "__main__":
    unittest.main()
