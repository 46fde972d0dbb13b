"""What PyTorch says about losses by margins, reductions of segments, slopes, and folds of complex numbers."""
import torch
import torch.nn.functional as F
from torch_forms import block
from torch_recorder import COMPLEX, INF, NAMED, NAN, case, tensor

WORDS = {0: "none", 1: "mean", 2: "sum"}


def pair(call):
    return f"%p:2 = {call}\n%r0 = alias %p#0\n%r1 = alias %p#1"


def margins():
    rows, target, weight = block(5, 4) / 3, tensor([3, 0, 2, 2, 1], "i64"), tensor([0.5, 1.0, 2.0, 0.25])
    labels = tensor([[0, 2, -1, 1], [-1, 0, 1, 2], [3, 1, 0, 2], [1, 1, -1, -1], [2, -1, 3, -1]], "i64")
    for number, word in WORDS.items():
        for power in (1, 2):
            case(f"multi_margin_{word}_{power}", f"%r0 = multi_margin_loss %a, %b, p={power}, reduction={number}", [rows, target],
                 lambda a, b, p=power, r=word: F.multi_margin_loss(a, b, p=p, reduction=r), None, 64)
        case(f"multi_margin_{word}_weight", f"%r0 = multi_margin_loss %a, %b, margin=0.5, weight=%c, reduction={number}", [rows, target, weight],
             lambda a, b, w, r=word: F.multi_margin_loss(a, b, margin=0.5, weight=w, reduction=r), None, 64)
        case(f"multilabel_margin_{word}", f"%r0 = multilabel_margin_loss %a, %b, reduction={number}", [rows, labels],
             lambda a, b, r=word: F.multilabel_margin_loss(a, b, reduction=r), None, 64)
        case(f"linear_cross_entropy_{word}", f"%r0 = linear_cross_entropy %a, %b, %c, linear_bias=%d, reduction={number}",
             [rows, block(3, 4) / 5, target % 3, weight[:3]],
             lambda a, w, t, b, r=word: F.cross_entropy(F.linear(a, w, b), t, reduction=r), None, 1 << 10)
        case(f"multilabel_soft_margin_{word}", f"%r0 = multilabel_soft_margin_loss %a, %b, %c, reduction={number}", [rows, (rows > 0).float(), weight],
             lambda a, b, w, r=word: F.multilabel_soft_margin_loss(a, b, w, reduction=r), None, 64)
        case(f"triplet_margin_with_distance_{word}", f"%r0 = triplet_margin_with_distance_loss %a, %b, %c, swap=true, reduction={number}",
             [rows, rows.flip(0), rows.roll(1, 1)], lambda a, b, c, r=word: F.triplet_margin_with_distance_loss(a, b, c, swap=True, reduction=r), None, 64)
    case("multi_margin_row", "%r0 = multi_margin_loss %a, %b", [rows[0], target[0]], F.multi_margin_loss, None, 64)
    case("multi_margin_number", "%r0 = multi_margin_loss %a, %b", [rows[0, 0], target[1]], F.multi_margin_loss, None, 64)
    case("multi_margin_power", "%r0 = multi_margin_loss %a, %b, p=3", [rows, target], lambda a, b: F.multi_margin_loss(a, b, p=3))
    case("multi_margin_one", "%r0 = _multi_margin %a, %b, squared=false, margin=1", [rows, target],
         lambda a, b: F.multi_margin_loss(a, b, reduction="none"), None, 64)
    case("multilabel_margin_row", "%r0 = multilabel_margin_loss %a, %b", [rows[0], labels[0]], F.multilabel_margin_loss, None, 64)
    case("multilabel_margin_one", "%r0 = _multilabel_margin %a, %b", [rows, labels],
         lambda a, b: F.multilabel_margin_loss(a, b, reduction="none"), None, 64)


def segments():
    data, lengths, offsets = block(7, 3) / 3, tensor([2, 0, 4, 1], "i64"), tensor([0, 2, 2, 6, 7], "i64")
    data[2, 1], data[5, 0] = NAN, INF
    for name in ("sum", "mean", "max", "min", "prod"):
        for label, more, key in (("", "", {}), ("_initial", ", initial=1.5", {"initial": 1.5})):
            case(f"segment_{name}{label}", f'%r0 = segment_reduce %a, reduce="{name}", lengths=%b{more}', [data, lengths],
                 lambda a, b, n=name, k=key: torch.segment_reduce(a, n, lengths=b, unsafe=True, **k), None, 16)
        case(f"segment_{name}_offsets", f'%r0 = segment_reduce %a, reduce="{name}", offsets=%b', [data, offsets],
             lambda a, b, n=name: torch.segment_reduce(a, n, offsets=b), None, 16)
    rows = tensor([[1, 2], [3, 0]], "i64")
    case("segment_second_axis", '%r0 = segment_reduce %a, reduce="sum", lengths=%b, axis=1', [block(2, 3, 4), rows],
         lambda a, b: torch.segment_reduce(a, "sum", lengths=b, axis=1, unsafe=True), None, 16)
    case("segment_neither", '%r0 = segment_reduce %a, reduce="sum"', [data], lambda a: torch.segment_reduce(a, "sum"))
    inside = tensor([[[True], [True], [False]], [[False], [False], [True]]], "bool")
    case("segment_reduced", '%r0 = _segment_reduced %a, %b, reduce="sum"', [block(1, 3, 2), inside],
         lambda a, b: torch.where(b, a, 0).sum(-2), None, 16)
    case("segments_of_offsets", "%p:2 = _segments_of_offsets %a\n%r0 = alias %p#0\n%r1 = alias %p#1", [offsets], lambda a: [a[:-1], a[1:]])
    for dtype in ("f32", "f16", "i8", "u8", "i64", "bool"):
        case(f"hash_tensor_{dtype}", "%r8 = hash_tensor %a\n%r0 = view %r8, dtype=i64\n%r9 = hash_tensor %a, dim=[1], keepdim=true\n%r1 = view %r9, dtype=i64",
             [block(3, 4).to(NAMED[dtype])], lambda a: [a.hash_tensor().view(torch.int64), a.hash_tensor(1, keepdim=True).view(torch.int64)])
    for rank, values in enumerate((tensor(3.0), tensor([0.0, 5.0, -1.0, 0.0, NAN]), block(3, 4) % 2)):
        for size in (0, 2, 30):
            case(f"nonzero_static_{rank}_{size}", f"%r0 = nonzero_static %a, size={size}, fill_value=-7", [values],
                 lambda a, s=size: torch.nonzero_static(a, size=s, fill_value=-7))


def slopes():
    values, places = block(4, 5) / 3, [tensor([0.0, 1.0, 3.0, 4.5]), tensor([1.0, 2.0, 4.0, 4.5, 7.0])]
    for edge in (1, 2):
        case(f"gradient_each_{edge}", pair(f"gradient %a, edge_order={edge}"), [values],
             lambda a, e=edge: torch.gradient(a, edge_order=e), None, 16)
        case(f"gradient_step_{edge}", f"%r0 = gradient %a, spacing=0.5, dim=1, edge_order={edge}", [values],
             lambda a, e=edge: torch.gradient(a, spacing=0.5, dim=1, edge_order=e), None, 16)
        case(f"gradient_steps_{edge}", pair(f"gradient %a, spacing=[2.0, 0.5], edge_order={edge}"), [values],
             lambda a, e=edge: torch.gradient(a, spacing=[2.0, 0.5], edge_order=e), None, 16)
        case(f"gradient_places_{edge}", pair(f"gradient %a, spacing=[%b, %c], edge_order={edge}"), [values, *places],
             lambda a, b, c, e=edge: torch.gradient(a, spacing=[b, c], edge_order=e), None, 256)
        case(f"slopes_{edge}", f"%r0 = _slopes %a, step=2.0, dim=0, edge_order={edge}", [values],
             lambda a, e=edge: torch.gradient(a, spacing=2.0, dim=0, edge_order=e), None, 16)
        case(f"slopes_at_{edge}", f"%r0 = _slopes_at %a, %b, dim=0, edge_order={edge}", [values, places[0].diff().reshape(3, 1)],
             lambda a, b, e=edge: torch.gradient(a, spacing=[places[0]], dim=0, edge_order=e), None, 256)
    case("slope_at_edge", "%r0 = _slope_at_edge %a, %b, dim=0, start=0", [values, places[0].diff().reshape(3, 1)],
         lambda a, b: torch.gradient(a, spacing=[places[0]], dim=0, edge_order=2)[0][:1], None, 256)
    case("gradient_whole_numbers", "%r0 = gradient %a", [tensor([1, 4, 9, 16], "i64")], torch.gradient)
    case("gradient_dims", pair("gradient %a, dim=[1, 0]"), [values], lambda a: torch.gradient(a, dim=[1, 0]), None, 16)
    case("gradient_twice", pair("gradient %a, dim=[1, 1]"), [values], lambda a: torch.gradient(a, dim=[1, 1]))
    case("gradient_short", "%r0 = gradient %a, edge_order=2", [values[0, :2]], lambda a: torch.gradient(a, edge_order=2))
    case("gradient_edge", "%r0 = gradient %a, edge_order=3", [values[0]], lambda a: torch.gradient(a, edge_order=3))


def rest():
    kaiser, window = torch.signal.windows.kaiser, torch.kaiser_window
    for count in (0, 1, 2, 7):
        case(f"kaiser_{count}", f"%r0 = signal_windows_kaiser M={count}, beta=4.5\n%r1 = kaiser_window window_length={count}", [],
             lambda n=count: [kaiser(n, beta=4.5), window(n)], None, 64)
        case(f"kaiser_{count}_f64", f"%r0 = signal_windows_kaiser M={count}, sym=false, dtype=f64\n%r1 = kaiser_window window_length={count}, periodic=false, dtype=f64",
             [], lambda n=count: [kaiser(n, sym=False, dtype=torch.float64), window(n, False, dtype=torch.float64)], None, 64)
    x, weight = block(3, 2, 4) / 4, [tensor([0.5, 2.0]), tensor([1.0, -1.0]), tensor([0.25, 0.5]), tensor([2.0, 1.0])]
    case("_batch_norm_with_update_some", "%p:4 = _batch_norm_with_update %a, %b, %c, %d, %e, momentum=0.1, eps=1e-05\n" +
         "\n".join(f"%r{i} = alias %p#{i}" for i in range(4)), [x, *weight],
         lambda a, *w: torch.ops.aten._batch_norm_with_update(a, *(v.clone() for v in w), 0.1, 1e-5), None, 1 << 10)
    gradient, table = block(2, 3, 2), tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 2.0]])
    gradient[0, 0, 0] = INF
    for dim, grid in ((-1, gradient), (-2, gradient.transpose(1, 2).contiguous())):
        whole = torch.where(table.t() != 0, gradient.unsqueeze(-2) * table.t(), 0).sum(-1)
        case(f"spread_{-dim}", f"%r0 = _spread %a, %b, dim={dim}", [grid, table],
             lambda a, b, d=dim, w=whole: w if d == -1 else w.transpose(1, 2).contiguous(), None, 16)
    values = torch.complex(block(3, 5) / 3, block(3, 5).square() / 5)
    case("complex_correlation", "%r0 = _complex_correlation %a\n%r1 = corrcoef %b", [values.cov(), values],
         lambda a, b: [b.corrcoef(), b.corrcoef()], None, 64)
    case("avg_pool_of_infinity", "%r0 = avg_pool2d_backward %a, %b, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], ceil_mode=false, "
         "count_include_pad=true", [tensor([[[INF, 1.0], [2.0, 3.0]]]), block(1, 4, 4)],
         lambda a, b: torch.ops.aten.avg_pool2d_backward(a, b, [2, 2], [2, 2], [0, 0], False, True, None), None, 16)


def complex_folds():
    for dtype in COMPLEX:
        whole = block(3, 4) / 3
        values = torch.complex(whole, whole.flip(0) / 2).to(COMPLEX[dtype])
        for name in ("cumprod", "logcumsumexp"):
            for dim in (0, 1):
                case(f"{name}_{dtype}_{dim}", f"%r0 = {name} %a, dim={dim}", [values], lambda a, f=name, d=dim: getattr(a, f)(d), None, 1 << 8)
            case(f"{name}_{dtype}_number", f"%r0 = {name} %a, dim=0", [values[0, 0]], lambda a, f=name: getattr(a, f)(0), None, 16)
            case(f"{name}_{dtype}_none", f"%r0 = {name} %a, dim=0", [values[:0]], lambda a, f=name: getattr(a, f)(0))
        case(f"prod_{dtype}", "%r0 = prod %a\n%r1 = prod %a, dim=[1]\n%r2 = prod %a, dim=[0], keepdim=true", [values],
             lambda a: [a.prod(), a.prod(1), a.prod(0, keepdim=True)], None, 1 << 8)
        case(f"prod_{dtype}_none", "%r0 = prod %a\n%r1 = prod %a, dim=[0]", [values[:0]], lambda a: [a.prod(), a.prod(0)])
        case(f"prod_{dtype}_of_numbers", f"%r0 = prod %a, dtype={dtype}", [whole[0]], lambda a, d=dtype: a.prod(dtype=COMPLEX[d]), None, 16)
        case(f"masked_folds_{dtype}", "%r0 = masked_prod %a, dim=[1], mask=%b\n%r1 = masked_mean %a, dim=[1], mask=%b", [values, whole > 0],
             lambda a, m: [torch.masked.prod(a, 1, mask=m), torch.masked.mean(a, 1, mask=m)], None, 1 << 8)
        case(f"vecdot_{dtype}", "%r0 = linalg_vecdot %a, %b, dim=0", [values, values.flip(1)],
             lambda a, b: torch.linalg.vecdot(a, b, dim=0), None, 64)
        case(f"logaddexp_{dtype}", "%r0 = logaddexp %a, %b", [values, values.flip(1)], torch.logaddexp, None, 64)


def record():
    margins()
    segments()
    slopes()
    rest()
    complex_folds()
