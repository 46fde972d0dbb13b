"""What PyTorch says about products of vectors, matrices and tensors, distances and attention."""
import torch
import torch.nn.functional as F
from torch_forms import block, call, listed, text
from torch_recorder import ALL, INF, NAN, case, ones, tensor

NUMBERS = tuple(dtype for dtype in ALL if dtype != "bool")


def operands(inputs):
    return ", ".join(f"%{letter}" for letter, _ in zip("abcd", inputs))


def weighted():
    vector, matrix, batch = block(4), block(3, 4), block(2, 3, 4)
    other, others = block(4, 5), block(2, 4, 5)
    for dtype in NUMBERS:
        v, m, b = (block(*sizes, dtype=dtype) for sizes in ((4,), (3, 4), (2, 3, 4)))
        call(dtype, "addmv", [v[:3], m, v], beta=2, alpha=3)
        call(dtype, "addr", [m[:, :3], v[:3], v[1:]], beta=2, alpha=3)
        call(dtype, "baddbmm", [m[:, :3], b, b.transpose(1, 2).contiguous()], beta=2, alpha=3)
        call(dtype, "addbmm", [m[:, :3], b, b.transpose(1, 2).contiguous()], beta=2, alpha=3)
    for name, inputs in (("addmv", [vector[:3], matrix, vector]), ("addr", [matrix, vector[:3], vector]),
                         ("baddbmm", [ones(2, 3, 5), batch, others]), ("addbmm", [ones(3, 5), batch, others])):
        lost = [inputs[0] * NAN, *inputs[1:]]
        call("plain", name, inputs)
        call("no_base", name, lost, beta=0)
        call("no_product", name, [inputs[0], inputs[1] * NAN, inputs[2]], alpha=0)
        call("spread", name, [tensor(2.0), *inputs[1:]])
        call("wrong_self", name, [ones(7), *inputs[1:]])
        call("wrong_sizes", name, [inputs[0], inputs[1], ones(*([3] * inputs[2].dim()))])
        call("wrong_dtype", name, [inputs[0].double(), *inputs[1:]]) if name != "addr" else None
    call("bool", "addr", [block(3, 4, dtype="bool"), block(3, dtype="bool"), block(4, dtype="bool")])
    call("promoted", "addr", [block(3, 4, dtype="i32"), block(3, dtype="i64"), vector])
    call("rank", "addmv", [vector, other.t().contiguous(), matrix])
    call("none", "baddbmm", [ones(2, 3, 5), ones(2, 3, 0), ones(2, 0, 5)])


def vectors():
    for dtype in ALL:
        call(dtype, "outer", [block(3, dtype=dtype), block(4, dtype=dtype)])
        call(dtype, "kron", [block(2, 3, dtype=dtype), block(3, 2, dtype=dtype)])
    for dtype in NUMBERS:
        call(dtype, "inner", [block(2, 3, dtype=dtype), block(3, dtype=dtype)])
        call(dtype, "vdot", [block(5, dtype=dtype), block(5, dtype=dtype)])
        call(dtype, "linalg_vecdot", [block(2, 3, dtype=dtype), block(2, 3, dtype=dtype)], lambda a, b, **k: torch.linalg.vecdot(a, b, **k))
        call(dtype, "linalg_cross", [block(2, 3, dtype=dtype), block(1, 3, dtype=dtype)], lambda a, b, **k: torch.linalg.cross(a, b, **k))
    call("plain", "linalg_matmul", [block(2, 3), block(3, 4)], torch.linalg.matmul)
    call("plain", "ger", [block(3), block(4)])
    call("plane", "outer", [block(2, 3), block(4)])
    call("number", "inner", [block(2, 3), tensor(2.0)])
    call("planes", "inner", [block(2, 3, 4), block(5, 4)])
    call("sizes", "inner", [block(2, 3), block(4)])
    call("dtypes", "inner", [block(2, 3), block(3, dtype="i64")])
    call("sizes", "vdot", [block(3), block(4)])
    call("ranks", "kron", [block(2, 3, 2), tensor([1.0, 2.0])])
    call("number", "kron", [block(2, 3), tensor(2.0)])
    for label, inputs, more in (("rows", [block(2, 3), block(2, 3)], {"dim": 0}), ("spread", [block(4, 1, 3), block(2, 3)], {}),
                                ("dtypes", [block(3), block(3, dtype="i64")], {})):
        call(label, "linalg_vecdot", inputs, lambda a, b, **k: torch.linalg.vecdot(a, b, **k), **more)
    for label, inputs, more in (("first", [block(3, 3), block(3, 3)], {}), ("later", [block(2, 3), block(2, 3)], {}),
                                ("named", [block(3, 3), block(3, 3)], {"dim": 1}), ("none", [block(2, 4), block(2, 4)], {}),
                                ("wrong", [block(2, 3), block(2, 3)], {"dim": 0})):
        call(label, "cross", inputs, **more)
    call("ranks", "linalg_cross", [block(2, 3), block(3)], lambda a, b, **k: torch.linalg.cross(a, b, **k))
    batch, weight = [block(2, 3, 4), block(2, 3, 5)], block(6, 4, 5)
    call("plain", "bilinear", [block(3, 4), block(3, 5), weight], F.bilinear, tolerance=64)
    call("bias", "bilinear", [*batch, weight, block(6)], F.bilinear, tolerance=64)
    call("sizes", "bilinear", [block(2, 4), block(3, 5), weight], F.bilinear)
    call("weight", "bilinear", [block(3, 5), block(3, 5), weight], F.bilinear)


def contractions():
    a, b, c = block(2, 3), block(3, 4), block(4, 2)
    for number, (equation, *inputs) in enumerate((
            ("ij,jk->ik", a, b), ("ij,jk", a, b), ("ij,jk->ki", a, b), ("ij->ji", a), ("ij->", a), ("ij->i", a), ("ij", a),
            ("ba", a), ("ii->i", block(3, 3)), ("ii", block(3, 3)), ("iij->ji", block(2, 2, 3)), ("iji->j", block(2, 3, 2)),
            ("i,j->ij", block(2), block(3)), ("i,i->", block(3), block(3)), ("ij,ij->ij", a, a), ("ij,j->ij", a, block(3)),
            ("bij,bjk->bik", block(2, 2, 3), block(2, 3, 4)), ("bij,kj->bki", block(2, 2, 3), block(4, 3)),
            ("...ij,...jk->...ik", block(2, 2, 3), block(3, 2)), ("...ij->...ji", block(2, 2, 3)), ("...,...", a, a),
            ("i...,i...->...", a, block(2, 3)), ("...i,i...->...", block(2, 3), block(3, 2)), ("b...a->a...b", block(2, 3, 4)),
            ("ij,jk,ki->", a, b, c), ("ij,jk,kl->il", a, b, c), ("a,b,c->abc", block(2), block(3), block(2)),
            ("ij,jk,kl->lji", a, b, c), (" i j , j k -> i k ", a, b), ("Ab,bC->AC", a, b), ("bA,Cb", b, a), ("ij,jk->ik", a[:, :1], b),
            ("...i->...", tensor([1.0, 2.0])), ("->", tensor(2.0)), (",->", tensor(2.0), tensor(3.0)), ("...a,a", a, block(3)),
            ("ij,jk->ik", ones(2, 0), ones(0, 3)), ("i,ij->ij", block(2), a), ("ik,kj->ikj", a, b),
            # refused
            ("ij,jk->il", a, b), ("ij,jk->ii", a, b), ("ij,jk->ik", a, c), ("ij", block(2)), ("ij,jk", a), ("i.j", a),
            ("ij->ik->", a), ("ij-ji", a), ("ii", a), ("i1", a), ("i....", a), ("ij->ji,", a), ("", a), ("ij,jk->ik", a, b.double()))):
        case(f"einsum_{number}", f'%r0 = einsum [{operands(inputs)}], equation="{equation}"', inputs,
             lambda *values, equation=equation: torch._VF.einsum(equation, values), tolerance=16)
    for dtype in ("i32", "i64"):
        whole = [block(2, 3, dtype=dtype), block(3, 4, dtype=dtype)]
        for label, equation, inputs in (("product", "ij,jk->ik", whole), ("sum", "ij->i", whole[:1]), ("elements", "ij,ij->ij", whole[:1] * 2)):
            case(f"einsum_{label}_{dtype}", f'%r0 = einsum [{operands(inputs)}], equation="{equation}"', inputs,
                 lambda *values, equation=equation: torch._VF.einsum(equation, values))
    for label, path in (("left", [0, 1, 0, 1]), ("right", [1, 2, 0, 1]), ("ends", [0, 2, 0, 1]), ("short", [0, 1]), ("same", [1, 1, 0, 1]),
                        ("beyond", [0, 3, 0, 1])):
        case(f"einsum_path_{label}", f'%r0 = einsum [%a, %b, %c], equation="ij,jk,kl->il", path={text(path)}', [a, b, c],
             lambda *values, path=path: torch._VF.einsum("ij,jk,kl->il", values, path=path), tolerance=16)
    for label, inputs, own, other in (("one", [a, b], [1], [0]), ("none", [a, b], [], []), ("two", [block(2, 3, 4), block(4, 3, 5)], [1, 2], [1, 0]),
                                      ("back", [a, b], [-1], [-2]), ("all", [a, a], [0, 1], [0, 1]), ("spread", [block(2, 1), b], [1], [0]),
                                      ("sizes", [a, c], [1], [0]), ("twice", [a, block(3, 3)], [1, 1], [0, 1]), ("counts", [a, b], [1], [0, 1]),
                                      ("dtypes", [a, b.double()], [1], [0]), ("beyond", [a, b], [2], [0])):
        call(label, "tensordot", inputs, lambda x, y, **k: torch.ops.aten.tensordot(x, y, k["dims_self"], k["dims_other"]), tolerance=16,
             dims_self=own, dims_other=other)
    for dtype in ("i32", "f64"):
        call(dtype, "tensordot", [block(2, 3, dtype=dtype), block(3, 4, dtype=dtype)],
             lambda x, y, **k: torch.ops.aten.tensordot(x, y, k["dims_self"], k["dims_other"]), dims_self=[1], dims_other=[0])


def chains():
    a, b, c, d = block(2, 5), block(5, 3), block(3, 7), block(7, 2)
    dot = listed(lambda tensors: torch.linalg.multi_dot(tensors))
    for label, inputs in (("two", [a, b]), ("three", [a, b, c]), ("four", [a, b, c, d]), ("vectors", [block(5), b, block(3)]),
                          ("front", [block(5), b]), ("behind", [a, b, block(3)]), ("one", [a]), ("sizes", [a, c]), ("rank", [block(2, 2, 5), b]),
                          ("inside", [a, block(5), b]), ("dtypes", [a, b.double()])):
        call(label, "linalg_multi_dot", inputs, dot, f"[{operands(inputs)}]", tolerance=64)
    call("three", "chain_matmul", [a, b, c], listed(lambda tensors: torch.chain_matmul(*tensors)), "[%a, %b, %c]", tolerance=64)
    for dtype in ("i32", "f32", "f64"):
        square = block(3, 3, dtype=dtype)
        for n in (0, 1, 2, 3, 4, 5):
            call(f"{dtype}_{n}", "matrix_power", [square], tolerance=64, n=n)
    call("batch", "linalg_matrix_power", [block(2, 2, 2)], lambda x, n: torch.linalg.matrix_power(x, n), n=0)
    call("rank", "matrix_power", [block(3)], n=2)
    call("oblong", "matrix_power", [block(2, 3)], n=2)


def distances():
    x, y = block(4, 3), block(5, 3)
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, INF):
        call(f"p_{p}".replace(".", "_"), "_cdist_forward", [x, y], lambda a, b, p: torch.cdist(a, b, p), "%a, %b, compute_mode=none", tolerance=64, p=p)
        call(f"p_{p}".replace(".", "_"), "pdist", [x], F.pdist, tolerance=64, p=p)
        call(f"none_{p}".replace(".", "_"), "cdist", [ones(2, 0), ones(3, 0)], tolerance=64, p=p)
    call("plain", "cdist", [x, y], tolerance=64)
    call("f64", "cdist", [x.double(), y.double()], tolerance=64)
    call("batch", "cdist", [block(2, 1, 4, 3), block(3, 5, 3)], tolerance=64)
    call("empty", "cdist", [ones(0, 3), y])
    call("sizes", "cdist", [x, block(5, 2)])
    call("rank", "cdist", [x, block(3)])
    call("whole", "cdist", [block(2, 3, dtype="i64"), block(2, 3, dtype="i64")])
    call("order", "cdist", [x, y], p=-1.0)
    call("mode", "cdist", [x, y], compute_mode=3)
    call("many", "_pdist_forward", [block(40, 2)], F.pdist, tolerance=64)
    call("one", "pdist", [block(1, 3)], F.pdist)
    call("no_row", "pdist", [ones(0, 3)], F.pdist)
    call("rank", "pdist", [block(3)], F.pdist)
    call("order", "pdist", [x], F.pdist, p=-1.0)


def attention():
    q, k, v = block(2, 3, 4) / 8, block(2, 5, 4) / 8, block(2, 5, 6)
    mask = block(3, 5, dtype="bool")
    lost = mask.clone()
    lost[1] = False
    name, function = "scaled_dot_product_attention", F.scaled_dot_product_attention
    call("plain", name, [q, k, v], function, tolerance=256)
    call("f64", name, [q.double(), k.double(), v.double()], function, tolerance=256)
    call("causal", name, [q, k, v], function, tolerance=256, is_causal=True)
    call("scale", name, [q, k, v], function, tolerance=256, scale=0.25)
    call("mask", name, [q, k, v, mask], function, tolerance=256)
    call("lost", name, [q, k, v, lost], function, tolerance=256)
    call("added", name, [q, k, v, block(2, 3, 5)], function, tolerance=256)
    call("both", name, [q, k, v, mask], function, is_causal=True)
    call("heads", name, [block(1, 4, 3, 4) / 8, block(1, 2, 5, 4) / 8, block(1, 2, 5, 6)], function, tolerance=256, enable_gqa=True)
    call("uneven", name, [block(1, 3, 3, 4), block(1, 2, 5, 4), block(1, 2, 5, 6)], function, enable_gqa=True)
    call("sizes", name, [q, block(2, 5, 3), v], function)
    call("rows", name, [q, k, block(2, 4, 6)], function)
    call("rank", name, [block(4), k, v], function)
    call("dtypes", name, [q, k.double(), v], function)
    low = block(3, 4)
    low[1] = -INF
    call("rows", "_safe_softmax", [low], lambda x, **k: torch.ops.aten._safe_softmax(x, **k), tolerance=16, dim=1)
    call("columns", "_safe_softmax", [low], lambda x, **k: torch.ops.aten._safe_softmax(x, **k), tolerance=16, dim=0)


def record():
    for part in (weighted, vectors, contractions, chains, distances, attention):
        part()
