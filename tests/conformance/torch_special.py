"""Cases of special functions. PyTorch computes f32 in f32, and some functions of f64 to 13 digits."""
import torch
from torch_recorder import INF, NAN, case, tensor

EVERY = [0.0, -0.0, 0.25, -0.25, 0.75, -0.75, 1.0, -1.0, 1.5, -1.5, 2.25, -2.25, 3.0, -3.0, 4.75, -4.75, 7.5, -7.5, 9.25,
         -9.25, 12.5, -12.5, NAN]
ABOVE = [value for value in EVERY if not value < 0]
NEAR = {"f32": 64, "f64": 4096}
# What PyTorch computes to fewer digits, from coefficients of those or through a difference.
LOOSE = {"special_bessel_j0": 2**30, "special_bessel_j1": 2**30, "special_bessel_y0": 2**30, "special_bessel_y1": 2**30,
         "special_ndtr": 2**16, "polygamma_1": 2**22}


# Orders and points, and both shares of the gamma function there, rounded from 60 digits.
ORDERS = [1e-9, 0.0009765625, 0.375, 0.75, 5.0, 20.5, 60.0, 70.0, 100.0, 100.0, 1000.0, 1000.0, 1e6, 1e8]
POINTS = [1e-6, 0.5, 0.0001220703125, 0.9375, 0.25, 30.0, 61.0, 35.0, 100.0, 180.0, 900.0, 1001.0, 1000500.0, 100020000.0]
LOWER = [0.9999999867617042, 0.999453066606331, 0.03833582176558997, 0.7204613150273401, 6.611710561034247e-06,
         0.9720590475678459, 0.5680375280345069, 1.2466152203319598e-07, 0.5132987982791487, 0.999999999970517,
         0.0005499022657117829, 0.5168114529297863, 0.6915504757714972, 0.9772444692251449]
UPPER = [1.3238295806258719e-08, 0.000546933393669003, 0.9616641782344101, 0.2795386849726599, 0.999993388289439,
         0.027940952432154165, 0.4319624719654931, 0.999999875338478, 0.48670120172085135, 2.948294557648285e-11,
         0.9994500977342882, 0.4831885470702138, 0.3084495242285028, 0.022755530774855204]


def near(name, dtype):
    return max(NEAR[dtype], LOOSE.get(name, 0) if dtype == "f64" else 0)


def unary():
    forms = {
        "special_entr": EVERY + [INF, -INF], "special_erfcx": EVERY, "special_ndtr": [value for value in EVERY if not value < -3] + [INF, -INF],
        "special_log_ndtr": EVERY + [-INF], "special_ndtri": [0.0, 1e-30, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0, 2.0, -1.0, NAN],
        "erfinv": [0.0, -0.0, 0.1, -0.1, 0.5, -0.5, 0.75, 0.99, -0.9999, 1.0, -1.0, 2.0, -2.0, NAN],
        "lgamma": EVERY + [INF, -INF, 100.0, 1e6], "digamma": EVERY + [INF], "i0": EVERY, "special_i0e": EVERY + [100.0, INF],
        "special_i1": EVERY, "special_i1e": EVERY + [100.0, INF, -INF], "special_modified_bessel_i0": EVERY,
        "special_modified_bessel_i1": EVERY, "special_modified_bessel_k0": EVERY, "special_modified_bessel_k1": EVERY,
        "special_scaled_modified_bessel_k0": EVERY, "special_scaled_modified_bessel_k1": EVERY, "special_bessel_j0": EVERY,
        "special_bessel_j1": EVERY, "special_bessel_y0": EVERY, "special_bessel_y1": EVERY,
        "special_spherical_bessel_j0": EVERY + [INF, -INF], "special_airy_ai": [value for value in EVERY if not value < -1],
    }
    for name, values in forms.items():
        function = getattr(torch.ops.aten, name)
        for dtype in ("f32", "f64"):
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [tensor(values, dtype)], function, tolerance=near(name, dtype))
        case(f"{name}_i32", f"%r0 = {name} %a", [tensor([1, 2, 3], "i32")], function, tolerance=NEAR["f32"])


def gamma_and_zeta():
    for dtype in ("f32", "f64"):
        values, units = tensor(EVERY, dtype), NEAR[dtype]
        case(f"special_polygamma_{dtype}", "%r0 = special_polygamma n=2, %a", [tensor([0.25, 1.0, 9.0], dtype)],
             lambda a: torch.special.polygamma(2, a), tolerance=NEAR[dtype])
        for n in (0, 1, 2, 3, 6):
            case(f"polygamma_{n}_{dtype}", f"%r0 = polygamma n={n}, %a", [tensor([0.25, 1.0, 2.5, 9.0, 30.0], dtype)],
                 lambda a: torch.polygamma(n, a), tolerance=near(f"polygamma_{n}", dtype))
        for p in (1, 2, 5):
            case(f"mvlgamma_{p}_{dtype}", f"%r0 = mvlgamma %a, p={p}", [tensor([2.5, 3.0, 9.75, 100.0], dtype)],
                 lambda a: torch.mvlgamma(a, p), tolerance=units)
        case(f"special_zeta_{dtype}", "%r0 = special_zeta %a, %b\n%r1 = special_zeta %a, 2.5\n%r2 = special_zeta 3, %b", [tensor([0.5, 1.0, 1.25, 2.0, 3.5, 10.0], dtype).reshape(-1, 1),
                                                                   tensor([-2.0, 0.0, 0.5, 1.0, 7.25], dtype)],
             lambda a, b: [torch.special.zeta(a, b), torch.special.zeta(a, 2.5), torch.special.zeta(3, b)], tolerance=units)
        case(f"special_xlog1py_{dtype}", "%r0 = special_xlog1py %a, %b\n%r1 = special_xlog1py %a, 2\n%r2 = special_xlog1py 2, %a",
             [values.reshape(-1, 1), values], lambda a, b: [torch.special.xlog1py(a, b), torch.special.xlog1py(a, 2),
                                                            torch.special.xlog1py(2, a)], tolerance=8)
    case("polygamma_below", "%r0 = polygamma n=-1, %a", [tensor([1.0])], lambda a: torch.polygamma(-1, a))
    case("mvlgamma_below", "%r0 = mvlgamma %a, p=0", [tensor([1.0])], lambda a: torch.mvlgamma(a, 0))


def incomplete_gamma():
    """PyTorch computes some of f64 to 9 digits, from orders of 20 on; `digits` has what is known of these."""
    edges = [0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN]
    orders = tensor([1e-6, 0.03125, 0.5, 1.0, 2.5, 8.5, 20.0, 63.5, 64.0, 150.0, 300.0], "f64").reshape(-1, 1)
    factors = tensor([0.0625, 0.5, 0.875, 0.96875, 1.0, 1.03125, 1.25, 2.0], "f64")
    for name in ("igamma", "igammac", "special_gammainc", "special_gammaincc"):
        function = getattr(torch.ops.aten, name)
        for dtype in ("f32", "f64"):
            a, x = tensor(edges, dtype).reshape(-1, 1), tensor(edges, dtype)
            case(f"{name}_edges_{dtype}", f"%r0 = {name} %a, %b", [a, x], function, tolerance=NEAR[dtype])
        case(f"{name}_f64", f"%r0 = {name} %a, %b", [orders, orders * factors], function, tolerance=2**24)
        halves = [tensor([0.5, 2.0, 8.0], "bf16"), tensor([1.0, 2.5, 6.0], "bf16")]
        case(f"{name}_bf16", f"%r0 = {name} %a, %b", halves, function, tolerance=1)


def polynomials():
    names = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
    names += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
    for name in names:
        function = getattr(torch.special, name)
        for dtype in ("f32", "f64"):
            case(f"special_{name}_{dtype}", f"%r0 = special_{name} %a, %b\n%r1 = special_{name} %a, 3\n%r2 = special_{name} 0.75, %b",
                 [tensor([[-2.5], [-1.0], [0.0], [0.125], [1.0], [1.75]], dtype), tensor([-1.0, 0.0, 1.0, 2.0, 3.5, 4.0, 5.0], dtype)],
                 lambda a, b: [function(a, b), function(a, 3), function(0.75, b)], tolerance=NEAR[dtype])


def parts():
    """What the functions above are made of, and no name of PyTorch: as the functions in which it shows, of f64."""
    aten = torch.ops.aten
    far, whole = tensor([8.0, 9.5, 20.25, 1000.0], "f64"), tensor([0.125, 0.75, 1.0, 2.0, 2.75, 4.5, 9.0], "f64")
    for order in (0, 1):
        j, y = (getattr(aten, f"special_bessel_{kind}{order}") for kind in "jy")
        case(f"hankel_{order}", f"%m:2 = _hankel_{order} %a\n%r0 = abs %m#0\n%r1 = abs %m#1", [far],
             lambda a: [j(a).abs(), y(a).abs()], tolerance=2**30)
        scaled = getattr(aten, f"special_scaled_modified_bessel_k{order}")
        case(f"modified_k{order}", f"%r0 = _modified_k{order} %a", [whole], scaled, tolerance=64)
    case("gamma_logarithm", "%r0 = _gamma_logarithm %a", [whole], torch.lgamma, tolerance=16)
    shares = [0.25, 0.75, 1.5, 8.0, 30.0]
    front = lambda a, x: torch.exp(a * x.log() - x - torch.lgamma(a + 1))
    pair = [tensor(shares, "f64"), tensor([0.5, 0.25, 1.5, 4.0, 40.0], "f64")]
    case("gamma_logarithm_near_2", "%r0 = _gamma_logarithm_near_2 %a", [tensor([-0.5, -0.125, 0.25, 0.5], "f64")],
         lambda a: torch.lgamma(a + 2), tolerance=16)
    case("gamma_logarithm_above_1", "%r0 = _gamma_logarithm_above_1 %a", [tensor([0.125, 0.5, 0.75, 1.0], "f64")],
         lambda a: torch.lgamma(a + 1), tolerance=16)
    case("gamma_growth", "%r0 = _gamma_growth %a, %b", pair, lambda a, x: x - a - a * torch.log(x / a), tolerance=64)
    case("gamma_front", "%g = _gamma_growth %a, %b\n%r0 = _gamma_front %a, %b, %g", pair, front, tolerance=512)
    case("gamma_uniform", "%g = _gamma_growth %a, %b\n%r0 = _gamma_uniform %a, %b, %g",
         [tensor([64.0, 100.0, 100.0, 250.0], "f64"), tensor([64.0, 90.0, 120.0, 240.0], "f64")],
         lambda a, x: torch.where(x < a, torch.igamma(a, x), torch.igammac(a, x)), tolerance=2**24)
    case("gamma_alternating", "%r0 = _gamma_alternating %a, %b",
         [tensor([0.25, 0.5, 1.0], "f64"), tensor([0.5, 0.125, 1.0], "f64")],
         lambda a, x: torch.igamma(a, x) * torch.exp(torch.lgamma(a + 1)) / a / x**a - 1 / a, tolerance=2**12)
    for upper in (False, True):
        case(f"incomplete_gamma_{upper}".lower(), f"%r0 = _incomplete_gamma %a, %b, upper={str(upper).lower()}", pair,
             torch.igammac if upper else torch.igamma, tolerance=512)
    case("digamma_of_positive", "%r0 = _digamma_of_positive %a", [torch.cat([whole, far])], torch.digamma, tolerance=64)
    case("normal_tail", "%r0 = _normal_tail %a", [tensor([0.0, 0.5, 2.0, 6.0], "f64")], lambda a: torch.erfc(a / 2**0.5) / 2,
         tolerance=64)
    case("exp_of_square", "%r0 = _exp_of_square %a, factor=-0.5", [tensor([0.0, -0.75, 2.1, 5.3], "f64")],
         lambda a: torch.exp(-0.5 * a * a), tolerance=16)
    case("erf_inverse", "%r0 = _erf_inverse %a, %b", [tensor([0.0, 0.25, 0.75, 1.0], "f64"), tensor([1.0, 0.75, 0.25, 0.0], "f64")],
         lambda a, b: torch.erfinv(a), tolerance=16)
    case("chebyshev_sum", "%r0 = _chebyshev_sum %a, coefficients=[0.5, -2.0, 0.25, 3.0]", [tensor([-1.0, -0.25, 0.0, 0.5, 1.0])],
         lambda a: 0.5 - 2 * a + 0.25 * (2 * a * a - 1) + 3 * (4 * a**3 - 3 * a), tolerance=16)
    case("chebyshev_sum_short", "%r0 = _chebyshev_sum %a, coefficients=[0.5, -2.0]", [tensor([1.0])], refuse)


def digits():
    """Where PyTorch has fewer: rounded from 40 digits."""
    known = {
        "special_bessel_j0": ([0.75, 3, 7.5, 12.5], [0.8642422751666486, -0.26005195490193345, 0.2663396578803784, 0.1468840547004211]),
        "special_bessel_j1": ([0.75, 3, 7.5, 12.5], [0.34924360217486217, 0.3390589585259365, 0.1352484275797055, -0.16548380461475973]),
        "special_bessel_y0": ([0.75, 3, 7.5, 12.5], [-0.1371727693857724, 0.3768500100127904, 0.11731328614820863, -0.1712143068446693]),
        "special_bessel_y1": ([0.75, 3, 7.5, 12.5], [-1.0375945507692854, 0.3246744247918, -0.25912851048611624, -0.1538382565375012]),
        "special_airy_ai": ([-6.25, -2.25, 0.75, 4.75], [-0.3496120516108905, 0.06159865877700528, 0.17933630547864524, 0.0001904614592681605]),
        "special_ndtr": ([-9.25, -4.75, -0.75, 1.5], [1.1224633591327982e-20, 1.0170832425687032e-06, 0.2266273523768682, 0.9331927987311419]),
        "digamma": ([-2.25, 0.25, 1.4609375, 9.25], [4.158583564657972, -4.2274535333762655, -0.0006724023902428804, 2.1695966825786157]),
        "polygamma n=1,": ([-2.25, 0.25, 1.5, 9.25], [19.37941051186914, 17.19732915450711, 0.9348022005446793, 0.11416188455670626]),
    }
    for name, (values, results) in known.items():
        case(f"digits_{name.split()[0]}", f"%r0 = {name} %a", [tensor(values, "f64")], lambda a: tensor(results, "f64"), tolerance=32)
    orders, points = tensor(ORDERS, "f64"), tensor(POINTS, "f64")
    case("digits_igamma", "%r0 = igamma %a, %b\n%r1 = igammac %a, %b", [orders, points],
         lambda a, x: [tensor(LOWER, "f64"), tensor(UPPER, "f64")], tolerance=256)


def refuse(*_):
    raise ValueError


def record():
    for part in (unary, gamma_and_zeta, incomplete_gamma, polynomials, parts, digits):
        part()
