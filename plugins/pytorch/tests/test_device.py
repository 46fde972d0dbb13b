"""PyTorch's device laze beside the CPU: values, gradients, memory that is shared, what is copied, what is refused."""
import copy
import gc
import io
import pickle
import threading
import unittest
import warnings

import torch
from torch import nn
from torch.nn import functional

import laze
import laze_torch


class Device(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.left = dict(laze_torch.fallbacks())

    def tearDown(self):
        laze_torch.set_strict(False)

    def assert_close(self, actual, expected, tolerance=1e-6):
        self.assertEqual((actual.device.type, actual.dtype, actual.shape), ("laze", expected.dtype, expected.shape))
        if expected.numel() == 0:
            return
        wide = torch.complex128 if expected.is_complex() else torch.float64
        actual, expected = actual.detach().cpu().to(wide), expected.detach().to(wide)
        worst, largest = (actual - expected).abs().max().item(), expected.abs().max().item()
        self.assertLessEqual(worst, tolerance * max(largest, 1e-6))

    def assert_nothing_left(self):
        self.assertEqual(laze_torch.fallbacks(), self.left, "the CPU ran a part of it")

    def assert_same(self, function, *inputs, tolerance=1e-6):
        """The function's tensors, and what it does to its inputs, from laze alone."""
        twins = [x.to("laze") for x in inputs]
        expected, actual = function(*inputs), function(*twins)
        pairs = zip(*[made if isinstance(made, (tuple, list)) else (made,) for made in (actual, expected)], strict=True)
        for one, other in [*pairs, *zip(twins, inputs)]:
            self.assert_close(one, other, tolerance)
        self.assert_nothing_left()

    def losses(self, model, x, y, make_optimiser, steps=5):
        optimiser, losses = make_optimiser(model.parameters()), []
        for _ in range(steps):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses

    def assert_trains_alike(self, model, x, y, make_optimiser, tolerance=1e-6, steps=5):
        twin = copy.deepcopy(model).to("laze")
        expected = self.losses(model, x, y, make_optimiser, steps)
        actual = self.losses(twin, x.to("laze"), y.to("laze"), make_optimiser, steps)
        self.assertLess(expected[-1], expected[0])
        for one, other in zip(actual, expected):
            self.assertLessEqual(abs(one - other), tolerance * abs(other))
        self.assert_nothing_left()


def perceptron():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


class Training(Device):
    def test_perceptron(self):
        self.assert_trains_alike(perceptron(), torch.randn(16, 8), torch.randint(0, 4, (16,)), sgd)

    def test_optimisers_with_and_without_lists(self):
        x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
        for foreach in (False, True, None):
            for make in (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, foreach=foreach),
                         lambda p: torch.optim.Adam(p, lr=0.01, foreach=foreach),
                         lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, amsgrad=True, foreach=foreach),
                         lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True, foreach=foreach),
                         lambda p: torch.optim.Adagrad(p, lr=0.05, foreach=foreach)):
                with self.subTest(foreach=foreach):
                    self.assert_trains_alike(perceptron(), x, y, make, tolerance=5e-6)

    def test_a_loss_that_is_read_in_each_step_keeps_the_trace(self):
        model, x, y = perceptron().to("laze"), torch.randn(16, 8).to("laze"), torch.randint(0, 4, (16,)).to("laze")
        self.losses(model, x, y, lambda p: torch.optim.AdamW(p, lr=0.01), steps=2)
        optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
        before = None
        gc.disable()  # what only the collector frees would be a result of the graphs until it comes
        self.addCleanup(gc.enable)
        for step in range(20):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimiser.step()
            loss.item()
            now = [laze.metrics()[name] for name in ("kernels_compiled", "trace_cache_misses", "current_bytes")]
            if step >= 2:
                self.assertEqual(now, before, f"step {step} was compiled anew")
            before = now
        self.assert_nothing_left()

    def test_steps_without_a_read(self):
        """Parameters are computed by step(), of which each has the same graph."""
        model = perceptron()
        twin, x, y = copy.deepcopy(model).to("laze"), torch.randn(16, 8), torch.randint(0, 4, (16,))
        for net, inputs, targets in ((model, x, y), (twin, x.to("laze"), y.to("laze"))):
            optimiser = sgd(net.parameters())
            for step in range(6):
                optimiser.zero_grad()
                functional.cross_entropy(net(inputs), targets).backward()
                optimiser.step()
                laze_torch.step()
                if net is twin and step == 2:
                    misses = laze.metrics()["trace_cache_misses"]
        self.assertEqual(laze.metrics()["trace_cache_misses"], misses)
        for p, q in zip(twin.parameters(), model.parameters()):
            self.assert_close(p, q, 1e-5)

    def test_a_budget_bounds_what_is_pending(self):
        laze_torch.set_budget(nodes=50)
        try:
            before, x = laze.metrics()["budget_cuts"], torch.ones(3, device="laze")
            for _ in range(200):
                x = x + 1
            self.assertGreater(laze.metrics()["budget_cuts"], before)
            self.assertEqual(x.tolist(), [201.0] * 3)
        finally:
            laze_torch.set_budget()


class Models(Device):
    def assert_gradients(self, model, x, tolerance=2e-5):
        """Beside those in float64: neither the CPU nor laze may be further off than a few roundings."""
        twin, exact = copy.deepcopy(model).to("laze"), copy.deepcopy(model).double()
        for _ in range(2):  # the second pass adds to what the first one gave
            twin(x.to("laze")).pow(2).mean().backward()
            exact(x.double() if x.is_floating_point() else x).pow(2).mean().backward()
        largest = max(p.grad.abs().max().item() for p in exact.parameters())
        for (name, p), q in zip(twin.named_parameters(), exact.parameters()):
            worst = (p.grad.cpu().double() - q.grad).abs().max().item()
            self.assertLessEqual(worst, tolerance * largest, name)
        for one, other in zip(twin.buffers(), exact.buffers()):
            self.assertLess((one.cpu().double() - other.double()).abs().max().item(), 1e-4)
        self.assert_nothing_left()

    def test_convolutions(self):
        class Block(nn.Module):
            def __init__(self, into, out, stride):
                super().__init__()
                self.first = nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out),
                                           nn.ReLU(inplace=True))
                self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, groups=2), nn.BatchNorm2d(out))
                self.around = nn.Conv2d(into, out, 1, stride)

            def forward(self, x):
                y = self.second(self.first(x))
                y += self.around(x)
                return functional.relu(y, inplace=True)
        self.assert_gradients(nn.Sequential(nn.Conv2d(3, 8, 5, 2, 2), nn.MaxPool2d(3, 2, 1), Block(8, 8, 1),
                                            Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)),
                              torch.randn(4, 3, 24, 24))

    def test_a_net_that_goes_down_and_up(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.SiLU())
                self.middle = nn.Conv2d(8, 8, 3, padding=1)
                self.up = nn.ConvTranspose2d(8, 8, 2, 2)
                self.end = nn.Conv2d(16, 2, 1)

            def forward(self, x):
                a = self.down(x)
                b = self.up(functional.gelu(self.middle(functional.avg_pool2d(a, 2))))
                c = functional.interpolate(functional.max_pool2d(a, 2), scale_factor=2, mode="bilinear")
                return self.end(torch.cat([b, c], 1))
        self.assert_gradients(Net(), torch.randn(2, 3, 16, 16))

    def test_transformer(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.places = nn.Embedding(11, 16), nn.Embedding(9, 16)
                self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
                self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
                self.end = nn.Linear(16, 11)

            def forward(self, tokens):
                b, t = tokens.shape
                x = self.words(tokens) + self.places(torch.arange(t, device=tokens.device))
                q, k, v = (part.view(b, t, 2, 8).transpose(1, 2) for part in self.qkv(self.norm(x)).split(16, 2))
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(y.transpose(1, 2).contiguous().view(b, t, 16))
                return self.end(self.layer(x)).softmax(-1)
        self.assert_gradients(Net(), torch.randint(0, 11, (3, 7)))

    def test_an_encoder_in_inference(self):
        """PyTorch calls each layer as one operator then, and makes nested tensors of what is padded."""
        padded = torch.tensor([[False] * 3 + [True] * 2, [False] * 5])
        ahead = torch.ones(5, 5, dtype=torch.bool).triu(1)
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first, activation=activation)
            encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
            twin = copy.deepcopy(encoder).to("laze")

            def function(x, padded, ahead):
                chosen = encoder if x.device.type == "cpu" else twin
                kept = padded.logical_not().unsqueeze(-1)  # nested tensors have nothing behind it
                with torch.no_grad():
                    return (chosen(x), chosen(x, src_key_padding_mask=padded) * kept, chosen(x, mask=ahead),
                            chosen(x, mask=ahead, src_key_padding_mask=padded) * kept)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch says that nested tensors may change
                self.assert_same(function, torch.randn(2, 5, 16), padded, ahead, tolerance=1e-5)

    def test_recurrent(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.words, self.cells = nn.Embedding(11, 8), kind(8, 12, num_layers=2, batch_first=True)
                    self.end = nn.Linear(12, 5)

                def forward(self, tokens):
                    return self.end(self.cells(self.words(tokens))[0][:, -1])
            with self.subTest(kind.__name__):
                self.assert_gradients(Net(), torch.randint(0, 11, (3, 6)))

    def test_losses(self):
        x, target = torch.randn(6, 5, requires_grad=True), torch.tensor([0, 4, 2, 2, 1, 3])
        weight = torch.rand(5) + 0.5
        image, labels = torch.randn(2, 3, 4, 4, requires_grad=True), torch.randint(0, 3, (2, 4, 4))
        cases = [lambda x, y, w, i, k, how=how: functional.cross_entropy(x, y, reduction=how) for how in
                 ("none", "sum", "mean")]
        cases += [lambda x, y, w, i, k: functional.cross_entropy(x, y, w, ignore_index=2),
                  lambda x, y, w, i, k: functional.cross_entropy(x, y, w, label_smoothing=0.1),
                  lambda x, y, w, i, k: functional.cross_entropy(x, y, w, reduction="sum"),
                  lambda x, y, w, i, k: functional.cross_entropy(i, k, w[:3], ignore_index=1),
                  lambda x, y, w, i, k: functional.cross_entropy(i, k, reduction="none"),
                  lambda x, y, w, i, k: functional.nll_loss(x[0], y[0]),
                  lambda x, y, w, i, k: functional.mse_loss(x, x.detach() + 1),
                  lambda x, y, w, i, k: functional.threshold(x, 0.3, 2.0),
                  lambda x, y, w, i, k: functional.binary_cross_entropy_with_logits(x, (x > 0).float()),
                  lambda x, y, w, i, k: functional.smooth_l1_loss(x, x.detach() * 0), lambda x, y, w, i, k:
                  functional.kl_div(x.log_softmax(-1), x.detach().roll(1).softmax(-1), reduction="batchmean")]
        for number, case in enumerate(cases):
            with self.subTest(number):
                def function(x, y, w, i, k):
                    x, i = x.detach().requires_grad_(), i.detach().requires_grad_()
                    loss = case(x, y, w, i, k)
                    loss.sum().backward()
                    return loss.detach(), (x if x.grad is not None else i).grad
                self.assert_same(function, x.detach(), target, weight, image.detach(), labels, tolerance=2e-6)


    def test_gradients_that_pytorch_has_in_one_piece(self):
        """In 16 bits they are rounded once: rounded in each step, some elements would be off by percents."""
        for function in (functional.silu, functional.mish):
            def slope(x):
                leaf = x.detach().requires_grad_()
                return torch.autograd.grad(function(leaf).sum(), leaf)
            for dtype, tolerance in ((torch.bfloat16, 4e-3), (torch.float64, 1e-15)):
                self.assert_same(slope, torch.linspace(-6, 6, 101, dtype=dtype), tolerance=tolerance)
        for power in (0.0, 1.0, 2.0, 3.0, float("inf")):
            def distances(x):
                leaf = x.detach().requires_grad_()
                made = functional.pdist(leaf, power)
                return torch.autograd.grad((made * made.detach()).sum(), leaf)
            self.assert_same(distances, torch.randn(5, 3), tolerance=1e-5)

    def test_margins_between_classes(self):
        """Rows of targets end at different places."""
        targets = torch.tensor([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 0, 0, 0]])
        weight = torch.rand(4)

        def function(x, targets, target, weight):
            found = []
            for reduction in ("mean", "sum", "none"):
                for margins in (lambda x: functional.multilabel_margin_loss(x, targets, reduction=reduction),
                                lambda x: functional.multilabel_margin_loss(x[0], targets[0], reduction=reduction),
                                lambda x: functional.multi_margin_loss(x, target, 2, 0.7, weight, reduction=reduction),
                                lambda x: functional.multi_margin_loss(x[1], target[1], reduction=reduction)):
                    leaf = x.detach().requires_grad_()
                    loss = margins(leaf)
                    found += [loss.detach(), *torch.autograd.grad(loss.square().sum() + loss.sum(), leaf)]
            return found
        self.assert_same(function, torch.randn(3, 4), targets, torch.tensor([1, 0, 3]), weight)


class Autograd(Device):
    def test_zeros_that_are_never_made_and_places_of_maxima(self):
        """What PyTorch knows no form of, or makes on the device itself."""
        def function(x, samples):
            leaf = x.detach().requires_grad_()
            pooled = functional.fractional_max_pool3d(leaf, 2, output_size=2, _random_samples=samples)
            return torch.autograd.grad(pooled.square().sum() + leaf.sgn().sum(), leaf)
        self.assert_same(function, torch.randn(2, 3, 5, 5, 5), torch.rand(2, 3, 3))

    def test_saved_results_and_views(self):
        def function(x):
            y = x.sigmoid() * x[1:].t().reshape(-1).exp().sum()
            return torch.autograd.grad(y.square().sum() + x.expand(2, 3, 4).sum(), x)
        self.assert_same(lambda x: function(x.detach().requires_grad_()), torch.randn(3, 4), tolerance=1e-5)

    def test_in_place(self):
        def function(x):
            x = x.detach().requires_grad_()
            y = x * 2
            y[0].mul_(x[1])
            y.t()[2].add_(y[1, 1])
            y.sum().backward()
            return x.grad
        self.assert_same(function, torch.randn(3, 4))

    def test_a_change_of_what_is_saved_is_pytorchs_error(self):
        x = torch.randn(3, device="laze").requires_grad_()
        y = x.exp()
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_second_derivatives(self):
        def function(x):
            x = x.detach().requires_grad_()
            first, = torch.autograd.grad(x.tanh().pow(3).sum(), x, create_graph=True)
            return torch.autograd.grad(first.square().sum(), x)
        self.assert_same(function, torch.randn(3, 4), tolerance=1e-5)

    def test_a_deep_chain(self):
        """The way back through thousands of nodes recurses nowhere."""
        x = torch.ones(2, device="laze").requires_grad_()
        y = x
        for _ in range(5000):
            y = y * 1.0001
        y.sum().backward()
        self.assertAlmostEqual(x.grad[0].item(), 1.0001 ** 5000, places=3)

    def test_backward_on_a_thread_of_its_own(self):
        """It is on the caller's, unless PyTorch is told to; what is recorded on another is computed with the rest."""
        for several in (False, True):
            threads = []
            x = torch.ones(3, device="laze").requires_grad_()
            y = x * 3
            y.register_hook(lambda gradient: threads.append(threading.get_ident()))
            with torch.autograd.set_multithreading_enabled(several):
                y.sum().backward()
            self.assertEqual(threads != [threading.get_ident()], several)
            self.assertEqual(x.grad.tolist(), [3.0] * 3)

    def test_hooks_of_tensors_and_modules(self):
        model, seen = perceptron().to("laze"), []
        model[0].register_forward_hook(lambda module, inputs, output: output * 2)
        model[2].register_full_backward_hook(lambda module, gradients, outputs: seen.append(gradients[0].device.type))
        model[0].weight.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", None))
        model(torch.randn(5, 8, device="laze")).sum().backward()
        self.assertEqual(seen, ["laze"])
        self.assertEqual([p.grad is None for p in model.parameters()], [True, False, False, False])

    def test_an_exception_in_a_hook_is_the_users(self):
        x = torch.ones(3, device="laze").requires_grad_()
        y = x * 2

        def hook(gradient):
            raise ValueError("of the hook")
        y.register_hook(hook)
        for several in (False, True):
            with torch.autograd.set_multithreading_enabled(several):
                with self.assertRaisesRegex(ValueError, "of the hook"):
                    y.sum().backward()
        self.assertEqual(y.tolist(), [2.0] * 3)

    def test_checkpoint(self):
        from torch.utils.checkpoint import checkpoint
        model = perceptron()

        def function(x):
            x = x.detach().requires_grad_()
            net = copy.deepcopy(model).to(x.device)
            checkpoint(net, x, use_reentrant=False).square().sum().backward()
            return x.grad
        self.assert_same(function, torch.randn(5, 8), tolerance=1e-5)

    def test_vmap_and_transforms_of_functions(self):
        self.assert_same(lambda x: torch.vmap(lambda row: row * row.sum())(x), torch.randn(3, 4))
        self.assert_same(lambda x: torch.func.grad(lambda y: (y * y).sum())(x), torch.randn(3, 4))


class Memory(Device):
    def test_views_share_memory(self):
        def function(x):
            x = x.clone()
            y, z = x.view(4, 3), x.t()
            x.add_(1)
            y[0] = 5
            z[1] += 2
            x[:, ::3].mul_(2)
            y.diagonal().zero_()
            x.unfold(1, 2, 2)[1].add_(1)
            w = x.unsqueeze(0).expand(2, 3, 4)
            return x, y, z, w, x[1:, 1:3].flatten(), x.as_strided((2, 2), (5, 2), 1)
        self.assert_same(function, torch.arange(12.0).view(3, 4))

    def test_a_view_of_odd_steps(self):
        def function(x):
            x = x.clone()
            x[::2, ::2] = 0
            x.view(-1)[1::4].add_(7)
            return x, x[1::3].sum(), x.t()[::2, 1:].sum(0)
        self.assert_same(function, torch.arange(35.0).view(5, 7))

    def test_other_names_for_one_memory(self):
        x = torch.arange(4.0, device="laze")
        parameter = nn.Parameter(x)
        with torch.no_grad():
            parameter.data[1] = 9
        self.assertEqual(x.tolist(), [0, 9, 2, 3])
        self.assertEqual(x.detach().untyped_storage().data_ptr(), x.untyped_storage().data_ptr())
        parameter.data = torch.ones(2, 2, device="laze").t()
        self.assertEqual((parameter + 1).tolist(), [[2, 2], [2, 2]])

    def test_strides_are_pytorchs(self):
        x = torch.randn(3, 4, device="laze")
        self.assertEqual((x.t().stride(), x.t().is_contiguous(), x[:, 1].stride()), ((1, 4), False, (4,)))
        self.assertEqual(x.expand(2, 3, 4).stride(), (0, 4, 1))

    def test_the_same_bytes_as_another_dtype(self):
        self.assert_same(lambda x: (x.view(torch.int32) + 1, x * 2), torch.randn(3, 4))
        self.assert_same(lambda x: torch.view_as_complex(x).abs(), torch.randn(3, 2))

    def test_elements_that_are_read_as_conjugates_and_negatives(self):
        def function(x):
            y, z = x.clone().conj(), x.clone()
            y.mul_(2)
            y[0] = 3j
            y.imag.add_(1)
            z.conj().imag.copy_(z.real)
            return (x.conj() @ x.t(), x.conj().imag + 1, y.resolve_conj(), z, x.conj().to(torch.complex128),
                    torch.fft.ifft(x).conj().real)
        self.assert_same(function, torch.randn(3, 4, dtype=torch.complex64))

    def test_a_list_of_one(self):
        self.assert_same(lambda x: torch.unsafe_split(x, 3) + torch.split(x, 4), torch.randn(3, 4))

    def test_copies_are_none_of_the_others(self):
        def function(x):
            y, z = x.clone(), x.reshape(-1).contiguous()
            w = torch.cat([x[:1], x[1:]]) if x.shape[0] > 1 else x
            y.add_(1)
            w.add_(2)
            return x + 0, y, z, w, x.to(torch.float64), x.repeat(2, 1), functional.dropout(x, 0.0).add_(1)
        self.assert_same(function, torch.randn(3, 4))

    def test_overloads_in_place(self):
        def function(x):
            x = x.abs()
            x.pow_(2).pow_(x).clamp_(min=0.1).div_(3, rounding_mode="floor").add_(x, alpha=2)
            return x, x.clone().fmod_(0.3), x.clone().lerp_(x * 2, 0.5), x.clone().masked_fill_(x > 1, 7)
        self.assert_same(function, torch.rand(3, 4))

    def test_out_takes_the_shape_of_results(self):
        def function(x):
            out, empty = torch.zeros(3, 4, device=x.device), torch.empty(0, device=x.device)
            torch.add(x, x, out=out[1])
            torch.mul(x, x, out=empty)
            values = torch.empty(1, device=x.device).resize_(0)
            indices = torch.empty(0, dtype=torch.int64, device=x.device)
            torch.max(x.view(2, 2), 1, out=(values, indices))
            return out, empty, values, indices
        self.assert_same(function, torch.randn(4))

    def test_sizes_change(self):
        x = torch.arange(6.0, device="laze")
        self.assertEqual(x.resize_(2, 2).tolist(), [[0, 1], [2, 3]])
        self.assertEqual(x.resize_(9)[:6].tolist(), [0, 1, 2, 3, 0, 0][:4] + x[4:6].tolist())

    def test_linear_algebra(self):
        def function(x):
            square = x @ x.mT
            return (torch.linalg.svd(x)[1], torch.linalg.eigh(square)[0], torch.linalg.solve(square, x),
                    torch.linalg.solve_ex(square, x.mT, left=False)[0], torch.linalg.det(square),
                    *torch.linalg.slogdet(square), torch.linalg.eigvals(square).real.sort()[0])
        self.assert_same(function, torch.randn(2, 3, 5), tolerance=1e-5)

    def test_gradients_of_linear_algebra(self):
        def function(x):
            x = x.detach().requires_grad_()
            square = x[..., :3] + 3 * torch.eye(3, device=x.device)  # of a symmetric one, a transposed way is right, too
            total = torch.linalg.svd(x)[1].sum() + torch.linalg.solve(square, x).square().sum()
            total = total + torch.linalg.slogdet(square)[1].sum() + torch.linalg.inv(square).sin().sum()
            return torch.autograd.grad(total + torch.linalg.eigvals(square).abs().sum(), x)
        self.assert_same(function, torch.randn(2, 3, 5), tolerance=1e-4)

    def test_batch_norms_by_their_own_names(self):
        """Each writes to the statistics."""
        def function(x):
            kept = [torch.full((3,), float(i), device=x.device) for i in range(4)]
            first = torch.ops.aten._native_batch_norm_legit(x, None, None, *kept[:2], True, 0.1, 1e-5)
            second = torch.ops.aten._batch_norm_with_update(x, None, None, *kept[2:], 0.1, 1e-5)
            return *first, *second[:3], *kept
        self.assert_same(function, torch.randn(4, 3, 5), tolerance=1e-5)

    def test_operators_by_other_names(self):
        self.assert_same(lambda x: (x << 2, x >> 1, x << x, x >> x), torch.arange(6).view(2, 3))

    def test_places_that_are_repeated(self):
        repeats = torch.tensor([2, 0, 3])
        self.assert_same(lambda x: (torch.repeat_interleave(x), torch.repeat_interleave(x, output_size=5),
                                    x.repeat_interleave(x, 0)), repeats)
        self.assertIs(torch.repeat_interleave(repeats.to("laze", torch.int32)).dtype, torch.int32)
        for wrong, named in (([2, -1], {}), ([[1]], {}), ([1.0], {}), ([2, 1], {"output_size": 5})):
            with self.subTest(wrong), self.assertRaisesRegex(RuntimeError, "repeat"):
                torch.repeat_interleave(torch.tensor(wrong, device="laze"), **named)

    def test_gradients_of_indices(self):
        def function(x):
            x = x.detach().requires_grad_()
            index = torch.tensor([2, 0, 2], device=x.device)
            mask = torch.tensor([True, False, True], device=x.device)
            chosen = (x[None, index] * 2).sum() + x[:, None, index[:1]].sin().sum() + x[mask].cos().sum()
            return torch.autograd.grad(chosen + x[None, mask, None].exp().sum() + x[x > 0].sum(), x)
        self.assert_same(function, torch.randn(3, 4))

    def test_gradients_of_no_distances(self):
        def function(x):
            x, none = x.detach().requires_grad_(), torch.zeros(0, 2, 3, device=x.device, requires_grad=True)
            return torch.autograd.grad(torch.cdist(x, none).sum(), (x, none))
        self.assert_same(function, torch.randn(1, 4, 3))

    def test_elements_that_are_found_and_put(self):
        def function(x):
            put = torch.ops.aten._index_put_impl_(x.clone(), [torch.tensor([0, 2], device=x.device)], x[:2], True)
            return put, *torch.ops.aten._unique((x * 2).to(torch.int64), True, True)
        self.assert_same(function, torch.randn(3, 4))

    def test_no_elements(self):
        self.assert_same(lambda x: (x.sum(), x + 1, torch.cat([x, x]), x.t()), torch.empty(0, 3))


class Copies(Device):
    def test_to_and_from(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int8,
                      torch.uint8, torch.bool, torch.complex64):
            x = (torch.randn(3, 4) * 3).to(dtype)
            for moved in (x.to("laze"), x.laze(), torch.zeros(3, 4, dtype=dtype, device="laze").copy_(x)):
                self.assertEqual((moved.device, moved.dtype, moved.is_laze), (torch.device("laze:0"), dtype, True))
                self.assertTrue(torch.equal(moved.cpu(), x))
        self.assertTrue(torch.equal(torch.randn(4, 3).t().to("laze").t().cpu().t(), x) is False)

    def test_a_copy_does_not_follow_its_source(self):
        x = torch.ones(3)
        y = x.to("laze")
        x.add_(1)
        self.assertEqual(y.tolist(), [1.0] * 3)
        z = y.cpu()
        y.add_(5)
        self.assertEqual(z.tolist(), [1.0] * 3)

    def test_factories(self):
        for make in (lambda d: torch.ones(2, 3, device=d), lambda d: torch.full((2,), 7, device=d),
                     lambda d: torch.arange(1, 9, 3, device=d), lambda d: torch.arange(0.5, 3, device=d),
                     lambda d: torch.eye(2, 3, device=d), lambda d: torch.linspace(0, 1, 5, device=d),
                     lambda d: torch.tensor([[1, 2], [3, 4]], device=d), lambda d: torch.zeros(3, device=d).new_ones(2),
                     lambda d: torch.zeros(2, dtype=torch.bfloat16, device=d),
                     lambda d: torch.tril_indices(3, 3, device=d),
                     lambda d: torch.ones_like(torch.zeros(2, device=d), dtype=torch.int8)):
            self.assert_close(make("laze"), make("cpu"))
        with torch.device("laze"):
            self.assertEqual(torch.zeros(2).device.type, "laze")
        self.assert_nothing_left()

    def test_factories_of_other_dtypes_and_devices(self):
        x = torch.ones(2, 3, device="laze")
        self.assertEqual([torch.zeros_like(x, device="cpu").device.type, torch.zeros(2, device="laze:0").device.type,
                          torch.full_like(x, 2, device="cpu", dtype=torch.int64).tolist()], ["cpu", "laze", [[2] * 3] * 2])
        for make in (lambda **named: torch.arange(5, **named), lambda **named: torch.arange(0, 1, 0.25, **named),
                     lambda **named: torch.full((2,), True, **named), lambda **named: torch.eye(2, **named),
                     lambda **named: torch.linspace(0, 1, 3, **named), lambda **named: torch.zeros(2, **named),
                     lambda **named: torch.empty(0, 3, **named), lambda **named: torch.full((2,), 1j, **named)):
            for default in (torch.float32, torch.float64):
                torch.set_default_dtype(default)
                self.addCleanup(torch.set_default_dtype, torch.float32)
                self.assert_close(make(device="laze"), make())
        self.assert_nothing_left()

    def test_an_index_without_elements_may_be_of_any_kind(self):
        for none in (torch.empty(0, dtype=torch.uint8), torch.empty(2, 0, dtype=torch.int64)):
            self.assert_same(lambda x, none: x.gather(0, none) + 1, torch.randn(3), none)
        with self.assertRaisesRegex(Exception, "index"):
            torch.randn(3, device="laze").gather(0, torch.tensor([3], device="laze")).cpu()

    def test_floats_of_integers_have_the_digits_of_the_default_dtype(self):
        def calls(x):
            return (x / 3, x.sqrt(), 0.1 * x, (x > 1) * 0.1, x.float().mean(), x.to(torch.float32), x.sigmoid(),
                    *torch.std_mean(x / 7), x.sum() / 3,
                    torch.div(x, 3, out=torch.empty(3, dtype=torch.float64, device=x.device)),
                    functional.silu(x / 3), functional.huber_loss(x / 3, x / 7))
        for default in (torch.float64, torch.float32, torch.bfloat16):
            torch.set_default_dtype(default)
            self.addCleanup(torch.set_default_dtype, torch.float32)
            for one, other in zip(calls(torch.arange(3, device="laze")), calls(torch.arange(3)), strict=True):
                self.assert_close(one, other, 1e-15 if default == torch.float64 else 2e-2)
        self.assert_nothing_left()

    def test_random_numbers_are_those_of_the_cpu(self):
        def draw(device):
            torch.manual_seed(7)
            x = torch.full((4,), 0.5, device=device)
            return [torch.randn(3, device=device), torch.rand(2, 2, device=device),
                    torch.randint(9, (3,), device=device), 
                    torch.randperm(5, device=device), x.clone().bernoulli_(0.5), torch.bernoulli(x),
                    functional.dropout(x), torch.randn_like(x), torch.multinomial(x, 2), torch.normal(x, 1.0),
                    nn.init.xavier_normal_(torch.empty(3, 4, device=device))]
        for one, other in zip(draw("laze"), draw("cpu"), strict=True):
            self.assert_close(one, other)
        self.assert_nothing_left()

    def test_text(self):
        x = torch.tensor([[1.5, 2.0]], device="laze")
        self.assertEqual(str(x), "tensor([[1.5000, 2.0000]], device='laze:0')")
        self.assertIn("grad_fn=<MulBackward0>", str(x.requires_grad_() * 2))
        self.assertEqual(f"{x.sum():.2f}", "3.50")

    def test_numbers(self):
        x = torch.tensor([1.5], device="laze")
        self.assertEqual((x.item(), float(x), bool(x > 1), int(x), [r.item() for r in x]), (1.5, 1.5, True, 1, [1.5]))

    def test_save_and_load(self):
        x = torch.randn(3, 4).to("laze")
        file = io.BytesIO()
        torch.save({"x": x, "row": x[1], "parameter": nn.Parameter(x)}, file)
        for place, device in ((None, "laze"), ("cpu", "cpu"), ("laze", "laze")):
            file.seek(0)
            loaded = torch.load(file, map_location=place)
            self.assertEqual(loaded["row"].device.type, device)
            self.assertTrue(torch.equal(loaded["x"].cpu(), x.cpu()))
            loaded["x"][1] = 7
            self.assertEqual(loaded["row"].tolist(), [7.0] * 4, "memory that was shared is shared")

    def test_a_file_of_the_cpu_is_loaded_to_the_device(self):
        file = io.BytesIO()
        model = perceptron()
        torch.save(model.state_dict(), file)
        file.seek(0)
        other = perceptron().to("laze")
        other.load_state_dict(torch.load(file, map_location="laze"))
        self.assert_close(other[0].weight, model[0].weight)

    def test_pickle_and_deepcopy(self):
        x = torch.randn(3, 4).to("laze")
        for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
            self.assert_close(made, x.cpu())
        model = perceptron().to("laze")
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin[0].weight.add_(1)
        self.assertFalse(torch.equal(twin[0].weight, model[0].weight))
        pair = [x, x.t()]
        one, other = copy.deepcopy(pair)
        one.add_(1)
        self.assertTrue(torch.equal(one.t(), other), "memory that was shared is shared")

    def test_data_loader(self):
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.arange(10.0), torch.arange(10))
        for workers in (0, 1):
            batches = [x.to("laze").sum().item() for x, _ in DataLoader(data, batch_size=4, num_workers=workers)]
            self.assertEqual(batches, [6.0, 22.0, 17.0])


class Precision(Device):
    def test_autocast(self):
        x, model = torch.randn(5, 8, device="laze"), perceptron().to("laze")
        with torch.autocast("laze", dtype=torch.bfloat16):
            y = model(x)
            self.assertEqual((y.dtype, y.softmax(-1).dtype), (torch.bfloat16, torch.float32))
        y.float().sum().backward()
        self.assertEqual(model[0].weight.grad.dtype, torch.float32)
        self.assert_nothing_left()

    def test_scaled_gradients(self):
        model, x = perceptron().to("laze"), torch.randn(5, 8, device="laze")
        optimiser, scaler = sgd(model.parameters()), torch.amp.GradScaler("laze", init_scale=8.0, growth_interval=2)
        before = model[0].weight.detach().clone()
        for step, scale in enumerate((8.0, 16.0, 8.0)):
            optimiser.zero_grad()
            loss = model(x).square().mean() * (float("inf") if step == 2 else 1.0)
            scaler.scale(loss).backward()
            kept = model[0].weight.detach().clone()
            scaler.step(optimiser)
            scaler.update()
            self.assertEqual(scaler.get_scale(), scale)
        self.assertTrue(torch.equal(kept, model[0].weight), "a step of infinite gradients is left out")
        self.assertFalse(torch.equal(before, kept))
        self.assert_nothing_left()


@torch.library.custom_op("laze_tests::halved", mutates_args=(), device_types="cpu")
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


class Left(Device):
    """What laze has not."""

    def test_an_operator_without_a_kernel_is_run_by_the_cpu_and_counted(self):
        x = torch.randn(3, 4)
        laze_torch.reset()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                actual = halved(x.to("laze") + 1) + 1
        self.assert_close(actual, halved(x + 1) + 1)
        told = [str(each.message) for each in caught if each.category is laze_torch.FallbackWarning]
        self.assertEqual(laze_torch.fallbacks(), {"laze_tests::halved": 2})
        self.assertEqual(len(told), 1)
        self.assertIn("laze_tests::halved is left to PyTorch", told[0])

    def test_in_strict_mode_it_is_an_error(self):
        laze_torch.set_strict()
        x = torch.eye(3, device="laze")
        with self.assertRaisesRegex(laze_torch.FallbackError, "laze_tests::halved"):
            halved(x)
        self.assertEqual((x + 1)[0].tolist(), [2.0, 1.0, 1.0])

    def test_wrong_calls_are_pytorchs_errors(self):
        x = torch.ones(3, device="laze")
        with self.assertRaisesRegex(RuntimeError, "must match the size"):
            x + torch.ones(4, device="laze")
        with self.assertRaisesRegex(RuntimeError, "can't be cast"):
            torch.ones(3, dtype=torch.int64, device="laze").add_(0.5)
        with self.assertRaisesRegex(IndexError, "out of range"):
            x.sum(3)
        self.assert_nothing_left()

    def test_tensors_of_two_devices(self):
        x, y = torch.ones(3, 3), torch.ones(3, 3, device="laze")
        for function in (lambda: x + y, lambda: y + x, lambda: x @ y, lambda: y.add_(x), lambda: torch.cat([x, y]),
                         lambda: functional.linear(y, x), lambda: torch.add(y, y, out=x), lambda: y.gather(0, x.long()),
                         lambda: torch.where(y > 0, x, y), lambda: functional.embedding(x.long(), y)):
            with self.subTest(function.__code__.co_code), self.assertRaisesRegex(RuntimeError, "same device"):
                function()
        self.assertEqual((y * torch.tensor(2.0)).sum().item(), 18, "a number on the CPU is a number")
        self.assertEqual(y[x.long()].shape, (3, 3, 3), "indices may lie on the CPU")

    def test_what_others_cannot_read(self):
        x = torch.ones(3, device="laze")
        with self.assertRaisesRegex(TypeError, "cpu"):
            x.numpy()
        for export in (lambda: x.__dlpack__(), lambda: torch.utils.dlpack.to_dlpack(x)):
            with self.assertRaisesRegex(BufferError, "cpu"):
                export()

    def test_what_cannot_work_is_an_error_that_says_so(self):
        """The list of docs/pytorch.md."""
        import torch.multiprocessing
        x = torch.ones(3, device="laze")
        queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
        for call in (lambda: torch.Generator(device="laze"), lambda: torch.accelerator.synchronize(),
                     lambda: torch.ones(3).pin_memory("laze"), lambda: queue.put(x),
                     lambda: x.untyped_storage().resize_(0), lambda: x.to_sparse(),
                     lambda: torch.nested.nested_tensor([x, x]) + 1, lambda: torch.ones(3, device="laze:1"),
                     lambda: torch.ones(3).to("laze:1")):
            with self.subTest(call.__code__.co_code), warnings.catch_warnings(), self.assertRaises(Exception) as caught:
                warnings.simplefilter("ignore")
                call()
            self.assertGreater(len(str(caught.exception)), 20)
        self.assertEqual((x + 1).tolist(), [2.0] * 3)

    def test_a_child_process_goes_on(self):
        import os
        x = torch.ones(3, device="laze")
        self.assertEqual(x.sum().item(), 3)
        child = os.fork()
        if child == 0:
            os._exit(0 if (x + 1).sum().item() == 6 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_threads(self):
        sums = []

        def work(n):
            sums.extend((torch.ones(5, device="laze") * (n + k)).sum().item() for k in range(20))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(sums), sorted(5.0 * (n + k) for n in range(4) for k in range(20)))


if __name__ == "__main__":
    unittest.main()
