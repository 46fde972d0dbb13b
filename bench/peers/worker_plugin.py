"""Training steps of models as their users write them, in PyTorch: eager, compiled by its inductor, or by laze; with
`floor`, compiled by nothing, so that what is timed is PyTorch's own part of a call.

    check CASE PATH   writes gradients of a step as f32
    time CASE COUNT   prints the seconds of a step, after a few that are not timed
    first CASE        prints the seconds of the first step of a model that is there, compiling included
    memory CASE       prints the bytes by which the process has grown at its largest, over ten steps
"""

import pathlib
import re
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "plugins" / "pytorch" / "tests"))

CALL_INPUTS = 10
RECORDED_CALLS = 100


def floor(module, inputs):
    """A compiler that computes once, and from then on gives new memory for results, and no more."""
    from torch._C._dynamo.guards import _empty_strided_cpu
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def compile(graph, inputs):
        forms = []

        def run(arguments):
            if not forms:
                values = graph.forward(*arguments)
                forms.extend(value if value is None else (tuple(value.shape), value.stride(), value.dtype)
                             for value in values)
                return list(values)
            arguments.clear()
            return [form if form is None else _empty_strided_cpu(*form) for form in forms]
        run._boxed_call = True
        return run
    return aot_autograd(fw_compiler=compile, bw_compiler=compile, inference_compiler=compile,
                        partition_fn=min_cut_rematerialization_partition)(module, inputs)


def compiled(kind, function):
    if kind == "eager":
        return function
    if kind in ("laze", "floor"):
        import laze_torch  # noqa: F401: makes laze known, and its device, which PyTorch asks for in each call
    return torch.compile(function, **({"backend": {"laze": "laze", "floor": floor}[kind]} if kind != "inductor" else {}))


def small(inputs=64, hidden=128, outputs=10):
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))


class Training:
    """A model, a batch, and an optimiser that PyTorch runs itself."""

    def __init__(self, kind, case):
        torch.manual_seed(0)
        if case == "mlp4":
            model, self.inputs, self.targets = small(), (torch.randn(4, 64),), torch.arange(4) % 10
            self.loss = F.cross_entropy
        elif case == "resnet8":
            import models
            model = models.ResNet(models.BasicBlock, (2, 2, 2, 2), 64)
            self.inputs, self.targets, self.loss = models.images(64)(8), models.classes(8), F.cross_entropy
        else:
            import models
            chosen = models.CASES[{"mlp64": "perceptron", "gpt64": "gpt", "bert64": "bert"}[case]]
            model, self.inputs, self.targets, self.loss = chosen.make(), chosen.inputs(64), chosen.targets(64), chosen.loss
        self.model = model
        self.run = compiled(kind, lambda targets, *inputs: self.loss(model(*inputs), targets))
        self.optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(self):
        self.optimiser.zero_grad()
        self.run(self.targets, *self.inputs).backward()
        self.optimiser.step()

    def gradients(self):
        self.model.eval()  # what draws draws otherwise in each library
        self.optimiser.zero_grad()
        self.run(self.targets, *self.inputs).backward()
        self.model.train()
        return torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None])


class Call:
    """A function of ten inputs that computes next to nothing."""

    def __init__(self, kind, _case):
        self.inputs = [torch.full((8,), float(i)) for i in range(CALL_INPUTS)]
        self.run = compiled(kind, lambda *inputs: sum(inputs))

    def step(self):
        with torch.no_grad():
            return self.run(*self.inputs)

    gradients = step


class Recorded:
    """Calls with tensors of device laze, which record them, or of the CPU; nothing reads a value."""

    def __init__(self, kind, _case):
        if kind == "laze":
            import laze_torch  # noqa: F401: makes the device known
        device = "laze" if kind == "laze" else "cpu"
        self.x, self.weight = (torch.full((8, 8), 0.1, device=device) for _ in range(2))

    def step(self):
        with torch.no_grad():
            y = self.x
            for _ in range(RECORDED_CALLS // 4):
                y = torch.relu(torch.add(torch.mm(y, self.weight), self.x)).mul_(self.x)
            return y

    def gradients(self):
        return self.step().cpu().flatten()


def largest_memory():
    """In bytes; not getrusage's, which begins with that of the process that started this one."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1))


def make(kind, case):
    return {"call": Call, "recorded": Recorded}.get(case, Training)(kind, case)


def main():
    kind, made = sys.argv[1], {}
    before = largest_memory()
    for line in sys.stdin:
        words = line.split()
        request, case = words[0], words[1]
        if case not in made:
            made[case] = make(kind, case)
        work, start = made[case], time.perf_counter()
        if request == "check":
            work.gradients().numpy().astype("float32").tofile(words[2])
            print("ok", flush=True)
        elif request == "first":
            work.step()
            print(time.perf_counter() - start, flush=True)
        elif request == "memory":
            for _ in range(10):
                work.step()
            print(largest_memory() - before, flush=True)
        else:
            count = int(words[2])
            for _ in range(1 + count // 10):  # after the others' turns, a first one is up to fifty times as long
                work.step()
            start = time.perf_counter()
            for _ in range(count):
                work.step()
            print((time.perf_counter() - start) / count, flush=True)


if __name__ == "__main__":
    main()
