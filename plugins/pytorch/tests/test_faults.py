"""What goes wrong around compiled models: never a crash, never a wrong gradient, nothing lost.

LAZE_TEST_REPEATS says how often a model is compiled and collected (30; 1000 by hand).
"""
import copy
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
import unittest.mock
import warnings
import weakref

import torch
from torch import nn

import laze
import laze_torch
from laze_torch._program import Program

REPEATS = int(os.environ.get("LAZE_TEST_REPEATS", 30))


def compiled(function, **settings):
    return torch.compile(function, backend="laze", fullgraph=True, **settings)


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


class Faults(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)

    def assert_same_gradients(self, model, twin, x):
        """That both give the same, on the way there and back."""
        results = []
        for one in (model, twin):
            one.zero_grad()
            y = one(x)
            y.square().sum().backward()
            results.append([y, *(p.grad.clone() for p in one.parameters())])
        torch.testing.assert_close(*results)


class Freed(Faults):
    def test_the_way_back_outlives_the_model(self):
        """What the way back needs is kept by the result, whatever became of the model and of what was compiled."""
        model, x = network(), torch.randn(5, 6, requires_grad=True)
        expected, = torch.autograd.grad(model(x).square().sum(), x)
        run = compiled(model)
        loss = run(x).square().sum()
        gone = weakref.ref(model)
        del model, run
        torch._dynamo.reset()
        gc.collect()
        self.assertIsNone(gone(), "the model was kept")
        loss.backward()
        torch.testing.assert_close(x.grad, expected)

    def test_results_outlive_what_made_them(self):
        run = compiled(lambda x: (x * 2, x + 1))
        x = torch.randn(1000)
        double, more = run(x)
        wanted, more_wanted = x * 2, x + 1
        del run, x
        torch._dynamo.reset()
        gc.collect()
        for _ in range(10):
            compiled(lambda x: x - 3)(torch.randn(1000))  # would write into memory that was given back
        torch.testing.assert_close((double, more), (wanted, more_wanted))

    def assert_flat(self, use):
        """Memory stays as it is, however often use(number) gives what must be gone behind it."""
        held, gone = [], []
        for number in range(REPEATS):
            gone += map(weakref.ref, use(number))
            torch._dynamo.reset()
            gc.collect()
            metrics = laze.metrics()
            held.append([metrics["current_bytes"] + metrics["node_bytes"], metrics["autograd_nodes_alive"]])
        self.assertEqual([one for one in gone if one() is not None], [])
        for of_one_kind in zip(*held):
            self.assertLessEqual(max(of_one_kind[REPEATS // 2:]), max(of_one_kind[:REPEATS // 2]), of_one_kind)

    def test_compiled_and_collected_many_times(self):
        """No program, no module and no tensor is kept."""
        plans, original = [], laze_torch._plan

        def make(*given):
            plans.append(original(*given))
            return plans[-1]

        def use(number):
            model = network()
            compiled(model)(torch.randn(4 + number % 3, 6)).sum().backward()
            made = [*plans, model]
            plans.clear()
            self.assertEqual(len(made), 3)
            return made
        with unittest.mock.patch.object(laze_torch, "_plan", make):
            self.assert_flat(use)

    def test_trained_on_the_device_and_collected_many_times(self):
        def use(number):
            model = network().to("laze")
            optimiser = torch.optim.AdamW(model.parameters())
            loss = model(torch.randn(4 + number % 3, 6).to("laze")).square().sum()
            loss.backward()
            optimiser.step()
            if number % 2:  # otherwise what is recorded goes as it is
                loss.item()
            return [model, loss, *model.parameters()]
        x = torch.ones(3, device="laze")
        for _ in range(5000):  # more than a thread keeps, to record them again
            x + 1
        with torch.autograd.set_multithreading_enabled(False):
            self.assert_flat(use)


class Raising(Faults):
    def test_an_exception_in_a_hook_leaves_everything_as_it_was(self):
        model = network()
        twin, x = copy.deepcopy(model), torch.randn(5, 6)
        run = torch.compile(twin, backend="laze")
        wanted = [False]

        def hook(*_):
            if wanted[0]:
                raise ValueError("of the hook")
        twin[0].register_forward_hook(hook)
        twin[2].register_full_backward_hook(hook)
        twin[0].weight.register_hook(hook)
        self.assert_same_gradients(model, run, x)
        for _ in range(2):
            wanted[0] = True
            with self.assertRaisesRegex(ValueError, "of the hook"):
                run(x).sum().backward()
            wanted[0] = False
            self.assert_same_gradients(model, run, x)

    def test_an_exception_on_the_way_back(self):
        run, x = compiled(network()), torch.randn(5, 6, requires_grad=True)

        def hook(grad):
            raise ValueError("of the hook")
        y = run(x)
        y.register_hook(hook)
        with self.assertRaisesRegex(ValueError, "of the hook"):
            y.sum().backward()
        self.assertIsNone(x.grad)
        run(x).sum().backward()
        self.assertIsNotNone(x.grad)

    def test_memory_that_is_not_there(self):
        """A result of 2^42 bytes: an error, after which the next call is right."""
        run = compiled(lambda x, y: x[:, None] * y, dynamic=True)
        x = torch.randn(4)
        torch.testing.assert_close(run(x, x[:3]), x[:, None] * x[:3])
        large = torch.zeros(1).expand(1 << 20)
        for _ in range(2):
            with self.assertRaises((RuntimeError, MemoryError)):
                run(large, large)
            torch.testing.assert_close(run(x, x[:2]), x[:, None] * x[:2])

    def test_memory_of_the_device_that_is_not_there(self):
        """Results of 2^42 bytes, of which each alone is too large, and such that are only too many together."""
        x = torch.arange(4.0, device="laze")
        large = torch.zeros(1 << 20, device="laze")
        for make in (lambda: large[:, None] * large, lambda: torch.zeros(1 << 40, device="laze") + 1):
            other = x * 3
            with self.assertRaises((RuntimeError, MemoryError)), warnings.catch_warnings():
                warnings.simplefilter("ignore", laze_torch.FallbackWarning)
                make().sin().cpu()
            self.assertEqual(other.tolist(), [0, 3, 6, 9])
            self.assertEqual((x + 1).tolist(), [1, 2, 3, 4])

    def test_a_class_that_there_is_not(self):
        """One below 0 would count from the back where elements are read."""
        loss = torch.nn.functional.cross_entropy
        for run, place in ((loss, "laze"), (compiled(loss), "cpu")):
            for target in ([0, -1], [0, 3]):
                with self.subTest(place, target=target), self.assertRaisesRegex(Exception, "index 3 .* out of range"):
                    run(torch.randn(2, 3).to(place), torch.tensor(target).to(place)).item()

    def test_a_backend_that_is_given_what_it_cannot_take(self):
        """Tensors of another device in one graph are PyTorch's to refuse."""
        with self.assertRaisesRegex(Exception, "device"):
            compiled(lambda x, y: x + y)(torch.randn(3), torch.randn(3, device="meta"))
        x = torch.randn(3)
        torch.testing.assert_close(compiled(lambda x, y: x + y)(x, x), x + x)


class Interrupted(Faults):
    def check(self, place):
        """Ctrl-C in a compile is KeyboardInterrupt, and the same call goes on afterwards."""
        model = network()
        run, x = compiled(copy.deepcopy(model)), torch.randn(5, 6)
        before, interval = signal.signal(signal.SIGINT, signal.default_int_handler), sys.getswitchinterval()
        try:
            with place():
                with self.assertRaises(KeyboardInterrupt):
                    run(x)
        finally:
            sys.setswitchinterval(interval)
            signal.signal(signal.SIGINT, before)
        self.assert_same_gradients(model, run, x)

    def test_while_pytorch_traces(self):
        original = laze_torch._compile

        def press(*given, **named):
            signal.raise_signal(signal.SIGINT)
            return original(*given, **named)
        self.check(lambda: unittest.mock.patch.object(laze_torch, "_compile", press))

    def test_while_kernels_are_made(self):
        """The other thread gets on when the library compiles without the GIL, or else when it has done so."""
        original, started, pressed = Program.__init__, threading.Event(), threading.Event()

        def press():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)
            pressed.set()

        def make(*given, **named):
            sys.setswitchinterval(100)
            started.set()
            original(*given, **named)
            pressed.wait()
        threading.Thread(target=press, daemon=True).start()
        self.check(lambda: unittest.mock.patch.object(Program, "__init__", make))
        self.assertTrue(pressed.is_set())


    def test_while_the_device_computes(self):
        """Work of minutes, where nothing stops it; what was recorded beside it is not lost."""
        x = torch.ones(300, 300, device="laze")
        beside, long, started = x[0, :3] * 7, x, threading.Event()
        for _ in range(20000):
            long = long @ x * 0.005

        def press():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        thread = threading.Thread(target=press)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                started.set()
                long.cpu()
        finally:
            signal.signal(signal.SIGINT, before)
            thread.join()
        del long
        self.assertEqual(beside.tolist(), [7, 7, 7])
        self.assertEqual((x[0, :3] + 1).tolist(), [2, 2, 2])


class Concurrent(Faults):
    def test_a_child_goes_on_with_what_its_parent_compiled(self):
        """A child runs and compiles; what has a way back is PyTorch's to refuse, once its parent went one: its engine
        has a thread for a device, as device laze is, which the child lacks."""
        code = """
            import copy, os, torch, laze_torch
            torch.set_num_threads(1)  # PyTorch's own threads do not survive either
            model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
            twin = copy.deepcopy(model)
            run = torch.compile(twin, backend="laze")

            def compare(n, back):
                x = torch.randn(n, 6)
                with torch.no_grad():
                    torch.testing.assert_close(run(x), model(x))
                if back:
                    for one in (run, model):
                        one(x).square().sum().backward()
                    torch.testing.assert_close(twin[0].weight.grad, model[0].weight.grad)

            def in_child(back):
                child = os.fork()
                if child == 0:
                    try:
                        compare(5, back)
                        compare(9, back)  # which compiles
                        print("well", flush=True)
                    except RuntimeError as error:
                        print("Autograd-and-Fork" in str(error), flush=True)
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
            compare(5, False)
            in_child(True)
            compare(5, True)
            in_child(False)
            in_child(True)
            compare(5, True)
            print("end")
        """
        result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                                timeout=300)
        self.assertEqual(result.stdout.splitlines(), ["well", "well", "True", "end"], result.stderr)

    def in_threads(self, count, work):
        """Calls work(0), work(1) and so on, each in a thread of its own, and has what any of them raises."""
        errors = []

        def run(number):
            try:
                work(number)
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_threads_compile_the_same_at_once_and_train_on_the_device(self):
        """All begin together; one whose operators raise errors disturbs no other."""
        model, begin = network(), threading.Barrier(5)
        run, on_device = compiled(copy.deepcopy(model)), copy.deepcopy(model).to("laze")

        def gradients(module, x):
            return [given.cpu() for given in torch.autograd.grad(module(x).square().sum(), list(module.parameters()))]

        def work(number):
            x = torch.randn(3 + number, 6, generator=torch.Generator().manual_seed(number))
            begin.wait()
            torch.testing.assert_close(run(x), model(x))
            for _ in range(5):
                torch.testing.assert_close(gradients(on_device, x.to("laze")), gradients(model, x))
                if number == 0:
                    with self.assertRaises(RuntimeError):
                        x.to("laze") @ x.to("laze")
                    with self.assertRaisesRegex(Exception, "99"):
                        on_device(x.to("laze"))[:, torch.tensor([99]).to("laze")].cpu()
        self.in_threads(5, work)

    def test_threads_share_one_compiled_model_and_have_their_own(self):
        shared = network()
        run = compiled(copy.deepcopy(shared))

        def work(number):
            generator = torch.Generator().manual_seed(number)
            own = network()
            mine = compiled(copy.deepcopy(own))
            for n in (3, 4 + number, 5):
                x = torch.randn(n, 6, generator=generator)
                torch.testing.assert_close(run(x), shared(x))
                self.assert_same_gradients(own, mine, x)
        self.in_threads(4, work)


if __name__ == "__main__":
    unittest.main()
