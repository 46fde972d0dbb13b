"""Functions that PyTorch writes in Python, with its arguments in its order: laze.nn.functional, laze.norm and others."""
import math
import unittest
import warnings

import laze
from laze.nn import functional as F


class Near(unittest.TestCase):
    def near(self, found, wanted, places=5):
        found = found.tolist() if isinstance(found, laze.Tensor) else found
        if isinstance(wanted, list):
            self.assertEqual(len(found), len(wanted))
            for one, other in zip(found, wanted):
                self.near(one, other, places)
        else:
            self.assertAlmostEqual(found, wanted, places=places)


class Softmax(Near):
    def test_a_dim_that_is_left_out_is_chosen_with_a_warning(self):
        x = laze.tensor([[0.0, math.log(3)], [0.0, 0.0]])
        with self.assertWarnsRegex(UserWarning, "softmax: .*pass dim="):
            self.near(F.softmax(x), [[0.25, 0.75], [0.5, 0.5]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.near(F.log_softmax(x[0]), [math.log(0.25), math.log(0.75)])
            self.near(F.softmin(x), [[0.75, 0.25], [0.5, 0.5]])
            self.near(F.softmax(laze.zeros(2, 1, 1)), [[[0.5]], [[0.5]]])  # of three dims, the first

    def test_arguments_stand_where_they_do_in_pytorch(self):
        x = laze.zeros(2, 2)
        self.assertEqual(F.softmax(x, 1, 3, laze.float64).dtype, laze.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.near(F.log_softmax(x, dim=-1).exp(), [[0.5, 0.5]] * 2)
        with self.assertRaises(TypeError):
            laze.softmax(x)

    def test_draws(self):
        laze.manual_seed(0)
        logits = laze.tensor([[0.0, 100.0]], requires_grad=True)
        self.near(F.gumbel_softmax(logits), [[0.0, 1.0]])
        hard = F.gumbel_softmax(laze.zeros(64, 3, requires_grad=True), hard=True)
        self.assertEqual(set(hard.detach().reshape(-1).tolist()), {0.0, 1.0})
        self.near(hard.detach().sum(1), [1.0] * 64)
        self.assertTrue(hard.requires_grad)


class Norms(Near):
    def test_batch_norm_without_running_numbers(self):
        x = laze.tensor([[1.0, 10.0], [3.0, 30.0]])
        self.near(F.batch_norm(x, None, None, training=True, eps=0.0), [[-1, -1], [1, 1]])
        weight, bias = laze.tensor([2.0, 3.0]), laze.tensor([0.5, 0.0])
        self.near(F.batch_norm(x, None, None, weight, bias, True, 0.1, 0.0), [[-1.5, -3], [2.5, 3]])

    def test_batch_norm_moves_its_running_numbers_in_training_alone(self):
        x = laze.tensor([[1.0, 10.0], [3.0, 30.0]])
        mean, variance = laze.zeros(2), laze.ones(2)
        F.batch_norm(x, mean, variance, training=True, momentum=0.5)
        self.near(mean, [1.0, 10.0])
        self.near(variance, [1.5, 100.5])  # towards 2 and 200, the unbiased variances
        self.near(F.batch_norm(x, mean, variance, eps=0.0), [[0, 0], [2 / 1.5 ** 0.5, 20 / 100.5 ** 0.5]])
        self.near(mean, [1.0, 10.0])

    def test_what_batch_norm_refuses(self):
        with self.assertRaisesRegex(RuntimeError, "running_mean"):
            F.batch_norm(laze.ones(2, 3), None, None)
        with self.assertRaisesRegex(ValueError, "one value for each channel"):
            F.batch_norm(laze.ones(1, 3), None, None, training=True)

    def test_instance_norm_moves_its_running_numbers(self):
        x = laze.tensor([[[1.0, 3.0]], [[5.0, 9.0]]])
        mean, variance = laze.zeros(1), laze.zeros(1)
        self.near(F.instance_norm(x, mean, variance, momentum=0.5, eps=0.0), [[[-1, 1]], [[-1, 1]]])
        self.near(mean, [2.25])
        self.near(variance, [2.5])

    def test_norm(self):
        x = laze.tensor([[3.0, 4.0], [0.0, 0.0]])
        for found, wanted in ((laze.norm(x), 5), (laze.norm(x, "fro"), 5), (x.norm(p="fro", dim=1), [5, 0]),
                              (x.norm("nuc"), 5), (laze.norm(x, p=1, dim=0), [3, 4]), (x.norm(math.inf), 4),
                              (laze.norm(x, dim=(0, 1), keepdim=True), [[5]]), (x.norm(p=None), 5),
                              (laze.norm(x, dtype=laze.float64), 5)):
            self.near(found, wanted)
        out = laze.zeros(2)
        self.assertIs(laze.norm(x, dim=1, out=out), out)
        with self.assertRaisesRegex(ValueError, "'frob'"):
            x.norm("frob")


class Losses(Near):
    def test_poisson_nll_loss(self):
        x, y = laze.tensor([0.0, 1.0]), laze.tensor([1.0, 2.0])
        self.near(F.poisson_nll_loss(x, y, reduction="none"), [1.0, math.e - 2])
        self.near(F.poisson_nll_loss(x, y), (math.e - 1) / 2)
        self.near(F.poisson_nll_loss(x, y, reduction="sum"), math.e - 1)
        self.near(F.poisson_nll_loss(x + 1, y, False, eps=0.0, reduction="none"), [1.0, 2 - 2 * math.log(2)])
        stirling = 2 * math.log(2) - 2 + 0.5 * math.log(4 * math.pi)
        self.near(F.poisson_nll_loss(x, y, full=True, reduction="none"), [1.0, math.e - 2 + stirling])

    def test_words_of_before(self):
        x, y = laze.tensor([1.0, 3.0]), laze.zeros(2)
        for named, wanted in (({"size_average": False}, 10), ({"reduce": False}, [1, 9]), ({"size_average": True}, 5),
                              ({"reduce": True, "reduction": "none"}, 5)):
            self.near(F.mse_loss(x, y, **named), wanted)

    def test_logsigmoid(self):
        self.near(F.logsigmoid(laze.tensor([0.0])), [-math.log(2)])


class Lookups(Near):
    weight = [[1.0, 2.0], [3.0, 4.0], [6.0, 8.0]]

    def test_embedding_bag(self):
        weight = laze.tensor(self.weight)
        index = laze.tensor([0, 1, 2, 2])
        self.near(F.embedding_bag(index, weight, laze.tensor([0, 2])), [[2, 3], [6, 8]])
        self.near(F.embedding_bag(index.reshape(2, 2), weight, mode="sum"), [[4, 6], [12, 16]])
        self.near(F.embedding_bag(index, weight, laze.tensor([0, 1]), mode="max"), [[1, 2], [6, 8]])
        self.near(F.embedding_bag(index, weight, laze.tensor([0, 2]), mode="sum", padding_idx=-1), [[4, 6], [0, 0]])
        self.near(F.embedding_bag(index, weight, laze.tensor([0, 3, 4]), mode="sum", include_last_offset=True,
                                  per_sample_weights=laze.tensor([1.0, 2.0, 0.0, 1.0])), [[7, 10], [6, 8]])
        for call, text in ((lambda: F.embedding_bag(index, weight), "offsets"),
                           (lambda: F.embedding_bag(index, weight, laze.tensor([0]), mode="min"), "mode")):
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_rows_that_are_too_long_are_shortened_in_the_weight(self):
        weight = laze.tensor(self.weight, requires_grad=True)
        found = F.embedding(laze.tensor([2, 2]), weight, max_norm=5.0)
        self.near(found.detach(), [[3, 4], [3, 4]])
        self.near(weight.detach(), [[1, 2], [3, 4], [3, 4]])
        found.sum().backward()
        self.near(weight.grad, [[0, 0], [0, 0], [2, 2]])
        with self.assertRaises(IndexError):
            F.embedding(laze.tensor([0]), weight, padding_idx=3)


class Windows(Near):
    def test_interpolate_takes_one_number_for_all_dims(self):
        x = laze.tensor([[[[1.0, 2.0]]]])
        for found in (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(2, 4)),
                      F.interpolate(x, scale_factor=(2, 2.0))):
            self.near(found, [[[[1, 1, 2, 2]] * 2]])
        self.assertEqual(F.interpolate(x, 3).shape, (1, 1, 3, 3))
        self.assertEqual(F.interpolate(x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True).shape,
                         (1, 1, 1, 3))

    def test_norms_of_windows(self):
        x = laze.tensor([[[3.0, 4.0, 0.0, 2.0]]])
        self.near(F.lp_pool1d(x, 2, 2), [[[5, 2]]])
        self.near(F.lp_pool2d(x.reshape(1, 1, 2, 2), 2, (2, 1)), [[[[3, 20 ** 0.5]]]])
        self.near(F.lp_pool3d(x.reshape(1, 1, 1, 2, 2), 1.0, (1, 2, 2)), [[[[[9]]]]])


class Switches(Near):
    def test_fold_adds_up_what_unfold_takes_apart(self):
        x = laze.arange(16, dtype=laze.float32).reshape(1, 1, 4, 4)
        columns = F.unfold(x, 2, stride=2)
        self.near(columns, [[[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]])
        self.near(F.fold(columns, 4, (2, 2), stride=2), x.tolist())
        self.near(F.fold(F.unfold(laze.ones(1, 1, 3, 3), 2), (3, 3), 2), [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]])

    def test_a_grid_says_where_elements_come_from(self):
        x = laze.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        turned = laze.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        for corners in (False, True):
            grid = F.affine_grid(turned, (1, 1, 2, 2), corners)
            self.near(F.grid_sample(x, grid, align_corners=corners), [[[[2, 1], [4, 3]]]])
        outside = laze.tensor([[[[-3.0, -3.0]]]])
        self.near(F.grid_sample(x, outside), [[[[0]]]])
        self.near(F.grid_sample(x, outside, "nearest", "border"), [[[[1]]]])
        with self.assertRaisesRegex(ValueError, "mode is 'linear'; expected bilinear, nearest, bicubic"):
            F.grid_sample(x, outside, "linear")
        with self.assertRaisesRegex(ValueError, "padding_mode is 'ones'; expected zeros, border, reflection"):
            F.grid_sample(x, outside, padding_mode="ones")

    def test_unpooling_puts_elements_back(self):
        x, places = laze.tensor([[[5.0, 7.0]]]), laze.tensor([[[1, 2]]])
        self.near(F.max_unpool1d(x, places, 2), [[[0, 5, 7, 0]]])
        self.near(F.max_unpool1d(x, places, 2, output_size=(1, 1, 5)), [[[0, 5, 7, 0, 0]]])
        self.near(F.max_unpool2d(x.unsqueeze(0), laze.tensor([[[[0, 3]]]]), (1, 2)), [[[[5, 0, 0, 7]]]])
        self.near(F.max_unpool3d(x.reshape(1, 1, 1, 1, 2), laze.tensor([[[[[0, 3]]]]]), (1, 1, 2)), [[[[[5, 0, 0, 7]]]]])
        with self.assertRaisesRegex(ValueError, r"output_size is \[7\]; expected \[4\], or numbers"):
            F.max_unpool1d(x, places, 2, output_size=[7])

    def test_names_of_before_for_interpolate(self):
        x = laze.tensor([[[[1.0, 3.0]]]])
        self.near(F.upsample(x, (1, 4)), [[[[1, 1, 3, 3]]]])
        self.near(F.upsample_nearest(x, scale_factor=2), [[[[1, 1, 3, 3]] * 2]])
        self.near(F.upsample_bilinear(x, (1, 3)), [[[[1, 2, 3]]]])

    def test_inplace(self):
        for call in (lambda x: F.relu(x, inplace=True), lambda x: F.relu(x, True), lambda x: F.leaky_relu(x, 0.0, True),
                     lambda x: F.hardtanh(x, 0.0, 9.0, inplace=True), lambda x: F.threshold(x, 0.0, 0.0, True)):
            x = laze.tensor([-1.0, 2.0])
            self.assertIs(call(x), x)
            self.near(x, [0, 2])
        x = laze.tensor([-1.0, 2.0])
        self.assertIsNot(F.relu(x), x)
        self.near(F.leaky_relu(x, 0.5), [-0.5, 2])

    def test_dropout_of_channels(self):
        laze.manual_seed(0)
        for call, shape in ((F.dropout1d, (8, 16, 4)), (F.dropout2d, (8, 16, 2, 2)), (F.dropout3d, (8, 16, 2, 2, 1)),
                            (F.dropout2d, (64, 2, 2))):
            rows = call(laze.ones(shape), 0.5).reshape(-1, 4)
            self.assertEqual({tuple(row) for row in rows.tolist()}, {(0.0,) * 4, (2.0,) * 4})
            x = laze.ones(shape)
            self.assertIs(call(x, 0.5, True, True), x)
            self.assertEqual(set(x.reshape(-1).tolist()), {0.0, 2.0})
            self.assertIs(call(x, 1.0, False, True), x)
        with self.assertRaisesRegex(ValueError, "dropout2d"):
            F.dropout2d(laze.ones(2, 2))
        self.near(F.alpha_dropout(laze.ones(2)), [1, 1])  # whose training is off unless it is said


class Tensordot(Near):
    def test_parts_begin_at_indices_that_a_tensor_holds(self):
        x = laze.arange(6)
        for split in (laze.tensor_split, laze.Tensor.tensor_split):
            parts = split(x, laze.tensor([1, 4]))
            self.assertEqual([part.tolist() for part in parts], [[0], [1, 2, 3], [4, 5]])
        self.assertEqual([part.tolist() for part in x.tensor_split(laze.tensor(2))], [[0, 1, 2], [3, 4, 5]])
        self.assertEqual([part.tolist() for part in x.tensor_split(indices_or_sections=2)], [[0, 1, 2], [3, 4, 5]])
        columns = laze.tensor_split(x.reshape(2, 3), tensor_indices_or_sections=laze.tensor([1]), dim=1)
        self.assertEqual(columns[0].tolist(), [[0], [3]])
        columns[0].zero_()  # a view
        self.assertEqual(x.tolist(), [0, 1, 2, 0, 4, 5])
        with self.assertRaisesRegex(ValueError, "tensor_split: the indices are laze.float32 of 1 dims"):
            x.tensor_split(laze.tensor([1.0]))

    def test_dims(self):
        a, b = laze.arange(6.0).reshape(2, 3), laze.arange(12.0).reshape(3, 4)
        wanted = (a @ b).tolist()
        for dims in (1, [[1], [0]], ([-1], [0]), (1, 0), laze.tensor(1), laze.tensor([[1], [0]])):
            self.near(laze.tensordot(a, b, dims), wanted)
        self.near(laze.tensordot(a, a), 55)
        self.near(laze.tensordot(a, b, dims=0).sum(), 15 * 66)
        out = laze.zeros(2, 4)
        self.assertIs(laze.tensordot(a, b, dims=1, out=out), out)
        for dims in (3, -1, ([0],)):
            with self.assertRaisesRegex(ValueError, "tensordot: dims"):
                laze.tensordot(a, b, dims)


class Parts(Near):
    def test_names_of_a_part_of_pytorch(self):
        import laze.fft
        from laze.linalg import inv
        self.assertIs(laze.fft.rfft, laze.fft_rfft)
        self.assertIs(inv, laze.linalg_inv)
        self.assertIs(laze.special.expit, laze.sigmoid)
        self.assertIs(laze.special.entr, laze.special_entr)
        self.assertIs(laze.special.erf, laze.erf)
        for part in (laze.fft, laze.linalg, laze.special):
            self.assertGreater(len(dir(part)), 15)
            for name in dir(part):
                self.assertIsInstance(getattr(part, name), laze.Operator, name)
            with self.assertRaisesRegex(AttributeError, "'add'"):
                part.add

    def test_lists(self):
        lists = [laze.tensor([1.0, -2.0]), laze.tensor([3.0])]
        for found, wanted in ((laze._foreach_norm(lists), [5 ** 0.5, 3]), (laze._foreach_norm(lists, 1), [3, 3]),
                              (laze._foreach_powsum(lists), [5, 9]), (laze._foreach_powsum(lists, 3), [9, 27]),
                              (laze._foreach_max(lists), [1, 3]), (laze._foreach_clone(lists), [[1, -2], [3]]),
                              (laze._foreach_maximum(lists, [0.0, 4.0]), [[1, 0], [4]]),
                              (laze._foreach_minimum(lists, [0.5, 5.0]), [[0.5, -2], [3]])):
            for one, other in zip(found, wanted):
                self.near(one, other)
        self.assertIsNone(laze._foreach_maximum_(lists, 0.0))
        self.assertEqual([tensor.tolist() for tensor in lists], [[1, 0], [3]])
        left, right = [laze.ones(2, 3)] * 2, [laze.ones(3, 1)] * 2
        self.assertEqual([product.tolist() for product in laze._foreach_mm(left, right)], [[[3], [3]]] * 2)


if __name__ == "__main__":
    unittest.main()
