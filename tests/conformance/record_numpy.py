#!/usr/bin/env python3
"""Writes numpy.txt: what NumPy says operators give, for the conformance tests of backends.

Run by hand, in a virtual environment with NumPy, whenever a case is added:

    python3 tests/conformance/record_numpy.py > tests/conformance/numpy.txt

Each case is a graph in text form, its inputs, the expected outputs, and how far a result may be off, in units in the
last place (0: the bits must agree). NumPy computes in float64 (integers in int64) and the result is rounded once to the
dtype of the output; sums and products are exact there, so that the order of terms does not matter, or have a tolerance.
Elements are written as the hexadecimal digits of their bits.
"""
import fractions
import math

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
WIDTHS = {"f32": np.uint32, "f64": np.uint64, "i32": np.uint32, "i64": np.uint64, "bool": np.uint8}
random = np.random.default_rng(20240607)


def name_of(array):
    return next(name for name, dtype in DTYPES.items() if array.dtype == dtype)


def type_of(array):
    return f"{name_of(array)}[{','.join(str(size) for size in array.shape)}]"


def bits_of(array):
    flat = np.ascontiguousarray(array).reshape(-1).view(WIDTHS[name_of(array)])
    return " ".join(f"{bits:x}" for bits in flat)


def case(name, body, inputs, expected, tolerance=0):
    """`body`: operators on %a, %b, ...; the last value assigned is returned."""
    expected = [np.asarray(array) for array in (expected if isinstance(expected, (tuple, list)) else [expected])]
    parameters = ", ".join(f"%{letter}: {type_of(array)}" for letter, array in zip("abcdef", inputs))
    lines = [line.strip() for line in body.strip().split("\n")]
    results = ", ".join(f"%r{i}" for i in range(len(expected)))
    print(f"case {name} {tolerance}")
    print("laze 1")
    print(f"graph @{name}({parameters}) -> {', '.join(type_of(array) for array in expected)} {{")
    for line in lines:
        print(f"  {line}")
    print(f"  return {results}")
    print("}")
    for array in inputs:
        print(f"input {type_of(array)} {bits_of(array)}".rstrip())
    for array in expected:
        print(f"output {type_of(array)} {bits_of(array)}".rstrip())
    print("end")


def floats(*shape, dtype=np.float32, scale=4.0):
    return (random.standard_normal(shape) * scale).astype(dtype)


def whole(*shape, dtype=np.float32, low=-8, high=9):
    """Whole numbers: their sums and products are exact in every order."""
    return random.integers(low, high, shape).astype(dtype)


def wide(array):
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 1e-45, 3e38, -3e38, 0.5, 2.0, 7.0], np.float32)


def elementwise():
    a, b = floats(3, 5), floats(3, 5)
    i, j = whole(11, dtype=np.int32), whole(11, dtype=np.int32)
    case("add", "%r0 = add %a, %b", [a, b], (wide(a) + wide(b)).astype(np.float32))
    case("sub_broadcast", "%r0 = sub %a, %b", [a, b[:1]], (wide(a) - wide(b[:1])).astype(np.float32))
    case("mul_rows", "%r0 = mul %a, %b", [a, b[0]], (wide(a) * wide(b[0])).astype(np.float32))
    case("div", "%r0 = div %a, %b", [a, b], a / b)
    case("add_promotes", "%r0 = add %a, %b", [a, wide(b)], wide(a) + wide(b))
    case("mul_wraps", "%r0 = mul %a, %b", [i * 123456789, j * 987654321], (i * 123456789) * (j * 987654321))
    case("floor_divide", "%r0 = floor_divide %a, %b", [i, np.where(j == 0, 3, j).astype(np.int32)],
         i // np.where(j == 0, 3, j).astype(np.int32))
    case("remainder_int", "%r0 = remainder %a, %b", [i, np.where(j == 0, 3, j).astype(np.int32)],
         i % np.where(j == 0, 3, j).astype(np.int32))
    case("remainder_float", "%r0 = remainder %a, %b", [a, b], np.mod(a, b))
    case("fmod", "%r0 = fmod %a, %b", [a, b], np.fmod(a, b))
    case("maximum_special", "%r0 = maximum %a, %b", [SPECIAL, SPECIAL[::-1].copy()],
         np.maximum(SPECIAL, SPECIAL[::-1]))
    case("minimum_special", "%r0 = minimum %a, %b", [SPECIAL[:3], SPECIAL[4:7]], np.minimum(SPECIAL[:3], SPECIAL[4:7]))
    case("neg_abs_sign", "%r0 = neg %a\n%r1 = abs %a\n%r2 = sign %a", [a], (-a, np.abs(a), np.sign(a)))
    case("floor_ceil_trunc_round", "%r0 = floor %a\n%r1 = ceil %a\n%r2 = trunc %a\n%r3 = round %a", [SPECIAL],
         (np.floor(SPECIAL), np.ceil(SPECIAL), np.trunc(SPECIAL), np.round(SPECIAL)))
    case("sqrt_square", "%r0 = sqrt %a\n%r1 = square %a", [SPECIAL[3:]], (np.sqrt(SPECIAL[3:]), np.square(SPECIAL[3:])))
    case("compare", "%r0 = lt %a, %b\n%r1 = le %a, %b\n%r2 = eq %a, %b\n%r3 = ne %a, %b",
         [SPECIAL, SPECIAL[::-1].copy()],
         (SPECIAL < SPECIAL[::-1], SPECIAL <= SPECIAL[::-1], SPECIAL == SPECIAL[::-1], SPECIAL != SPECIAL[::-1]))
    case("logical", "%r0 = logical_and %a, %b\n%r1 = logical_or %a, %b\n%r2 = logical_xor %a, %b\n%r3 = logical_not %a",
         [i, j], (np.logical_and(i, j), np.logical_or(i, j), np.logical_xor(i, j), np.logical_not(i)))
    case("bitwise", "%r0 = bitwise_and %a, %b\n%r1 = bitwise_or %a, %b\n%r2 = bitwise_xor %a, %b\n%r3 = bitwise_not %a",
         [i, j], (i & j, i | j, i ^ j, ~i))
    case("classify", "%r0 = isnan %a\n%r1 = isinf %a\n%r2 = isfinite %a", [SPECIAL],
         (np.isnan(SPECIAL), np.isinf(SPECIAL), np.isfinite(SPECIAL)))
    case("where", "%c = gt %a, %b\n%r0 = where %c, %a, %b", [a, b], np.where(a > b, a, b))
    case("to_int", "%r0 = to %a, dtype=i32\n%r1 = to %a, dtype=i64", [a], (a.astype(np.int32), a.astype(np.int64)))
    case("to_float", "%r0 = to %a, dtype=f32", [i * 123456789], (i * 123456789).astype(np.float32))
    case("relu_clamp", "%r0 = relu %a\n%r1 = clamp %a, min=-1, max=2", [a],
         (np.maximum(a, 0), np.clip(a, np.float32(-1), np.float32(2))))


ROOT = fractions.Fraction("0.70710678118654752440084436210484903928")


def gelu(x):
    """Exact to a rounding or two: erfc at a double beside x / sqrt(2), and its slope for the rest of the way."""
    if not math.isfinite(x):
        return -0.0 if x < 0 else x
    x = max(x, -64)
    at = -x * float(ROOT)
    rest = float(-fractions.Fraction(x) * ROOT - fractions.Fraction(at))
    return x / 2 * (math.erfc(at) - 2 / math.sqrt(math.pi) * math.exp(-at * at) * rest)


def functions():
    x = floats(40, scale=3.0)
    positive = np.abs(x) + np.float32(0.01)
    unit = np.clip(x / 12, -1, 1).astype(np.float32)
    for name, argument, function in [
            ("exp", x, np.exp), ("exp2", x, np.exp2), ("expm1", x, np.expm1), ("log", positive, np.log),
            ("log2", positive, np.log2), ("log10", positive, np.log10), ("log1p", positive, np.log1p),
            ("sin", x, np.sin), ("cos", x, np.cos), ("tan", x, np.tan), ("asin", unit, np.arcsin),
            ("acos", unit, np.arccos), ("atan", x, np.arctan), ("sinh", x, np.sinh), ("cosh", x, np.cosh),
            ("tanh", x, np.tanh), ("sigmoid", x, lambda v: 1 / (1 + np.exp(-v)))]:
        case(name, f"%r0 = {name} %a", [argument], function(wide(argument)).astype(np.float32), 2)
    case("pow", "%r0 = pow %a, %b", [positive, x], np.power(wide(positive), wide(x)).astype(np.float32), 2)
    case("atan2", "%r0 = atan2 %a, %b", [x, x[::-1].copy()], np.arctan2(wide(x), wide(x[::-1])).astype(np.float32), 2)

    # erfc's tail magnifies what gelu loses in x / sqrt(2) by x^2; at the infinities gelu is 0 and infinite, never NaN.
    erfc = np.vectorize(math.erfc, otypes=[np.float64])
    tail = np.array([-np.inf, -300, -40, -13, -12.9296875, -11.8671875, -9, -7.953125, -6, -5, -3, -1, -0.0, 0, 0.25, 1, 3,
                     6, 12, np.inf, np.nan])
    for name, dtype in ("f32", np.float32), ("f64", np.float64):
        argument = tail.astype(dtype)
        case(f"erfc_{name}", "%r0 = erfc %a", [argument], erfc(tail).astype(dtype), 6)
        case(f"gelu_{name}", "%r0 = gelu %a", [argument], np.vectorize(gelu)(tail).astype(dtype), 8)


def reductions():
    a, f = whole(3, 7, 5), floats(3, 130)
    i, many = whole(4, 9, dtype=np.int32), whole(5000, low=-3, high=4)
    case("sum_all", "%r0 = sum %a", [a], np.sum(wide(a)).astype(np.float32))
    case("sum_axes", "%r0 = sum %a, dim=[0, 2]\n%r1 = sum %a, dim=[1], keepdim=true\n%r2 = sum %a, dim=[-1]", [a],
         (wide(a).sum((0, 2)).astype(np.float32), wide(a).sum(1, keepdims=True).astype(np.float32),
          wide(a).sum(-1).astype(np.float32)))
    case("sum_many", "%r0 = sum %a", [many], np.sum(wide(many)).astype(np.float32))
    case("sum_int", "%r0 = sum %a, dim=[0]", [i], i.sum(0, dtype=np.int64))
    case("sum_bool", "%c = gt %a, %b\n%r0 = sum %c, dim=[1]", [i, i[:1]], (i > i[:1]).sum(1))
    case("sum_empty", "%r0 = sum %a, dim=[1]\n%r1 = prod %a, dim=[1]", [floats(3, 0)],
         (np.zeros(3, np.float32), np.ones(3, np.float32)))
    case("prod", "%r0 = prod %a, dim=[1]", [i[:, :5]], i[:, :5].prod(1, dtype=np.int64))
    case("amax_amin", "%r0 = amax %a, dim=[1]\n%r1 = amin %a, dim=[0], keepdim=true", [f],
         (f.max(1), f.min(0, keepdims=True)))
    case("argmax_argmin", "%r0 = argmax %a, dim=1\n%r1 = argmin %a, dim=0", [a], (a.argmax(1), a.argmin(0)))
    case("any_all", "%r0 = any %a, dim=[1]\n%r1 = all %a, dim=[1]", [i], (i.any(1), i.all(1)))
    even = whole(4, 16) * 2
    case("mean_var", "%r0 = mean %a, dim=[1]\n%r1 = var %a, dim=[1]", [even],
         (wide(even).mean(1).astype(np.float32), wide(even).var(1, ddof=1).astype(np.float32)), 4)
    case("softmax", "%r0 = softmax %a, dim=-1", [f], softmax(wide(f)).astype(np.float32), 32)
    case("log_softmax", "%r0 = log_softmax %a, dim=1", [f], np.log(softmax(wide(f))).astype(np.float32), 64)
    case("logsumexp", "%r0 = logsumexp %a, dim=[1]", [f], np.log(np.exp(wide(f)).sum(1)).astype(np.float32), 8)


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def movement():
    a, b = floats(2, 3, 4), floats(2, 5, 4)
    case("permute", "%r0 = permute %a, dims=[2, 0, 1]", [a], a.transpose(2, 0, 1))
    case("transpose_add", "%t = transpose %a, dim0=0, dim1=2\n%r0 = add %t, %t", [a], a.transpose(2, 1, 0) * 2)
    case("reshape", "%r0 = reshape %a, shape=[6, -1]", [a], a.reshape(6, 4))
    case("permute_reshape", "%t = permute %a, dims=[1, 2, 0]\n%r0 = reshape %t, shape=[3, 8]", [a],
         a.transpose(1, 2, 0).reshape(3, 8))
    case("expand", "%u = unsqueeze %a, dim=1\n%r0 = expand %u, size=[2, 5, 3, 4]", [a],
         np.broadcast_to(a[:, None], (2, 5, 3, 4)))
    case("slice", "%r0 = slice %a, dim=2, start=1, end=4, step=2\n%r1 = slice %a, dim=1, start=-2", [a],
         (a[:, :, 1:4:2], a[:, -2:]))
    case("cat", "%r0 = cat [%a, %b, %a], dim=1", [a, b], np.concatenate([a, b, a], 1))
    case("stack", "%r0 = stack [%a, %b], dim=1", [a, a[::-1].copy()], np.stack([a, a[::-1]], 1))
    case("select", "%r0 = select %a, dim=1, index=-1", [a], a[:, -1])
    case("squeeze", "%r0 = squeeze %a", [a[:, :1]], a[:, 0])
    case("flatten", "%r0 = flatten %a, start_dim=1", [a], a.reshape(2, 12))


def indexing():
    a = floats(5, 4)
    rows, picks = np.array([4, 0, -1, 2, 2], np.int64), np.array([[0, 3], [-1, 1], [2, 2]], np.int32)
    case("index_select", "%r0 = index_select %a, %b, dim=0", [a, rows], a[rows])
    case("gather", "%r0 = gather %a, %b, dim=1", [a, picks], np.take_along_axis(a[:3], picks.astype(np.int64) % 4, 1))
    case("embedding", "%r0 = embedding %a, %b", [a, np.array([[0, 4], [3, 3]], np.int64)],
         a[np.array([[0, 4], [3, 3]])])
    case("one_hot", "%r0 = one_hot %a, num_classes=4", [np.array([2, 0, 3], np.int64)],
         np.eye(4, dtype=np.int64)[[2, 0, 3]])


def products():
    a, b, v = whole(5, 7), whole(7, 33), whole(7)
    batch_a, batch_b = whole(3, 2, 4), whole(3, 4, 5)
    case("mm", "%r0 = mm %a, %b", [a, b], a @ b)
    case("mm_int", "%r0 = mm %a, %b", [a.astype(np.int64), b.astype(np.int64)], a.astype(np.int64) @ b.astype(np.int64))
    case("mm_empty", "%r0 = mm %a, %b", [a[:, :0], b[:0]], np.zeros((5, 33), np.float32))
    case("mm_double", "%r0 = mm %a, %b", [wide(a), wide(b)], wide(a) @ wide(b))
    case("bmm", "%r0 = bmm %a, %b", [batch_a, batch_b], batch_a @ batch_b)
    case("matmul_broadcast", "%r0 = matmul %a, %b", [batch_a, batch_b[0]], batch_a @ batch_b[0])
    case("mv_dot", "%r0 = mv %a, %b\n%r1 = dot %b, %b", [a, v], (a @ v, v @ v))
    bias = whole(33)
    case("linear", "%r0 = linear %a, %b, %c", [a, b.T.copy(), bias], a @ b + bias)


def creation():
    case("iota", "%r0 = iota size=[2, 3], dim=1, dtype=i64", [], np.broadcast_to(np.arange(3), (2, 3)))
    case("arange", "%r0 = arange end=7\n%r1 = arange start=1, end=9, step=3", [], (np.arange(7), np.arange(1, 9, 3)))
    case("eye", "%r0 = eye n=3, m=4", [], np.eye(3, 4, dtype=np.float32))
    case("full", "%r0 = full size=[2, 2], fill_value=1.5", [], np.full((2, 2), 1.5, np.float32))


if __name__ == "__main__":
    elementwise()
    functions()
    reductions()
    movement()
    indexing()
    products()
    creation()
