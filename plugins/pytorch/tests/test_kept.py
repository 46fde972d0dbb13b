"""Lowered graphs that another process finds on disk: the same values, and no other graph's; what is damaged, or could
be somebody else's, is lowered again."""
import copy
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

import torch
from torch import nn

import laze_torch
from laze_torch import _kept


def network(act=nn.Tanh):
    return nn.Sequential(nn.Linear(4, 8), act(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Dropout(0.5), nn.LogSoftmax(-1))


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        environment = unittest.mock.patch.dict(os.environ, LAZE_CACHE_DIR=folder.name)
        environment.start()
        self.addCleanup(environment.stop)
        torch.manual_seed(0)
        self.model = network()

    def train(self, model=None, n=5, options=None, dynamic=None, dtype=torch.float32):
        """How many graphs were lowered and found, and the gradients, of a model that is compiled anew."""
        torch._dynamo.reset()
        laze_torch.reset()
        twin = copy.deepcopy(model or self.model).to(dtype)
        run = torch.compile(twin, backend="laze", fullgraph=True, options=options, dynamic=dynamic)
        grads = []
        for size in (n, n + 2) if dynamic else (n,):
            torch.manual_seed(1)
            run(torch.randn(size, 4, dtype=dtype)).square().sum().backward()
            grads += [p.grad.clone() for p in twin.parameters()]
        return laze_torch.graphs(), grads

    def assert_lowered(self, lowered, found, made):
        self.assertEqual(made[0], {"lowered": lowered, "found": found})
        return made[1]

    def files(self):
        return [path for path in self.folder.rglob("*") if path.is_file()]


class Finding(Kept):
    def test_another_process_lowers_nothing(self):
        """A graph in which PyTorch runs an operator, one that draws, and their way back."""
        code = """
            import torch, warnings, laze_torch
            warnings.simplefilter("ignore")

            @torch.library.custom_op("laze_torch_test::twice", mutates_args=())
            def twice(x: torch.Tensor) -> torch.Tensor:
                return x * 2
            twice.register_fake(torch.empty_like)
            twice.register_autograd(lambda context, grad: twice(grad))

            def function(x, w):
                for _ in range(6):
                    x = torch.nn.functional.dropout((x @ w).tanh(), 0.5)
                return twice(x).sin() + x.mean(0)
            torch.manual_seed(0)
            x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 4)
            torch.compile(function, backend="laze")(x, w).sum().backward()
            print(laze_torch.graphs(), laze_torch.programs(), laze_torch.fallbacks(), x.grad.tolist())
        """
        environment = {**os.environ, "LAZE_CACHE_DIR": str(self.folder)}
        made = [subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                               env=environment, timeout=300) for _ in range(2)]
        first, second = (one.stdout for one in made)
        self.assertTrue(first.startswith("{'lowered': 2, 'found': 0} 4 "), first + made[0].stderr)
        self.assertEqual(second, first.replace("{'lowered': 2, 'found': 0}", "{'lowered': 0, 'found': 2}"),
                         made[1].stderr)

    def test_the_same_graph_again(self):
        first = self.assert_lowered(2, 0, self.train())
        torch.testing.assert_close(self.assert_lowered(0, 2, self.train()), first, rtol=0, atol=0)

    def test_sizes_that_change(self):
        """What was a fact of sizes when the graph was lowered is one when it is found."""
        def function(x, y):
            for _ in range(6):
                x = (x[: y.shape[0]] + y).tanh() * 2
            return x.sum(0), torch.cat([x, x])

        def run():
            torch._dynamo.reset()
            laze_torch.reset()
            compiled = torch.compile(function, backend="laze", fullgraph=True, dynamic=True)
            for n, m in ((4, 4), (6, 3), (3, 3), (9, 2)):
                x, y = torch.randn(n, 3), torch.randn(m, 3)
                if n >= m:
                    torch.testing.assert_close(compiled(x[:m], y), function(x[:m], y))
            return laze_torch.graphs()
        made = run()
        self.assertGreater(made["lowered"], 0)
        self.assertEqual(run(), {"lowered": 0, "found": made["lowered"]})
        first = self.train(dynamic=True)
        self.assertGreater(first[0]["lowered"], 0)
        torch.testing.assert_close(self.train(dynamic=True)[1], first[1], rtol=0, atol=0)

    def test_what_is_another_graph(self):
        self.assert_lowered(2, 0, self.train())
        others = {"size": {"n": 6}, "dtype": {"dtype": torch.float64}, "operator": {"model": network(nn.Sigmoid)},
                  "number": {"model": copy.deepcopy(self.model)}, "option": {"options": {"fallback_random": True}}}
        others["number"]["model"][2].eps = 1e-3
        for name, other in others.items():
            with self.subTest(name), unittest.mock.patch("warnings.warn"):
                self.assertGreater(self.train(**other)[0]["lowered"], 0)
                self.assertEqual(self.train(**other)[0]["lowered"], 0)
        with unittest.mock.patch.object(_kept, "_versions", lambda: "f" * 32):
            self.assert_lowered(2, 0, self.train())
            self.assert_lowered(0, 2, self.train())

    def test_layouts_and_numbers_are_told_apart(self):
        def key(*inputs, number=1):
            graph = torch.fx.experimental.proxy_tensor.make_fx(lambda *given: sum(x * number for x in given),
                                                               tracing_mode="fake")(*inputs).graph
            return _kept.key_of(list(graph.nodes), [])
        x = [torch.ones(2, 3)] * 8
        keys = [key(*x), key(*x, number=1.0), key(*x, number=True), key(*x[1:], x[0].t().contiguous().t()),
                key(*x[1:], x[0].double()), key(*x[1:], x[0].to(torch.complex64).conj())]
        self.assertEqual(len(set(keys)), len(keys))
        self.assertNotIn(None, keys)

    def test_without_a_cache(self):
        os.environ["LAZE_CACHE_DIR"] = ""
        self.assert_lowered(2, 0, self.train())
        self.assert_lowered(2, 0, self.train())
        self.assertEqual(self.files(), [])


class Refusing(Kept):
    def run_once(self):
        """The same of the way there alone, which is one graph."""
        torch._dynamo.reset()
        laze_torch.reset()
        with torch.no_grad():
            result = torch.compile(self.model.eval(), backend="laze", fullgraph=True)(torch.ones(5, 4))
        return laze_torch.graphs(), result

    def check(self, harm):
        """That a file which harm(path) has been at is lowered again, with a warning, and found from then on."""
        expected = self.assert_lowered(1, 0, self.run_once())
        path, = self.files()
        harm(path)
        with self.assertLogs("laze_torch", "WARNING") as logged:
            torch.testing.assert_close(self.assert_lowered(1, 0, self.run_once()), expected, rtol=0, atol=0)
        self.assertIn("lowered again", logged.output[0])
        self.assert_lowered(0, 1, self.run_once())
        path.unlink()

    def test_damaged(self):
        self.check(lambda path: path.write_bytes(path.read_bytes()[:-9]))
        self.check(lambda path: path.write_bytes(b""))

    def test_nonsense_with_a_checksum(self):
        for text in (b"[{}]", b"[1]", b"{\"calls\": 1}", b"[{\"node\": 99999, \"reason\": \"\"}]", b"[" * 100000,
                     b"[{\"calls\": [[\"finish\", null, []]], \"values\": [], \"lacking\": [], \"inputs\": [], "
                     b"\"results\": [], \"seed\": null}]"):
            with self.subTest(text[:40]):
                digest = hashlib.blake2b(text, digest_size=16).hexdigest().encode()
                self.check(lambda path: path.write_bytes(digest + b"\n" + text))

    def test_what_others_may_write_or_lies_elsewhere(self):
        self.check(lambda path: path.chmod(0o666))
        elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(elsewhere.cleanup)

        def link(path):
            path.rename(elsewhere.name + "/file")
            path.symlink_to(elsewhere.name + "/file")
        self.check(link)

    def test_a_directory_that_others_may_write(self):
        self.folder.chmod(0o777)
        self.assert_lowered(1, 0, self.run_once())
        self.assertEqual(self.files(), [])

    def test_a_directory_that_cannot_be_made(self):
        os.environ["LAZE_CACHE_DIR"] = "/proc/none/of/this"
        self.assert_lowered(1, 0, self.run_once())


if __name__ == "__main__":
    unittest.main()
