"""What PyTorch says about writing at computed places, and about bits as elements of another dtype."""
import torch
from torch_recorder import ALL, DTYPES, NAN, case, ones, special, tensor

WAYS = ("sum", "prod", "mean", "amax", "amin")


def elements():
    index = tensor([[2, 0, 1, 2], [0, 0, 1, 1]], "i64")
    for dtype in ALL:
        a = torch.arange(12).reshape(3, 4).to(DTYPES[dtype])
        b = (torch.arange(10).reshape(2, 5) * 7 % 5 - 2).to(DTYPES[dtype])
        case(f"scatter_{dtype}", "%r0 = scatter %a, dim=0, index=%b, src=%c\n%r1 = scatter_add %a, dim=0, index=%b, src=%c\n"
             "%r2 = scatter %a, dim=1, index=%b, value=3", [a, index, b],
             lambda a, i, b: [a.scatter(0, i, b), a.scatter_add(0, i, b), a.scatter(1, i, 3)])
        for way in WAYS if dtype != "bool" else ("sum", "prod"):
            for keep in (True, False) if dtype != "bool" else (True,):
                case(f"scatter_reduce_{way}_{keep}_{dtype}".lower(),
                     f'%r0 = scatter_reduce %a, dim=0, index=%b, src=%c, reduce="{way}", include_self={str(keep).lower()}',
                     [a, index, b], lambda a, i, b: a.scatter_reduce(0, i, b, way, include_self=keep))
        if dtype != "bool":
            case(f"scatter_old_{dtype}", '%r0 = scatter %a, dim=0, index=%b, src=%c, reduce="add"\n'
                 '%r1 = scatter %a, dim=0, index=%b, value=3, reduce="multiply"', [a, index, b],
                 lambda a, i, b: [a.scatter(0, i, b, reduce="add"), a.scatter(0, i, 3, reduce="multiply")])
    nans = tensor([[NAN, 1.0, 2.0, -0.0], [5.0, NAN, 1.0, 0.0]])
    for way in ("amax", "amin", "sum"):
        case(f"scatter_nan_{way}", f'%r0 = scatter_reduce %a, dim=0, index=%b, src=%c, reduce="{way}"',
             [ones(3, 4) * 2, index, nans], lambda a, i, b: a.scatter_reduce(0, i, b, way))
    scalar, zero = tensor(3.0), tensor(0, "i64")
    case("scatter_scalar", "%r0 = scatter %a, dim=0, index=%b, src=%c\n%r1 = scatter_add %a, dim=-1, index=%b, src=%c",
         [scalar, zero, scalar * 5], lambda a, i, b: [a.scatter(0, i, b), a.scatter_add(-1, i, b)])
    nothing = torch.zeros(0, 4, dtype=torch.int64)
    case("scatter_nothing", "%r0 = scatter %a, dim=0, index=%b, src=%c", [ones(3, 4), nothing, ones(2, 4)],
         lambda a, i, b: a.scatter(0, i, b))
    for label, src in (("dtype", ones(2, 4, dtype="f64")), ("short", ones(1, 4)), ("rank", ones(4))):
        case(f"scatter_{label}", "%r0 = scatter %a, dim=0, index=%b, src=%c", [ones(3, 4), index, src],
             lambda a, i, b: a.scatter(0, i, b))
    case("scatter_wide", "%r0 = scatter %a, dim=0, index=%b, src=%c", [ones(3, 2), index, ones(2, 4)],
         lambda a, i, b: a.scatter(0, i, b))
    case("scatter_way", '%r0 = scatter_reduce %a, dim=0, index=%b, src=%c, reduce="median"', [ones(3, 4), index, ones(2, 4)],
         lambda a, i, b: a.scatter_reduce(0, i, b, "median"))
    for value, listed in ((-1, "negative_index"), (-4, None), (3, None)):
        wrong, label = tensor([[0, value]], "i64"), str(value).replace("-", "m")
        case(f"scatter_index_{label}", "%r0 = scatter %a, dim=0, index=%b, src=%c", [ones(3, 2), wrong, ones(1, 2) * 2],
             lambda a, i, b: a.scatter(0, i, b), listed, results=["f32[3,2]"])


def slices():
    index = tensor([2, 0, 2, 1], "i64")
    for dtype in ALL:
        a = torch.arange(12).reshape(3, 4).to(DTYPES[dtype])
        b = (torch.arange(16).reshape(4, 4) * 7 % 5 - 2).to(DTYPES[dtype])
        case(f"index_add_{dtype}", "%r0 = index_add %a, dim=0, index=%b, source=%c", [a, index, b],
             lambda a, i, b: a.index_add(0, i, b))
        case(f"index_copy_{dtype}", "%r0 = index_copy %a, dim=0, index=%b, source=%c\n"
             "%r1 = index_fill %a, dim=1, index=%b, value=3", [a, index, b],
             lambda a, i, b: [a.index_copy(0, i, b), a.index_fill(1, i, 3)])
        if dtype == "bool":
            continue
        case(f"index_add_alpha_{dtype}", "%r0 = index_add %a, dim=0, index=%b, source=%c, alpha=2", [a, index, b],
             lambda a, i, b: a.index_add(0, i, b, alpha=2))
        for way in WAYS[1:]:
            for keep in (True, False):
                case(f"index_reduce_{way}_{keep}_{dtype}".lower(),
                     f'%r0 = index_reduce %a, dim=0, index=%b, source=%c, reduce="{way}", include_self={str(keep).lower()}',
                     [a, index, b], lambda a, i, b: a.index_reduce(0, i, b, way, include_self=keep))
    case("index_fill_tensor", "%r0 = index_fill %a, dim=0, index=%b, value=%c", [ones(3, 4), index, tensor(2.5)],
         lambda a, i, b: a.index_fill(0, i, b))
    case("index_add_scalar", "%r0 = index_add %a, dim=0, index=%b, source=%c", [tensor(3.0), tensor([0], "i64"), tensor([2.0])],
         lambda a, i, b: a.index_add(0, i, b))
    case("index_add_shape", "%r0 = index_add %a, dim=0, index=%b, source=%c", [ones(3, 4), index, ones(3, 4)],
         lambda a, i, b: a.index_add(0, i, b))
    for value, listed in ((-1, "negative_index"), (-4, None), (3, None)):
        wrong, label = tensor([0, value], "i64"), str(value).replace("-", "m")
        for name in ("index_add", "index_copy"):
            case(f"{name}_{label}", f"%r0 = {name} %a, dim=0, index=%b, source=%c", [ones(3, 2), wrong, ones(2, 2) * 2],
                 lambda a, i, b: getattr(a, name)(0, i, b), listed, results=["f32[3,2]"])


def views():
    a = torch.arange(24.0).reshape(2, 3, 4)
    case("select_scatter", "%r0 = select_scatter %a, %b, dim=1, index=-1\n%r1 = select_scatter %a, %b, dim=1, index=0",
         [a, ones(2, 4)], lambda a, b: [a.select_scatter(b, 1, -1), a.select_scatter(b, 1, 0)])
    case("slice_scatter", "%r0 = slice_scatter %a, %b, dim=2, start=1, step=2\n%r1 = slice_scatter %a, %b, dim=-1, end=-2",
         [a, ones(2, 3, 2)], lambda a, b: [a.slice_scatter(b, 2, 1, step=2), a.slice_scatter(b, -1, end=-2)])
    case("slice_scatter_nothing", "%r0 = slice_scatter %a, %b, dim=1, start=3", [a, ones(2, 0, 4)],
         lambda a, b: a.slice_scatter(b, 1, 3))
    for offset, size in ((0, 3), (1, 3), (-1, 2), (3, 1)):
        label = str(offset).replace("-", "m")
        case(f"diagonal_scatter_{label}", f"%r0 = diagonal_scatter %a, %b, offset={offset}, dim1=1, dim2=-1", [a, ones(2, size)],
             lambda a, b: a.diagonal_scatter(b, offset, 1, -1))
    case("diagonal_scatter", "%r0 = diagonal_scatter %a, %b", [a, ones(4, 2)], lambda a, b: a.diagonal_scatter(b))
    case("select_scatter_shape", "%r0 = select_scatter %a, %b, dim=1, index=0", [a, ones(2, 3)],
         lambda a, b: a.select_scatter(b, 1, 0))
    case("select_scatter_range", "%r0 = select_scatter %a, %b, dim=1, index=3", [a, ones(2, 4)],
         lambda a, b: a.select_scatter(b, 1, 3))
    case("diagonal_scatter_dims", "%r0 = diagonal_scatter %a, %b, dim1=0, dim2=0", [a, ones(4, 2)],
         lambda a, b: a.diagonal_scatter(b, 0, 0, 0))


def lists():
    a = torch.arange(120.0).reshape(2, 3, 4, 5)
    rows, columns, one = tensor([1, 0, -1], "i64"), tensor([[2], [0]], "i64"), tensor(1, "i64")
    for label, text, chosen, sizes in (("first", "[%b]", [rows], (3, 3, 4, 5)), ("second", "[none, %b]", [None, rows], (5,)),
                                       ("beside", "[none, %b, %c]", [None, rows, columns], (2, 2, 3, 5)),
                                       ("apart", "[%b, none, %c]", [rows, None, columns], (2, 3, 1, 5)),
                                       ("elements", "[none, %d, none, %d]", [None, one, None, one], (2, 4)),
                                       ("all", "[%b, %c, %d, %b]", [rows, columns, one, rows], ())):
        values = torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) + 500
        for add in (False, True):
            case(f"index_put_{label}_{add}".lower(), f"%r0 = index_put %a, {text}, %e, accumulate={str(add).lower()}",
                 [a, rows, columns, one, values], lambda a, b, c, d, e: torch.ops.aten.index_put(a, chosen, e, add))
    twice = tensor([1, 1, 0, 1], "i64")
    for name in ALL:
        case(f"index_put_twice_{name}", "%r0 = index_put %a, [%b], %c, accumulate=true",
             [torch.arange(3).to(DTYPES[name]), twice, torch.arange(4).to(DTYPES[name])],
             lambda a, b, c: torch.ops.aten.index_put(a, [b], c, True))
    case("index_put_far", "%r0 = index_put %a, [none, %b], %c", [a, tensor([0, 4], "i64"), one.float()],
         lambda a, b, c: torch.ops.aten.index_put(a, [None, b], c), results=["f32[2,3,4,5]"])
    case("index_put_shape", "%r0 = index_put %a, [%b], %c", [a, rows, ones(2)],
         lambda a, b, c: torch.ops.aten.index_put(a, [b], c))


def bits():
    for name in ALL:
        values = special(name)
        values = values.repeat(8)[:8 * (len(values) // 2)].reshape(-1, 8).contiguous()
        for other in ALL:
            if other == "bool" and name != "bool":  # a byte that is neither 0 nor 1 is no bool here
                continue
            case(f"view_{name}_{other}", f"%r0 = view %a, dtype={other}", [values], lambda a: a.view(DTYPES[other]))
    case("view_numbers_bool", "%r0 = view %a, dtype=bool", [tensor([1.5, -2.0])], lambda a: a.view(torch.bool), "view_bool")
    payload = torch.tensor([0x7FC00001, -1, 0x7F800001, 1], dtype=torch.int32).view(torch.float32)
    case("view_payload", "%r0 = view %a, dtype=i32\n%m = view %a, dtype=i32\n%r1 = view %m, dtype=f32", [payload],
         lambda a: [a.view(torch.int32), a])
    case("view_scalar", "%r0 = view %a, dtype=i32", [tensor(1.5)], lambda a: a.view(torch.int32))
    case("view_scalar_wide", "%r0 = view %a, dtype=i64", [tensor(1.5)], lambda a: a.view(torch.int64))
    case("view_scalar_narrow", "%r0 = view %a, dtype=i32", [tensor(1.5, "f64")], lambda a: a.view(torch.int32))
    case("view_odd", "%r0 = view %a, dtype=i64", [ones(2, 3)], lambda a: a.view(torch.int64))
    case("view_empty", "%r0 = view %a, dtype=i64", [ones(0, 4)], lambda a: a.view(torch.int64))


def scalars():
    one, two = tensor(3.0), tensor([1.0, 2.0])
    case("gather_scalars", "%r0 = gather %a, dim=0, index=%b\n%r1 = gather %a, dim=-1, index=%c\n"
         "%r2 = gather %d, dim=0, index=%e", [one, tensor(0, "i64"), tensor([0, 0], "i64"), two, tensor(1, "i64")],
         lambda a, b, c, d, e: [a.gather(0, b), a.gather(-1, c), d.gather(0, e)])
    case("index_select_scalars", "%r0 = index_select %a, dim=0, index=%b\n%r1 = index_select %a, dim=0, index=%c\n"
         "%r2 = index_select %d, dim=0, index=%b", [one, tensor(0, "i64"), tensor([0], "i64"), two],
         lambda a, b, c, d: [a.index_select(0, b), a.index_select(0, c), d.index_select(0, b)])
    case("index_select_scalar_twice", "%r0 = index_select %a, dim=0, index=%b", [one, tensor([0, 0], "i64")],
         lambda a, b: a.index_select(0, b))


def record():
    bits()
    scalars()
    elements()
    slices()
    views()
    lists()
