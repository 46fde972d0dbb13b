"""Cases of complex numbers: parts, pairs, arithmetic, functions at ordinary numbers and on both sides of branch cuts,
reductions, products, and what they are refused by."""
import torch

from torch_recorder import COMPLEX, INF, NAN, case, tensor

FUNCTIONS = ("exp expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid sgn sin cos tan sinh cosh tanh asin acos "
             "atan asinh acosh atanh square").split()
ORDER = ("lt le gt ge maximum minimum fmod remainder floor_divide atan2").split()


def numbers(dtype):
    """In each quadrant, near 0 and 1, small and large."""
    parts = [0.3, -1.2, 2.5, -0.7, 1e-3, 3.0]
    return tensor([complex(a, b) for a in parts for b in [0.5, -1.7, 1e-3, -2.2]], dtype)


def cuts(dtype):
    """Beside the real and the imaginary axis, where functions jump."""
    return tensor([complex(a, b) for a in [-2.5, -0.5, 0.5, 2.5] for b in [1e-3, -1e-3]], dtype)


def extremes(dtype):
    return tensor([complex(a, b) for a in [0.0, 1.0, -2.0, INF, -INF, NAN] for b in [0.0, -1.0, INF, NAN]], dtype)


def parts():
    for dtype in COMPLEX:
        part = {"c64": "f32", "c128": "f64"}[dtype]
        case(f"parts_{dtype}", "%r0 = real %a\n%r1 = imag %a\n%r2 = conj %a\n%r3 = view_as_real %a\n%r4 = isreal %a",
             [extremes(dtype)], lambda a: [a.real, a.imag, a.conj().resolve_conj(), torch.view_as_real(a), a.isreal()])
        pair = [tensor([1.5, -0.0, INF, NAN], part), tensor([2.0, -3.5, 0.0, -INF], part)]
        case(f"complex_{dtype}", "%r0 = complex %a, %b", pair, torch.complex)
        case(f"polar_{dtype}", "%r0 = polar %a, %b", [tensor([1.5, 2.0], part), tensor([0.5, -3.0], part)], torch.polar,
             tolerance=4)
        case(f"view_as_complex_{dtype}", "%r0 = view_as_complex %a", [tensor([[1.0, 2.0], [-0.0, NAN]], part)],
             torch.view_as_complex)
        case(f"tests_{dtype}", "%r0 = isnan %a\n%r1 = isinf %a\n%r2 = isfinite %a\n%r3 = logical_not %a",
             [extremes(dtype)], lambda a: [a.isnan(), a.isinf(), a.isfinite(), a.logical_not()])
        case(f"abs_angle_{dtype}", "%r0 = abs %a\n%r1 = angle %a", [numbers(dtype)], lambda a: [a.abs(), a.angle()],
             tolerance=2)
        case(f"to_{dtype}", "%r0 = to %a, dtype=bool\n%r1 = to %a, dtype=c64\n%r2 = to %a, dtype=c128", [numbers(dtype)],
             lambda a: [a.bool(), a.to(torch.complex64), a.to(torch.complex128)])
    case("imag_of_real", "%r0 = imag %a", [tensor([1.0])], torch.imag)


def arithmetic():
    for dtype in COMPLEX:
        pair = [numbers(dtype).reshape(-1, 1), cuts(dtype)]
        for name in "add sub mul div pow".split():
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", pair, getattr(torch, name),
                 tolerance={"pow": 128, "div": 8}.get(name, 0))
        special = [extremes(dtype).reshape(-1, 1), extremes(dtype)]
        for name in "add sub eq ne logical_and".split():
            case(f"{name}_extremes_{dtype}", f"%r0 = {name} %a, %b", special, getattr(torch, name),
                 "infinite_part" if name in ("add", "sub") else None)
        for name in ORDER:
            case(f"{name}_{dtype}", f"%r0 = {name} %a, %b", [numbers(dtype), numbers(dtype)], getattr(torch, name))
        case(f"mixed_{dtype}", "%r0 = mul %a, %b\n%r1 = add %a, 2\n%r2 = where %c, %a, %b",
             [numbers(dtype)[:3], tensor([1.5, 2.0, -1.0]), tensor([True, False, True], "bool")],
             lambda a, b, c: [a * b, a + 2, torch.where(c, a, b)])
        case(f"add_alpha_{dtype}", "%r0 = add %a, %b, alpha=2", [numbers(dtype), numbers(dtype)],
             lambda a, b: torch.add(a, b, alpha=2))


def promotion():
    """All pairs of dtypes of which one is complex, with and without axes."""
    others = ["bool", "u8", "i16", "i64", "f32", "f64", "c64", "c128"]
    for dtype in COMPLEX:
        for other in others:
            pair = [tensor([1, 0], dtype), tensor([1, 1], other)]
            case(f"promotes_{dtype}_{other}", "%r0 = mul %a, %b\n%r1 = mul %b, %a", pair, lambda a, b: [a * b, b * a])
            case(f"promotes_{dtype}_{other}_0d", "%r0 = mul %a, %b\n%r1 = mul %b, %a", [pair[0].sum(), pair[1]],
                 lambda a, b: [a * b, b * a])
    for other in ["i64", "f32", "f64", "c64", "c128"]:
        case(f"promotes_number_{other}", "%r0 = mul %a, (0.0+2.0j)", [tensor([1, 3], other)], lambda a: a * 2j)


def functions():
    for dtype in COMPLEX:
        for name in FUNCTIONS:
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [numbers(dtype)], getattr(torch, name), tolerance=64)
            case(f"{name}_cuts_{dtype}", f"%r0 = {name} %a", [cuts(dtype)], getattr(torch, name), tolerance=64)


def rest():
    for dtype in COMPLEX:
        matrices = [numbers(dtype).reshape(4, 6), numbers(dtype).reshape(6, 4)]
        case(f"mm_{dtype}", "%r0 = mm %a, %b\n%r1 = matmul %a, %b", matrices, lambda a, b: [a @ b, a @ b], tolerance=32)
        case(f"vdot_{dtype}", "%r0 = vdot %a, %b", [numbers(dtype), cuts(dtype).repeat(3)], torch.vdot, tolerance=32)
        case(f"reductions_{dtype}", "%r0 = sum %a, dim=[1]\n%r1 = mean %a, dim=[0]\n%r2 = cumsum %a, dim=1\n%r3 = any %a",
             matrices[:1], lambda a: [a.sum(1), a.mean(0), a.cumsum(1), a.any()], tolerance=16)
        case(f"var_{dtype}", "%r0 = var %a, dim=[1]\n%r1 = std %a, dim=[1]", matrices[:1], lambda a: [a.var(1), a.std(1)],
             tolerance=16)
        case(f"norm_{dtype}", "%r0 = linalg_vector_norm %a\n%r1 = linalg_vector_norm %a, ord=1", matrices[:1],
             lambda a: [torch.linalg.vector_norm(a), torch.linalg.vector_norm(a, 1)], tolerance=16)
        index = tensor([[0, 2], [1, 0]], "i64")
        case(f"moves_{dtype}", "%r0 = gather %a, %b, dim=1\n%r1 = permute %a, dims=[1, 0]\n%r2 = flip %a, dims=[0]\n%r3 = cat [%a, %a], dim=1",
             [numbers(dtype).reshape(4, 6)[:2], index],
             lambda a, b: [a.gather(1, b), a.permute(1, 0).contiguous(), a.flip(0), torch.cat([a, a], 1)])
        case(f"scatter_add_{dtype}", "%r0 = scatter_add %a, %b, %c, dim=1",
             [numbers(dtype).reshape(4, 6)[:2], index, numbers(dtype)[:4].reshape(2, 2)],
             lambda a, b, c: a.scatter_add(1, b, c))
        case(f"sort_{dtype}", "%r0, %r1 = sort %a, dim=0", [numbers(dtype)], torch.sort)


def record():
    parts()
    arithmetic()
    promotion()
    functions()
    rest()
