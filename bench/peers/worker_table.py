"""The rows of the wide table in one library, which the argument names, as its users write them. One row is held at a
time; a line answers each request of ../measure_table.py, and begins with "error" where a row failed.

    check ROW PATH     writes the result as f64, or every so many elements of a large one; where the row trains, by how
                       much a step changes the parameters
    version            prints the library's version
    time ROW SECONDS   repeats the row until the seconds have passed, after a few calls that are not timed; prints the
                       seconds of one call
"""

import contextlib
import os
import sys
import tempfile
import time

import numpy as np

import table

CHECKED = 1 << 22  # elements of a result, about


class Work:
    """A row that is ready to be computed: `run` does, and `read` gives what it gave as arrays."""

    def __init__(self, run, read, parameters=lambda: []):
        self.run, self.read, self.parameters = run, read, parameters

    def result(self):
        before = self.parameters()
        after = self.read(self.run())
        return [a - b for a, b in zip(after, before)] if before else after


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def turned(row, parameters):
    return [np.ascontiguousarray(p.T) if row.turned and p.ndim == 2 else p for p in parameters]


def functional(row, step, data, parameters):
    """Of a library whose functions write nothing: a step gives new parameters, and the next one begins with these."""
    state = [parameters]

    def read(result):
        arrays = [np.asarray(value, dtype=np.float64) for value in as_list(result)]
        return turned(row, arrays) if row.trains else arrays

    def run():
        result = step(*data, *state[0])
        if row.trains:
            state[0] = result
        return result
    return Work(run, read, lambda: read(state[0]) if row.trains else [])


class Numpy:
    def version(self):
        return np.__version__

    def prepare(self, row):
        data, parameters = row.inputs()
        return functional(row, lambda *inputs: row.numpy(np, *inputs), data, turned(row, parameters))


class Jax:
    def __init__(self):
        import jax
        self.jax = jax

    def version(self):
        return self.jax.__version__

    def compiled(self, row):
        function = row.jax or row.numpy

        def step(*inputs):
            data, parameters = inputs[:row.data], inputs[row.data:]
            loss = lambda parameters: function(self.jax.numpy, *data, *parameters)  # noqa: E731
            gradients = self.jax.grad(loss)(parameters)
            return [p - table.LEARNING_RATE * g for p, g in zip(parameters, gradients)]
        return self.jax.jit(step if row.trains else lambda *inputs: function(self.jax.numpy, *inputs))

    def prepare(self, row):
        data, parameters = row.inputs()
        data, parameters = map(self.jax.device_put, (data, turned(row, parameters)))
        compiled = self.compiled(row)
        return functional(row, lambda *inputs: self.jax.block_until_ready(compiled(*inputs)), data, parameters)


def imperative(row, module, function, data, parameters, scope, read):
    """Of PyTorch and laze: parameters change in place. A step is what happens in `scope`."""
    optimiser = module.optim.SGD(parameters, lr=table.LEARNING_RATE)

    def run():
        with scope():
            function(*data).backward()
            optimiser.step()
            optimiser.zero_grad()
        return parameters
    return Work(run, read, lambda: read(parameters))


class Torch:
    """Eager, or compiled with these options. With `wide`, in float64, which is what results are compared with."""

    def __init__(self, compiler=None, wide=False):
        import torch
        self.torch, self.compiler, self.wide = torch, compiler, wide

    def version(self):
        return self.torch.__version__

    def tensor(self, row, array):
        tensor = self.torch.from_numpy(array)
        if not tensor.is_floating_point():
            return tensor
        tensor = tensor.to(getattr(self.torch, row.dtype))
        return tensor.double() if self.wide else tensor

    def compiled(self, function):
        if self.compiler is None:
            return function
        self.torch._dynamo.reset()  # rows share functions, and are compiled for one size each
        return self.torch.compile(function, **self.compiler)

    def read(self, result):
        return [value.detach().double().numpy().copy() for value in as_list(result)]

    def prepare(self, row):
        torch = self.torch
        data, parameters = ([self.tensor(row, array) for array in arrays] for arrays in row.inputs())
        if row.model:
            model = row.model().train(row.trains)
            model = model.double() if self.wide else model
            function = self.compiled(lambda *inputs: row.torch(torch, model, *inputs))
            parameters = list(model.parameters())
        else:
            parameters = [p.clone().requires_grad_(row.trains) for p in parameters]
            function = self.compiled(lambda *inputs: row.torch(torch, *inputs, *parameters))
        if row.trains:
            return imperative(row, torch, function, data, parameters, contextlib.nullcontext, self.read)
        return Work(torch.no_grad()(lambda: function(*data)), self.read)


class Laze:
    """The package laze; models of PyTorch through its plugin."""

    def __init__(self):
        os.environ["LAZE_STRICT"] = "1"  # the error names an operator that the interpreter would have to run
        import laze
        self.laze, self.plugin = laze, None

    def version(self):
        return self.laze.__version__

    def torch(self):
        if self.plugin is None:
            import laze_torch  # noqa: F401: makes the backend known
            # What it would leave to PyTorch is an error.
            self.plugin = Torch({"backend": "laze", "options": {"strict": True}})
        return self.plugin

    def tensor(self, row, array):
        tensor = self.laze.tensor(array)
        return tensor.to(getattr(self.laze, row.dtype)).evaluate() if row.dtype != "float32" else tensor.evaluate()

    def read(self, result):
        return [value.detach().to(self.laze.float64).numpy().copy() for value in as_list(result)]

    def own(self, row):
        data, parameters = ([self.tensor(row, array) for array in arrays] for arrays in row.inputs())
        if not row.trains:
            return Work(lambda: row.torch(self.laze, *data, *parameters).evaluate(), self.read)
        for parameter in parameters:
            parameter.requires_grad_()
        return imperative(row, self.laze, lambda *inputs: row.torch(self.laze, *inputs, *parameters), data, parameters,
                          self.laze.step, self.read)

    def prepare(self, row):
        return self.torch().prepare(row) if row.model else self.own(row)

    def verify(self, work):
        """A call computes even though the last one was the same, and compiled kernels do all of it."""
        self.laze.reset_metrics()
        work.run()
        counters = self.laze.metrics()
        if not counters["kernels_run"] or counters["fallbacks"]:
            raise RuntimeError(f"laze ran {counters['kernels_run']} kernels in a second call, and its interpreter "
                               f"{counters['fallbacks']} operators: a call has to compute, and by kernels alone")


class OnnxRuntime:
    """Graphs that PyTorch exported, with parameters as constants."""

    def __init__(self):
        import logging
        import onnxruntime
        logging.disable(logging.WARNING)  # the exporter's, on packages that it does not need
        self.onnxruntime, self.torch = onnxruntime, Torch()

    def version(self):
        return self.onnxruntime.__version__

    def module(self, row, parameters):
        torch = self.torch.torch

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for index, parameter in enumerate(parameters):
                    self.register_buffer(f"parameter{index}", torch.from_numpy(parameter))

            def forward(self, *inputs):
                return row.torch(torch, *inputs, *self.buffers())
        return Module()

    def session(self, row, data, parameters):
        module = row.model() if row.model else self.module(row, parameters)
        options = self.onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", 0))  # 0: as many as there are
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/row.onnx"
            inputs = tuple(self.torch.torch.from_numpy(array) for array in data)
            self.torch.torch.onnx.export(module.eval(), inputs, path, dynamo=True, verbose=False)
            return self.onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def prepare(self, row):
        data, parameters = row.inputs()
        session = self.session(row, data, parameters)
        feeds = {value.name: array for value, array in zip(session.get_inputs(), data)}
        return Work(lambda: session.run(None, feeds), lambda result: [value.astype(np.float64) for value in result])


LIBRARIES = {
    "laze": Laze,
    "numpy": Numpy,
    "jax": Jax,
    "onnxruntime": OnnxRuntime,
    "torch eager": Torch,
    "torch inductor": lambda: Torch({}),
    "reference": lambda: Torch(wide=True),
}


def sampled(array):
    """All of a small result; of a large one, elements at an odd distance, so that every row and column has some."""
    flat = array.reshape(-1)
    return flat[::2 * (flat.size // (2 * CHECKED)) + 1]


def check(library, work, path):
    np.concatenate([sampled(np.asarray(array, dtype=np.float64)) for array in work.result()]).tofile(path)
    if hasattr(library, "verify"):
        library.verify(work)
    return "ok"


def time_of(work, seconds):
    start = time.perf_counter()
    while True:  # memory and caches are another library's until now
        work.run()
        if time.perf_counter() - start > seconds / 4:
            break
    count, start = 0, time.perf_counter()
    while True:
        work.run()
        count += 1
        passed = time.perf_counter() - start
        if passed >= seconds:
            return passed / count


def serve(library, answers):
    held, work = None, None
    for line in sys.stdin:
        if line == "version\n":
            print(library.version(), file=answers, flush=True)
            continue
        request, rest = line.rstrip("\n").split(" ", 1)
        name, argument = rest.rsplit(" ", 1)
        try:
            if held != name:
                held, work = None, None  # before the next one takes memory
                held, work = name, library.prepare(table.ROWS[name])
            answer = check(library, work, argument) if request == "check" else time_of(work, float(argument))
        except Exception as error:  # one row, or one library's: the others are measured
            held, work, answer = None, None, f"error {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        print(answer, file=answers, flush=True)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    serve(LIBRARIES[sys.argv[1]](), answers)


if __name__ == "__main__":
    main()
