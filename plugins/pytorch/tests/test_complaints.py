"""What users of lazy and compiling backends of PyTorch complain about, each as a test that it is otherwise here."""
import copy
import io
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

import torch
from torch import nn

import laze
import laze_torch

COMPILED = ("kernels_compiled", "disk_cache_hits")


def compiled(function, **settings):
    return torch.compile(function, backend="laze", fullgraph=True, **settings)


def kernels():
    """How many this process had to get, from LLVM or from its cache."""
    return sum(laze.metrics()[name] for name in COMPILED)


def run_python(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)


def attentive(act):
    """A network over sequences."""
    return nn.Sequential(nn.Embedding(20, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0, act, batch_first=True),
                         nn.Linear(8, 20))


class Complaints(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        laze_torch.reset()
        torch.manual_seed(0)

    def test_a_little_dynamic_shape_recompiles_everything(self):
        """Sentences of all lengths in batches of all sizes: the third is the last for which anything is made."""
        graphs, made = [], []

        def backend(module, inputs):
            graphs.append(module)
            return laze_torch.backend(module, inputs)
        model = attentive("gelu")
        run = torch.compile(copy.deepcopy(model), backend=backend, fullgraph=True)
        for n, length in ((4, 7), (5, 7), (5, 9), (2, 3), (8, 12), (3, 16), (6, 2)):
            tokens = torch.randint(0, 20, (n, length))
            y = run(tokens)
            y.square().mean().backward()
            torch.testing.assert_close(y, model(tokens))
            made.append((len(graphs), kernels()))
        self.assertLessEqual(made[-1][0], 3)
        self.assertEqual(made[3:], made[2:3] * 4)

    def test_minutes_of_compiling_after_any_edit(self):
        """A layer that is edited costs its own kernels, and none of the others again."""
        def deep(edited):
            acts = [nn.ReLU() for _ in range(8)]
            acts[3] = edited
            return nn.Sequential(*(layer for i, act in enumerate(acts)
                                   for layer in (nn.Linear(8 + i, 9 + i), act, nn.LayerNorm(9 + i))))

        def cost(model):
            before = kernels()
            torch._dynamo.reset()
            compiled(model)(torch.randn(4, 8)).square().sum().backward()
            return kernels() - before
        self.assertGreater(cost(deep(nn.ReLU())), 0)
        self.assertLessEqual(cost(deep(nn.Softplus())), 4)
        self.assertEqual(cost(deep(nn.ReLU())), 0, "what was before the edit is still there")

    def test_item_and_print_compile(self):
        network = nn.Linear(4, 1)
        run = compiled(network)
        x = torch.randn(8, 4)
        run(x).sum().backward()
        before, runs = kernels(), laze.metrics()["graphs_run"]
        loss = run(x).sum().detach()
        once = laze.metrics()["graphs_run"] - runs
        for _ in range(100):
            self.assertEqual(loss.item(), float(loss))
            str(loss), repr(network.weight)
        self.assertEqual(kernels(), before)
        self.assertEqual(laze.metrics()["graphs_run"] - runs, once, "a look at a value ran something")

    def test_memory_grows_without_a_step_mark(self):
        model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
        run, optimizer = compiled(model), torch.optim.AdamW(model.parameters())
        held, kept = [], 0.0
        for step in range(60):
            loss = run(torch.randn(32, 16)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            kept = kept + loss.detach()  # a graph that grows, on a lazy device
            held.append(laze.metrics()["current_bytes"] + laze.metrics()["node_bytes"])
        self.assertEqual(held[10:], held[10:11] * 50)

    def test_views_that_do_not_alias(self):
        """A result that is a view of an input is one, and a write through a view arrives, as in eager."""
        def function(x):
            first = x[0]
            first.mul_(2)
            x[:, 1] += 1
            return first, x.t(), x[1:].view(-1)
        x = torch.arange(6.0).reshape(2, 3)
        twin = x.clone()
        expected, found = function(x), compiled(function)(twin)
        torch.testing.assert_close((twin, *found), (x, *expected))
        for one, other in zip(found, expected):
            self.assertEqual((one.stride(), one.storage_offset()), (other.stride(), other.storage_offset()))
            self.assertEqual(one.untyped_storage().data_ptr(), twin.untyped_storage().data_ptr())
        found[0].fill_(9)
        self.assertEqual(twin[0].tolist(), [9, 9, 9])

    def test_results_that_share_memory_by_accident(self):
        first, second = compiled(lambda x: (x * 0, x * 0))(torch.randn(2))
        first += 1
        self.assertEqual(second.tolist(), [0, 0])

    def test_silent_fallback_to_something_slow(self):
        """What PyTorch runs is named with its reason, counted, and refused where one asked for that."""
        @torch.library.custom_op("laze_complaints::half", mutates_args=())
        def half(x: torch.Tensor) -> torch.Tensor:
            return x / 2
        half.register_fake(torch.empty_like)
        x = torch.randn(3)
        with self.assertWarnsRegex(laze_torch.FallbackWarning, "laze_complaints::half is left to PyTorch.*: .*no"):
            torch.testing.assert_close(compiled(lambda x: half(x + 1))(x), (x + 1) / 2)
        self.assertEqual(laze_torch.fallbacks()["laze_complaints::half"], 1)
        with self.assertRaisesRegex(Exception, "laze_complaints::half is left to PyTorch"):
            compiled(lambda x: half(x - 1), options={"strict": True})(x)

    def test_tracing_takes_longer_than_running(self):
        """A call of what is compiled records nothing and looks nothing up."""
        run, x = compiled(attentive("relu")), torch.randint(0, 20, (2, 5))
        run(x).sum().backward()
        names = ("nodes_recorded", "trace_cache_misses", "trace_cache_hits", *COMPILED)
        before = [laze.metrics()[name] for name in names]
        for _ in range(20):
            run(x).sum().backward()
        self.assertEqual([laze.metrics()[name] for name in names], before)

    def test_checkpoints_that_cannot_be_loaded(self):
        """What is saved are PyTorch's own tensors: eager PyTorch loads them, and what eager saved is loaded here."""
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        run, optimizer = compiled(model), torch.optim.AdamW(model.parameters())
        x = torch.randn(6, 4)
        run(x).square().sum().backward()
        optimizer.step()
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        for name in (b"laze", b"_orig_mod"):
            self.assertNotIn(name, file.getvalue())
        file.seek(0)
        saved = torch.load(file, weights_only=True)
        twin = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        twin.load_state_dict(saved["model"])
        torch.optim.AdamW(twin.parameters()).load_state_dict(saved["optimizer"])
        torch.testing.assert_close(run(x), twin(x))
        with torch.no_grad():
            twin[0].weight.add_(1)
        model.load_state_dict(twin.state_dict())
        torch.testing.assert_close(run(x), twin(x))
        self.assertEqual([name for name, _ in copy.deepcopy(model).named_parameters()],
                         [name for name, _ in model.named_parameters()])

    def test_undefined_symbols_after_an_upgrade(self):
        """The extension asks nothing of PyTorch's libraries: it is imported where there is none."""
        result = run_python("""
            import sys
            sys.modules["torch"] = None
            import laze
            print((laze.arange(3) + 1).tolist())
        """)
        self.assertEqual((result.stdout, result.stderr), ("[1, 2, 3]\n", ""))

    def test_a_version_that_is_unknown_is_tried(self):
        result = run_python("""
            import torch, warnings
            torch.__version__ = "2.99.1+cpu"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                import laze_torch
            print(*(one.message for one in caught if "laze" in str(one.message)), sep="; ")
            print(torch.compile(lambda x: x + 1, backend="laze")(torch.ones(2)).tolist())
        """)
        self.assertEqual(result.stdout.splitlines(), ["laze_torch was made for PyTorch 2.13, and this is 2.99.1+cpu: "
                                                      "what it needs is there, and it goes on", "[2.0, 2.0]"],
                         result.stderr)

    def test_a_version_that_is_impossible_says_what_is_needed(self):
        result = run_python("""
            import torch, torch._functorch.partitioners as partitioners
            torch.__version__ = "1.9"
            del partitioners.min_cut_rematerialization_partition
            try: import laze_torch
            except ImportError as error: print(error)
        """)
        self.assertRegex(result.stdout, r"needs PyTorch 2\.13, and this is 1\.9, without torch\._functorch\."
                                        r"partitioners\.min_cut_rematerialization_partition: "
                                        r"pip install 'torch==2\.13\.\*'")

    def test_what_may_change_in_pytorch_is_listed(self):
        """So that the error above comes in place of one that nobody understands."""
        from laze_torch import _host
        for path in pathlib.Path(laze_torch.__file__).parent.glob("*.py"):
            imports = re.findall(r"^ *from (torch\.[\w.]*_\w[\w.]*) import ([\w, ]+)", path.read_text(), re.MULTILINE)
            for module, names in imports:
                self.assertLessEqual(set(names.split(", ")), set(_host._NEEDED.get(module, ())), path.name)

    def test_assignment_by_a_mask_cuts_the_graph(self):
        def function(x, y):
            x = x.clone()
            x[x > 0.5] = 0.0
            x[y] = -1.0
            return x.sum(1)
        x, y = torch.rand(6, 5), torch.rand(6, 5) > 0.7
        found = compiled(function, options={"strict": True})(x, y)
        torch.testing.assert_close(found, function(x, y))


if __name__ == "__main__":
    unittest.main()
