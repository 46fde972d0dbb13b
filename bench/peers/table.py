"""The rows of the wide table: what is computed, from which inputs, and what it is measured by.

A row has a function for laze and PyTorch, whose names are the same, with the module as its first argument, and one for
NumPy and JAX. worker_table.py runs them, ../measure_table.py compares them.
"""

import dataclasses
import functools
import pathlib
import sys
from typing import Callable, Optional

import numpy as np

LEARNING_RATE = 0.1


@dataclasses.dataclass(frozen=True)
class Limit:
    """What a computer would need if nothing but this took time; the kind says which of the numbers that is."""

    kind: str  # "memory" or "flops"
    read: float = 0  # bytes
    written: float = 0
    count: float = 0  # operations, of which any function of an element is one


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    group: str
    make: Callable  # gives the inputs, f32 arrays and integers, from a generator
    torch: Callable  # of laze or torch, and the inputs; a loss where the row trains
    numpy: Optional[Callable] = None  # of numpy, and the inputs; new parameters where the row trains
    jax: Optional[Callable] = None  # of jax.numpy, where that differs
    target: float = 1.0  # the best peer's time / laze's
    limit: Optional[Limit] = None
    share: Optional[float] = None  # of the limit, that is to be reached
    tolerance: float = 1e-5  # of the largest value
    onnx: bool = False  # whether users of ONNX Runtime have such graphs
    data: Optional[int] = None  # inputs behind so many are parameters, which do not change between calls
    turned: bool = False  # NumPy and JAX have matrices of parameters the other way round, inputs first
    trains: bool = False
    model: Optional[Callable] = None  # gives a model of PyTorch, which laze runs through torch.compile
    dtype: str = "float32"

    def inputs(self):
        """(data, parameters)"""
        arrays = self.make(np.random.default_rng(7))
        data = len(arrays) if self.data is None else self.data
        return arrays[:data], arrays[data:]

    def libraries(self):
        has = {"numpy": self.numpy, "jax": self.jax or (self.numpy and not self.trains), "onnxruntime": self.onnx}
        return ["laze", "torch eager", "torch inductor", *(name for name, there in has.items() if there)]


def uniform(*shapes, low=-1.0, high=1.0):
    """Makes arrays of these shapes."""
    def make(rng):
        return [rng.random(shape, dtype=np.float32) * np.float32(high - low) + np.float32(low) for shape in shapes]
    return make


def memory(read, written, count=0):
    """Of so many f32."""
    return Limit("memory", 4.0 * read, 4.0 * written, count)


def flops(count, read, written):
    """The f32 are those of inputs and results: what lies between them may stay in caches."""
    return Limit("flops", 4.0 * read, 4.0 * written, count)


# ---- Elementwise

def chain(t, x, y):
    positive = t.relu((x * y + x) * 0.5 - y)
    return positive * positive * x + 1


def chain_numpy(n, x, y):
    positive = n.maximum((x * y + x) * 0.5 - y, 0)
    return positive * positive * x + 1


def functions(t, x, y):
    return t.relu(t.exp((t.tanh(x * y) + x) * 0.5) - y) + 1


def functions_numpy(n, x, y):
    return n.maximum(n.exp((n.tanh(x * y) + x) * 0.5) - y, 0) + 1


def elementwise():
    for title, count in (("64K", 1 << 16), ("1M", 1 << 20), ("16M", 1 << 24)):
        arguments = {"group": "elementwise", "make": uniform((count,), (count,)),
                     "limit": memory(2 * count, count, 8 * count)}
        # The limit is that of large arrays: smaller ones lie in a cache.
        yield Row(f"chain {title}", torch=chain, numpy=chain_numpy, target=1.2, share=None if title == "64K" else 0.9,
                  **arguments)
        yield Row(f"chain with exp and tanh {title}", torch=functions, numpy=functions_numpy, target=2.5, **arguments)


# ---- Rows of a matrix

def softmax_numpy(n, x):
    e = n.exp(x - n.max(x, axis=-1, keepdims=True))
    return e / n.sum(e, axis=-1, keepdims=True)


def log_softmax_numpy(n, x):
    shifted = x - n.max(x, axis=-1, keepdims=True)
    return shifted - n.log(n.sum(n.exp(shifted), axis=-1, keepdims=True))


def layer_norm(t, x, weight, bias):
    return t.nn.functional.layer_norm(x, weight.shape, weight, bias, eps=1e-5)


def layer_norm_numpy(n, x, weight, bias):
    return (x - n.mean(x, -1, keepdims=True)) / n.sqrt(n.var(x, -1, keepdims=True) + 1e-5) * weight + bias


def rms_norm(t, x, weight):
    return t.nn.functional.rms_norm(x, weight.shape, weight, eps=1e-5)


def rms_norm_numpy(n, x, weight):
    return x / n.sqrt(n.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def normalisations():
    for rows, width in ((4096, 1024), (128, 32768)):
        shape, size = (rows, width), rows * width
        arguments = {"group": "softmax and norms", "target": 1.3, "share": 0.6, "data": 1}
        yield Row(f"softmax {rows}x{width}", make=uniform(shape), torch=lambda t, x: t.softmax(x, 1),
                  numpy=softmax_numpy, onnx=True, limit=memory(size, size, 5 * size), **arguments)
        yield Row(f"log_softmax {rows}x{width}", make=uniform(shape), torch=lambda t, x: t.log_softmax(x, 1),
                  numpy=log_softmax_numpy, onnx=True, limit=memory(size, size, 5 * size), **arguments)
        yield Row(f"layer norm {rows}x{width}", make=uniform(shape, (width,), (width,)), torch=layer_norm,
                  numpy=layer_norm_numpy, onnx=True, limit=memory(size, size, 8 * size), **arguments)
        yield Row(f"rms norm {rows}x{width}", make=uniform(shape, (width,)), torch=rms_norm, numpy=rms_norm_numpy,
                  limit=memory(size, size, 4 * size), **arguments)


# ---- Reductions. Over both axes: argmax counts through both, and the others name both.

def reducing(name, numpy_name, axis, **settings):
    """The functions of laze and PyTorch, and of NumPy and JAX."""
    return (lambda t, x: getattr(t, name)(x, dim=axis)), lambda n, x: getattr(n, numpy_name)(x, axis=axis, **settings)


def reductions():
    names = (("sum", "sum", {}), ("mean", "mean", {}), ("amax", "max", {}), ("argmax", "argmax", {}),
             ("var", "var", {"ddof": 1}))
    for shape in ((4096, 1024), (128, 32768), (4096, 4096)):
        size = shape[0] * shape[1]
        for name, numpy_name, settings in names:
            for title, axis in (("axis 0", 0), ("axis 1", 1), ("both axes", None if name == "argmax" else (0, 1))):
                ours, numpys = reducing(name, numpy_name, axis, **settings)
                yield Row(f"{name} {shape[0]}x{shape[1]} {title}", "reductions", uniform(shape, low=0.0), ours, numpys,
                          target=1.2, limit=memory(size, 0, (4 if name == "var" else 1) * size), share=0.85,
                          tolerance=0.0 if name == "argmax" else 1e-4)


# ---- Matrix products, M x K x N

def product(_, x, w):
    return x @ w


def product_right(_, x, w):
    return x @ w.T


def product_left(_, x, w):
    return x.T @ w


def products_limit(m, k, n, batch=1):
    return flops(2.0 * batch * m * k * n, batch * (m * k + k * n), batch * m * n)


def products():
    arguments = {"group": "products", "onnx": True}
    squares = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)]
    others = [(1, 1024, 1024), (1, 4096, 4096), (8, 4096, 4096), (4096, 64, 4096)]
    for m, k, n in [*squares, *others]:
        if m == 1:  # reading the weights is all that takes time
            measured = {"limit": memory(k * n, 0, 2 * k * n), "share": 0.9}
        else:
            measured = {"limit": products_limit(m, k, n), "share": 0.9 if m != 64 else None}
        name, measured = f"mm {m}x{k}x{n}", {**measured, **arguments}
        yield Row(name, make=uniform((m, k), (k, n)), torch=product, numpy=product, **measured)
        if (m, k, n) not in squares or m == 1024:  # a linear layer's weights, which are parameters
            yield Row(f"{name}, right transposed", make=uniform((m, k), (n, k)), torch=product_right,
                      numpy=product_right, data=1, **measured)
    yield Row("mm 1024x1024x1024, left transposed", make=uniform((1024, 1024), (1024, 1024)), torch=product_left,
              numpy=product_left, limit=products_limit(1024, 1024, 1024), share=0.9, **arguments)
    yield Row("mm 32 of 128x128x128", make=uniform((32, 128, 128), (32, 128, 128)), torch=product, numpy=product,
              limit=products_limit(128, 128, 128, 32), share=0.9, **arguments)
    yield Row("mm 1024x1024x1024 bf16", "products", uniform((1024, 1024), (1024, 1024)), product,
              limit=flops(2.0 * 1024 ** 3, 1024 ** 2, 1024 ** 2 / 2), tolerance=1e-2, dtype="bfloat16")


# ---- Networks

WIDTHS = (784, 512, 256, 10)


def linear_parameters(rng, widths):
    """Weight and bias of each layer, of the size that layers of PyTorch begin with."""
    made = []
    for inputs, outputs in zip(widths, widths[1:]):
        largest = inputs ** -0.5
        made += uniform((outputs, inputs), (outputs,), low=-largest, high=largest)(rng)
    return made


def mlp_inputs(rng, batch, labels=False):
    images = uniform((batch, WIDTHS[0]))(rng)
    return images + [rng.integers(0, WIDTHS[-1], batch)] * labels + linear_parameters(rng, WIDTHS)


def mlp(activation):
    def forward(t, x, w1, b1, w2, b2, w3, b3):
        f = t.nn.functional
        act = getattr(f, activation)
        return f.linear(act(f.linear(act(f.linear(x, w1, b1)), w2, b2)), w3, b3)
    return forward


def mlp_loss(t, images, labels, *parameters):
    return t.nn.functional.cross_entropy(mlp("relu")(t, images, *parameters), labels)


def mlp_numpy(n, x, w1, b1, w2, b2, w3, b3):
    return n.maximum(n.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3


def mlp_gelu_jax(_, x, w1, b1, w2, b2, w3, b3):
    import jax
    act = functools.partial(jax.nn.gelu, approximate=False)
    return act(act(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def mlp_loss_jax(n, images, labels, *parameters):
    log_p = log_softmax_numpy(n, mlp_numpy(n, images, *parameters))
    return -n.take_along_axis(log_p, labels[:, None], axis=1).mean()


def mlp_step_numpy(n, images, labels, w1, b1, w2, b2, w3, b3):
    """A step with gradients by hand."""
    first = n.maximum(images @ w1 + b1, 0)
    second = n.maximum(first @ w2 + b2, 0)
    d_logits = softmax_numpy(n, second @ w3 + b3)
    d_logits[n.arange(len(labels)), labels] -= 1
    d_logits /= len(labels)
    d_second = (d_logits @ w3.T) * (second > 0)
    d_first = (d_second @ w2.T) * (first > 0)
    gradients = [images.T @ d_first, d_first.sum(axis=0), first.T @ d_second, d_second.sum(axis=0),
                 second.T @ d_logits, d_logits.sum(axis=0)]
    return [p - LEARNING_RATE * g for p, g in zip((w1, b1, w2, b2, w3, b3), gradients)]


def mlps():
    weights = sum(a * b for a, b in zip(WIDTHS, WIDTHS[1:]))
    parameters = weights + sum(WIDTHS[1:])
    for batch, activation in ((1, "relu"), (8, "relu"), (128, "relu"), (128, "gelu")):
        own = {"numpy": mlp_numpy} if activation == "relu" else {"jax": mlp_gelu_jax}
        limit = flops(2.0 * batch * weights, batch * WIDTHS[0] + parameters, batch * WIDTHS[-1])
        yield Row(f"MLP forward, batch {batch}, {activation}", "networks", functools.partial(mlp_inputs, batch=batch),
                  mlp(activation), target=1.2, limit=limit, onnx=True, data=1, turned=True, **own)
    # The first layer asks for no gradient of its inputs.
    operations = 2.0 * 128 * (3 * weights - WIDTHS[0] * WIDTHS[1])
    yield Row("MLP training step, batch 128", "networks", functools.partial(mlp_inputs, batch=128, labels=True),
              mlp_loss, mlp_step_numpy, mlp_loss_jax, target=1.3, tolerance=1e-3, data=2, turned=True, trains=True,
              limit=flops(operations, 128 * WIDTHS[0] + parameters, parameters))


LENGTH, WIDTH, HEADS = 128, 512, 8


def block_inputs(rng, targets=False):
    norms = [np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)]
    layers = [linear_parameters(rng, widths) for widths in
              ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))]
    data = uniform(*[(1, LENGTH, WIDTH)] * (1 + targets))(rng)
    return [*data, *norms, *layers[0], *layers[1], *norms, *layers[2], *layers[3]]


def block(t, x, norm1, shift1, attend, attend_b, project, project_b, norm2, shift2, up, up_b, down, down_b):
    f = t.nn.functional
    q, k, v = (part.reshape(1, LENGTH, HEADS, -1).transpose(1, 2)
               for part in f.linear(layer_norm(t, x, norm1, shift1), attend, attend_b).split(WIDTH, dim=2))
    y = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, LENGTH, WIDTH)
    x = x + f.linear(y, project, project_b)
    return x + f.linear(f.gelu(f.linear(layer_norm(t, x, norm2, shift2), up, up_b)), down, down_b)


def block_loss(t, x, wanted, *parameters):
    return t.nn.functional.mse_loss(block(t, x, *parameters), wanted)


def block_jax(n, x, norm1, shift1, attend, attend_b, project, project_b, norm2, shift2, up, up_b, down, down_b):
    import jax
    q, k, v = (part.reshape(1, LENGTH, HEADS, -1)
               for part in n.split(layer_norm_numpy(n, x, norm1, shift1) @ attend + attend_b, 3, axis=2))
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(1, LENGTH, WIDTH)
    x = x + y @ project + project_b
    hidden = jax.nn.gelu(layer_norm_numpy(n, x, norm2, shift2) @ up + up_b, approximate=False)
    return x + hidden @ down + down_b


def block_loss_jax(n, x, wanted, *parameters):
    return n.mean((block_jax(n, x, *parameters) - wanted) ** 2)


def attention(t, q, k, v):
    return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_jax(_, q, k, v):
    import jax
    q, k, v = (part.transpose(0, 2, 1, 3) for part in (q, k, v))
    return jax.nn.dot_product_attention(q, k, v, is_causal=True).transpose(0, 2, 1, 3)


def transformers():
    of_products = 2.0 * LENGTH * 12 * WIDTH ** 2
    operations = of_products + 4.0 * LENGTH ** 2 * WIDTH / 2  # half of the scores are needed
    data, parameters = LENGTH * WIDTH, (12 * WIDTH + 13) * WIDTH
    yield Row("transformer block, 128x512, 8 heads", "networks", block_inputs, block, jax=block_jax, target=1.1,
              limit=flops(operations, data + parameters, data), tolerance=1e-4, onnx=True, data=1, turned=True)
    yield Row("transformer block, training step", "networks", functools.partial(block_inputs, targets=True),
              block_loss, jax=block_loss_jax, target=1.3, tolerance=1e-3, data=2, turned=True, trains=True,
              limit=flops(3 * operations, 2 * data + parameters, parameters))
    shape, size = (1, HEADS, 4096, 64), HEADS * 4096 * 64
    yield Row("attention, 8 heads of 4096x64, causal", "networks", uniform(shape, shape, shape), attention,
              jax=attention_jax, target=1.2, limit=flops(4.0 * 4096 * size / 2, 3 * size, size), tolerance=1e-4,
              onnx=True)


# ---- Convolutions

def convolution(t, x, w):
    padding = w.shape[2] // 2
    return t.nn.functional.conv2d(x, w, padding=padding, groups=x.shape[1] // w.shape[1])


def convolution_jax(_, x, w):
    import jax
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=x.shape[1] // w.shape[1])


def two_convolutions(t, x, w1, w2):
    return convolution(t, t.relu(convolution(t, x, w1)), w2).square().mean()


def two_convolutions_jax(n, x, w1, w2):
    return n.mean(convolution_jax(n, n.maximum(convolution_jax(n, x, w1), 0), w2) ** 2)


def resnet18():
    """That of the plugin's tests."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "plugins" / "pytorch" / "tests"))
    import models
    import torch
    torch.manual_seed(0)
    return models.ResNet(models.BasicBlock, (2, 2, 2, 2), 64)


def of_model(_, model, x):
    return model(x)


def loss_of_model(t, model, x, labels):
    return t.nn.functional.cross_entropy(model(x), labels)


def images_and_labels(rng, batch):
    return [*uniform((batch, 3, 224, 224))(rng), rng.integers(0, 10, batch)]


def convolutions():
    pixels, weight = 56 * 56, (64, 64, 3, 3)
    for title, batch, shape in (("3x3, 64 to 64, batch 1", 1, weight), ("3x3, 64 to 64, batch 8", 8, weight),
                                ("3x3, depthwise, 64", 1, (64, 1, 3, 3)), ("1x1, 64 to 256", 1, (256, 64, 1, 1))):
        size, elements = float(np.prod(shape)), batch * pixels
        yield Row(f"conv {title}", "convolutions", uniform((batch, 64, 56, 56), shape), convolution,
                  jax=convolution_jax, limit=flops(2.0 * elements * size, elements * 64 + size, elements * shape[0]),
                  tolerance=1e-4, onnx=True, data=1)
    size = float(np.prod(weight))
    yield Row("conv 3x3, two of 64 to 64, batch 8, training step", "convolutions",
              uniform((8, 64, 56, 56), weight, weight, low=-0.1, high=0.1), two_convolutions, jax=two_convolutions_jax,
              limit=flops(5 * 2.0 * 8 * pixels * size, 8 * pixels * 64 + 2 * size, 2 * size), tolerance=1e-3, data=1,
              trains=True)
    operations, image, parameters = 2 * 1.81e9, 3 * 224 * 224, 11.2e6
    for batch in (1, 8):
        yield Row(f"ResNet-18 forward, batch {batch}", "convolutions", uniform((batch, 3, 224, 224)), of_model,
                  limit=flops(batch * operations, batch * image + parameters, 10 * batch), tolerance=1e-3, onnx=True,
                  model=resnet18)
    yield Row("ResNet-18 training step, batch 2", "convolutions", functools.partial(images_and_labels, batch=2),
              loss_of_model, target=1.2, limit=flops(3 * 2 * operations, 2 * image + parameters, parameters),
              tolerance=2e-2, trains=True, model=resnet18)


# ---- Data movement

def gather_inputs(rng):
    return [*uniform((4096, 4096))(rng), rng.integers(0, 4096, (4096, 1024))]


def embedding_inputs(rng):
    return [rng.integers(0, 50000, 8192), *uniform((50000, 512))(rng)]


def movements():
    arguments = {"group": "data movement", "target": 1.1, "share": 0.7, "tolerance": 0.0}
    million = 1 << 20
    large = uniform((4096, 4096))
    for n in (4096, 1024):
        yield Row(f"transpose {n}x{n}", make=uniform((n, n)), torch=lambda t, x: x.T.contiguous(),
                  numpy=lambda n, x: x.T.copy(), limit=memory(n * n, n * n), **arguments)
    for axis in (0, 1):
        yield Row(f"cat of two 4096x2048, axis {axis}", make=uniform((4096, 2048), (4096, 2048)),
                  torch=lambda t, x, y, axis=axis: t.cat((x, y), axis),
                  numpy=lambda n, x, y, axis=axis: n.concatenate((x, y), axis),
                  limit=memory(16 * million, 16 * million), **arguments)
    yield Row("every second row of 4096x4096", make=large, torch=lambda t, x: x[::2].contiguous(),
              numpy=lambda n, x: x[::2].copy(), limit=memory(8 * million, 8 * million), **arguments)
    yield Row("every second column of 4096x4096", make=large, torch=lambda t, x: x[:, ::2].contiguous(),
              numpy=lambda n, x: x[:, ::2].copy(), limit=memory(16 * million, 8 * million), **arguments)
    yield Row("gather of 4096x4096, axis 1", make=gather_inputs, torch=lambda t, x, places: t.gather(x, 1, places),
              numpy=lambda n, x, places: n.take_along_axis(x, places, axis=1), limit=memory(12 * million, 4 * million),
              **arguments)
    yield Row("embedding, 8192 of 50000x512", make=embedding_inputs,
              torch=lambda t, places, weight: t.nn.functional.embedding(places, weight),
              numpy=lambda n, places, weight: weight[places], limit=memory(4 * million, 4 * million), **arguments)
    yield Row("pad of 4096x4096", make=large, torch=lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
              numpy=lambda n, x: n.pad(x, 1), limit=memory(16 * million, 16 * million), **arguments)
    yield Row("flip of 4096x4096, axis 1", make=large, torch=lambda t, x: t.flip(x, (1,)),
              numpy=lambda n, x: n.flip(x, 1).copy(), limit=memory(16 * million, 16 * million), **arguments)


ROWS = {row.name: row for rows in (elementwise, normalisations, reductions, products, mlps, transformers, convolutions,
                                   movements) for row in rows()}
