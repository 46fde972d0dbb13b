"""What PyTorch says about order: sorting, and elements that are chosen by their place in an order."""
import torch
from torch_recorder import ALL, DTYPES, NAN, case, special, tensor


def pair(call, inputs, function, label, sizes):
    """A call of two results, which text can return under one name each once they are reshaped."""
    shape = ", ".join(str(size) for size in sizes)
    case(label, f"%m:2 = {call}\n%r0 = reshape %m#0, shape=[{shape}]\n%r1 = reshape %m#1, shape=[{shape}]", inputs, function)


def record():
    for dtype in ALL:
        values = special(dtype)
        rows = values.repeat(3)[:3 * (len(values) // 3) * 3].reshape(3, -1)
        for descending in (False, True):
            given, label = str(descending).lower(), f"{'down' if descending else 'up'}_{dtype}"
            for dim in (0, -1):
                pair(f"sort %a, dim={dim}, descending={given}", [rows],
                     lambda a: torch.sort(a, dim=dim, descending=descending, stable=True),
                     f"sort_{'rows' if dim else 'columns'}_{label}", rows.shape)
            case(f"argsort_{label}", f"%r0 = argsort %a, descending={given}", [rows],
                 lambda a: torch.argsort(a, descending=descending, stable=True))
        case(f"msort_{dtype}", "%r0 = msort %a", [rows], torch.msort)
        if dtype == "bool":
            continue
        own = torch.tensor([[5, -3, 8, 1, 0], [7, 2, -9, 4, 3]]).to(DTYPES[dtype])
        pair("topk %a, k=3", [own], lambda a: torch.topk(a, 3), f"topk_{dtype}", (2, 3))
        pair("topk %a, k=1, dim=0, largest=false", [own], lambda a: torch.topk(a, 1, 0, False), f"topk_least_{dtype}", (1, 5))
        pair("kthvalue %a, k=2", [own], lambda a: torch.kthvalue(a, 2), f"kthvalue_{dtype}", (2,))
        for name in ("median", "nanmedian"):
            function = getattr(torch, name)
            pair(f"{name} %a, dim=1", [own], lambda a: function(a, 1), f"{name}_dim_{dtype}", (2,))
            pair(f"{name} %a, dim=0, keepdim=true", [own], lambda a: function(a, 0, True), f"{name}_keepdim_{dtype}", (1, 5))
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [own], function)
    nans = tensor([[5.0, NAN, 8.0, 1.0], [NAN, 2.0, NAN, NAN], [4.0, 3.0, 2.0, 1.0]])
    pair("sort %a, stable=true, descending=true", [nans], lambda a: torch.sort(a, stable=True, descending=True),
         "sort_stable", (3, 4))
    case("argsort_stable", "%r0 = argsort %a, stable=true", [nans], lambda a: torch.argsort(a, stable=True))
    for name in ("median", "nanmedian"):
        function = getattr(torch, name)
        case(f"{name}_nan", f"%m:2 = {name} %a, dim=1\n%r0 = reshape %m#0, shape=[3]", [nans], lambda a: function(a, 1)[0])
        case(f"{name}_all_nan", f"%r0 = {name} %a", [nans], function)
        case(f"{name}_nothing", f"%r0 = {name} %a", [tensor([])], function)
        case(f"{name}_nothing_dim", f"%m:2 = {name} %a, dim=0\n%r0 = reshape %m#0, shape=[]", [tensor([])],
             lambda a: function(a, 0)[0])
    one = tensor(3.0)
    for call, function in (("sort %a", torch.sort), ("topk %a, k=1", lambda a: torch.topk(a, 1)),
                           ("kthvalue %a, k=1", lambda a: torch.kthvalue(a, 1)), ("median %a, dim=0", lambda a: a.median(0))):
        pair(call, [one], function, f"{call.split()[0]}_scalar", ())
    for name, k in (("topk", 5), ("topk", -1), ("kthvalue", 0), ("kthvalue", 5)):
        case(f"{name}_{k}".replace("-", "m"), f"%m:2 = {name} %a, k={k}\n%r0 = reshape %m#0, shape=[]", [nans],
             lambda a: getattr(torch, name)(a, k)[0])
    long = (torch.arange(3000) * 7919 % 1009 - 500).float()
    pair("sort %a", [long], lambda a: torch.sort(a, stable=True), "sort_long", long.shape)
