"""Cases of what is made element by element: further functions, activations, and losses."""
import math

import torch
import torch.nn.functional as F
from torch.optim.adam import adam
from torch_recorder import ALL, DTYPES, FLOATS, HALVES, INF, INTEGERS, NAN, case, ones, pairs, special, tensor


def functions():
    for dtype in ALL:
        for name in "acosh asinh atanh sinc".split():
            values = special(dtype)[:-3] if name == "sinc" else special(dtype)
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [values], getattr(torch, name), tolerance=8)
        for name in "signbit isposinf isneginf isreal deg2rad rad2deg angle conj conj_physical".split():
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [special(dtype)], getattr(torch, name), tolerance=1)
        case(f"sgn_{dtype}", "%r0 = sgn %a", [special(dtype)[1:]], torch.sgn)
        case(f"copysign_{dtype}", "%r0 = copysign %a, %b\n%r1 = copysign %a, -2", pairs(dtype),
             lambda a, b: [torch.copysign(a, b), torch.copysign(a, -2)])
        for name in ("fmax", "fmin"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", no_zero_pairs(dtype), getattr(torch, name))
        case(f"heaviside_{dtype}", "%r0 = heaviside %a, %b", pairs(dtype), torch.heaviside)
        case(f"nan_to_num_{dtype}", "%r0 = nan_to_num %a\n%r1 = nan_to_num %a, nan=2.0, posinf=3.0, neginf=-4.0",
             [special(dtype)], lambda a: [torch.nan_to_num(a), torch.nan_to_num(a, 2.0, 3.0, -4.0)])
        case(f"float_power_{dtype}", "%r0 = float_power %a, %b\n%r1 = float_power %a, 2\n%r2 = float_power 2, %a", pairs(dtype),
             lambda a, b: [torch.float_power(a, b), torch.float_power(a, 2), torch.float_power(2, a)], tolerance=8)
        case(f"true_divide_{dtype}", "%r0 = true_divide %a, %b\n%r1 = true_divide %a, 3", pairs(dtype),
             lambda a, b: [torch.true_divide(a, b), torch.true_divide(a, 3)])
        case(f"isclose_{dtype}", "%r0 = isclose %a, %b\n%r1 = isclose %a, %b, rtol=0.5, atol=1.0, equal_nan=true",
             pairs(dtype), lambda a, b: [torch.isclose(a, b), torch.isclose(a, b, 0.5, 1.0, True)])
        case(f"masked_fill_{dtype}", "%r0 = masked_fill %a, %b, 1\n%r1 = masked_fill %a, %b, %c",
             [special(dtype)[:3], tensor([[True], [False]], "bool"), special(dtype)[-1]],
             lambda a, b, c: [torch.masked_fill(a, b, 1), torch.masked_fill(a, b, c)])
        case(f"xlogy_{dtype}", "%r0 = xlogy %a, %b\n%r1 = xlogy %a, 2\n%r2 = xlogy 2, %a", pairs(dtype),
             lambda a, b: [torch.xlogy(a, b), torch.xlogy(a, 2), torch.xlogy(2, a)], tolerance=8)
        if dtype != "bool":
            case(f"positive_{dtype}", "%r0 = positive %a", [special(dtype)], torch.positive)
            for name in ("clamp_max", "clamp_min"):
                case(f"{name}_own_{dtype}", f"%r0 = {name} %a, 2\n%r1 = {name} %a, %b", [special(dtype), special(dtype).flip(0)],
                     lambda a, b: [getattr(torch, name)(a, 2), getattr(torch, name)(a, b)])
    for dtype in INTEGERS:
        small = tensor([0, 1, 12, 18, 7, 6], dtype)  # no multiple overflows
        small = torch.cat([small, -small]) if DTYPES[dtype].is_signed else small
        for name in ("gcd", "lcm"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", [small.reshape(-1, 1), small.reshape(1, -1)], getattr(torch, name))
    for name in ("gcd", "lcm"):
        case(f"{name}_bool", f"%r0 = {name} %a, %b", pairs("bool"), getattr(torch, name))
        case(f"{name}_f32", f"%r0 = {name} %a, %b", pairs("f32"), getattr(torch, name))


def no_zero_pairs(dtype):
    """Of two zeros PyTorch takes the first or the second."""
    values = special(dtype)
    values = values[(values != 0) | ~torch.signbit(values)]
    return [values.reshape(-1, 1), values.reshape(1, -1)]


def functions_of_floats():
    for dtype in FLOATS:
        case(f"hypot_{dtype}", "%r0 = hypot %a, %b", pairs(dtype), torch.hypot, tolerance=2)
        case(f"nextafter_{dtype}", "%r0 = nextafter %a, %b", pairs(dtype), torch.nextafter)
        case(f"frac_{dtype}", "%r0 = frac %a", [special(dtype)], torch.frac)
        case(f"frexp_{dtype}", "%m:2 = frexp %a\n%r0 = reshape %m#0, shape=[17]\n%r1 = reshape %m#1, shape=[17]",
             [special(dtype)], torch.frexp)
        values = special(dtype)[special(dtype) != -1]  # of two such the sum is 0, where rounding shows
        case(f"logaddexp2_{dtype}", "%r0 = logaddexp2 %a, %b", [values.reshape(-1, 1), values.reshape(1, -1)], torch.logaddexp2,
             tolerance=8)
        case(f"ldexp_{dtype}", "%r0 = ldexp %a, %b", [special(dtype), tensor([[3], [-2], [0]], "i32")], torch.ldexp)
        case(f"logit_{dtype}", "%r0 = logit %a\n%r1 = logit %a, eps=0.25", [tensor([0.0, 0.1, 0.25, 0.5, 0.9, 1.0, 2.0, NAN], dtype)],
             lambda a: [torch.logit(a), torch.logit(a, 0.25)], tolerance=8)
        case(f"lerp_{dtype}", "%r0 = lerp %a, %b, %c\n%r1 = lerp %a, %b, 0.25\n%r2 = lerp %a, %b, 0.75",
             [tensor([1.0, -2.0, 0.0, INF], dtype), tensor([3.0, 7.0, -1.0, 1.0], dtype), tensor([[0.5], [0.1], [1.0]], dtype)],
             lambda a, b, c: [torch.lerp(a, b, c), torch.lerp(a, b, 0.25), torch.lerp(a, b, 0.75)], tolerance=2)
        thirds = [tensor([1.0, -2.0, 0.5], dtype), tensor([[3.0], [-1.0]], dtype), tensor([4.0, 0.25, -7.0], dtype)]
        for name in ("addcmul", "addcdiv"):
            function = getattr(torch, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b, %c\n%r1 = {name} %a, %b, %c, value=2.5", thirds,
                 lambda a, b, c: [function(a, b, c), function(a, b, c, value=2.5)], tolerance=2)


def floats_of_16_bits():
    for dtype in HALVES:
        values = special(dtype)
        case(f"nextafter_{dtype}", "%r0 = nextafter %a, %b\n%r1 = _nextafter_of_bits %a, %b", pairs(dtype),
             lambda a, b: [torch.nextafter(a, b)] * 2)
        case(f"nan_to_num_{dtype}", "%r0 = nan_to_num %a", [values], torch.nan_to_num)
        case(f"frexp_{dtype}", "%m:2 = frexp %a\n%r0 = reshape %m#0, shape=[17]\n%r1 = reshape %m#1, shape=[17]", [values],
             torch.frexp)
        case(f"ldexp_{dtype}", "%r0 = ldexp %a, %b", [values, tensor([[3], [-2], [0]], "i32")], torch.ldexp)
        case(f"copysign_{dtype}", "%r0 = copysign %a, %b", pairs(dtype), torch.copysign)
        case(f"signbit_{dtype}", "%r0 = signbit %a", [values], torch.signbit)
        case(f"float_power_{dtype}", "%r0 = float_power %a, 3", [values], lambda a: torch.float_power(a, 3), tolerance=8)
        for name in ("acosh", "asinh", "atanh", "frac"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [values], getattr(torch, name), tolerance=1)


def activations():
    calls = {
        "elu": ("", F.elu), "elu_alpha": ("elu %a, alpha=0.5, scale=2.0, input_scale=3.0",
                                         lambda a: torch.ops.aten.elu(a, 0.5, 2.0, 3.0)),
        "celu": ("", F.celu), "celu_alpha": ("celu %a, alpha=2.0", lambda a: F.celu(a, 2.0)), "selu": ("", F.selu),
        "hardshrink": ("", F.hardshrink), "hardsigmoid": ("", F.hardsigmoid),
        "hardswish": ("", F.hardswish), "hardtanh": ("", F.hardtanh),
        "hardtanh_limits": ("hardtanh %a, min_val=-2.0, max_val=0.5", lambda a: F.hardtanh(a, -2.0, 0.5)),
        "relu6": ("", F.relu6), "leaky_relu": ("", F.leaky_relu),
        "leaky_relu_slope": ("leaky_relu %a, negative_slope=0.25", lambda a: F.leaky_relu(a, 0.25)),
        "rrelu": ("", F.rrelu), "log_sigmoid": ("", F.logsigmoid), "softplus": ("", F.softplus),
        "softplus_beta": ("softplus %a, beta=2.0, threshold=1.0", lambda a: F.softplus(a, 2.0, 1.0)), "mish": ("", F.mish),
        "softsign": ("", F.softsign), "tanhshrink": ("", F.tanhshrink),
        "softmin": ("softmin %a, dim=0", lambda a: F.softmin(a, 0)),
        "threshold": ("threshold %a, threshold=0.5, value=-7.0", lambda a: F.threshold(a, 0.5, -7.0)),
        "glu": ("glu %a, dim=0", lambda a: F.glu(a, 0)), "prelu": ("prelu %a, 0.25", lambda a: F.prelu(a, tensor([0.25]).to(a))),
    }
    for dtype in FLOATS:
        values = tensor([1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.0, -3.0, 7.0, -9.0, 30.0, -30.0], dtype)
        case(f"softshrink_{dtype}", "%r0 = softshrink %a", [values[values != -0.5]], F.softshrink)  # a zero of either sign
        for label, (text, function) in calls.items():
            case(f"{label}_{dtype}", f"%r0 = {text or label + ' %a'}", [values], function, tolerance=16)
    grid = torch.arange(12.0).reshape(2, 3, 2) - 6
    case("prelu_channels", "%r0 = prelu %a, %b", [grid, tensor([0.5, 0.25, 2.0])], F.prelu)
    case("prelu_weights", "%r0 = _by_channel %a, %b", [grid, tensor([0.5, 0.25, 2.0])], lambda a, b: b.reshape(3, 1))
    case("prelu_misfit", "%r0 = prelu %a, %b", [grid, tensor([0.5, 0.25])], F.prelu)
    case("glu_odd", "%r0 = glu %a, dim=1", [grid], lambda a: F.glu(a, 1))
    case("glu_scalar", "%r0 = glu %a", [tensor(1.0)], F.glu)


def losses():
    reductions = {"none": 0, "mean": 1, "sum": 2}
    x, y = tensor([[0.25, -1.5, 2.0], [0.5, 3.0, -0.75]]), tensor([[1.0, -1.0, 2.5], [-0.5, 1.0, -1.0]])
    p, q, signs = x.sigmoid(), y.sigmoid(), y.sign()
    two = {
        "l1_loss": (x, y, F.l1_loss), "mse_loss": (x, y, F.mse_loss), "smooth_l1_loss": (x, y, F.smooth_l1_loss),
        "huber_loss": (x, y, F.huber_loss), "binary_cross_entropy": (p, q, F.binary_cross_entropy),
        "binary_cross_entropy_with_logits": (x, q, F.binary_cross_entropy_with_logits), "kl_div": (p.log(), q, F.kl_div),
        "hinge_embedding_loss": (x, signs, F.hinge_embedding_loss), "soft_margin_loss": (x, signs, F.soft_margin_loss),
    }
    for reduction, number in reductions.items():
        for name, (left, right, function) in two.items():
            case(f"{name}_{reduction}", f"%r0 = {name} %a, %b, reduction={number}", [left, right],
                 lambda a, b: function(a, b, reduction=reduction), tolerance=16)
    bigger = [y.unsqueeze(0) * tensor([1.0, 2.0]).reshape(2, 1, 1), x]
    case("margin_ranking_loss", "%r0 = margin_ranking_loss %a, %b, %c, margin=0.5", [x, y, signs],
         lambda a, b, c: F.margin_ranking_loss(a, b, c, 0.5), tolerance=16)
    for log_input in (False, True):
        given = str(log_input).lower()
        case(f"poisson_nll_loss_{given}", f"%r0 = poisson_nll_loss %a, %b, log_input={given}, full=true, eps=1e-08, reduction=1",
             [p, y.abs() * 3], lambda a, b: F.poisson_nll_loss(a, b, log_input, True), tolerance=16)
    case("gaussian_nll_loss", '%r0 = gaussian_nll_loss %a, %b, %c, full=true, reduction="sum"', [x, y, q],
         lambda a, b, c: F.gaussian_nll_loss(a, b, c, full=True, reduction="sum"), tolerance=16)
    case("cosine_similarity", "%r0 = cosine_similarity %a, %b, dim=0\n%r1 = cosine_similarity %a, %b, dim=1", bigger,
         lambda a, b: [F.cosine_similarity(a, b, 0), F.cosine_similarity(a, b, 1)], tolerance=16)
    case("cosine_embedding_loss", "%r0 = cosine_embedding_loss %a, %b, %c, margin=0.1", [x, y, tensor([1.0, -1.0])],
         lambda a, b, c: F.cosine_embedding_loss(a, b, c, 0.1), tolerance=16)
    for norm in (0.0, 1.0, 2.0, 3.5, math.inf, -math.inf):
        label = str(norm).replace(".", "_").replace("-", "m")
        case(f"pairwise_distance_{label}", f"%r0 = pairwise_distance %a, %b, p={norm}", [x, y],
             lambda a, b: F.pairwise_distance(a, b, norm), tolerance=16)
        case(f"normalize_{label}", f"%r0 = normalize %a, p={norm}, dim=0", [x], lambda a: F.normalize(a, norm, 0), tolerance=16)
    for swap in (False, True):
        case(f"triplet_margin_loss_{swap}", f"%r0 = triplet_margin_loss %a, %b, %c, swap={str(swap).lower()}",
             [x, y, ones(2, 3)], lambda a, b, c: F.triplet_margin_loss(a, b, c, swap=swap), tolerance=16)
    case("losses_unknown_reduction", "%r0 = l1_loss %a, %b, reduction=7", [x, y],
         lambda a, b: F.l1_loss(a, b, reduction="middle"))


def optimisers():
    """The third step of Adam, as torch.optim takes it one parameter after the other."""
    def step(parameter, gradient, mean, square):
        parameter, mean, square = parameter.clone(), mean.clone(), square.clone()
        adam([parameter], [gradient], [mean], [square], [], [torch.tensor(2.0)], foreach=False, amsgrad=False, beta1=0.9,
             beta2=0.999, lr=0.25, weight_decay=0.0, eps=1e-8, maximize=False)
        return parameter, mean, square
    x = tensor([[0.25, -1.5, 2.0], [0.5, 3.0, -0.75]])
    numbers = ", ".join(map(repr, (1 - 0.9, 0.999, 1 - 0.999, math.sqrt(1 - 0.999 ** 3), 1e-8, -0.25 / (1 - 0.9 ** 3))))
    case("adam_step", f"%m:3 = adam_step %a, %b, %c, %d, {numbers}\n%r0 = reshape %m#0, shape=[2, 3]\n"
         "%r1 = reshape %m#1, shape=[2, 3]\n%r2 = reshape %m#2, shape=[2, 3]", [x, x.flip(0), x * 0.125, x.abs()], step,
         tolerance=4)


def record():
    for part in (functions, functions_of_floats, floats_of_16_bits, activations, losses, optimisers):
        part()
