"""Cases of calls: weights, limits, reductions, creation, movement, indexing and products."""
import math

import torch
import torch.nn.functional as F

from torch_recorder import ALL, DTYPES, FLOATS, INF, INTEGERS, NAN, case, number, ones, special, tensor


def weights():
    flags, counts = [tensor([True, False], "bool"), tensor([True, True], "bool")], [tensor([1, 2], "i64"), tensor(
        [3, 4], "i64")]
    reals = [tensor([1.0, 2.0]), tensor([3.0, 4.0])]
    for name in ("add", "sub", "rsub"):
        function = getattr(torch, name)
        for kind, inputs in {"bool": flags, "i64": counts, "f32": reals, "mixed": [counts[0], reals[1]],
                             "wide": [tensor([1.0, 2.0], "f64"), tensor([2**30 + 1, 7], "i64")]}.items():
            for text, alpha in {"1": 1, "2": 2, "0": 0, "2.5": 2.5, "true": True, "0.1": 0.1}.items():
                label = text.replace(".", "_")
                case(f"{name}_alpha_{label}_{kind}", f"%r0 = {name} %a, %b, alpha={text}", inputs,
                     lambda a, b: function(a, b, alpha=alpha), tolerance=1)
        for text, alpha in {"2": 2, "2.5": 2.5}.items():
            label = text.replace(".", "_")
            case(f"{name}_number_alpha_{label}", f"%r0 = {name} %a, 3, alpha={text}", counts[:1],
                 lambda a: function(a, 3, alpha=alpha))
            case(f"{name}_real_alpha_{label}", f"%r0 = {name} %a, 3.5, alpha={text}", counts[:1],
                 lambda a: function(a, 3.5, alpha=alpha))
    case("add_alpha_zero_nan", "%r0 = add %a, %b, alpha=0", [tensor([1.0, 2.0]), tensor([NAN, INF])],
         lambda a, b: torch.add(a, b, alpha=0))
    case("sub_bools_numbers", "%r0 = sub %a, %b", [flags[0], counts[0]], torch.sub, "bool_difference")


def addmm():
    wild, plain = tensor([NAN, INF]), tensor([1.0, -0.0])
    one, other = tensor([[1.0], [2.0]]), tensor([[3.0, 4.0]])
    odd = tensor([[NAN], [INF]])
    for beta in ("0", "1", "2", "-0.0", "0.5", "false"):
        for alpha in ("0", "1", "3", "0.5", "true"):
            values = {"false": False, "true": True}
            keywords = {"beta": values.get(beta, float(beta) if "." in beta else beta),
                        "alpha": values.get(alpha, float(alpha) if "." in alpha else alpha)}
            keywords = {key: int(value) if isinstance(value, str) else value for key, value in keywords.items()}
            label = f"{beta}_{alpha}".replace(".", "_").replace("-", "minus_")
            self = wild if float(keywords["beta"]) == 0 else plain
            left = odd if float(keywords["alpha"]) == 0 else one
            case(f"addmm_{label}", f"%r0 = addmm %a, %b, %c, beta={beta}, alpha={alpha}", [self, left, other],
                 lambda a, b, c: torch.addmm(a, b, c, **keywords))
    whole = [tensor([1, 2], "i64"), tensor([[1], [2]], "i64"), tensor([[3, 4]], "i64")]
    for beta in ("0", "2", "2.5", "0.5"):
        case(f"addmm_integers_{beta}".replace(".", "_"), f"%r0 = addmm %a, %b, %c, beta={beta}", whole,
             lambda a, b, c: torch.addmm(a, b, c, beta=float(beta)))
    case("addmm", "%r0 = addmm %a, %b, %c", [plain, one, other], torch.addmm)
    case("addmm_nan", "%r0 = addmm %a, %b, %c", [wild, one, other], torch.addmm)
    for beta in ("0", "2"):
        case(f"addmm_empty_{beta}", f"%r0 = addmm %a, %b, %c, beta={beta}", [tensor([NAN, 2.0]), ones(2, 0), ones(0, 2)],
             lambda a, b, c: torch.addmm(a, b, c, beta=int(beta)))
        case(f"addmm_shape_{beta}", f"%r0 = addmm %a, %b, %c, beta={beta}", [ones(5), one, other],
             lambda a, b, c: torch.addmm(a, b, c, beta=int(beta)))
    case("addmm_rank", "%r0 = addmm %a, %b, %c", [ones(3, 2, 2), one, other], torch.addmm)
    case("addmm_grows", "%r0 = addmm %a, %b, %c", [ones(5, 2), tensor([[1.0]]), other], torch.addmm)
    case("addmm_dtypes", "%r0 = addmm %a, %b, %c", [whole[0], one, other], torch.addmm)


def limits():
    for dtype in ALL:
        text, value = number(dtype)
        values = special(dtype)
        case(f"clamp_both_{dtype}", f"%r0 = clamp %a, min=-1, max=2", [values], lambda a: a.clamp(-1, 2))
        case(f"clamp_min_{dtype}", f"%r0 = clamp %a, min={text}", [values], lambda a: a.clamp(min=value),
             "bool_clamp" if dtype == "bool" else None)
        case(f"clamp_max_{dtype}", f"%r0 = clamp %a, max=1.5", [values], lambda a: a.clamp(max=1.5))
        case(f"clamp_crossed_{dtype}", f"%r0 = clamp %a, min=3, max=2", [values], lambda a: a.clamp(3, 2))
        case(f"clamp_nothing_{dtype}", "%r0 = clamp %a", [values], torch.clamp)
        case(f"clamp_tensors_{dtype}", "%r0 = clamp %a, min=%b, max=%c", [values, values.flip(0), values.roll(3)],
             torch.clamp, "bool_clamp" if dtype == "bool" else None)
        case(f"clamp_tensor_{dtype}", "%r0 = clamp %a, max=%b", [values, values.flip(0)], torch.clamp_max)
    for dtype in FLOATS:
        edge = tensor([0.0, -0.0, NAN, INF, -INF, 1.0, -1.0], dtype)
        for low in ("0.0", "-0.0", "-1.0", "nan", "-inf"):
            for high in ("0.0", "-0.0", "1.0", "nan", "inf"):
                label = f"{low}_{high}_{dtype}".replace(".", "_").replace("-", "m")
                case(f"clamp_{label}", f"%r0 = clamp %a, min={low}, max={high}", [edge],
                     lambda a: a.clamp(float(low), float(high)))
        for text in ("0.0", "-0.0", "nan"):
            label = f"{text}_{dtype}".replace(".", "_").replace("-", "m")
            case(f"clamp_min_{label}", f"%r0 = clamp %a, min={text}", [edge], lambda a: a.clamp(min=float(text)))
            case(f"clamp_max_{label}", f"%r0 = clamp %a, max={text}", [edge], lambda a: a.clamp(max=float(text)))
        # Of few elements, with which PyTorch computes one after the other: the tensor's own zero wins.
        zeros = [tensor([0.0, -0.0, -0.0], dtype), tensor([-0.0, 0.0, -1.0], dtype), tensor([1.0, 1.0, 0.0], dtype)]
        case(f"clamp_zeros_{dtype}", "%r0 = clamp %a, min=%b, max=%c", zeros, torch.clamp)
        case(f"clamp_zeros_above_{dtype}", "%r0 = clamp %a, max=%b", [zeros[0], zeros[1].abs()], torch.clamp_max)
        case(f"clamp_zero_{dtype}", "%r0 = clamp %a, min=%b, max=%c", [tensor(v, dtype) for v in (-0.0, -1.0, 0.0)],
             torch.clamp)
        many = [torch.full((64,), v, dtype=DTYPES[dtype]) for v in (-0.0, 0.0)]
        case(f"clamp_many_zeros_{dtype}", "%r0 = clamp %a, min=%b", many, torch.clamp_min, "equal_zeros")


def extremes():
    for dtype in ALL:
        pair = torch.stack([special(dtype), special(dtype).flip(0)])
        for name in ("max", "min"):
            function = getattr(torch, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [special(dtype)], function)
            case(f"{name}_other_{dtype}", f"%r0 = {name} %a, %b", [pair[0], pair[1]], function)
            case(f"a{name}_rows_{dtype}", f"%r0 = a{name} %a, dim=[0]\n%r1 = a{name} %a, dim=[1], keepdim=true", [pair],
                 lambda a: [getattr(torch, f"a{name}")(a, 0), getattr(torch, f"a{name}")(a, 1, True)])
            case(f"arg{name}_{dtype}", f"%r0 = arg{name} %a, dim=0\n%r1 = arg{name} %a", [pair.flip(0)],
                 lambda a: [getattr(torch, f"arg{name}")(a, 0), getattr(torch, f"arg{name}")(a)],
                 "bool_index" if dtype == "bool" else None)
            case(f"a{name}_nothing_{dtype}", f"%r0 = a{name} %a, dim=[0]", [special(dtype)[:0]],
                 lambda a: getattr(torch, f"a{name}")(a, 0))
        bools = "any_of_bytes" if dtype == "u8" else None
        for name in ("any", "all"):
            function = getattr(torch, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a\n%r1 = {name} %a, dim=1\n%r2 = {name} %a, dim=[0, 1]", [pair],
                 lambda a: [function(a), function(a, 1), function(a, (0, 1))], bools)
            for keepdim in (False, True):
                case(f"{name}_no_axis_{dtype}_{keepdim}",
                     f"%r0 = {name} %a, dim=[], keepdim={str(keepdim).lower()}", [pair],
                     lambda a: function(a, dim=(), keepdim=keepdim), bools)
            case(f"{name}_nothing_{dtype}", f"%r0 = {name} %a", [special(dtype)[:0]], function, bools)
    for name, better in {"max": -0.0, "min": 0.0}.items():
        zeros = tensor([-better, better])
        case(f"{name}_dim_zeros", f"%m:2 = {name} %a, dim=0\n%r0 = reshape %m#0, shape=[]\n%r1 = reshape %m#1, shape=[]", [zeros],
             lambda a: list(getattr(torch, name)(a, 0)), "index_of_zero")



# Numbers whose sums depend on their order, so many that two orders hardly agree: n * 7919 mod 1009 / 1009.
MANY = """%i = iota size=[80000], dtype=i64
%p = mul %i, 7919
%q = remainder %p, 1009
%n = to %q, dtype=f32
%f = div %n, 1009.0
%many = reshape %f, shape=[20, 4000]
%kept = reshape %f, shape=[4000, 20]"""


def many_numbers():
    return ((torch.arange(80000) * 7919 % 1009).float() / 1009).reshape(20, 4000)


def reductions():
    for dtype in ALL:
        small = (torch.arange(24).reshape(2, 3, 4) % 5 - int(dtype != "bool")).to(DTYPES[dtype])
        for name, tolerance in {"sum": 0, "prod": 0, "mean": 1, "var": 2, "logsumexp": 8}.items():
            function = getattr(torch, name)
            listed = None if dtype in FLOATS or name not in ("mean", "var") else "integer_mean"
            case(f"{name}_axis_{dtype}", f"%r0 = {name} %a, dim=1\n%r1 = {name} %a, dim=-1, keepdim=true", [small],
                 lambda a: [function(a, dim=1), function(a, dim=-1, keepdim=True)], listed, tolerance)
            if name != "logsumexp":
                case(f"{name}_{dtype}", f"%r0 = {name} %a", [small], function, listed, tolerance)
            if name != "prod":
                case(f"{name}_axes_{dtype}", f"%r0 = {name} %a, dim=[0, 2]", [small],
                     lambda a: function(a, dim=(0, 2)), listed, tolerance)
                case(f"{name}_no_axis_kept_{dtype}", f"%r0 = {name} %a, dim=[], keepdim=true", [small],
                     lambda a: function(a, dim=(), keepdim=True), listed, tolerance)
                case(f"{name}_no_axis_{dtype}", f"%r0 = {name} %a, dim=[]", [small], lambda a: function(a, dim=()),
                     "logsumexp_axes" if name == "logsumexp" else listed, tolerance)
            if name != "var":
                case(f"{name}_nothing_{dtype}", f"%r0 = {name} %a, dim=0", [small[0, :0]], lambda a: function(a, dim=0),
                     listed, tolerance)
        for name in ("sum", "prod"):
            case(f"{name}_as_f64_{dtype}", f"%r0 = {name} %a, dim=0, dtype=f64", [small],
                 lambda a: getattr(torch, name)(a, dim=0, dtype=torch.float64))
        for name in ("amax", "amin"):
            case(f"{name}_no_axis_{dtype}", f"%r0 = {name} %a, dim=[]\n%r1 = {name} %a, dim=[], keepdim=true", [small],
                 lambda a: [getattr(torch, name)(a, dim=()), getattr(torch, name)(a, dim=(), keepdim=True)])
        for name in ("softmax", "log_softmax"):
            function = getattr(torch, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a, dim=1", [small], lambda a: function(a, 1), None, 8)
            case(f"{name}_as_f32_{dtype}", f"%r0 = {name} %a, dim=1, dtype=f32", [small],
                 lambda a: function(a, 1, dtype=torch.float32), None, 8)
    for dtype in FLOATS:
        rows = tensor([[NAN, 1.0], [INF, 1.0], [-INF, 1.0], [-INF, -INF], [INF, -INF], [INF, INF]], dtype)
        for name in ("sum", "prod", "logsumexp", "amax", "amin"):
            case(f"{name}_special_{dtype}", f"%r0 = {name} %a, dim=1", [rows], lambda a: getattr(torch, name)(a, dim=1),
                 None, 8)
        for name in ("softmax", "log_softmax"):
            case(f"{name}_special_{dtype}", f"%r0 = {name} %a, dim=1", [rows], lambda a: getattr(torch, name)(a, 1),
                 None, 8)
        case(f"var_correction_{dtype}", "%r0 = var %a, dim=[0], correction=0\n%r1 = var %a, dim=[0], correction=3\n"
             "%r2 = var %a, dim=[0], correction=9", [tensor([1, 2, 4], dtype)],
             lambda a: [a.var(dim=0, correction=c) for c in (0, 3, 9)], None, 2)
        case(f"var_dim_{dtype}", "%r0 = var %a, dim=[0], unbiased=false, keepdim=true\n"
             "%r1 = var %a, dim=[0], unbiased=true, keepdim=false", [tensor([1, 2, 4], dtype)],
             lambda a: [a.var(0, False, True), a.var(0, True)], tolerance=2)
        case(f"std_{dtype}", "%r0 = std %a\n%r1 = std %a, dim=[0], unbiased=false, keepdim=true\n"
             "%r2 = std %a, dim=[0], correction=0", [tensor([1, 2, 4], dtype)],
             lambda a: [a.std(), a.std(0, False, True), a.std(dim=0, correction=0)], tolerance=2)
        case(f"var_unbiased_{dtype}", "%r0 = var %a, unbiased=false\n%r1 = var %a, unbiased=true",
             [tensor([1, 2, 4], dtype)], lambda a: [a.var(unbiased=False), a.var(unbiased=True)], None, 2)
    case("sum_of_many", f"{MANY}\n%r0 = sum %many, dim=1\n%r1 = sum %kept, dim=0", [],
         lambda: [many_numbers().sum(1), many_numbers().reshape(4000, 20).sum(0)], "sum_order")


def scans():
    for dtype in ALL:
        small = (torch.arange(24).reshape(2, 3, 4) * 7 % 5 - int(dtype != "bool")).to(DTYPES[dtype])
        for name in ("cumsum", "cumprod"):
            function = getattr(torch, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a, dim=1\n%r1 = {name} %a, dim=-1\n%r2 = {name} %a, dim=0, dtype=f64",
                 [small], lambda a: [function(a, 1), function(a, -1), function(a, 0, dtype=torch.float64)])
        for name in ("cummax", "cummin"):
            case(f"{name}_{dtype}", f"%m:2 = {name} %a, dim=1\n%r0 = reshape %m#0, shape=[2, 3, 4]\n"
                 "%r1 = reshape %m#1, shape=[2, 3, 4]", [small], lambda a: getattr(torch, name)(a, 1))
        case(f"logcumsumexp_{dtype}", "%r0 = logcumsumexp %a, dim=1", [small], lambda a: torch.logcumsumexp(a, 1),
             None, 8)
    for dtype in FLOATS:
        rows = tensor([[0.1, NAN, 1.0, NAN], [0.7, INF, -INF, 1.0], [-INF, -INF, 2.0, INF], [0.0, -0.0, 0.0, -0.0]], dtype)
        for name in ("cumsum", "cumprod", "logcumsumexp"):
            case(f"{name}_special_{dtype}", f"%r0 = {name} %a, dim=1", [rows], lambda a: getattr(torch, name)(a, 1),
                 None, 8 if name == "logcumsumexp" else 0)
        for name in ("cummax", "cummin"):
            case(f"{name}_special_{dtype}", f"%m:2 = {name} %a, dim=1\n%r0 = reshape %m#0, shape=[4, 4]\n"
                 "%r1 = reshape %m#1, shape=[4, 4]", [rows], lambda a: getattr(torch, name)(a, 1))
        case(f"cumsum_scalar_{dtype}", "%r0 = cumsum %a, dim=0", [tensor(2.5, dtype)], lambda a: a.cumsum(0))
    case("cumsum_of_many", f"{MANY}\n%r0 = cumsum %many, dim=1\n%r1 = cumsum %kept, dim=0", [],
         lambda: [many_numbers().cumsum(1), many_numbers().reshape(4000, 20).cumsum(0)])


NARROW_INTEGERS = tuple(dtype for dtype in INTEGERS if dtype != "i64")


def arange_text(arguments):
    names = {1: ["end"], 2: ["start", "end"], 3: ["start", "end", "step"]}[len(arguments)]
    return ", ".join(f"{name}={str(value).lower()}" for name, value in zip(names, arguments))


def leaves_range(arguments, dtype):
    """Whether an arange, of numbers that an i64 holds, has one that the dtype does not."""
    start, end, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    if not all(map(math.isfinite, (start, end, step))) or step == 0 or (end - start) / step <= 0 or abs(step) < 1e-9:
        return False
    last, info = start + (math.ceil((end - start) / step) - 1) * step, torch.iinfo(dtype)
    return abs(last) < 2**63 and not all(info.min <= math.trunc(number) <= info.max for number in (start, last))


def label_of(*parts):
    text = "_".join(str(part) for part in parts)
    return text.replace("-", "m").replace(".", "p").replace("+", "").lower()


def creation():
    many = 2**53
    calls = [(5,), (5.0,), (7.9,), (2, 5), (-2.5, 2.5, 1), (0, 7.5, 1), (0, 5, 1.5), (0, -5, -1.5), (0.9, -4.9, -1),
             (0.9, 4.9, 1), (-2.9, -5.2, -1), (0, 0.5, 1), (0.5, -0.5, 1), (0.9, 0.1, 1), (1, 5, 0), (1, 5, -1), (5, 1, 1),
             (5, 5, -1), (5, 5, 1), (3, -4, -2), (0.0, -3.0, -1.0), (-0.0, -3.0, -1.0), (-0.0, 3.0, 1.0), (1, 0, -0.25),
             (16777216, 16777220), (2**31 - 2, 2**31 + 1), (2**31, 2**31 + 2), (-(2**31), -(2**31) + 2), (INF,), (0, NAN),
             (0, 1, NAN), (0, 1, 1e-300), (1e300,), (0, 3e10, 1e10), (True,), (many, many + 3), (1e19, 2e19, 1e18)]
    for arguments in calls:
        for name, dtype in [("default", None)] + list(DTYPES.items()):
            given = f", dtype={name}" if dtype else ""
            listed = "arange_step" if arguments == (1, 0, -0.25) and name in NARROW_INTEGERS else None
            if arguments[0] == many and name in NARROW_INTEGERS + FLOATS:
                listed = "arange_length"
            if name in NARROW_INTEGERS and leaves_range(arguments, dtype):
                listed = "arange_beyond"
            case(label_of("arange", *arguments, name), f"%r0 = arange {arange_text(arguments)}{given}", [],
                 lambda: torch.arange(*arguments, dtype=dtype), listed)
    exact = [(many + 1, many + 4), (2**62, 2**62 + 3), (2**63 - 4, 2**63 - 1), (-(2**63), -(2**63) + 3),
             (2**63 - 1, 2**63 - 4, -1), (many + 1, many - 2, -1)]
    for arguments in exact:
        case(label_of("arange", *arguments), f"%r0 = arange {arange_text(arguments)}", [],
             lambda: torch.arange(*arguments))
    case("arange_long_f64", f"%r0 = arange start={many + 1}, end={many + 4}, dtype=f64", [],
         lambda: torch.arange(many + 1, many + 4, dtype=torch.float64), "arange_length")
    case("arange_wide_i64", f"%r0 = arange start={-2**63}, end={2**63 - 1}, step={2**62}", [],
         lambda: torch.arange(-(2**63), 2**63 - 1, 2**62), "arange_wide")
    case("arange_small_step_i32", "%r0 = arange start=0, end=1, step=0.3, dtype=i32", [],
         lambda: torch.arange(0, 1, 0.3, dtype=torch.int32), "arange_step")
    case("arange_small_step_i64", "%r0 = arange start=0, end=1, step=0.3, dtype=i64", [],
         lambda: torch.arange(0, 1, 0.3, dtype=torch.int64))
    case("arange_infinite_step", "%r0 = arange start=0, end=1, step=inf", [], lambda: torch.arange(0, 1, INF), "arange_infinite")
    case("arange_rounding", "%r0 = arange start=0.1, end=99.9, step=0.1", [], lambda: torch.arange(0.1, 99.9, 0.1), "arange_values")
    case("arange_rounding_f64", "%r0 = arange start=0.1, end=4, step=0.1, dtype=f64", [],
         lambda: torch.arange(0.1, 4, 0.1, dtype=torch.float64), "arange_values")
    for name, dtype in DTYPES.items():
        for steps in (-1, 0, 1, 2, 5):
            case(f"linspace_{steps}_{name}".replace("-", "m"), f"%r0 = linspace start=-2, end=6, steps={steps}, dtype={name}", [],
                 lambda: torch.linspace(-2, 6, steps, dtype=dtype),
                 "linspace_unsigned" if (name, steps) == ("u8", 5) else None)
        for label, start, end in (("down", 4.3, -3.7), ("up", -2.9, 50.5)) if name in INTEGERS else ():
            case(f"linspace_{label}_{name}", f"%r0 = linspace start={start}, end={end}, steps=50, dtype={name}", [],
                 lambda: torch.linspace(start, end, 50, dtype=dtype), "linspace_unsigned" if name == "u8" else None)
        case(f"creation_{name}", f"%r0 = full size=[2], fill_value=2.5, dtype={name}\n%r1 = zeros size=[2], dtype={name}\n"
             f"%r2 = ones size=[2], dtype={name}\n%r3 = eye n=2, m=3, dtype={name}", [],
             lambda: [torch.full((2,), 2.5, dtype=dtype), torch.zeros(2, dtype=dtype), torch.ones(2, dtype=dtype),
                      torch.eye(2, 3, dtype=dtype)])
        case(f"creation_like_{name}", "%r0 = full_like %a, fill_value=2.5\n%r1 = zeros_like %a\n%r2 = ones_like %a",
             [ones(2, 3, dtype=name)], lambda a: [torch.full_like(a, 2.5), torch.zeros_like(a), torch.ones_like(a)])
    case("creation_default", "%r0 = full size=[2], fill_value=2.5\n%r1 = full size=[2], fill_value=2\n"
         "%r2 = full size=[2], fill_value=true\n%r3 = eye n=2\n%r4 = zeros size=[1]",
         [], lambda: [torch.full((2,), 2.5), torch.full((2,), 2), torch.full((2,), True), torch.eye(2), torch.zeros(1)])


def movement():
    a, b, empty = torch.arange(12.0).reshape(3, 4), torch.arange(4.0).reshape(1, 4), torch.empty(0)
    cats = {"rows": ([a, b], 0), "columns": ([a, a], 1), "back": ([a, a], -1), "ranks": ([a, ones(4)], 0),
            "sizes": ([a, ones(2, 3)], 0), "scalar": ([a, ones()], 0), "empty_first": ([empty, a], 1),
            "empty_last": ([a, empty], 0), "empty_between": ([a, empty, b], 0), "empty_only": ([empty, empty], 0),
            "empty_only_axis_1": ([empty, empty], 1), "empty_only_back": ([empty, empty], -1), "empty_one": ([empty], 0),
            "empty_axis": ([empty, a], 2), "empty_back": ([empty, a], -2), "empty_scalar": ([empty, ones()], 0),
            "empty_matrix": ([ones(0, 0), a], 1), "empty_rows": ([ones(0, 4), a], 0), "empty_columns": ([ones(3, 0), a], 1),
            "empty_row": ([empty, ones(0, 3)], 1), "empty_vector": ([empty, ones(1), a], 0), "lists": ([empty, ones(2)], 0),
            "empty_f64": ([torch.empty(0, dtype=torch.float64), a], 1),
            "empty_promotes": ([torch.empty(0, dtype=torch.float64), ones(2, 3, dtype="i64")], 1),
            "promotes": ([ones(2, dtype="bool"), ones(1, dtype="i32"), ones(3, dtype="f32")], 0),
            "cube": ([empty, ones(2, 1, 3), empty, ones(2, 2, 3)], 1)}
    for name, (inputs, axis) in cats.items():
        names = ", ".join(f"%{letter}" for letter in "abcdef"[:len(inputs)])
        case(f"cat_{name}", f"%r0 = cat [{names}], dim={axis}", inputs, lambda *tensors: torch.cat(tensors, axis))
    many = ", ".join(["%a", "%b"] * 8)
    case("cat_many_empty", f"%r0 = cat [{many}], dim=0", [a, empty], lambda a, b: torch.cat([a, b] * 8))
    case("stack", "%r0 = stack [%a, %b], dim=1", [a, a + 1], lambda a, b: torch.stack([a, b], 1))
    case("stack_empty", "%r0 = stack [%a, %b]", [empty, a], lambda a, b: torch.stack([a, b]))
    for index in (-4, -3, 0, 2, 3, 9):
        label = str(index).replace("-", "m")
        case(f"select_{label}", f"%r0 = select %a, dim=0, index={index}", [a], lambda a: a.select(0, index))
        case(f"narrow_{label}", f"%r0 = narrow %a, dim=0, start={index}, length=1", [a], lambda a: a.narrow(0, index, 1))
        case(f"slice_{label}", f"%r0 = slice %a, dim=0, start={index}\n%r1 = slice %a, dim=0, end={index}", [a],
             lambda a: [a[index:], a[:index]])
    case("narrow_long", "%r0 = narrow %a, dim=0, start=2, length=2", [a], lambda a: a.narrow(0, 2, 2))
    case("narrow_negative", "%r0 = narrow %a, dim=0, start=0, length=-1", [a], lambda a: a.narrow(0, 0, -1))
    case("narrow_nothing", "%r0 = narrow %a, dim=0, start=3, length=0", [a], lambda a: a.narrow(0, 3, 0))
    case("squeezes", "%r0 = squeeze %a\n%r1 = squeeze %a, dim=0\n%r2 = squeeze %a, dim=[]\n%r3 = squeeze %a, dim=[0, 2]\n"
         "%r4 = squeeze %a, dim=1\n%r5 = unsqueeze %a, dim=-1", [ones(1, 3, 1)],
         lambda a: [a.squeeze(), a.squeeze(0), torch.squeeze(a, ()), a.squeeze((0, 2)), a.squeeze(1), a.unsqueeze(-1)])
    case("views", "%r0 = permute %a, dims=[1, 0]\n%r1 = reshape %a, shape=[2, -1]\n%r2 = view %a, size=[12]\n"
         "%r3 = flatten %a\n%r4 = transpose %a, dim0=0, dim1=1\n%r5 = t %a\n%r6 = expand %a, size=[2, -1, 4]", [a],
         lambda a: [a.permute(1, 0), a.reshape(2, -1), a.view(12), a.flatten(), a.transpose(0, 1), a.t(),
                    a.expand(2, -1, 4)])
    case("reshape_wrong", "%r0 = reshape %a, shape=[5, -1]", [a], lambda a: a.reshape(5, -1))
    case("expand_wrong", "%r0 = expand %a, size=[2, 4]", [a], lambda a: a.expand(2, 4))


def indexing():
    a, index = torch.arange(12.0).reshape(3, 4), tensor([[2, 0], [1, 1]], "i64")
    case("gather", "%r0 = gather %a, dim=0, index=%b", [a, index], lambda a, b: a.gather(0, b))
    case("index_select", "%r0 = index_select %a, dim=1, index=%b", [a, index[0]], lambda a, b: a.index_select(1, b))
    case("embedding", "%r0 = embedding %a, %b", [a, index], lambda a, b: F.embedding(b, a))
    case("one_hot", "%r0 = one_hot %a, num_classes=4", [index], lambda a: F.one_hot(a, 4))
    case("one_hot_data", "%r0 = one_hot %a", [index], F.one_hot, "one_hot_classes")
    case("one_hot_range", "%r0 = one_hot %a, num_classes=2", [index], lambda a: F.one_hot(a, 2), "one_hot_range")
    indices()
    for value, listed in ((-1, "negative_index"), (-4, None), (3, None)):
        wrong, label = tensor([0, value], "i64"), str(value).replace("-", "m")
        case(f"gather_{label}", "%r0 = gather %a, dim=0, index=%b", [a[:, 0].contiguous(), wrong],
             lambda a, b: a.gather(0, b), listed, results=["f32[2]"])
        case(f"index_select_{label}", "%r0 = index_select %a, dim=0, index=%b", [a, wrong],
             lambda a, b: a.index_select(0, b), listed, results=["f32[2,4]"])
        case(f"embedding_{label}", "%r0 = embedding %a, %b", [a, wrong], lambda a, b: F.embedding(b, a), listed,
             results=["f32[2,4]"])


def indices():
    """Tensors of indices beside each other, apart, of several shapes, and what fails."""
    a = torch.arange(120.0).reshape(2, 3, 4, 5)
    rows, columns, one = tensor([1, 0, -1], "i64"), tensor([[2], [0]], "i32"), tensor(1, "i64")
    for label, text, chosen in (("first", "[%b]", [rows]), ("second", "[none, %b]", [None, rows]),
                                ("beside", "[none, %b, %c]", [None, rows, columns]),
                                ("apart", "[%b, none, %c]", [rows, None, columns]),
                                ("last", "[none, none, %b, %c]", [None, None, rows, columns]),
                                ("element", "[%d]", [one]), ("elements", "[none, %d, none, %d]", [None, one, None, one]),
                                ("all", "[%b, %c, %d, %b]", [rows, columns, one, rows]),
                                ("too_many", "[%b, %b, %b, %b, %b]", [rows] * 5)):
        case(f"index_{label}", f"%r0 = index %a, {text}", [a, rows, columns, one],
             lambda a, b, c, d: torch.ops.aten.index(a, chosen))
    far, pair, reals = tensor([0, 4], "i64"), tensor([0, 1], "i64"), tensor([0.0, 1.0])
    case("index_far", "%r0 = index %a, [none, %b]", [a, far], lambda a, b: torch.ops.aten.index(a, [None, b]),
         results=["f32[2,2,4,5]"])
    case("index_far_second", "%r0 = index %a, [%c, %b]", [a, far, pair], lambda a, b, c: torch.ops.aten.index(a, [c, b]),
         results=["f32[2,4,5]"])
    case("index_shapes", "%r0 = index %a, [%b, %c]", [a, rows, pair], lambda a, b, c: torch.ops.aten.index(a, [b, c]))
    case("index_reals", "%r0 = index %a, [%b]", [a, reals], lambda a, b: torch.ops.aten.index(a, [b]))


def histograms():
    values = tensor([0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 4.0, NAN])
    for label, text, keywords in (("range", "range=[0, 2]", {"range": (0.0, 2.0)}),
                                  ("part", "range=[0.5, 1.75]", {"range": (0.5, 1.75)}),
                                  ("density", "range=[-1, 5.0], density=true", {"range": (-1.0, 5.0), "density": True}),
                                  ("one_end", "range=[0.5]", {"range": (0.5,)}),
                                  ("crossed", "range=[2, 1]", {"range": (2.0, 1.0)}),
                                  ("point", "range=[1, 1]", {"range": (1.0, 1.0)})):
        case(f"histogram_{label}", f"%m:2 = histogram %a, bins=4, {text}\n%r0 = reshape %m#0, shape=[4]\n%r1 = reshape %m#1, shape=[5]", [values], lambda a: torch.histogram(a, 4, **keywords), tolerance=1)


def numbers_beside_tensors():
    """A number decides no more about the dtype than a tensor without dims does, where it stands for a tensor."""
    for dtype in INTEGERS + FLOATS:
        for label, shape in (("element", ()), ("row", (2,))):
            value = torch.full(shape, 3, dtype=DTYPES[dtype])
            case(f"number_{label}_{dtype}", "%r0 = where %b, %a, -9", [value, tensor([True, False], "bool")],
                 lambda a, b: torch.where(b, a, -9))
            case(f"real_number_{label}_{dtype}", "%r0 = where %b, %a, 0.5", [value, tensor([True, False], "bool")],
                 lambda a, b: torch.where(b, a, 0.5))


def products():
    a, b = torch.arange(6).reshape(2, 3), torch.arange(12).reshape(3, 4)
    for dtype in ALL:
        left, right = a.to(DTYPES[dtype]), b.to(DTYPES[dtype])
        case(f"mm_{dtype}", "%r0 = mm %a, %b", [left, right], torch.mm)
        case(f"matmul_{dtype}", "%r0 = matmul %a, %b\n%r1 = matmul %c, %b\n%r2 = dot %c, %c\n%r3 = mv %a, %c",
             [left, right, left[0]], lambda a, b, c: [a @ b, c @ b, torch.dot(c, c), torch.mv(a, c)])
        case(f"bmm_{dtype}", "%r0 = bmm %a, %b", [left[None].repeat(2, 1, 1), right[None].repeat(2, 1, 1)], torch.bmm)
        case(f"linear_{dtype}", "%r0 = linear %a, %b, %c\n%r1 = linear %a, %b", [left, right.t().contiguous(), right[0]],
             lambda a, b, c: [F.linear(a, b, c), F.linear(a, b)])
    case("mm_dtypes", "%r0 = mm %a, %b", [a.float(), b.double()], torch.mm)
    case("linear_dtypes", "%r0 = linear %a, %b, %c", [a.float(), b.t().float().contiguous(), b[0].double()], F.linear,
         "mixed_products")
    case("mm_nothing", "%r0 = mm %a, %b", [ones(2, 0), ones(0, 3)], torch.mm)
    case("mm_long", f"{MANY}\n%r0 = mm %many, %kept", [], lambda: many_numbers() @ many_numbers().reshape(4000, 20),
         "product_order")


def record():
    for part in (weights, addmm, limits, extremes, reductions, scans, creation, movement, indexing, histograms,
                 numbers_beside_tensors, products):
        part()
