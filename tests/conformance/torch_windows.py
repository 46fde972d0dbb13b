"""What PyTorch says about windows: padding, convolution, pooling."""
import torch
import torch.nn.functional as F
from torch_recorder import ALL, DTYPES, FLOATS, INF, INTEGERS, NAN, case, ones, tensor

LETTERS = "abc"
NO_I64 = [dtype for dtype in INTEGERS if dtype != "i64"]


def image(*sizes, dtype="f32"):
    """Numbers in no order, of which some are equal."""
    count = torch.tensor(sizes).prod().item()
    numbers = (torch.arange(count) * 7919 % 211).reshape(sizes)
    return (numbers > 100) if dtype == "bool" else (
        (numbers - 96).to(DTYPES[dtype]) / 16 if dtype in FLOATS else (numbers - 96).to(DTYPES[dtype]))


def weights(*sizes, dtype="f32"):
    count = torch.tensor(sizes).prod().item()
    numbers = (torch.arange(count) * 31 % 17 - 8).reshape(sizes).to(DTYPES[dtype])
    return numbers / 8 if dtype in FLOATS else numbers


def text(value):
    """A number, word or list of Python as graph text has it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(str, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def call(label, name, inputs, function=None, differs=None, tolerance=0, **arguments):
    """A case of one call, with the same keywords for both; numbers that PyTorch takes for lists are lists in text."""
    function = function or getattr(F, name, None) or getattr(torch.ops.aten, name)
    operands = ", ".join(f"%{letter}" for letter, _ in zip(LETTERS, inputs))
    lists = ("kernel_size", "stride", "padding", "dilation", "output_padding", "output_size")
    written = "".join(
        f", {key}={text([value] if key in lists and type(value) is int else value)}" for key, value in arguments.items())
    case(f"{name}_{label}".lower(), f"%r0 = {name} {operands}{written}", inputs,
         lambda *values: function(*values, **arguments), differs, tolerance)


def movements():
    for dtype in ALL:
        line = image(3, 7, 9, dtype=dtype)
        case(f"flip_{dtype}", "%r0 = flip %a, dims=[0, -1]\n%r1 = flip %a, dims=[]", [line],
             lambda a: [a.flip(0, -1), a.flip([])])
        case(f"constant_pad_nd_{dtype}", "%r0 = constant_pad_nd %a, pad=[1, 2, -1, 3], 1.5\n"
             "%r1 = constant_pad_nd %a, pad=[2, 0]\n%r2 = constant_pad_nd %a, pad=[-4, -5]", [line],
             lambda a: [torch.constant_pad_nd(a, (1, 2, -1, 3), 1.5), F.pad(a, (2, 0)), F.pad(a, (-4, -5))])
        call(f"{dtype}", "im2col", [image(2, 3, 7, 9, dtype=dtype)], differs="window_integers" if dtype in INTEGERS else None,
             kernel_size=[2, 3], dilation=[2, 1], padding=[1, 0], stride=[1, 2])
    case("flip_twice", "%r0 = flip %a, dims=[0, -2]", [ones(2, 3)], lambda a: a.flip(0, -2))
    case("flip_scalar", "%r0 = flip %a, dims=[]", [tensor(3.0)], lambda a: a.flip([]))
    case("flip_nothing", "%r0 = flip %a, dims=[0, 1]", [ones(0, 3)], lambda a: a.flip(0, 1))
    wild = tensor([[NAN, INF, -INF, -0.0, 0.0]])
    case("constant_pad_nd_wild", "%r0 = constant_pad_nd %a, pad=[1, 1, 1, 0], -0.0\n%r1 = flip %a, dims=[1]", [wild],
         lambda a: [F.pad(a, (1, 1, 1, 0), value=-0.0), a.flip(1)])
    case("constant_pad_nd_scalar", "%r0 = constant_pad_nd %a, pad=[]", [tensor(3.0)], lambda a: torch.constant_pad_nd(a, ()))
    case("constant_pad_nd_empty", "%r0 = constant_pad_nd %a, pad=[1, 2]", [ones(2, 0)], lambda a: F.pad(a, (1, 2)))
    for label, pad in (("odd", (1,)), ("long", (1, 1, 1, 1, 1, 1)), ("cut", (-3, -3)), ("cut_and_grown", (-6, 4))):
        case(f"constant_pad_nd_{label}", f"%r0 = constant_pad_nd %a, pad={text(pad)}", [ones(2, 5)],
             lambda a: torch.constant_pad_nd(a, pad))
    call("unbatched", "im2col", [image(3, 7, 9)], kernel_size=[3, 2], dilation=1, padding=[0, 1], stride=2)
    call("empty", "im2col", [ones(0, 3, 4, 4)], kernel_size=[2, 2], dilation=1, padding=0, stride=1)
    call("rank", "im2col", [ones(4, 4)], kernel_size=[2, 2], dilation=1, padding=0, stride=1)
    call("large", "im2col", [ones(1, 2, 4, 4)], kernel_size=[5, 2], dilation=1, padding=0, stride=1)


def plain_convolutions():
    for dtype in ("bool", *INTEGERS, *FLOATS):
        near = 8 if dtype in FLOATS else 0
        a, b, c = image(2, 3, 7, 9, dtype=dtype), weights(4, 3, 3, 2, dtype=dtype), weights(4, dtype=dtype)
        call(f"{dtype}", "conv2d", [a, b, c], differs="window_integers" if dtype in NO_I64 else None, tolerance=near,
             padding=[1, 0], dilation=[2, 1])
        call(f"near_{dtype}", "conv2d", [a, b, c], tolerance=near, padding=[1, 0], stride=[1, 2])
        call(f"same_{dtype}", "conv2d", [a, b], tolerance=near, padding="same")
        call(f"{dtype}", "conv1d", [a[:, :, 0].contiguous(), b[:, :, 0].contiguous(), c], tolerance=near, stride=2, padding=1)
        call(f"{dtype}", "conv3d", [a[:, :, None].repeat(1, 1, 2, 1, 1), b[:, :, None].contiguous()], tolerance=near)
    a = image(2, 6, 7, 9)
    for label, arguments in {
            "unbatched": {}, "stride_beyond_kernel": {"stride": [4, 5]}, "strides": {"stride": [2, 1], "padding": [2, 1]},
            "dilated": {"dilation": [2, 3], "padding": 1}, "valid": {"padding": "valid"}, "same": {"padding": "same"},
            "same_dilated": {"padding": "same", "dilation": [1, 3]}, "much_padding": {"padding": [4, 5]},
            "same_and_stride": {"padding": "same", "stride": 2}, "word": {"padding": "full"},
            "negative_padding": {"padding": -1}, "no_stride": {"stride": 0}, "three_strides": {"stride": [1, 1, 1]}
    }.items():
        call(f"form_{label}", "conv2d", [a[0] if label == "unbatched" else a, weights(4, 6, 3, 2)], tolerance=8, **arguments)
    for groups, out, within in ((2, 4, 3), (3, 9, 2), (6, 6, 1), (6, 12, 1), (3, 4, 2), (4, 4, 2), (0, 4, 6), (2, 4, 6)):
        call(f"groups_{groups}_{out}_{within}", "conv2d", [a, weights(out, within, 2, 3), weights(out)], tolerance=8,
             groups=groups, stride=2, padding=1)
    call("depthwise_unbatched", "conv1d", [image(6, 20), weights(6, 1, 3)], tolerance=8, groups=6, padding=1)
    call("same_even", "conv1d", [image(2, 6, 20), weights(6, 6, 4)], tolerance=8, padding="same")
    call("same", "conv3d", [image(1, 2, 4, 5, 6), weights(3, 2, 2, 3, 1)], tolerance=8, padding="same")
    call("strided", "conv3d", [image(1, 4, 5, 5, 6), weights(2, 2, 2, 3, 1)], tolerance=8, groups=2, stride=[2, 1, 3],
         padding=[1, 1, 0], dilation=[1, 2, 1])


def other_convolutions():
    wild = image(1, 1, 5, 5)
    wild[0, 0, 1, 1], wild[0, 0, 3, 3], wild[0, 0, 0, 4] = NAN, INF, -INF
    call("wild", "conv2d", [wild, ones(1, 1, 2, 2)], tolerance=8, padding=1)
    call("minus_zero", "conv2d", [-ones(1, 1, 3, 3) * 0, ones(1, 1, 2, 2)])
    call("empty_batch", "conv2d", [ones(0, 2, 5, 5), ones(3, 2, 2, 2), ones(3)])
    call("to_nothing", "conv2d", [ones(1, 2, 5, 5), ones(0, 2, 2, 2)], differs="window_empty")
    call("of_nothing", "conv2d", [ones(1, 0, 5, 5), ones(2, 0, 2, 2)], differs="window_empty")
    for label, a, b in (("channels", ones(1, 3, 5, 5), ones(2, 2, 2, 2)), ("large", ones(1, 2, 5, 5), ones(2, 2, 6, 2)),
                        ("places", ones(1, 2, 5, 5), ones(2, 2, 0, 2)), ("rank", ones(5, 5), ones(2, 2, 2, 2)),
                        ("weight", ones(2, 2, 5), ones(2, 2, 2)), ("dtypes", ones(1, 2, 5, 5), ones(2, 2, 2, 2, dtype="f64"))):
        call(f"refused_{label}", "conv2d", [a, b])
    call("refused_bias", "conv2d", [ones(1, 2, 5, 5), ones(2, 2, 2, 2), ones(3)])
    for dtype in ("i32", "i64", *FLOATS):
        near, other = (8, None) if dtype in FLOATS else (0, "window_integers" if dtype == "i32" else None)
        a, b, c = image(2, 4, 4, 5, dtype=dtype), weights(4, 3, 3, 2, dtype=dtype), weights(3, dtype=dtype)
        call(f"{dtype}", "conv_transpose2d", [a, b, c], differs=other, tolerance=near, stride=[2, 3], padding=[1, 0],
             output_padding=[1, 2])
        call(f"{dtype}", "conv_transpose1d", [a[:, :, 0].contiguous(), b[:, :, 0].contiguous()], differs=other, tolerance=near,
             stride=3, dilation=2)
        call(f"{dtype}", "conv_transpose3d", [a[:, :, None].repeat(1, 1, 2, 1, 1), b[:, :, None].contiguous(), c], differs=other,
             tolerance=near, stride=[1, 2, 1], padding=[0, 1, 1])
    a = image(2, 4, 4, 5)
    for label, arguments in {"groups": {"groups": 2}, "depthwise": {"groups": 4, "stride": 2}, "cut": {"padding": [2, 1]},
                             "unbatched": {}, "dilated": {"dilation": [2, 3], "output_padding": [1, 2]},
                             "refused_output_padding": {"output_padding": 1}, "refused_groups": {"groups": 3}}.items():
        call(f"form_{label}", "conv_transpose2d", [a[0] if label == "unbatched" else a, weights(4, 2, 2, 2)], tolerance=8,
             **arguments)
    for label, arguments in {"plain": ([2, 1], [1, 0], [1, 2], False, [0, 0], 1), "transposed": ([2, 1], [1, 1], [1, 2], True,
                                                                                              [1, 0], 1)}.items():
        names = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
        case(f"convolution_{label}", "%r0 = convolution %a, %b, " + ", ".join(
            f"{name}={text(value)}" for name, value in zip(names, arguments)), [a, weights(4, 4, 2, 3)],
            lambda a, b: torch.ops.aten.convolution(a, b, None, *arguments), tolerance=8)


def largest():
    for dims in (1, 2, 3):
        name = f"max_pool{dims}d"
        for dtype in ALL:
            value = image(2, 3, 5, 9, dtype=dtype)
            a = {1: value[0], 2: value, 3: value[:, :, None].repeat(1, 1, 4, 1, 1)}[dims].contiguous()
            call(f"{dtype}", name, [a], differs="window_integers" if dims == 1 and dtype in INTEGERS else None, kernel_size=2,
                 padding=1, ceil_mode=True)
            case(f"{name}_indices_{dtype}", f"%r:2 = {name}_with_indices %a, kernel_size=[3], stride=[2], padding=[1]\n"
                 "%r0 = slice %r#0, dim=0\n%r1 = slice %r#1, dim=0", [a],
                 lambda a: getattr(F, name)(a, 3, 2, 1, return_indices=True))
    wild = image(1, 1, 6, 6)
    wild[0, 0, 1, 1], wild[0, 0, 1, 3], wild[0, 0, 3, 3], wild[0, 0, 4:] = NAN, NAN, INF, -INF
    zeros = tensor([[[-0.0, 0.0, -0.0, -0.0, 0.0, 0.0]]])
    for label, a, differs in (("wild", wild, None), ("zeros", zeros, "equal_zeros"), ("empty_batch", ones(0, 2, 6, 6), None)):
        case(f"max_pool2d_{label}", "%r:2 = max_pool2d_with_indices %a, kernel_size=[1, 2], padding=[0, 1]\n"
             "%r0 = slice %r#0, dim=0\n%r1 = slice %r#1, dim=0\n%r2 = max_pool2d %a, kernel_size=[1, 3], stride=[1]", [a],
             lambda a: [*F.max_pool2d(a, (1, 2), padding=(0, 1), return_indices=True), F.max_pool2d(a, (1, 3), 1)],
             differs)
    for label, arguments in FORMS.items():
        call(f"form_{label}", "max_pool2d", [image(3, 7, 9)], **arguments)
    call("dilated", "max_pool2d", [image(3, 7, 9)], kernel_size=[2, 3], stride=1, dilation=[3, 2], padding=[1, 1])
    call("no_channels", "max_pool2d", [ones(2, 0, 5, 5)], differs="window_empty", kernel_size=2)


FORMS = {
    "stride_beyond_kernel": {"kernel_size": 2, "stride": [3, 4]}, "up_beyond": {"kernel_size": 2, "stride": 5, "ceil_mode": True},
    "up": {"kernel_size": 3, "stride": 2, "ceil_mode": True, "padding": 1}, "one": {"kernel_size": 1},
    "whole": {"kernel_size": [7, 9]}, "up_beside_padding": {"kernel_size": [5, 4], "stride": [4, 2], "padding": 2, "ceil_mode": True}, "much_padding": {"kernel_size": 3, "padding": 2}, "no_places": {"kernel_size": 0},
    "large": {"kernel_size": [8, 2]}, "no_stride": {"kernel_size": 2, "stride": 0}, "three": {"kernel_size": [2, 2, 2]},
    "negative_padding": {"kernel_size": 2, "padding": -1}, "odd_padding": {"kernel_size": [3, 4], "padding": [1, 2]}
}


def means():
    for dims in (1, 2, 3):
        name = f"avg_pool{dims}d"
        for dtype in ALL:
            value = image(2, 3, 5, 9, dtype=dtype)
            a = {1: value[0], 2: value, 3: value[:, :, None].repeat(1, 1, 4, 1, 1)}[dims].contiguous()
            near, differs = 4 if dtype in FLOATS else 0, "window_integers" if dtype in NO_I64 else None
            call(f"up_{dtype}", name, [a], differs=differs, tolerance=near, kernel_size=2, padding=1, ceil_mode=True)
            call(f"without_padding_{dtype}", name, [a], differs=differs, tolerance=near, kernel_size=3, stride=2, padding=1,
                 count_include_pad=False)
            call(f"up_without_padding_{dtype}", name, [a], differs=differs, tolerance=near, kernel_size=3, stride=2, padding=1,
                 ceil_mode=True, count_include_pad=False)
            if dims > 1:
                call(f"by_{dtype}", name, [a], differs=differs, tolerance=near, kernel_size=2, divisor_override=-3)
    wild = image(1, 1, 5, 5)
    wild[0, 0, 1, 1], wild[0, 0, 3, 3], wild[0, 0, 0, 4] = NAN, INF, -INF
    call("wild", "avg_pool2d", [wild], tolerance=4, kernel_size=2, stride=1)
    call("wild_counted", "avg_pool2d", [wild], tolerance=4, kernel_size=2, padding=1, count_include_pad=False, ceil_mode=True)
    call("minus_zero", "avg_pool2d", [-ones(1, 4, 4) * 0], kernel_size=2)
    call("empty_batch", "avg_pool2d", [ones(0, 2, 5, 5)], kernel_size=2)
    call("no_channels", "avg_pool2d", [ones(2, 0, 5, 5)], differs="window_empty", kernel_size=2)
    call("up_beside_padding", "avg_pool3d", [image(1, 6, 5, 6)], tolerance=4, kernel_size=[4, 5, 6], stride=[2, 3, 2],
         padding=2, ceil_mode=True)
    call("by_nothing", "avg_pool2d", [ones(1, 4, 4)], kernel_size=2, divisor_override=0)
    for label, arguments in FORMS.items():
        call(f"form_{label}", "avg_pool2d", [image(3, 7, 9)], tolerance=4, **arguments)


def parts():
    for dtype in ALL:
        a = image(3, 7, 9, dtype=dtype)
        for name, value in (("adaptive_avg_pool1d", a), ("adaptive_avg_pool2d", a),
                            ("adaptive_avg_pool3d", a[:, None].repeat(1, 5, 1, 1).contiguous())):
            for parts in (1, 3, 4):
                call(f"{parts}_{dtype}", name, [value], tolerance=8, output_size=parts)
    for label, sizes in (("equal", [7, 3]), ("more", [10, 20]), ("none", [0, 2]), ("below", [-1, 2]), ("three", [1, 1, 1])):
        call(label, "adaptive_avg_pool2d", [image(2, 3, 7, 9)], torch.ops.aten.adaptive_avg_pool2d, tolerance=8,
             output_size=sizes)
    wild = image(1, 1, 5, 5)
    wild[0, 0, 1, 1], wild[0, 0, 3, 3], wild[0, 0, 0, 4] = NAN, INF, -INF
    call("wild", "adaptive_avg_pool2d", [wild], tolerance=8, output_size=3)
    call("empty_batch", "adaptive_avg_pool2d", [ones(0, 2, 5, 5)], output_size=3)
    call("no_channels", "adaptive_avg_pool2d", [ones(2, 0, 5, 5)], output_size=3)
    call("empty", "adaptive_avg_pool2d", [ones(2, 2, 0, 5)], output_size=3)
    call("rank", "adaptive_avg_pool2d", [ones(5, 5)], output_size=3)


def record():
    for part in (movements, plain_convolutions, other_convolutions, largest, means, parts):
        part()
