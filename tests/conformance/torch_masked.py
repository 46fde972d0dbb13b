"""What PyTorch says about reductions of what a mask leaves, and about losses of classes."""
import torch
import torch.nn.functional as F
from torch_forms import block, text
from torch_recorder import FLOATS, INF, INTEGERS, case, ones, tensor

MASK = tensor([[True, False, True, True], [False, False, False, False], [True, True, True, True]], "bool")


def reductions():
    for name in ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "logsumexp", "norm", "var", "std"):
        function = getattr(torch.masked, name)
        single = name in ("argmax", "argmin", "median")
        for dtype in FLOATS + (INTEGERS if name not in ("mean", "norm") else ()):
            if dtype not in FLOATS and name in ("median", "logsumexp"):
                continue  # NaN and -inf as integers are an error there, or open
            dim = 1 if single else (1,)
            word = "dim=1" if single else "dim=[1]"
            values = block(3, 4, dtype=dtype)
            case(f"masked_{name}_{dtype}", f"%r0 = masked_{name} %a, {word}, mask=%b", [values, MASK],
                 lambda a, m, f=function, d=dim: f(a, dim=d, mask=m), None, 1 << 10)
            case(f"masked_{name}_whole_{dtype}", f"%r0 = masked_{name} %a, {word}, keepdim=true", [values],
                 lambda a, f=function, d=dim: f(a, dim=d, keepdim=True), None, 1 << 10)
        case(f"masked_{name}_row", f"%r0 = masked_{name} %a, dim={'0' if single else '[0]'}, mask=%b", [block(3, 4), MASK[0]],
             lambda a, m, f=function, d=0 if single else (0,): f(a, dim=d, mask=m), None, 1 << 10)
        if name != "median":
            case(f"masked_{name}_all", f"%r0 = masked_{name} %a, mask=%b", [block(3, 4), MASK], lambda a, m, f=function: f(a, mask=m), None, 1 << 10)
    for word, order in (("-inf", -INF), ("inf", INF), ("1", 1), ("0", 0)):
        case(f"masked_norm_{word}".replace("-", "minus_"), f"%r0 = masked_norm %a, ord={word}, dim=[1], mask=%b", [block(3, 4), MASK],
             lambda a, m, p=order: torch.masked.norm(a, float(p), 1, mask=m), None, 64)
    for label, more in (("biased", {"unbiased": False}), ("many", {"correction": 3}), ("half", {"correction": 0.5})):
        whole = ", ".join(f"{key}={text(value)}" for key, value in more.items())
        case(f"masked_var_{label}", f"%r0 = masked_var %a, dim=[1], {whole}, mask=%b", [block(3, 4), MASK],
             lambda a, m, k=more: torch.masked.var(a, 1, mask=m, **k), None, 1 << 10)
    for name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
        function = getattr(torch.masked, name)
        for dtype in FLOATS + (INTEGERS if name.startswith("cum") else ()):
            case(f"masked_{name}_{dtype}", f"%r0 = masked_{name} %a, dim=1, mask=%b", [block(3, 4, dtype=dtype), MASK],
                 lambda a, m, f=function: f(a, 1, mask=m), None, 64)
    case("masked_normalize_two", "%r0 = masked_normalize %a, ord=2.0, dim=1, mask=%b", [block(3, 4), MASK],
         lambda a, m: torch.masked.normalize(a, 2.0, 1, mask=m), None, 64)
    case("masked_logaddexp_both", "%r0 = masked_logaddexp %a, %b, input_mask=%c, other_mask=%d", [block(3, 4), block(3, 4) + 1, MASK, MASK[0]],
         lambda a, b, m, n: torch.masked.logaddexp(a, b, input_mask=m, other_mask=n.expand(3, 4)), None, 64)
    case("masked_sum_mask", "%r0 = masked_sum %a, mask=%b", [block(4), MASK], lambda a, m: torch.masked.sum(a, mask=m))
    case("masked_mean_whole_numbers", "%r0 = masked_mean %a", [block(4, dtype="i64")], torch.masked.mean)
    case("masked_elements", '%r0 = _masked %a, %b, without="one"', [block(3, 4), MASK], lambda a, m: torch.where(m, a, 1))
    case("masked_number_of", "%r0 = _masked_count %a, %b, dim=[1], keepdim=false", [block(3, 4), MASK], lambda a, m: m.sum(1))


def classes():
    rows, target, weight = block(5, 4) / 3, tensor([3, 0, 2, 2, 1], "i64"), tensor([0.5, 1.0, 2.0, 0.25])
    image, places = block(2, 4, 3) / 3, tensor([[0, 3, 1], [2, 2, 0]], "i64")
    words = {0: "none", 1: "mean", 2: "sum"}
    for number, word in words.items():
        for name, function in (("nll_loss_nd", F.nll_loss), ("nll_loss", F.nll_loss), ("cross_entropy_loss", F.cross_entropy)):
            for label, a, b in (("rows", rows, target), ("image", image, places), ("list", rows[0], target[0])):
                case(f"{name}_{label}_{word}", f"%r0 = {name} %a, %b, reduction={number}", [a, b],
                     lambda a, b, f=function, r=word: f(a, b, reduction=r), None, 64)
                case(f"{name}_{label}_{word}_weight", f"%r0 = {name} %a, %b, %c, reduction={number}, ignore_index=2", [a, b, weight],
                     lambda a, b, w, f=function, r=word: f(a, b, w, reduction=r, ignore_index=2), None, 64)
        for more in ("", ", %c"):
            operands = [rows, target] + ([weight] if more else [])
            case(f"cross_entropy_loss_smooth_{word}_{len(more)}", f"%r0 = cross_entropy_loss %a, %b{more}, reduction={number}, ignore_index=0, label_smoothing=0.25",
                 operands, lambda a, b, w=None, r=word: F.cross_entropy(a, b, w, reduction=r, ignore_index=0, label_smoothing=0.25), None, 256)
            operands = [image, image.softmax(1)] + ([weight] if more else [])
            case(f"cross_entropy_loss_parts_{word}_{len(more)}", f"%r0 = cross_entropy_loss %a, %b{more}, reduction={number}, label_smoothing=0.25",
                 operands, lambda a, b, w=None, r=word: F.cross_entropy(a, b, w, reduction=r, label_smoothing=0.25), None, 256)
        case(f"cross_entropy_{word}", f'%r0 = cross_entropy %a, %b, reduction="{word}"', [rows, target],
             lambda a, b, r=word: F.cross_entropy(a, b, reduction=r), None, 64)
    case("nll_loss2d_plane", "%r0 = nll_loss2d %a, %b", [image.reshape(2, 4, 3, 1), places.reshape(2, 3, 1)], F.nll_loss, None, 64)
    case("nll_loss_ignored", "%r0 = nll_loss %a, %b, ignore_index=2", [rows, tensor([2] * 5, "i64")], lambda a, b: F.nll_loss(a, b, ignore_index=2))
    case("nll_loss_nothing", "%r0 = nll_loss %a, %b", [ones(0, 4), tensor([], "i64")], F.nll_loss)
    for label, a, b in (("floats", rows, rows[:, 0]), ("uneven", rows, target[:4]), ("number", rows[0, 0], target[0]), ("whole", block(5, 4, dtype="i64"), target)):
        case(f"nll_loss_{label}", "%r0 = nll_loss %a, %b", [a, b], F.nll_loss)
    case("nll_loss_weight_uneven", "%r0 = nll_loss %a, %b, %c", [rows, target, weight[:3]], F.nll_loss)
    for label, values in (("beyond", [3, 4, 0, 0, 0]), ("below", [3, -1, 0, 0, 0])):
        case(f"nll_loss_class_{label}", "%r0 = nll_loss %a, %b", [rows, tensor(values, "i64")], F.nll_loss, results=("f32[]",))
    case("class_weights", "%r0 = _class_weights %a, %b, %c, %d", [rows, target != 2, target, weight],
         lambda a, b, c, w: torch.where(b, w[c], 0))
    case("class_places", "%r0 = _class_places %a, %b, %c, axis=1", [rows, target != 2, target], lambda a, b, c: torch.where(b, c, 0))
    case("class_nll", "%r0 = _class_nll %a, %b, axis=1, reduction=1, ignore_index=2", [rows, target], lambda a, b: F.nll_loss(a, b, ignore_index=2), None, 64)
    case("class_smooth", "%r0 = _class_smooth %a, %b, axis=1, reduction=2, ignore_index=9", [rows, target], lambda a, b: -a.sum(), None, 1 << 10)
    case("class_smoothed", "%r0 = _class_smoothed %a, %b, axis=1, reduction=2, ignore_index=9, smoothing=0.0", [rows, target],
         lambda a, b: F.nll_loss(a, b, reduction="sum"), None, 64)
    case("class_parts", "%r0 = _class_parts %a, %b, axis=1, reduction=2, smoothing=0.0", [rows, rows + 1], lambda a, b: -(a * b).sum(), None, 1 << 10)
    case("along_an_axis", "%r0 = _along %a, %b, axis=1", [weight, image], lambda a, b: a.reshape(1, -1, 1))


def paths():
    """ctc_loss: rows of labels, or all of them one behind the other, and lengths that are numbers or tensors."""
    def loss(label, inputs, words="", lengths="input_lengths=[6, 4], target_lengths=[3, 1]", **more):
        given = {"input_lengths": [6, 4], "target_lengths": [3, 1], **more}
        words += "".join(f", {key}={str(value).lower()}" for key, value in more.items() if "lengths" not in key)
        case(f"ctc_loss_{label}", f"%r0 = ctc_loss %a, %b, {lengths}{words}", inputs,
             lambda a, b: torch.ctc_loss(a, b, given["input_lengths"], given["target_lengths"], given.get("blank", 0),
                                         given.get("reduction", 1), given.get("zero_infinity", False)), tolerance=64)

    rows, row = tensor([[2, 2, 1], [3, 1, 1]], "i64"), tensor([2, 2, 1, 3], "i64")
    for dtype in ("f32", "f64"):
        likely = torch.log_softmax(block(6, 2, 4, dtype=dtype), 2)
        for reduction in (0, 1, 2):
            loss(f"{reduction}_{dtype}", [likely, rows], reduction=reduction)
        loss(f"behind_{dtype}", [likely, row])
        loss(f"blank_{dtype}", [likely, tensor([[2, 2, 1], [0, 1, 1]], "i64")], blank=3)
    short = "input_lengths=[3, 4], target_lengths=[3, 1]"
    for zero in (False, True):
        loss(f"impossible_{zero}".lower(), [likely, rows], lengths=short, input_lengths=[3, 4], reduction=0, zero_infinity=zero)
    empty = "input_lengths=[6, 0], target_lengths=[0, 0]"
    loss("no_labels", [likely, rows], lengths=empty, input_lengths=[6, 0], target_lengths=[0, 0], reduction=0)
    loss("too_long", [likely, rows], lengths="input_lengths=[7, 4], target_lengths=[3, 1]", input_lengths=[7, 4])
    loss("too_many", [likely, row], lengths="input_lengths=[6, 4], target_lengths=[3, 2]", target_lengths=[3, 2])
    loss("no_label", [likely, rows], blank=4)
    one = torch.log_softmax(block(5, 4), 1)
    for reduction in (0, 1):
        case(f"ctc_loss_single_{reduction}", f"%r0 = ctc_loss %a, %b, input_lengths=[5], target_lengths=[2], reduction={reduction}",
             [one, tensor([3, 1], "i64")], lambda a, b: torch.ctc_loss(a, b, [5], [2], 0, reduction), tolerance=64)
        case(f"ctc_loss_lengths_{reduction}", f"%r0 = ctc_loss %a, %b, %c, %d, reduction={reduction}",
             [likely, rows, tensor([6, 4], "i64"), tensor([3, 1], "i64")],
             lambda a, b, c, d: torch.ctc_loss(a, b, c, d, 0, reduction), tolerance=64)
    case("ctc_loss_narrow", "%r0 = ctc_loss %a, %b, %c, %d", [likely, row.int(), tensor([6, 4], "i32"), tensor([3, 1], "i32")],
         lambda a, b, c, d: torch.ctc_loss(a, b, c, d, 0, 1), tolerance=64)
    lengths = [tensor([6, 4], "i64"), tensor([3, 1], "i64")]
    case("_ctc_likelihood_plain", "%r0 = _ctc_likelihood %a, %b, %c, %d, blank=0", [likely, rows, *lengths],
         lambda a, b, c, d: -torch.ctc_loss(a, b, c, d), tolerance=64)
    case("_ctc_reduced_plain", "%r0 = _ctc_reduced %a, %b, reduction=1, zero_infinity=false",
         [-torch.ctc_loss(likely, rows, *lengths), lengths[1]], lambda a, b: torch.mean(-a / b), tolerance=64)


def record():
    reductions()
    classes()
    paths()
