"""Cases of elementwise operators: every kind of number in every dtype, alone, in pairs, and beside plain numbers."""
import torch
import torch.nn.functional as F

from torch_recorder import ALL, DTYPES, EVERY, FLOATS, HALVES, INF, INTEGERS, NAN, case, number, ones, pairs, special, tensor

FUNCTIONS = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc sigmoid").split()
EXACT = ("ceil floor trunc round sqrt rsqrt reciprocal neg square logical_not bitwise_not isnan isinf isfinite").split()
COMPARISONS = "eq ne lt le gt ge".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()


def unary():
    for dtype in ALL:
        for name in EXACT + FUNCTIONS:
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [special(dtype)], getattr(torch, name),
                 tolerance=8 if name in FUNCTIONS else 1 if name == "rsqrt" or (name, dtype) == ("sqrt", "u8") else 0)
        bools = "promoted_functions" if dtype == "bool" else None
        for name in ("abs", "relu"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [special(dtype)], getattr(torch, name), bools)
        case(f"silu_{dtype}", "%r0 = silu %a", [special(dtype)[3:]], F.silu,
             None if dtype in FLOATS else "promoted_functions", 8)
        case(f"sign_{dtype}", "%r0 = sign %a", [special(dtype)[1:]], torch.sign)
        case(f"gelu_{dtype}", "%r0 = gelu %a", [special(dtype)[3:8]], F.gelu, None, 8)
        case(f"to_{dtype}", "\n".join(f"%r{i} = to %a, dtype={to}" for i, to in enumerate(DTYPES)),
             [tensor([0, 1, 2, 1], dtype)], lambda a: [a.to(to) for to in DTYPES.values()])
        case(f"to_bool_{dtype}", "%r0 = to %a, dtype=bool", [special(dtype)], lambda a: a.bool())
    for dtype in FLOATS:
        case(f"sign_nan_{dtype}", "%r0 = sign %a", [tensor([NAN], dtype)], torch.sign, "sign_nan")
        case(f"silu_special_{dtype}", "%r0 = silu %a", [tensor([NAN, INF, -INF], dtype)], F.silu)
        case(f"gelu_{dtype}_infinite", "%r0 = gelu %a", [tensor([-INF], dtype)], F.gelu, "gelu_tail")
        case(f"gelu_{dtype}_nan", "%r0 = gelu %a", [tensor([NAN], dtype)], F.gelu)
        case(f"to_integers_{dtype}", "%r0 = to %a, dtype=i32\n%r1 = to %a, dtype=i64",
             [tensor([0.9, -0.9, 1.5, -1.5, 2.0**30, -(2.0**31)], dtype)], lambda a: [a.int(), a.long()])
        case(f"to_out_of_range_{dtype}", "%r0 = to %a, dtype=i32", [tensor([3e9, -3e9], dtype)], lambda a: a.int())
    case("gelu_minus_6", "%r0 = gelu %a", [tensor([-6.0])], F.gelu, "gelu_tail")
    case("gelu_minus_6_f64", "%r0 = gelu %a", [tensor([-6.0], "f64")], F.gelu, "gelu_tail")
    case("to_narrow", "%r0 = to %a, dtype=i32\n%r1 = to %a, dtype=f32\n%r2 = to %a, dtype=f64", [special("i64")],
         lambda a: [a.int(), a.float(), a.double()])


def trunc_divide(a, b):
    return torch.div(a, b, rounding_mode="trunc")


def no_tiny_numbers(dtype):
    values = special(dtype)
    return values[(values == 0) | (values.abs() >= 1) | values.isnan()]


def binary():
    divisions = {"trunc_divide": trunc_divide, "remainder": torch.remainder, "fmod": torch.fmod}
    names = "add mul div maximum minimum logical_and logical_or logical_xor atan2".split() + COMPARISONS + BITS
    for dtype in ALL:
        for name in names:
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", pairs(dtype), getattr(torch, name),
                 tolerance=8 if name == "atan2" else 0)
        case(f"logaddexp_{dtype}", "%r0 = logaddexp %a, %b", pairs(dtype), torch.logaddexp,
             None if dtype in FLOATS else "promoted_functions", 8)
        for name in ("sub", "rsub"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", pairs(dtype), getattr(torch, name))
        for name, function in divisions.items():
            inputs = pairs(dtype, divisor=True)
            if dtype in FLOATS and name != "trunc_divide":
                inputs[1] = no_tiny_numbers(dtype).reshape(1, -1)
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", inputs, function)
        case(f"pow_{dtype}", "%r0 = pow %a, %b", pairs(dtype), torch.pow, tolerance=8)
        case(f"where_{dtype}", "%r0 = where %a, %b, %c", [special("bool"), special(dtype)[:3], special(dtype)[-3:]],
             torch.where)
    for dtype in FLOATS:
        small = [ones(64, dtype=dtype), torch.full((64,), torch.finfo(DTYPES[dtype]).tiny / 8, dtype=DTYPES[dtype])]
        for name in ("fmod", "remainder"):
            case(f"{name}_subnormal_{dtype}", f"%r0 = {name} %a, %b", small, divisions[name], "tiny_divisor")
        case(f"floor_divide_{dtype}", "%r0 = floor_divide %a, %b", [tensor([7.5, -7.5, 2.0, -0.0], dtype),
             tensor([2.0, 2.0, -4.0, 3.0], dtype)], torch.floor_divide)
        case(f"floor_divide_rounds_{dtype}", "%r0 = floor_divide %a, %b", [tensor([1.0], dtype), tensor([0.1], dtype)],
             torch.floor_divide, "floor_divide")
        for name in ("maximum", "minimum"):
            zeros = [tensor([0.0], dtype), tensor([-0.0], dtype)]
            case(f"{name}_zeros_{dtype}", f"%r0 = {name} %a, %b", zeros, getattr(torch, name), "equal_zeros")
    for dtype in INTEGERS:
        case(f"floor_divide_{dtype}", "%r0 = floor_divide %a, %b", pairs(dtype, divisor=True), torch.floor_divide)
        for name, function in (divisions | {"floor_divide": torch.floor_divide}).items():
            case(f"{name}_zero_{dtype}", f"%r0 = {name} %a, %b", [tensor([7], dtype), tensor([0], dtype)], function,
                 "zero_divisor")


def promotions():
    """Every pair of dtypes, as tensors of dimensions and beside one without."""
    for dtype in EVERY:
        for other in EVERY:
            a, b = tensor([1, 0], dtype), tensor([1, 1], other)
            case(f"promotes_{dtype}_{other}", "%s = select %b, dim=0, index=0\n%r0 = mul %a, %b\n%r1 = mul %a, %s\n"
                 "%r2 = div %a, %b\n%r3 = cat [%a, %b], dim=0\n%r4 = where %c, %a, %b", [a, b, tensor([True, False], "bool")],
                 lambda a, b, c: [a * b, a * b[0], a / b, torch.cat([a, b]), torch.where(c, a, b)])


def halves():
    """Floats of 16 bits."""
    for dtype in HALVES:
        for name in "neg abs sqrt reciprocal ceil floor trunc round square isnan isinf isfinite logical_not".split():
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [special(dtype)], getattr(torch, name))
        for name in "add sub mul div maximum minimum".split() + COMPARISONS:
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", pairs(dtype), getattr(torch, name),
                 "equal_zeros" if name in ("maximum", "minimum") else None)
        for name in "add sub mul div".split() + COMPARISONS:
            function = getattr(torch, name)
            case(f"{name}_number_{dtype}", f"%r0 = {name} %a, 0.1", [special(dtype)], lambda a: function(a, 0.1),
                 "half_and_number" if (name, dtype) == ("add", "f16") else None)
        case(f"to_{dtype}", "\n".join(f"%r{i} = to %a, dtype={to}" for i, to in enumerate(EVERY)),
             [tensor([0, 1, 2.5, -1], dtype)], lambda a: [a.to(to) for to in EVERY.values()])
        for other in ("f32", "f64", "i64"):
            values = torch.cat([special(other), tensor([2049, 65519, 65520, 70000, 33000, 257, 259], other)])
            case(f"{other}_to_{dtype}", f"%r0 = to %a, dtype={dtype}", [values], lambda a: a.to(HALVES[dtype]))
        values = tensor([0.1, 0.7, 300, -4.5, 7, 9, 1e-3, 2], dtype)
        case(f"sums_{dtype}", "%r0 = sum %a\n%r1 = mean %a\n%r2 = amax %a\n%r3 = cumsum %a, dim=0", [values],
             lambda a: [a.sum(), a.mean(), a.amax(), a.cumsum(0)], None, 1)
        case(f"mm_{dtype}", "%r0 = mm %a, %b", [values.reshape(2, 4), values.reshape(4, 2)], torch.mm, None, 1)
        case(f"softmax_{dtype}", "%r0 = softmax %a, dim=0", [values], lambda a: a.softmax(0), None, 1)
        case(f"sort_{dtype}", "%s:2 = sort %a, dim=0, descending=false\n%r0 = reshape %s#0, shape=[8]", [values],
             lambda a: a.sort().values)


def numbers():
    """Operators with a plain number."""
    for dtype in ALL:
        text, value = number(dtype)
        for name in ["add", "mul", "div"] + COMPARISONS + BITS:
            function = getattr(torch, name)
            case(f"{name}_number_{dtype}", f"%r0 = {name} %a, {text}", [special(dtype)], lambda a: function(a, value))
            mixed, other = number("f32" if dtype in INTEGERS else "i64")
            case(f"{name}_mixed_{dtype}", f"%r0 = {name} %a, {mixed}", [special(dtype)], lambda a: function(a, other))
        for name, function in {"remainder": torch.remainder, "fmod": torch.fmod}.items():
            case(f"{name}_number_{dtype}", f"%r0 = {name} %a, {text}", [special(dtype)], lambda a: function(a, value))
        case(f"pow_number_{dtype}", f"%r0 = pow %a, {text}", [special(dtype)], lambda a: torch.pow(a, value),
             "bool_power" if dtype == "bool" else None, 8)
        case(f"pow_base_{dtype}", f"%r0 = pow {text}, %a", [special(dtype)], lambda a: torch.pow(value, a), None, 8)
        for name in ("sub", "rsub"):
            function = getattr(torch, name)
            case(f"{name}_number_{dtype}", f"%r0 = {name} %a, {text}", [special(dtype)], lambda a: function(a, value))
            case(f"{name}_mixed_{dtype}", f"%r0 = {name} %a, 2", [special(dtype)], lambda a: function(a, 2),
                 "bool_difference" if dtype == "bool" else None)
        case(f"where_number_{dtype}", f"%r0 = where %a, %b, {text}\n%r1 = where %a, {text}, %b\n%r2 = where %a, {text}, 2",
             [special("bool"), special(dtype)[:3]],
             lambda a, b: [torch.where(a, b, value), torch.where(a, value, b), torch.where(a, value, 2)])
    for dtype in INTEGERS:
        case(f"pow_negative_{dtype}", "%r0 = pow %a, -2", [special(dtype)], lambda a: torch.pow(a, -2), "integer_power")
        case(f"floor_divide_number_{dtype}", "%r0 = floor_divide %a, 3", [special(dtype)],
             lambda a: torch.floor_divide(a, 3))
    case("promotes_0d", "%r0 = add %a, %b\n%r1 = add %a, %c\n%r2 = mul %b, %c",
         [tensor([1, 2], "i32"), tensor(2.5, "f64"), tensor(7, "i64")], lambda a, b, c: [a + b, a + c, b * c])
    for mode in ("floor", "trunc"):
        case(f"div_{mode}", f'%r0 = div %a, %b, rounding_mode="{mode}"', [tensor([7, -7, 8], "i64"), tensor([2, 2, -3],
             "i64")], lambda a, b: torch.div(a, b, rounding_mode=mode))
        case(f"div_number_{mode}", f'%r0 = div %a, -4, rounding_mode="{mode}"\n%r1 = div %a, -4.0, rounding_mode="{mode}"',
             [tensor(7, "i32")], lambda a: [torch.div(a, -4, rounding_mode=mode), torch.div(a, -4.0, rounding_mode=mode)])


def record():
    for part in (unary, binary, promotions, halves, numbers):
        part()
