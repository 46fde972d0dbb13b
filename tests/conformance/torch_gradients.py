"""What PyTorch's autograd gives for the operators that gradients of others are made of."""
import torch
from torch_forms import block
from torch_recorder import case, tensor

SOLVED = 1 << 16  # of factors, whose steps differ


def gradient(function, inputs, given):
    """The gradients of inputs, for what is given as those of the results."""
    leaves = [value.clone().requires_grad_() for value in inputs]
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    pairs = [(result, grad) for result, grad in zip(results, given) if grad is not None]
    found = torch.autograd.grad([pair[0] for pair in pairs], leaves, [pair[1] for pair in pairs], allow_unused=True)
    found = [torch.zeros_like(leaf) if each is None else each for each, leaf in zip(found, leaves)]
    return found[0] if len(found) == 1 else found


def reductions():
    x = block(2, 3, 4)
    case("_unreduce_dim", "%r0 = _unreduce %a, dim=[1], keepdim=false, size=[2, 3, 4]", [x[:, 0].contiguous()],
         lambda a: a[:, None].expand(2, 3, 4))
    case("_unreduce_all", "%r0 = _unreduce %a, keepdim=false, size=[2, 3]", [tensor(2.5)], lambda a: a.expand(2, 3))
    case("_unreduce_kept", "%r0 = _unreduce %a, dim=[0, -1], keepdim=true, size=[2, 3, 4]", [block(1, 3, 1)],
         lambda a: a.expand(2, 3, 4))
    places = x.max(1).indices
    case("_chosen_backward_dim", "%r0 = _chosen_backward %a, %b, dim=1, keepdim=false, size=[2, 3, 4]",
         [block(2, 4), places], lambda a, b: gradient(lambda c: c.max(1).values, [x], [a]))
    case("_chosen_backward_one", "%r0 = _chosen_backward %a, %b, dim=0, keepdim=true, size=[]",
         [tensor(1.5), tensor(0, "i64")], lambda a, b: a)
    for order in (2, 1, 3, 0, float("inf"), -1.5):
        values = x.abs() + 0.5
        norm = torch.linalg.vector_norm(values, order, 1, True)
        text = {float("inf"): "inf"}.get(order, str(float(order)))
        case(f"_norm_slope_{str(order).replace('.', '_').replace('-', 'm')}",
             f"%r0 = _norm_slope %a, %b, ord={text}, dim=[1], keepdim=true", [values, norm],
             lambda a, b, order=order: gradient(lambda c: torch.linalg.vector_norm(c, order, 1, True), [a],
                                                [torch.ones_like(b)]), tolerance=64)


def writes():
    self, source, index = tensor([2.0, 3, 0, 5]), tensor([4.0, 0, 7, 2, 3]), tensor([1, 1, 3, 0, 2], "i64")
    grad = tensor([1.0, -2, 3, 0.5])
    for name, word in (("_scatter", "src"), ("_update", "source")):
        def product(a, b):
            return a.scatter_reduce(0, index, b, "prod") if name == "_scatter" else a.index_reduce(0, index, b, "prod")

        def extreme(a, b):
            return a.scatter_reduce(0, index, b, "amax") if name == "_scatter" else a.index_reduce(0, index, b, "amax")
        result, largest = product(self, source), extreme(self, source)
        case(f"{name}_product_self_plain", f"%r0 = {name}_product_self %a, %b, dim=0, index=%c, {word}=%d",
             [grad, self, index, source], lambda a, b, c, d, f=product: gradient(f, [b, d], [a])[0], tolerance=4)
        case(f"{name}_product_source_plain",
             f"%r0 = {name}_product_source %a, %b, dim=0, index=%c, {word}=%d, result=%e",
             [grad, self, index, source, result], lambda a, b, c, d, e, f=product: gradient(f, [b, d], [a])[1],
             tolerance=4)
        case(f"{name}_extreme_share_plain",
             f"%r9 = {name}_extreme_share %a, %b, dim=0, index=%c, {word}=%d, result=%e\n%k = eq %b, %e\n%r0 = mul %r9, %k",
             [grad, self, index, source, largest], lambda a, b, c, d, e, f=extreme: gradient(f, [b, d], [a])[0],
             tolerance=4)


def lu():
    for label, rows, columns in (("square", 4, 4), ("wide", 3, 5), ("tall", 5, 3)):
        matrix = block(rows, columns).double() / 4 + torch.eye(rows, columns, dtype=torch.float64) * 3
        packed, pivots = torch.linalg.lu_factor(matrix)
        grad = block(rows * columns).square().reshape(rows, columns).double() / 8
        case(f"_lu_factor_backward_{label}", "%r0 = _lu_factor_backward %a, %b, %c, %d, pivot=true",
             [grad.tril(-1), grad.triu(), packed, pivots],
             lambda a, b, c, d, m=matrix: gradient(lambda e: torch.linalg.lu_factor(e)[0], [m], [a + b]), tolerance=SOLVED)
        order, lower, upper = torch.lu_unpack(packed, pivots)
        case(f"_lu_pack_{label}", f"%r0 = _lu_pack %a, %b, size=[{rows}, {columns}]", [block(*lower.shape), block(*upper.shape)],
             lambda a, b, shape=(rows, columns): pack(a, b, *shape))
        if label != "square":
            continue
        case("_lu_square_backward_plain", "%r0 = _lu_square_backward %a, %b, %c, %d", [grad.tril(-1), grad.triu(), lower, upper],
             lambda a, b, c, d, m=matrix, p=order: p.T @ gradient(lambda e: torch.linalg.lu(e)[1:], [m], [a, b]),
             tolerance=SOLVED)
        right = block(4, 2).double()
        for turned in (False, True):
            found = torch.linalg.lu_solve(packed, pivots, right, adjoint=turned)
            case(f"_lu_solve_backward_{'adjoint' if turned else 'plain'}",
                 f"%r0 = _lu_solve_backward %a, %b, %c, %d, adjoint={str(turned).lower()}",
                 [packed, pivots, found, block(4, 2).double() - 1],
                 lambda a, b, c, d, turned=turned, right=right: gradient(
                     lambda e: torch.linalg.lu_solve(e, b, right, adjoint=turned), [a], [d]), tolerance=SOLVED)


def pack(lower, upper, rows, columns):
    found = torch.zeros(rows, columns, dtype=lower.dtype)
    found[:, :lower.shape[1]] += lower.tril(-1)
    found[:upper.shape[0]] += upper.triu()
    return found


def orthogonal():
    for label, rows, columns in (("tall", 5, 3), ("wide", 3, 5)):
        matrix = block(rows, columns).double() / 4 + torch.eye(rows, columns, dtype=torch.float64)
        q, r = torch.linalg.qr(matrix)
        given = [block(*q.shape).double(), block(*r.shape).double().triu() - 1]
        given[1] = given[1].triu()
        case(f"_qr_backward_{label}", "%r0 = _qr_backward %a, %b, %c, %d", [*given, q, r],
             lambda a, b, c, d, m=matrix: gradient(torch.linalg.qr, [m], [a, b]), tolerance=SOLVED)
    square = block(3, 3).double() / 4 + torch.eye(3, dtype=torch.float64)
    q, r = torch.linalg.qr(square)
    case("_qr_square_backward_plain", "%r0 = _qr_square_backward %a, %b, %c, %d",
         [block(3, 3).double(), block(3, 3).double().triu(), q, r],
         lambda a, b, c, d: gradient(torch.linalg.qr, [square], [a, b]), tolerance=SOLVED)
    vectors, factors = block(5, 3).double() / 8, tensor([0.5, 1.25, 0.75], "f64")
    for turned in (False, True):
        case(f"_reflections_backward_{'turned' if turned else 'plain'}",
             f"%m:2 = _reflections_backward %a, %b, %c, turned={str(turned).lower()}\n"
             "%r0 = reshape %m#0, shape=[5, 3]\n%r1 = reshape %m#1, shape=[3]",
             [block(5, 5).double() / 4, vectors, factors],
             lambda a, b, c, turned=turned: gradient(
                 lambda d, e: torch.ormqr(d, e, torch.eye(5, dtype=torch.float64), True, turned), [b, c], [a]),
             tolerance=SOLVED)
    tall, right = block(5, 3).double() / 4 + torch.eye(5, 3, dtype=torch.float64) * 2, block(5, 2).double()
    found = torch.linalg.lstsq(tall, right, driver="gelsd").solution
    case("_lstsq_backward_tall", "%m:2 = _lstsq_backward %a, %b, %c, %d, %e, %f\n"
         "%r0 = reshape %m#0, shape=[5, 3]\n%r1 = reshape %m#1, shape=[5, 2]",
         [block(3, 2).double(), block(2).double(), tall, right, found, torch.linalg.pinv(tall)],
         lambda a, b, c, d, e, f: gradient(lambda g, h: torch.linalg.lstsq(g, h, driver="gelsd")[:2], [c, d], [a, b]),
         tolerance=SOLVED)


def spectra():
    whole = block(4, 4).double() / 4
    symmetric = whole + whole.T + torch.diag(tensor([1.0, 3, 6, 10], "f64"))
    values, vectors = torch.linalg.eigh(symmetric)
    case("_eigh_backward_plain", "%r0 = _eigh_backward %a, %b, %c, %d",
         [block(4).double(), block(4, 4).double(), values, vectors],
         lambda a, b, c, d: gradient(torch.linalg.eigh, [symmetric], [a, b]), tolerance=SOLVED)
    moving = (whole + torch.diag(tensor([1.0, 3, 6, 10], "f64"))).to(torch.complex128)
    values, vectors = torch.linalg.eig(moving)
    given = torch.complex(block(4, 4).double(), block(16).reshape(4, 4).T.double().contiguous() / 4)
    given = given * torch.exp(-1j * (vectors.mH @ given).diagonal(dim1=-2, dim2=-1).angle())
    case("_eig_inner_plain", "%r0 = _eig_inner %a, %b, %c", [given, values, vectors],
         lambda a, b, c: (c.mH @ gradient(torch.linalg.eig, [moving], [torch.zeros_like(b), a])
                          @ torch.linalg.inv(c.mH)).fill_diagonal_(0), tolerance=SOLVED)
    for label, rows, columns in (("tall", 5, 3), ("wide", 3, 5)):
        matrix = block(rows, columns).double() / 4 + torch.eye(rows, columns, dtype=torch.float64) * 2
        left, sizes, right = torch.linalg.svd(matrix, full_matrices=False)
        given = [block(*left.shape).double() / 8, block(*sizes.shape).double(), block(*right.shape).double() / 8]
        case(f"_svd_backward_{label}", "%r0 = _svd_backward %a, %b, %c, %d, %e, %f", [*given, left, sizes, right],
             lambda a, b, c, d, e, f, m=matrix: gradient(
                 lambda g: tuple(torch.linalg.svd(g, full_matrices=False)), [m], [a, b, c]), tolerance=SOLVED)
        case(f"_pinv_backward_{label}", "%r0 = _pinv_backward %a, %b, %c",
             [block(columns, rows).double(), torch.linalg.pinv(matrix), matrix],
             lambda a, b, c: gradient(torch.linalg.pinv, [c], [a]), tolerance=SOLVED)
    matrix = block(3, 3).double() / 4 + torch.eye(3, dtype=torch.float64) * 2
    left, sizes, right = torch.linalg.svd(matrix)
    given = [block(3, 3).double() / 8, block(3).double(), block(3, 3).double() / 4]
    case("_svd_turned_plain", "%r0 = _svd_turned %a, %b, %c, %d, %e, %f", [*given, left, sizes, right.T.contiguous()],
         lambda a, b, c, d, e, f: d.T @ gradient(lambda g: tuple(torch.linalg.svd(g)), [matrix], [a, b, c.T]) @ f,
         tolerance=SOLVED)


def windows():
    x = block(1, 2, 4, 4)
    largest, indices = torch.nn.functional.max_pool2d(x, 3, 1, return_indices=True)
    case("_unpool_sum_plain", "%r0 = _unpool_sum %a, %b, size=[1, 2, 4, 4], dims=2", [block(*largest.shape), indices],
         lambda a, b: gradient(lambda c: torch.nn.functional.max_pool2d(c, 3, 1), [x], [a]))


def record():
    reductions()
    windows()
    writes()
    lu()
    orthogonal()
    spectra()
