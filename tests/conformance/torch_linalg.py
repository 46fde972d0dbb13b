"""What PyTorch says about factors of matrices and what is made of them. Signs of vectors that nothing determines are
left out: their magnitudes are compared."""
import torch
from torch_recorder import COMPLEX, FLOATS, NAN, case, results_of, tensor

SYMMETRIC = [[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]
GENERAL = [[1.0, 2.0, 0.5], [3.0, -1.0, 2.0], [0.5, 4.0, 3.0]]
TRIANGLE = [[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.5, -1.0, 4.0]]
TALL = [[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]]
RIGHT = [[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]]


def numbers(values, dtype):
    """A tensor; of complex numbers, imaginary parts are such that what is symmetric becomes Hermitian."""
    if dtype not in COMPLEX:
        return tensor(values, dtype)
    real = tensor(values, {"c64": "f32", "c128": "f64"}[dtype])
    imaginary = 0.5 * (real.tril(-1) - real.triu(1)) if real.dim() == 2 else 0.25 * real
    return torch.complex(real, imaginary)


def call(label, text, inputs, function, magnitudes=()):
    """A call with any number of results, each returned under a name of its own."""
    found = results_of(function, inputs)
    if len(found) == 1:
        case(label, f"%r0 = {text}", inputs, function, tolerance=64)
        return
    lines = [f"%m:{len(found)} = {text}"]
    for i, result in enumerate(found):
        shape = ", ".join(map(str, result.shape))
        lines.append(f"%r{i} = abs %m#{i}" if i in magnitudes else f"%r{i} = reshape %m#{i}, shape=[{shape}]")
    case(label, "\n".join(lines), inputs,
         lambda *values: [r.abs() if i in magnitudes else r for i, r in enumerate(function(*values))], tolerance=64)


def factors(dtype):
    aten, t = torch.ops.aten, lambda values: numbers(values, dtype)
    a, g, lower, tall, b = t(SYMMETRIC), t(GENERAL), t(TRIANGLE), t(TALL), t(RIGHT)
    stacked = torch.stack([g, a])
    for name in ("linalg_cholesky", "cholesky"):
        call(f"{name}_{dtype}", f"{name} %a, upper=true", [a], lambda a: getattr(aten, name)(a, upper=True))
    call(f"cholesky_ex_{dtype}", "linalg_cholesky_ex %a", [torch.stack([a, -a])[:1]], torch.linalg.cholesky_ex)
    call(f"cholesky_solve_{dtype}", "cholesky_solve %a, %b", [b, lower], torch.cholesky_solve)
    call(f"cholesky_inverse_{dtype}", "cholesky_inverse %a", [lower], torch.cholesky_inverse)
    for name in ("linalg_lu_factor_ex", "linalg_lu_factor", "linalg_lu"):
        call(f"{name}_{dtype}", f"{name} %a", [stacked], getattr(aten, name))
    packed, pivots = torch.linalg.lu_factor(g)
    call(f"lu_unpack_{dtype}", "lu_unpack %a, %b", [packed, pivots], torch.lu_unpack)
    call(f"linalg_lu_solve_{dtype}", "linalg_lu_solve %a, %b, %c, adjoint=true", [packed, pivots, b],
         lambda p, q, b: torch.linalg.lu_solve(p, q, b, adjoint=True))
    call(f"lu_solve_{dtype}", "lu_solve %a, %b, %c", [b, packed, pivots], torch.lu_solve)
    call(f"triangular_{dtype}", "linalg_solve_triangular %a, %b, upper=false, unitriangular=true", [lower, b],
         lambda a, b: torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True))
    call(f"triangular_old_{dtype}", "triangular_solve %a, %b, upper=false, transpose=true", [b, lower],
         lambda b, a: torch.triangular_solve(b, a, upper=False, transpose=True))
    call(f"ldl_{dtype}", "linalg_ldl_factor %a", [a], torch.linalg.ldl_factor)
    call(f"ldl_ex_{dtype}", "linalg_ldl_factor_ex %a", [a], torch.linalg.ldl_factor_ex)
    call(f"ldl_solve_{dtype}", "linalg_ldl_solve %a, %b, %c", [*torch.linalg.ldl_factor(a), b], torch.linalg.ldl_solve)
    packed, tau = torch.geqrf(tall)
    call(f"geqrf_{dtype}", "geqrf %a", [tall], torch.geqrf)
    call(f"householder_{dtype}", "linalg_householder_product %a, %b", [packed, tau], torch.linalg.householder_product)
    call(f"orgqr_{dtype}", "orgqr %a, %b", [packed, tau], torch.orgqr)
    call(f"ormqr_{dtype}", "ormqr %a, %b, %c, transpose=true", [packed, tau, b],
         lambda a, tau, b: torch.ormqr(a, tau, b, transpose=True))
    for mode in ("reduced", "complete", "r"):
        call(f"qr_{mode}_{dtype}", f'linalg_qr %a, mode="{mode}"', [tall], lambda a: torch.linalg.qr(a, mode))
    call(f"qr_{dtype}", "qr %a", [tall], torch.qr)
    call(f"eigh_{dtype}", "linalg_eigh %a", [a], torch.linalg.eigh, (1,))
    call(f"eigh_inner_{dtype}", "_linalg_eigh %a", [a], aten._linalg_eigh, (1,))
    call(f"eigvalsh_{dtype}", 'linalg_eigvalsh %a, UPLO="U"', [a], lambda a: torch.linalg.eigvalsh(a, "U"))
    for name in ("linalg_svd", "_linalg_svd", "svd"):
        call(f"svd_{name}_{dtype}", f"{name} %a", [g], getattr(aten, name), (0, 2))
    call(f"svdvals_{dtype}", "linalg_svdvals %a", [tall], torch.linalg.svdvals)


def solutions(dtype):
    aten, t = torch.ops.aten, lambda values: numbers(values, dtype)
    a, g, b, vector = t(SYMMETRIC), t(GENERAL), t(RIGHT), t([1.0, 2.0, 3.0])
    call(f"solve_vector_{dtype}", "linalg_solve %a, %b", [g, vector], torch.linalg.solve)
    call(f"solve_right_{dtype}", "linalg_solve %a, %b, left=false", [g, b.mT.contiguous()],
         lambda a, b: torch.linalg.solve(a, b, left=False))
    call(f"solve_ex_{dtype}", "linalg_solve_ex %a, %b", [torch.stack([g, a]), b], torch.linalg.solve_ex)
    call(f"solve_inner_{dtype}", "_linalg_solve_ex %a, %b", [g, b], aten._linalg_solve_ex)
    for name in ("linalg_inv", "inverse", "linalg_det", "det", "linalg_slogdet", "slogdet", "logdet", "_linalg_det",
                 "_linalg_slogdet", "linalg_inv_ex"):
        call(f"{name}_{dtype}".lstrip("_") + ("_inner" if name[0] == "_" else ""), f"{name} %a",
             [a if name[0] == "_" else g], getattr(aten, name))  # those show the factors, of PyTorch's the transpose's
    call(f"logdet_positive_{dtype}", "logdet %a", [a], torch.logdet)
    call(f"tensorinv_{dtype}", "linalg_tensorinv %a, ind=1", [g.reshape(3, 3, 1)], lambda a: torch.linalg.tensorinv(a, 1))
    call(f"tensorsolve_{dtype}", "linalg_tensorsolve %a, %b", [g.reshape(3, 1, 3), vector.reshape(3, 1)],
         torch.linalg.tensorsolve)


def edges():
    g, b = tensor(GENERAL), tensor(RIGHT)
    none = torch.zeros(0, 0)
    call("det_empty", "det %a", [none], torch.det)
    call("inverse_empty", "inverse %a", [torch.zeros(2, 0, 0)], torch.inverse)
    call("svdvals_empty", "linalg_svdvals %a", [torch.zeros(0, 3)], torch.linalg.svdvals)
    call("qr_empty_complete", 'linalg_qr %a, mode="complete"', [torch.zeros(3, 0)],
         lambda a: torch.linalg.qr(a, "complete"))
    call("det_singular", "det %a", [tensor([[1.0, 2.0], [2.0, 4.0]])], torch.det)
    call("cholesky_ex_not_positive", "linalg_cholesky_ex %a\n".strip(), [tensor([[-1.0]])],
         lambda a: torch.linalg.cholesky_ex(a), (0,))
    singular, wild = tensor([[1.0, 2.0], [2.0, 4.0]]), tensor([[1.0, NAN], [NAN, 4.0]])
    for label, text, given, types in (
            ("solve_singular", "%r0 = linalg_solve %a, %b", [singular, tensor([1.0, 2.0])], ["f32[2]"]),
            ("inverse_singular", "%r0 = inverse %a", [singular], ["f32[2,2]"]),
            ("cholesky_not_positive", "%r0 = cholesky %a", [-singular], ["f32[2,2]"]),
            ("eigvalsh_nan", "%r0 = linalg_eigvalsh %a", [wild], ["f32[2]"]),
            ("svdvals_nan", "%r0 = linalg_svdvals %a", [wild], ["f32[2]"]),
            ("det_tall", "%r0 = det %a", [b], []), ("inverse_vector", "%r0 = inverse %a", [b[0]], []),
            ("solve_rows", "%r0 = linalg_solve %a, %b", [g, tensor([[1.0, 2.0]])], []),
            ("solve_dtypes", "%r0 = linalg_solve %a, %b", [g, tensor(RIGHT, "f64")], []),
            ("inverse_integers", "%r0 = inverse %a", [tensor([[1, 2], [3, 4]], "i64")], [])):
        name = text.split()[2]
        case(label, text, given, lambda *values: getattr(torch.ops.aten, name)(*values), results=types)


def equations(dtype):
    aten, t = torch.ops.aten, lambda values: numbers(values, dtype)
    g, tall, b, vector = t(GENERAL), t(TALL), t(RIGHT), t([1.0, 2.0, 3.0])
    turn = tensor([[0.0, 1.0], [-1.0, 0.0]], dtype)
    call(f"eig_{dtype}", "linalg_eig %a", [turn], torch.linalg.eig, (1,))
    call(f"eig_inner_{dtype}", "_linalg_eig %a", [turn], torch.linalg.eig, (1,))
    call(f"eigvals_{dtype}", "linalg_eigvals %a", [torch.stack([turn, 3 * turn])], torch.linalg.eigvals)
    call(f"eigvals_real_{dtype}", "linalg_eigvals %a", [t(TRIANGLE).triu()], torch.linalg.eigvals)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        call(f"lstsq_{driver}_{dtype}", f'linalg_lstsq %a, %b, driver="{driver}"', [tall, b],
             lambda a, b: torch.linalg.lstsq(a, b, driver=driver))
        call(f"lstsq_wide_{driver}_{dtype}", f'linalg_lstsq %a, %b, driver="{driver}"',
             [torch.stack([tall.mT, 2 * tall.mT]), torch.stack([b[:2], -b[:2]])],
             lambda a, b: torch.linalg.lstsq(a, b, driver=driver))
    call(f"lstsq_inner_{dtype}", '_linalg_lstsq %a, %b, driver="gels"', [g, b],
         lambda a, b: torch.linalg.lstsq(a, b, driver="gels"))
    call(f"lstsq_vector_{dtype}", "linalg_lstsq %a, %b", [tall, vector], torch.linalg.lstsq)
    low = torch.stack([g[0], 2 * g[0], g[0]])
    call(f"lstsq_low_{dtype}", "linalg_lstsq %a, %b, rcond=0.01", [low, b],
         lambda a, b: torch.linalg.lstsq(a, b, 0.01))
    small, none = 0.25 * g, g - g
    for name in ("linalg_matrix_exp", "matrix_exp"):
        call(f"{name}_{dtype}", f"{name} %a", [torch.stack([small, 2 * small, none])], getattr(aten, name))
    call(f"lu_with_info_{dtype}", "_lu_with_info %a", [g], aten._lu_with_info)
    exact = lambda a: (lambda u, s, vh: (u, s, vh.mH))(*torch.linalg.svd(a, full_matrices=False))
    for label, matrix in (("tall", tall), ("wide", tall.mH.contiguous())):
        call(f"svd_lowrank_{label}_{dtype}", "svd_lowrank %a, q=2, seed=1, offset=2", [matrix], exact, (0, 2))
        call(f"pca_lowrank_{label}_{dtype}", "pca_lowrank %a, q=2, center=false, seed=1, offset=2", [matrix], exact,
             (0, 2))
    call(f"svd_lowrank_mean_{dtype}", "svd_lowrank %a, M=%b, seed=1, offset=2", [tall, tall[:1] / 2],
         lambda a, m: exact(a - m), (0, 2))
    call(f"pca_lowrank_{dtype}", "pca_lowrank %a, seed=1, offset=2", [torch.stack([tall, -tall])],
         lambda a: exact(a - a.mean(-2, keepdim=True)), (0, 2))
    q = torch.linalg.qr(tall).Q
    call(f"svd_within_{dtype}", "_svd_within %a, %b", [tall, q], lambda a, q: exact(a), (0, 2))
    one, base = tall[:, :1].contiguous(), q[:, :1].contiguous()
    case(f"range_again_{dtype}", "%m:1 = _range_again %a, %b\n%r0 = abs %m#0", [one, base],
         lambda a, q: torch.linalg.qr(a).Q.abs(), tolerance=64)
    case(f"range_of_random_{dtype}", "%m:1 = _range_of_random %a, q=1, seed=1, offset=2\n%r0 = abs %m#0", [one],
         lambda a: torch.linalg.qr(a).Q.abs(), tolerance=64)


# The second row is three times the first.
LOW = [[1.0, 2.0, 0.5], [3.0, 6.0, 1.5], [0.5, 4.0, 3.0]]


def spectra(dtype):
    t = lambda values: numbers(values, dtype)
    g, tall, low, a = t(GENERAL), t(TALL), t(LOW), t(SYMMETRIC)
    epsilon = torch.finfo(g.dtype).eps
    ones, zero = torch.ones(3, dtype=t(1.0).real.dtype), torch.zeros((), dtype=t(1.0).real.dtype)
    shared = torch.outer(low[0], low[0].conj())  # symmetric, of rank 1
    call(f"norm_of_values_{dtype}", '_norm_of_singular_values %a, rows=-2, columns=-1, kind="sum", keepdim=true', [g],
         lambda g: torch.linalg.matrix_norm(g, "nuc", keepdim=True))
    call(f"nuclear_norm_{dtype}", "nuclear_norm %a", [g], torch.nuclear_norm)
    for ord in (2, -2):
        call(f"matrix_norm_{ord}_{dtype}".replace("-", "minus_"), f"linalg_matrix_norm %a, ord={ord}",
             [torch.stack([tall, -2 * tall])], lambda a: torch.linalg.matrix_norm(a, ord))
    call(f"matrix_norm_nuc_{dtype}", 'linalg_matrix_norm %a, ord="nuc", dim=[0, 2], keepdim=true',
         [torch.stack([tall, 3 * tall], 1)], lambda a: torch.linalg.matrix_norm(a, "nuc", (0, 2), True))
    call(f"norm_nuc_{dtype}", 'linalg_norm %a, ord="nuc"', [low], lambda a: torch.linalg.norm(a, "nuc"))
    call(f"least_of_rank_{dtype}", "_least_of_rank %a, %b", [tall, ones[:1]], lambda a, b: 3 * epsilon * b)
    matrices = torch.stack([g, low])
    call(f"matrix_rank_{dtype}", "linalg_matrix_rank %a", [matrices], torch.linalg.matrix_rank)
    call(f"matrix_rank_tensors_{dtype}", "linalg_matrix_rank.atol_rtol_tensor %a, rtol=%b", [matrices, zero + 0.3],
         lambda a, r: torch.linalg.matrix_rank(a, rtol=r))
    call(f"matrix_rank_numbers_{dtype}", "linalg_matrix_rank.atol_rtol_float %a, atol=3.0, hermitian=true", [a],
         lambda a: torch.linalg.matrix_rank(a, atol=3.0, hermitian=True))
    call(f"matrix_rank_above_{dtype}", "linalg_matrix_rank %a, 2.5", [g], lambda a: torch.linalg.matrix_rank(a, 2.5))
    call(f"matrix_rank_above_each_{dtype}", "linalg_matrix_rank.tol_tensor %a, %b", [g, zero + 2.5],
         torch.linalg.matrix_rank)
    call(f"pinv_{dtype}", "linalg_pinv %a", [tall], torch.linalg.pinv)
    call(f"pinv_inner_{dtype}", "_pinv %a", [torch.stack([tall, 2 * tall])], torch.linalg.pinv)
    call(f"pinv_symmetric_{dtype}", "_pinv_symmetric %a", [shared], lambda a: torch.linalg.pinv(a, hermitian=True))
    call(f"pinv_tensors_{dtype}", "linalg_pinv.atol_rtol_tensor %a, atol=%b", [low, zero + 0.5],
         lambda a, b: torch.linalg.pinv(a, atol=b))
    call(f"pinv_numbers_{dtype}", "linalg_pinv.atol_rtol_float %a, rtol=0.2", [g],
         lambda a: torch.linalg.pinv(a, rtol=0.2))
    call(f"pinv_above_{dtype}", "linalg_pinv %a, rcond=0.2", [g], lambda a: torch.linalg.pinv(a, 0.2))
    call(f"pinv_above_each_{dtype}", "linalg_pinv.rcond_tensor %a, %b", [g, zero + 0.2], torch.linalg.pinv)
    call(f"pinverse_{dtype}", "pinverse %a", [tall], torch.pinverse)
    for p in (2, -2, 1, float("inf")):
        call(f"cond_{p}_{dtype}".replace("-", "minus_"), f"linalg_cond %a, p={p}", [torch.stack([g, a])],
             lambda a: torch.linalg.cond(a, p))
    call(f"cond_{dtype}", "linalg_cond %a", [tall], torch.linalg.cond)
    call(f"cond_fro_{dtype}", 'linalg_cond %a, p="fro"', [g], lambda a: torch.linalg.cond(a, "fro"))
    call(f"cond_singular_{dtype}", "_cond_by_norm %a, p=1", [t([[1.0, 2.0], [2.0, 4.0]])],
         lambda a: torch.linalg.cond(a, 1))
    call(f"inverse_or_infinity_{dtype}", "_inverse_or_infinity %a", [t([[2.0, 0.0], [0.0, 4.0]])], torch.inverse)
    call(f"cond_by_values_{dtype}", "_cond_by_values %a, largest=false", [g], lambda a: torch.linalg.cond(a, -2))


def record():
    for dtype in (*FLOATS, *COMPLEX):
        factors(dtype)
        spectra(dtype)
        solutions(dtype)
        equations(dtype)
    for dtype in COMPLEX:
        a, b = numbers(SYMMETRIC, dtype), numbers(RIGHT, dtype)
        call(f"ldl_hermitian_{dtype}", "linalg_ldl_factor_ex %a, hermitian=true", [a],
             lambda a: torch.linalg.ldl_factor_ex(a, hermitian=True))
        call(f"ldl_solve_hermitian_{dtype}", "linalg_ldl_solve %a, %b, %c, hermitian=true",
             [*torch.linalg.ldl_factor(a, hermitian=True), b],
             lambda a, p, b: torch.linalg.ldl_solve(a, p, b, hermitian=True))
        packed, pivots = torch.linalg.lu_factor(numbers(GENERAL, dtype))
        for adjoint in ("true", "false"):
            call(f"lu_solve_right_{adjoint}_{dtype}", f"linalg_lu_solve %a, %b, %c, left=false, adjoint={adjoint}",
                 [packed, pivots, b.mT.contiguous()],
                 lambda p, q, b: torch.linalg.lu_solve(p, q, b, left=False, adjoint=adjoint == "true"))
    edges()
