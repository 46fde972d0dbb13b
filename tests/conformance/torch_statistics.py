"""What PyTorch says about many elements at once: spread, norms, order statistics, counts; and normalisations."""
import torch
import torch.nn.functional as F
from torch_forms import block, call, text
from torch_recorder import ALL, DTYPES, FLOATS, INF, INTEGERS, NAN, case, ones, special, tensor

GAPS = [[1.0, NAN, -2.0], [NAN, NAN, NAN], [INF, 0.5, -0.0]]


def spread():
    for name in ("var", "std", "var_mean", "std_mean"):
        function = getattr(torch, name)
        for dtype in FLOATS:
            call(f"all_{dtype}", name, [block(3, 4, dtype=dtype)], tolerance=16)
        call("biased", name, [block(3, 4)], tolerance=16, unbiased=False)
        call("one", name, [tensor(3.0)])
        call("nothing", name, [ones(0)])
        call("gaps", name, [tensor(GAPS)])
        if "mean" not in name:
            call("whole", name, [block(3, 4, dtype="i32")], differs="integer_mean")
        for label, arguments in (("rows", {"dim": [1]}), ("kept", {"dim": [0], "keepdim": True}), ("none", {"dim": [0, 1], "correction": 0}),
                                 ("many", {"dim": [0], "correction": 5}), ("half", {"dim": [1], "correction": 0.5}),
                                 ("empty", {"dim": [], "correction": 1}), ("beyond", {"dim": [2]}), ("twice", {"dim": [1, 1]})):
            whole = ", ".join(f"{key}={text(value)}" for key, value in arguments.items())
            count = 2 if "mean" in name else 1
            body = f"%p:2 = {name}.correction %a, {whole}\n%r0 = alias %p#0\n%r1 = alias %p#1"
            body = body if count == 2 else f"%r0 = {name}.correction %a, {whole}"
            case(f"{name}_correction_{label}", body, [block(3, 4)], lambda a, f=function, k=arguments: f(a, **k), None, 16)


def sums():
    for name in ("nansum", "nanmean"):
        for dtype in ALL:
            values = special(dtype) if name == "nansum" and dtype not in FLOATS else block(3, 4, dtype=dtype)
            call(dtype, name, [values], tolerance=16)
        for label, arguments in (("all", {}), ("rows", {"dim": [1]}), ("kept", {"dim": [0], "keepdim": True}), ("none", {"dim": []}),
                                 ("wide", {"dim": [1], "dtype": torch.float64}), ("beyond", {"dim": [2]})):
            whole = ", ".join(["%a", *(f"{key}={text(value) if key != 'dtype' else 'f64'}" for key, value in arguments.items())])
            case(f"{name}_{label}", f"%r0 = {name} {whole}", [tensor(GAPS)],
                 lambda a, f=getattr(torch, name), k=arguments: f(a, **k), None, 16)
    for dtype in ALL:
        call(dtype, "aminmax", [block(3, 4, dtype=dtype)])
        call(dtype, "count_nonzero", [special(dtype)])
    call("gaps", "aminmax", [tensor(GAPS)], dim=1)
    call("kept", "aminmax", [block(3, 4)], dim=0, keepdim=True)
    call("all_kept", "aminmax", [block(3, 4)], keepdim=True)
    call("number", "aminmax", [tensor(3.0)], dim=0)
    call("nothing", "aminmax", [ones(0)])
    call("nothing_along", "aminmax", [ones(2, 0)], dim=1)
    call("rows", "count_nonzero", [block(3, 4)], dim=1)
    call("both", "count_nonzero", [block(3, 4)], dim=[0, 1])
    call("empty", "count_nonzero", [block(3, 4)], lambda a, dim: torch.count_nonzero(a, dim=dim), dim=[])
    call("beyond", "count_nonzero", [block(3, 4)], dim=2)
    call("nothing", "count_nonzero", [ones(0, 2)], dim=0)


def norms():
    orders = {"two": 2, "one": 1, "three": 3, "half": 0.5, "none": 0, "least": -INF, "most": INF, "below": -1}
    vector, matrix = torch.linalg.vector_norm, torch.linalg.matrix_norm
    for label, order in orders.items():
        word = "inf" if order == INF else "-inf" if order == -INF else str(order)
        for name, function in (("linalg_vector_norm", lambda a, p=order, **k: vector(a, p, **k)), ("norm", lambda a, p=order, **k: torch.norm(a, p, **k)),
                               ("dist", None)):
            if name == "dist":
                case(f"dist_{label}", f"%r0 = dist %a, %b, p={word}", [block(3, 4), ones(4)], lambda a, b, p=order: torch.dist(a, b, p), None, 32)
                continue
            argument = "ord" if name == "linalg_vector_norm" else "p"
            for dtype in FLOATS:
                case(f"{name}_{label}_{dtype}", f"%r0 = {name} %a, {argument}={word}", [block(3, 4, dtype=dtype)], function, None, 32)
            case(f"{name}_{label}_rows", f"%r0 = {name} %a, {argument}={word}, dim=[1], keepdim=true", [block(3, 4)],
                 lambda a, f=function: f(a, dim=[1], keepdim=True), None, 32)
            case(f"{name}_{label}_gaps", f"%r0 = {name} %a, {argument}={word}, dim=[1]", [tensor(GAPS)], lambda a, f=function: f(a, dim=[1]), None, 32)
            case(f"{name}_{label}_nothing", f"%r0 = {name} %a, {argument}={word}, dim=[1]", [ones(2, 0)], lambda a, f=function: f(a, dim=[1]))
        for name, function, dims in (("linalg_matrix_norm", matrix, ", dim=[0, 2]"), ("linalg_norm", torch.linalg.norm, ", dim=[0]"),
                                     ("linalg_norm", torch.linalg.norm, ", dim=[1, 2], keepdim=true"), ("linalg_norm", torch.linalg.norm, "")):
            if order == 2 and "," in dims[2:] or (order == 2 and name == "linalg_matrix_norm"):
                continue  # by the singular values, which there are none of
            keywords = {"dim": [int(c) for c in dims.partition("[")[2].partition("]")[0].split(",")]} if dims else {}
            keywords |= {"keepdim": True} if "keepdim" in dims else {}
            case(f"{name}_{label}_{len(keywords.get('dim', []))}", f"%r0 = {name} %a, ord={word}{dims}", [block(2, 3, 4)],
                 lambda a, f=function, p=order, k=keywords: f(a, p, **k), None, 32)
    call("wide", "linalg_vector_norm", [block(3, 4)], lambda a, **k: vector(a, dtype=torch.float64), "%a, dtype=f64", tolerance=32)
    call("narrow", "linalg_vector_norm", [block(3, 4, dtype="f64")], lambda a, **k: vector(a, dtype=torch.float32), "%a, dtype=f32")
    call("whole", "linalg_vector_norm", [block(3, 4, dtype="i32")], vector)
    for name, function in (("linalg_matrix_norm", matrix), ("linalg_norm", torch.linalg.norm)):
        for shape in ((3, 4), (2, 3, 4), (3,), (0, 2)):
            size = "x".join(map(str, shape))
            call(f"fro_{size}", name, [block(*shape) if 0 not in shape else ones(*shape)], lambda a, ord, f=function: f(a, ord), None, None, 32, ord="fro")
            if name == "linalg_norm" or 0 not in shape:
                call(f"plain_{size}", name, [block(*shape) if 0 not in shape else ones(*shape)], function, None, None, 32)
        for order, word in ((1, "1"), (INF, "inf"), (-1, "-1")):
            for shape in ((0, 2), (2, 0)):
                label = f"{name}_empty_{shape[0]}_{word}".replace("-", "minus_")
                case(label, f"%r0 = {name} %a, ord={word}", [ones(*shape)], lambda a, f=function, p=order: f(a, p))
        call("two_equal_dims", name, [block(3, 4)], lambda a, ord, dim, f=function: f(a, ord, dim), ord="fro", dim=[0, 0])
        call("word", name, [block(3, 4)], lambda a, ord, f=function: f(a, ord), ord="max")
    call("three_dims", "linalg_norm", [block(2, 3, 4)], lambda a, ord, dim: torch.linalg.norm(a, ord, dim), ord=1, dim=[0, 1, 2])
    for p, dim, most in ((2, 0, 3.0), (1, 1, 5.0), (0.5, 2, 1.0), (2, -1, 0.0), (0, 0, 1.0), (2, 0, -1.0)):
        call(f"{p}_{dim}_{most}".replace("-", "m").replace(".", "_"), "renorm", [block(2, 3, 4)], lambda a, p, dim, maxnorm: torch.renorm(a, p, dim, maxnorm),
             None, None, 32, p=p, dim=dim, maxnorm=most)
    call("list", "renorm", [block(3)], lambda a, p, dim, maxnorm: torch.renorm(a, p, dim, maxnorm), p=2, dim=0, maxnorm=1.0)


def orders():
    for dtype in ALL:
        call(dtype, "mode", [block(3, 5, dtype=dtype)])
    call("runs", "mode", [tensor([[3, 1, 3, 1, 2], [0, 0, 0, 5, 5]], "i64")])
    call("columns", "mode", [tensor([[3, 1], [3, 1], [2, 1]], "i32")], dim=0, keepdim=True)
    call("gaps", "mode", [tensor(GAPS)])
    call("number", "mode", [tensor(3.0)])
    call("number_kept", "mode", [tensor(3.0)], dim=0, keepdim=True)
    call("nothing", "mode", [ones(2, 0)])
    call("no_rows", "mode", [ones(0, 2)])
    parts = tensor([0.0, 0.1, 0.5, 0.77, 1.0])
    for name in ("quantile", "nanquantile"):
        function = getattr(torch, name)
        for way in ("linear", "lower", "higher", "nearest", "midpoint"):
            call(f"{way}_all", name, [block(3, 4), parts], function, None, None, 8, interpolation=way)
            call(f"{way}_gaps", name, [tensor(GAPS + [[4.0, 3.0, NAN]]), parts], function, None, None, 8, dim=1, interpolation=way)
        call("rows", name, [block(2, 3, 4), parts], function, None, None, 1 << 12, dim=1)
        call("kept", name, [block(2, 3, 4), parts], function, None, None, 8, dim=-1, keepdim=True)
        call("all_kept", name, [block(2, 3, 4), tensor(0.3)], function, None, None, 8, keepdim=True)
        call("number", name, [tensor(2.0), parts], function, dim=0)
        call("double", name, [block(5, dtype="f64"), parts.double()], function, None, None, 8)
        call("scalar", name, [block(2, 5)], lambda a, q, **k: getattr(torch, name)(a, q, **k), None, None, 8, q=0.25, dim=0)
        call("beyond", name, [block(5)], lambda a, q: getattr(torch, name)(a, q), q=1.5)
        call("mixed", name, [block(5), parts.double()], function)
        call("whole", name, [block(5, dtype="i64"), parts], function)
        call("planes", name, [block(5), block(2, 2)], function)
        call("word", name, [block(5), parts], function, interpolation="cubic")
        call("nothing", name, [ones(0), parts], function)
        case(f"{name}_part_beyond", f"%r0 = {name} %a, %b", [block(5), tensor([0.5, 1.25])], function, results=("f32[2]",))
        case(f"{name}_part_below", f"%r0 = {name} %a, %b", [block(5), tensor([0.5, -0.25])], function, results=("f32[2]",))


def counts():
    for dtype in FLOATS:
        call(dtype, "histc", [block(50, dtype=dtype)], bins=7)
        call(f"between_{dtype}", "histc", [block(5, 10, dtype=dtype)], bins=5, min=-3, max=2)
    for label, values in (("equal", ones(4)), ("nothing", ones(0)), ("one", tensor(2.0)), ("ends", tensor([0.0, 1.0, 2.0, 3.0, 4.0])),
                          ("gaps", tensor([1.0, NAN, INF, 2.0]))):
        call(label, "histc", [values], bins=4, **({"min": 0, "max": 4} if label in ("ends", "gaps") else {}))
    call("none", "histc", [ones(4)], bins=0)
    call("down", "histc", [ones(4)], bins=2, min=3, max=1)
    call("whole", "histc", [block(4, dtype="i64")], bins=2)
    bins = {"plain": ([3, 0, 3, 7, 1], 0), "long": ([3, 0], 9), "short": ([7, 0], 2), "nothing": ([], 8)}
    for label, (values, least) in bins.items():
        for dtype in INTEGERS if label == "plain" else ("i64",):
            case(f"bincount_{label}_{dtype}", f"%0 = bincount %a, minlength={least}\n%1 = iota size=[8]\n%r0 = index_select %0, dim=0, index=%1",
                 [tensor(values, dtype)], lambda a, n=least: torch.bincount(a, minlength=n)[:8])
    for dtype in ("i32", "f32", "f64"):
        case(f"bincount_weights_{dtype}", "%0 = bincount %a, %b\n%1 = iota size=[8]\n%r0 = index_select %0, dim=0, index=%1",
             [tensor([3, 0, 3, 7, 1], "i64"), block(5, dtype=dtype)], torch.bincount)
    call("plane", "bincount", [tensor([[3, 0]], "i64")])
    call("floats", "bincount", [tensor([3.0])])
    call("uneven", "bincount", [tensor([3, 0], "i64"), block(3)])
    call("below", "bincount", [tensor([3, 0], "i64")], minlength=-1)
    case("bincount_negative", "%0 = bincount %a\n%r0 = sum %0", [tensor([3, -1], "i64")], torch.bincount, results=("i64[]",))
    for label, a, b in (("same", block(3), block(3)), ("other", block(3), block(3) + 1), ("sizes", block(3), block(4)), ("ranks", block(3), block(3, 1)),
                        ("dtypes", block(3), block(3, dtype="f64")), ("nan", tensor([NAN]), tensor([NAN])), ("nothing", ones(0), ones(0)),
                        ("zeros", tensor([0.0]), tensor([-0.0]))):
        call(label, "equal", [a, b], lambda a, b: torch.tensor(torch.equal(a, b)))


    for label, a, b, more in (("same", block(3), block(3), {}), ("near", block(3), block(3) * (1 + 1e-6), {}), ("far", block(3), block(3) * (1 + 1e-4), {}),
                              ("wide", block(3), block(3) + 0.5, {"atol": 0.6}), ("part", block(3), block(3) * 1.1, {"rtol": 0.2}),
                              ("nan", tensor([NAN]), tensor([NAN]), {}), ("nan_equal", tensor([NAN]), tensor([NAN]), {"equal_nan": True}),
                              ("inf", tensor([INF]), tensor([INF]), {}), ("whole", tensor([1, 2], "i64"), tensor([1, 3], "i64"), {}),
                              ("broadcast", ones(2, 3), ones(3), {}), ("nothing", ones(0), ones(0), {}), ("sizes", block(3), block(4), {})):
        call(label, "allclose", [a, b], lambda a, b, **k: torch.tensor(torch.allclose(a, b, **k)), **more)


def covariance():
    rows = block(3, 5)
    counted, weighed = tensor([1, 2, 0, 1, 3], "i64"), tensor([0.5, 1.0, 0.25, 2.0, 1.5])
    for dtype in ALL:
        call(dtype, "cov", [block(3, 5, dtype=dtype)], tolerance=1 << 8)
        call(dtype, "corrcoef", [block(3, 5, dtype=dtype)], tolerance=1 << 8)
    for correction in (0, 1, 2, 9):
        for label, more in (("", {}), ("counted", {"fweights": counted}), ("weighed", {"aweights": weighed}),
                            ("both", {"fweights": counted, "aweights": weighed})):
            whole = ", ".join(f"{key}=%{letter}" for key, letter in zip(more, "bc"))
            case(f"cov_{correction}_{label}", f"%r0 = cov %a, correction={correction}{', ' if whole else ''}{whole}", [rows, *more.values()],
                 lambda a, *values, c=correction, k=tuple(more): torch.cov(a, correction=c, **dict(zip(k, values))), None, 1 << 10)
    for name in ("cov", "corrcoef"):
        call("list", name, [block(5)], tolerance=1 << 8)
        call("number", name, [tensor(2.0)])
        call("nothing", name, [ones(0)])
        call("cube", name, [block(2, 3, 2)])
    case("cov_uneven", "%r0 = cov %a, fweights=%b", [rows, counted[:4]], lambda a, b: torch.cov(a, fweights=b))
    case("cov_real_counts", "%r0 = cov %a, fweights=%b", [rows, weighed], lambda a, b: torch.cov(a, fweights=b))
    case("cov_whole_weights", "%r0 = cov %a, aweights=%b", [rows, counted], lambda a, b: torch.cov(a, aweights=b))


def layers():
    image, weight, bias = block(2, 3, 4), block(4) / 4, block(4) - 1
    three = "%p:3 = {} \n%r0 = alias %p#0\n%r1 = alias %p#1\n%r2 = alias %p#2"
    for dtype in FLOATS:
        own = [value.to(DTYPES[dtype]) for value in (image, weight, bias)]
        case(f"layer_norm_{dtype}", "%r0 = layer_norm %a, normalized_shape=[4], weight=%b, bias=%c", own,
             lambda a, w, b: torch.layer_norm(a, [4], w, b), None, 1 << 9)
        case(f"native_layer_norm_{dtype}", three.format("native_layer_norm %a, normalized_shape=[4], weight=%b, bias=%c, eps=0.001"), own,
             lambda a, w, b: torch.native_layer_norm(a, [4], w, b, 0.001), None, 1 << 9)
        case(f"rms_norm_{dtype}", "%r0 = rms_norm %a, normalized_shape=[4], weight=%b", own[:2], lambda a, w: torch.rms_norm(a, [4], w), None, 64)
    case("layer_norm_two", "%r0 = layer_norm %a, normalized_shape=[3, 4]", [image], lambda a: torch.layer_norm(a, [3, 4]), None, 1 << 9)
    case("layer_norm_nothing", "%r0 = layer_norm %a, normalized_shape=[4]", [ones(0, 4)], lambda a: torch.layer_norm(a, [4]))
    case("rms_norm_eps", "%r0 = rms_norm %a, normalized_shape=[3, 4], eps=0.5", [image], lambda a: torch.rms_norm(a, [3, 4], eps=0.5), None, 64)
    for label, shape in (("other", "[3]"), ("none", "[]"), ("long", "[1, 2, 3, 4]")):
        for name in ("layer_norm", "rms_norm"):
            case(f"{name}_{label}", f"%r0 = {name} %a, normalized_shape={shape}", [image],
                 lambda a, f=getattr(torch, name), s=shape: f(a, [int(c) for c in s[1:-1].split(",") if c]))
    case("layer_norm_weight", "%r0 = layer_norm %a, normalized_shape=[4], weight=%b", [image, block(3)], lambda a, w: torch.layer_norm(a, [4], w))
    case("layer_norm_whole", "%r0 = layer_norm %a, normalized_shape=[4]", [block(2, 4, dtype="i64")], lambda a: torch.layer_norm(a, [4]))


def channels():
    image, weight, bias = block(2, 4, 3, 2), block(4) / 4, block(4) - 1
    mean, variance = block(4) / 8, block(4).abs() + 0.5
    three = "%p:3 = {} \n%r0 = alias %p#0\n%r1 = alias %p#1\n%r2 = alias %p#2"
    for groups in (1, 2, 4, 3, 0):
        case(f"group_norm_{groups}", f"%r0 = group_norm %a, num_groups={groups}, weight=%b, bias=%c", [image, weight, bias],
             lambda a, w, b, g=groups: torch.group_norm(a, g, w, b), None, 1 << 9)
    case("group_norm_plain", "%r0 = group_norm %a, num_groups=2", [block(2, 4)], lambda a: torch.group_norm(a, 2), None, 1 << 9)
    case("group_norm_list", "%r0 = group_norm %a, num_groups=1", [block(4)], lambda a: torch.group_norm(a, 1))
    case("native_group_norm_two", three.format("native_group_norm %a, %b, %c, N=2, C=4, HxW=6, group=2, eps=0.01"), [image, weight, bias],
         lambda a, w, b: torch.native_group_norm(a, w, b, 2, 4, 6, 2, 0.01), None, 1 << 9)
    for training in (True, False):
        way = text(training)
        case(f"batch_norm_{way}", f"%r0 = batch_norm %a, %b, %c, %d, %e, training={way}, momentum=0.1, eps=0.01, cudnn_enabled=false",
             [image, weight, bias, mean, variance], lambda a, w, b, m, v, t=training: torch.batch_norm(a, w, b, m.clone(), v.clone(), t, 0.1, 0.01, False),
             None, 1 << 9)
        case(f"native_batch_norm_{way}", three.format(f"native_batch_norm %a, %b, %c, %d, %e, training={way}, momentum=0.1, eps=0.01"),
             [image, weight, bias, mean, variance], lambda a, w, b, m, v, t=training: torch.native_batch_norm(a, w, b, m.clone(), v.clone(), t, 0.1, 0.01),
             None, 1 << 9)
        case(f"instance_norm_{way}", f"%r0 = instance_norm %a, %b, %c, %d, %e, use_input_stats={way}, momentum=0.1, eps=0.01, cudnn_enabled=false",
             [image, weight, bias, mean, variance], lambda a, w, b, m, v, t=training: torch.instance_norm(a, w, b, m.clone(), v.clone(), t, 0.1, 0.01, False),
             None, 1 << 9)
        if not training:
            case("batch_norm_plane", f"%r0 = batch_norm %a, running_mean=%b, running_var=%c, training={way}, momentum=0.1, eps=0.01, cudnn_enabled=false",
                 [block(5, 4), mean, variance], lambda a, m, v, t=training: torch.batch_norm(a, None, None, m.clone(), v.clone(), t, 0.1, 0.01, False), None, 1 << 9)
    case("batch_norm_unknown", "%r0 = batch_norm %a, training=false, momentum=0.1, eps=0.01, cudnn_enabled=false", [image],
         lambda a: torch.batch_norm(a, None, None, None, None, False, 0.1, 0.01, False))
    case("batch_norm_weight", "%r0 = batch_norm %a, %b, training=true, momentum=0.1, eps=0.01, cudnn_enabled=false", [image, block(3)],
         lambda a, w: torch.batch_norm(a, w, None, None, None, True, 0.1, 0.01, False))
    for size, shape in ((1, (2, 4, 3)), (3, (2, 4, 3)), (4, (1, 5, 2, 2)), (7, (1, 3, 2, 1, 2))):
        call(f"{size}_{len(shape)}", "local_response_norm", [block(*shape)], F.local_response_norm, None, None, 64, size=size, alpha=0.5)
    call("plane", "local_response_norm", [block(2, 4)], F.local_response_norm, size=2)


def pieces():
    """What the others are made of, where arguments drawn at random seldom fit."""
    image, weight, bias, parts = block(2, 4, 6), block(4) / 4, block(4) - 1, tensor([0.0, 0.3, 1.0])
    rows, three = block(3, 5).sort(-1).values, "%p:3 = {} \n%r0 = alias %p#0\n%r1 = alias %p#1\n%r2 = alias %p#2"
    case("counts_of_places", "%r0 = _counts %a, %b, length=5", [tensor([3, 0, 3], "i64"), block(3)], lambda a, b: torch.bincount(a, b, 5), None, 4)
    for skips in (False, True):
        function = torch.nanquantile if skips else torch.quantile
        case(f"quantile_along_{text(skips)}", f"%r0 = _quantile_along %a, %b, skips_nan={text(skips)}, interpolation=\"linear\"", [rows, parts],
             lambda a, q, f=function: f(a, q, 1).T, None, 64)
    case("quantile_at_places", "%r0 = _quantile_at %a, %b, interpolation=\"lower\"", [rows, block(3, 2).abs() % 4], lambda a, b: a.gather(1, b.long()))
    case("quantile_between_places", "%r0 = _quantile_between %a, %b, midpoint=true", [rows, (block(3, 2).abs() % 4).floor()],
         lambda a, b: a.gather(1, b.long()))
    each = lambda a: a.reshape(-1, 1)  # noqa: E731 - for each channel
    case("affine_by_channel", "%r0 = _affine_by_channel %a, %b, %c", [image, weight, bias], lambda a, w, b: a * each(w) + each(b), None, 4)
    case("group_norm_by_sizes", three.format("_group_norm %a, %b, %c, grouped=[2, 2, 12], eps=0.01"), [image, weight, bias],
         lambda a, w, b: torch.native_group_norm(a, w, b, 2, 4, 6, 2, 0.01), None, 1 << 9)
    case("statistics_by_channel", "%p:3 = _by_own_mean %a, %b, %c, dims=[2], eps=0.01\n%r0 = alias %p#0", [image, weight, bias],
         lambda a, w, b: torch.instance_norm(a, w, b, None, None, True, 0.1, 0.01, False), None, 1 << 9)
    case("given_by_channel", "%r0 = _given_by_channel %a, %b, %c, %d, %e, eps=0.01", [image, weight, bias, weight / 2, weight.abs() + 0.5],
         lambda a, w, b, m, v: torch.batch_norm(a, w, b, m, v, False, 0.1, 0.01, False), None, 1 << 9)
    case("layer_norm_by_dims", three.format("_layer_norm %a, %b, %c, dims=[2], eps=0.01"), [block(2, 3, 4), weight, bias],
         lambda a, w, b: torch.native_layer_norm(a, [4], w, b, 0.01), None, 1 << 9)
    case("rms_norm_by_dims", "%r0 = _rms_norm %a, %b, dims=[2], eps=0.01", [block(2, 3, 4), weight], lambda a, w: torch.rms_norm(a, [4], w, 0.01), None, 64)


def correlated():
    case("correlation_of", "%r0 = _correlation %a", [torch.cov(block(3, 5))], lambda a: torch.corrcoef(block(3, 5)), None, 1 << 8)


def record():
    for part in (spread, sums, norms, orders, counts, covariance, layers, channels, pieces, correlated):
        part()
