"""Optimisers, schedules, clipping, initial values and losses under PyTorch's names. The formulas of optimisers are
compared with PyTorch's in tests/conformance/optim_test.c."""
import math
import unittest

import laze
from laze.nn import functional as F
from laze.nn import init, utils
from laze.optim import lr_scheduler


def leaf(values):
    return laze.tensor(values, requires_grad=True)


def descend(optimizer, x):
    loss = (x * x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


CLASSES = [laze.optim.SGD, laze.optim.Adam, laze.optim.AdamW, laze.optim.RMSprop, laze.optim.Adagrad,
           laze.optim.Adadelta, laze.optim.Adamax, laze.optim.NAdam, laze.optim.RAdam, laze.optim.ASGD, laze.optim.Rprop]


class Steps(unittest.TestCase):
    def test_a_loop_as_in_torch(self):
        for kind in CLASSES:
            x = leaf([1.0, -2.0])
            optimizer = kind([x], lr=0.1)
            losses = [descend(optimizer, x).item() for _ in range(20)]
            falls = [after < before for before, after in zip(losses, losses[1:])]
            self.assertTrue(any(falls) if kind is laze.optim.Rprop else all(falls), kind)  # which goes too far, and back
            self.assertLess(losses[-1], losses[0], kind)
            self.assertTrue(x.requires_grad and x.is_leaf)

    def test_sgd_by_hand(self):
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.SGD([x], lr=0.25, momentum=0.5)
        descend(optimizer, x)
        self.assertEqual(x.tolist(), [0.5, -1.0])
        descend(optimizer, x)  # the velocity is 0.5 * 2 + 1
        self.assertEqual(x.tolist(), [0.0, 0.0])

    def test_a_step_outside_of_laze_step_is_computed(self):
        """Or a loop as in PyTorch would record a graph that grows."""
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.AdamW([x])
        descend(optimizer, x)
        laze.reset_metrics()
        for _ in range(10):
            descend(optimizer, x)
        metrics = laze.metrics()
        self.assertEqual(metrics["graphs_run"], 10)
        self.assertLessEqual(metrics["trace_cache_misses"], 1)

    def test_inside_of_laze_step_the_step_ends_it(self):
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.SGD([x], lr=0.1)
        for _ in range(3):
            with laze.step():
                descend(optimizer, x)
        laze.reset_metrics()
        with laze.step():
            descend(optimizer, x)
            self.assertEqual(laze.metrics()["graphs_run"], 0)
        self.assertEqual(laze.metrics()["graphs_run"], 1)

    def test_another_rate_compiles_nothing(self):
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.Adam([x], lr=0.1)
        for _ in range(2):
            descend(optimizer, x)
        laze.reset_metrics()
        for step in range(5):
            optimizer.param_groups[0]["lr"] = 0.1 / (step + 2)
            descend(optimizer, x)
        self.assertEqual(laze.metrics()["trace_cache_misses"], 0)

    def test_groups(self):
        x, y = leaf([1.0]), leaf([1.0])
        optimizer = laze.optim.SGD([{"params": [x]}, {"params": y, "lr": 0.25}], lr=0.5)
        (x + y).sum().backward()
        optimizer.step()
        self.assertEqual((x.item(), y.item()), (0.5, 0.75))
        self.assertIn("lr: 0.25", repr(optimizer))

    def test_a_closure(self):
        x = leaf([3.0])
        optimizer = laze.optim.SGD([x], lr=0.5)

        def closure():
            optimizer.zero_grad()
            loss = (x * x).sum()
            loss.backward()
            return loss
        with laze.no_grad():
            self.assertEqual(optimizer.step(closure).item(), 9.0)
        self.assertEqual(x.item(), 0.0)

    def test_zero_grad(self):
        x = leaf([3.0])
        optimizer = laze.optim.SGD([x])
        (x * x).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        self.assertEqual(x.grad.tolist(), [0.0])
        optimizer.zero_grad()
        self.assertIsNone(x.grad)

    def test_what_is_refused(self):
        x = leaf([3.0])
        for call, text in ((lambda: laze.optim.SGD(x), "list of tensors"), (lambda: laze.optim.SGD([]), "empty"),
                           (lambda: laze.optim.SGD([x, 1]), "parameter 1"),
                           (lambda: laze.optim.SGD([x, x]), "already"),
                           (lambda: laze.optim.SGD([x * 2]), r"no leaf.* detach\(\)"),
                           (lambda: laze.optim.SGD([laze.tensor([1])]), "i64"),
                           (lambda: laze.optim.SGD([x], lr=-1), "lr is -1: expected 0 or more"),
                           (lambda: laze.optim.SGD([x], nesterov=True), "momentum above 0"),
                           (lambda: laze.optim.Adam([x], betas=(0.9, 1.0)), "beta2 is 1")):
            with self.assertRaisesRegex(laze.Error, text):
                call()


class State(unittest.TestCase):
    def test_a_training_goes_on(self):
        for kind in CLASSES:
            x, y = leaf([1.0, -2.0]), leaf([0.0, 0.0])
            first, second = kind([x], lr=0.1), kind([y], lr=0.2)
            for _ in range(3):
                descend(first, x)
            saved, value = first.state_dict(), laze.tensor(x)
            descend(first, x)
            with laze.no_grad():
                y.copy_(value)
            second.load_state_dict(saved)
            self.assertEqual(second.param_groups[0]["lr"], 0.1)
            descend(second, y)
            self.assertEqual(x.tolist(), y.tolist(), kind)

    def test_a_saved_state_stays_as_it_was(self):
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.Adam([x])
        descend(optimizer, x)
        saved = optimizer.state_dict()["state"][0]
        self.assertEqual(sorted(saved), ["exp_avg", "exp_avg_sq", "step"])
        before = saved["exp_avg"].tolist()
        descend(optimizer, x)
        self.assertEqual(saved["exp_avg"].tolist(), before)
        self.assertEqual(optimizer.state[x]["step"].item(), 2)

    def test_what_does_not_fit_changes_nothing(self):
        x = leaf([1.0, -2.0])
        optimizer = laze.optim.Adam([x], lr=0.5)
        good = optimizer.state_dict()
        groups = [{**good["param_groups"][0], "lr": 0.25}]
        for state, text in (({"state": {}, "param_groups": []}, "groups of"),
                            ({"state": {0: {"step": 3}}, "param_groups": groups}, "missing"),
                            ({"state": {0: {"exp_avg": [1.0]}}, "param_groups": groups}, "shape")):
            with self.assertRaisesRegex(laze.Error, text):
                optimizer.load_state_dict(state)
            self.assertEqual(optimizer.param_groups[0]["lr"], 0.5)

    def test_the_generator_goes_on(self):
        laze.manual_seed(3)
        laze.rand(5).evaluate()
        state = laze.get_rng_state()
        wanted = laze.rand(4).tolist()
        laze.manual_seed(4)
        laze.set_rng_state(state)
        self.assertEqual(laze.rand(4).tolist(), wanted)
        with self.assertRaises(TypeError):
            laze.set_rng_state(laze.tensor([1.0]))


class Schedules(unittest.TestCase):
    def rates(self, make, count):
        x = leaf([1.0])
        optimizer = laze.optim.SGD([x], lr=2.0)
        scheduler = make(optimizer)
        found = []
        for _ in range(count):
            found.append(optimizer.param_groups[0]["lr"])
            self.assertEqual(scheduler.get_last_lr(), found[-1:])
            scheduler.step()
        return found

    def expect(self, make, wanted):
        for found, rate in zip(self.rates(make, len(wanted)), wanted):
            self.assertAlmostEqual(found, rate, places=12)

    def test_rates(self):
        self.expect(lambda o: lr_scheduler.StepLR(o, 2, gamma=0.5), [2, 2, 1, 1, 0.5])
        self.expect(lambda o: lr_scheduler.ExponentialLR(o, 0.5), [2, 1, 0.5])
        self.expect(lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)), [2, 1, 2 / 3])
        self.expect(lambda o: lr_scheduler.LinearLR(o, 0.25, total_iters=3), [0.5, 1, 1.5, 2, 2])
        self.expect(lambda o: lr_scheduler.CosineAnnealingLR(o, 4, eta_min=1.0),
                    [1.5 + 0.5 * math.cos(math.pi * epoch / 4) for epoch in range(9)])

    def test_two_at_once_multiply(self):
        def both(optimizer):
            lr_scheduler.LinearLR(optimizer, 0.5, total_iters=1)
            return lr_scheduler.ExponentialLR(optimizer, 0.5)
        self.expect(both, [1, 0.5])

    def test_state(self):
        optimizer = laze.optim.SGD([leaf([1.0])], lr=2.0)
        scheduler = lr_scheduler.StepLR(optimizer, 2)
        scheduler.step()
        other = lr_scheduler.StepLR(optimizer, 5)
        other.load_state_dict(scheduler.state_dict())
        self.assertEqual((other.last_epoch, other.step_size), (1, 2))
        with self.assertRaisesRegex(ValueError, "initial_lr"):
            lr_scheduler.StepLR(laze.optim.SGD([leaf([1.0])]), 2, last_epoch=3)


class Clipping(unittest.TestCase):
    def test_by_norm_and_by_value(self):
        x, y = leaf([0.0, 0.0]), leaf([0.0])
        x.grad, y.grad = laze.tensor([2.0, -4.0]), laze.tensor([4.0])
        self.assertEqual(utils.clip_grad_norm_([x, y], 3.0).item(), 6.0)
        self.assertAlmostEqual(x.grad[1].item(), -2.0, places=5)
        utils.clip_grad_value_([x, y], 0.5)
        self.assertEqual((x.grad.tolist(), y.grad.tolist()), ([0.5, -0.5], [0.5]))

    def test_norms_that_are_none_are_found_before_anything_changes(self):
        x, y = leaf([0.0, 0.0]), leaf([0.0])
        for bad in (math.inf, math.nan):
            x.grad, y.grad = laze.tensor([bad, 1.0]), laze.tensor([4.0])
            for order in (2.0, 1, math.inf):
                with self.assertRaisesRegex(RuntimeError, "the norm of order"):
                    utils.clip_grad_norm_([x, y], 1.0, order, error_if_nonfinite=True)
                self.assertEqual((x.grad[1].item(), y.grad.item()), (1, 4))
        x.grad, y.grad = laze.tensor([2.0, -1.0]), None
        self.assertEqual(utils.clip_grad_norm_([x, y], 1.0, 1, error_if_nonfinite=True).item(), 3)

    def test_norms_of_every_order(self):
        """As PyTorch scales: by max_norm over the norm and 1e-6, where that is below 1."""
        for order, norm in ((1, 7), (2, 5), (3, 91 ** (1 / 3)), (math.inf, 4), (0.5, 7 + 2 * 12 ** 0.5)):
            x, y, z = leaf([0.0]), leaf([0.0]), leaf([0.0])
            x.grad, y.grad = laze.tensor([3.0]), laze.tensor([-4.0])
            self.assertAlmostEqual(utils.get_total_norm([x.grad, y.grad], order).item(), norm, places=5)
            self.assertAlmostEqual(utils.clip_grad_norm_([x, y, z], 2.0, order).item(), norm, places=5)
            self.assertAlmostEqual(x.grad.item(), 3 * 2 / (norm + 1e-6), places=5)
            self.assertIsNone(z.grad)
            utils.clip_grads_with_norm_([x, y, z], 1.0, laze.tensor(2.0))
            self.assertAlmostEqual(y.grad.item(), -4 / (norm + 1e-6), places=5)
            before = x.grad.item()
            utils.clip_grad_norm_([x, y, z], 1e3, order)
            self.assertEqual(x.grad.item(), before)
        self.assertEqual(utils.get_total_norm([]).item(), 0)


class Vectors(unittest.TestCase):
    def test_there_and_back(self):
        x, y = leaf([1.0, 2.0]), leaf([[3.0], [4.0]])
        vector = utils.parameters_to_vector([x, y])
        self.assertEqual(vector.tolist(), [1, 2, 3, 4])
        utils.vector_to_parameters(vector.detach() * 2, [x, y])
        self.assertEqual((x.tolist(), y.tolist()), ([2, 4], [[6], [8]]))
        self.assertTrue(x.is_leaf and y.requires_grad)


class Initial(unittest.TestCase):
    def test_bounds_and_spreads(self):
        laze.manual_seed(1)
        w = laze.zeros(200, 50)
        for function, largest in ((lambda: init.xavier_uniform_(w), math.sqrt(6 / 250)),
                                  (lambda: init.kaiming_uniform_(w, nonlinearity="relu"), math.sqrt(6 / 50)),
                                  (lambda: init.kaiming_uniform_(w, math.sqrt(5)), math.sqrt(1 / 50)),
                                  (lambda: init.uniform_(w, -3, 3), 3)):
            self.assertIs(function(), w)
            self.assertLess(0.98 * largest, w.abs().max().item())
            self.assertLessEqual(w.abs().max().item(), largest)
        for function, spread in ((lambda: init.xavier_normal_(w, 2.0), 2 * math.sqrt(2 / 250)),
                                 (lambda: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
                                 (lambda: init.normal_(w, 5.0, 0.5), 0.5)):
            function()
            self.assertAlmostEqual(w.std().item() / spread, 1, delta=0.05)
        self.assertAlmostEqual(w.mean().item(), 5.0, delta=0.05)

    def test_normal_numbers_between_bounds(self):
        laze.manual_seed(1)
        w = laze.zeros(200, 50)
        self.assertIs(init.trunc_normal_(w), w)
        self.assertLess(1.95, w.abs().max().item())
        self.assertLessEqual(w.abs().max().item(), 2)
        self.assertAlmostEqual(w.std().item(), 0.8796, delta=0.02)  # of the truncated distribution
        init.trunc_normal_(w, 1.0, 2.0, 0.0, 1.5)
        self.assertGreaterEqual(w.min().item(), 0)
        self.assertLessEqual(w.max().item(), 1.5)
        self.assertAlmostEqual(w.mean().item(), 0.757, delta=0.02)

    def test_sparse(self):
        laze.manual_seed(1)
        w = init.sparse_(laze.ones(10, 200), 0.25, std=2.0)
        self.assertEqual(set((w == 0).sum(0).tolist()), {3})
        self.assertAlmostEqual(w[w != 0].std().item(), 2, delta=0.2)

    def test_dirac(self):
        x = laze.arange(24.0).reshape(1, 4, 6)
        self.assertEqual(F.conv1d(x, init.dirac_(laze.ones(4, 4, 3)), padding=1).tolist(), x.tolist())
        grouped = F.conv1d(x, init.dirac_(laze.ones(4, 2, 1), groups=2), groups=2)
        self.assertEqual(grouped.tolist(), x.tolist())
        self.assertEqual(init.dirac_(laze.ones(3, 2, 1, 1)).sum().item(), 2)
        with self.assertRaisesRegex(ValueError, "groups"):
            init.dirac_(laze.ones(3, 2, 1), 2)

    def test_leaves_stay_leaves(self):
        w = leaf([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(init.eye_(w).tolist(), [[1, 0], [0, 1]])
        self.assertEqual((init.ones_(w).sum().item(), init.zeros_(w).sum().item()), (4, 0))
        self.assertTrue(w.is_leaf and w.requires_grad)

    def test_orthogonal(self):
        for shape in ((3, 5), (5, 3), (2, 2, 3)):
            w = init.orthogonal_(laze.zeros(shape), gain=2.0, seed=1, offset=0).reshape(shape[0], -1)
            product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
            self.assertLess((product - 4 * laze.eye(product.shape[0])).abs().max().item(), 1e-5)

    def test_what_is_refused(self):
        for call in (lambda: init.xavier_uniform_(laze.zeros(3)), lambda: init.calculate_gain("tan"),
                     lambda: init.kaiming_normal_(laze.zeros(2, 2), mode="fan"),
                     lambda: init.orthogonal_(laze.zeros(2))):
            with self.assertRaises(ValueError):
                call()


class Losses(unittest.TestCase):
    def test_reductions_are_words(self):
        x, y = laze.tensor([1.0, 2.0]), laze.tensor([3.0, 5.0])
        self.assertEqual(F.mse_loss(x, y).item(), 6.5)
        self.assertEqual(F.mse_loss(x, y, reduction="sum").item(), 13)
        self.assertEqual(F.l1_loss(x, y, reduction="none").tolist(), [2, 3])
        with self.assertRaisesRegex(ValueError, "none, mean or sum"):
            F.mse_loss(x, y, reduction="total")

    def test_those_that_a_training_takes_are_there(self):
        for name in ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
                     "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss", "margin_ranking_loss",
                     "hinge_embedding_loss", "cosine_embedding_loss", "triplet_margin_loss", "soft_margin_loss",
                     "multi_margin_loss", "multilabel_margin_loss", "linear", "conv2d", "layer_norm", "relu", "gelu",
                     "softmax", "log_softmax", "scaled_dot_product_attention", "one_hot", "max_pool2d"):
            self.assertTrue(callable(getattr(F, name)), name)
        with self.assertRaises(AttributeError):
            F.no_such_loss

    def test_arguments_in_the_order_of_torch(self):
        weight = laze.arange(6.0).reshape(3, 2)
        self.assertEqual(F.embedding(laze.tensor([2, 0]), weight).tolist(), [[4, 5], [0, 1]])
        logarithms, target = laze.log(laze.tensor([[0.5, 0.5]])), laze.tensor([[1.0, 0.0]])
        self.assertAlmostEqual(F.kl_div(logarithms, target, "batchmean").item(), math.log(2), places=6)
        self.assertEqual(F.dropout(weight, 0.5, training=False).tolist(), weight.tolist())


if __name__ == "__main__":
    unittest.main()
