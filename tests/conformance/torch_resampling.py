"""What PyTorch says about images at other sizes, at places of a grid, out of pools, and pools of any number of parts."""
import torch
import torch.nn.functional as F
from torch_forms import block, call
from torch_recorder import INF, NAN, case

aten = torch.ops.aten


def resampled():
    # Of a volume no sum of weighted elements is nearly 0: its rounding depends on where PyTorch fuses products.
    signals = {1: block(2, 3, 5), 2: block(1, 2, 4, 5), 3: block(1, 2, 2, 3, 4) + 16}
    sizes = {1: ([3], [8], [5], [1]), 2: ([3, 7], [8, 2], [4, 5], [1, 1]), 3: ([2, 5, 3], [4, 3, 6], [2, 3, 4], [1, 1, 1])}
    scales = {1: ([2.0], [0.6]), 2: ([2.0, 1.5], [0.75, 0.4]), 3: ([1.5, 2.0, 0.5],)}
    for name, dims, aligned, tolerance in (("upsample_nearest1d", 1, False, 0), ("upsample_nearest2d", 2, False, 0), ("upsample_nearest3d", 3, False, 0),
                                           ("_upsample_nearest_exact1d", 1, False, 0), ("_upsample_nearest_exact2d", 2, False, 0),
                                           ("_upsample_nearest_exact3d", 3, False, 0), ("upsample_linear1d", 1, True, 1 << 12),
                                           ("upsample_bilinear2d", 2, True, 1 << 12), ("upsample_trilinear3d", 3, True, 1 << 12),
                                           ("upsample_bicubic2d", 2, True, 1 << 14)):
        function, x = getattr(aten, name), signals[dims]
        for align in ((False, True) if aligned else (None,)):
            more = {} if align is None else {"align_corners": align}
            words = "" if align is None else f", align_corners={str(align).lower()}"
            for dtype in ("f32", "f64"):
                values = x.double() if dtype == "f64" else x
                for number, size in enumerate(sizes[dims]):
                    call(f"{number}_{align}_{dtype}", name, [values], lambda a, f=function, **k: f(a, **k), tolerance=tolerance, output_size=size, **more)
                for number, scale in enumerate(scales[dims]):
                    case(f"{name}_scale_{number}_{align}_{dtype}".lower(), f"%r0 = {name} %a, output_size=none{words}, scale_factors={scale}", [values],
                         lambda a, f=function, scale=scale, more=more: f(a, None, *more.values(), scale), tolerance=tolerance)
        more = {"align_corners": False} if aligned else {}
        call("rank", name, [x[0]], lambda a, f=function, **k: f(a, **k), output_size=sizes[dims][0], **more)
        call("empty", name, [x[:, :, :0]], lambda a, f=function, **k: f(a, **k), output_size=sizes[dims][0], **more)
        call("no_size", name, [x], lambda a, f=function, **k: f(a, **k), output_size=[0] * dims, **more)
    case("upsample_nearest2d_scaled", "%r0 = upsample_nearest2d %a, output_size=[6, 8], scales_h=1.6, scales_w=1.7", [signals[2]],
         lambda a: aten.upsample_nearest2d(a, [6, 8], 1.6, 1.7))
    case("upsample_bilinear2d_scaled", "%r0 = upsample_bilinear2d %a, output_size=[6, 8], align_corners=false, scales_h=1.6, scales_w=1.7", [signals[2]],
         lambda a: aten.upsample_bilinear2d(a, [6, 8], False, 1.6, 1.7), tolerance=1 << 12)
    case("upsample_nearest1d_u8", "%r0 = upsample_nearest1d %a, output_size=[7]", [block(2, 3, 5, dtype="u8")], lambda a: aten.upsample_nearest1d(a, [7]))
    case("upsample_nearest1d_i64", "%r0 = upsample_nearest1d %a, output_size=[7]", [block(2, 3, 5, dtype="i64")], lambda a: aten.upsample_nearest1d(a, [7]))


def interpolated():
    images = {1: block(2, 3, 5), 2: block(1, 2, 5, 7), 3: block(1, 2, 2, 3, 4) + 16}
    for mode, dims, size in (("nearest", 1, [8]), ("nearest", 2, [3, 4]), ("nearest-exact", 2, [7, 3]), ("nearest-exact", 3, [3, 2, 5]), ("linear", 1, [3]),
                             ("bilinear", 2, [7, 4]), ("bicubic", 2, [4, 9]), ("trilinear", 3, [3, 3, 3]), ("area", 1, [3]), ("area", 2, [2, 3]),
                             ("area", 3, [2, 2, 2])):
        label, tolerance = mode.replace("-", "_"), 1 << 14
        call(f"{label}_{dims}_size", "interpolate", [images[dims]], F.interpolate, size=size, mode=mode, tolerance=tolerance)
        call(f"{label}_{dims}_scale", "interpolate", [images[dims]], F.interpolate, scale_factor=[1.5] * dims, mode=mode, tolerance=tolerance)
        call(f"{label}_{dims}_again", "interpolate", [images[dims]], F.interpolate, scale_factor=[1.7] * dims, mode=mode, recompute_scale_factor=True,
             tolerance=tolerance)
    image = images[2]
    for label, more in (("both", {"size": [3, 3], "scale_factor": [2.0, 2.0]}), ("neither", {}), ("mode", {"size": [3, 3], "mode": "linear"}),
                        ("word", {"size": [3, 3], "mode": "cubic"}), ("count", {"size": [3, 3, 3]}), ("single", {"size": [3]}), ("align", {"size": [3, 3], "align_corners": False}),
                        ("antialias", {"size": [3, 3], "antialias": True}), ("negative", {"scale_factor": [-1.0, 2.0]}),
                        ("recompute", {"size": [3, 3], "recompute_scale_factor": True})):
        call(label, "interpolate", [image], F.interpolate, **more)
    for mode in ("bilinear", "bicubic"):
        name = f"_upsample_{mode}2d_aa"
        call("antialias_" + mode, "interpolate", [image], F.interpolate, size=[3, 9], mode=mode, antialias=True, tolerance=1 << 14)
        for align in (False, True):
            for dtype in ("f32", "f64"):
                for number, size in enumerate(([2, 3], [9, 11], [5, 2], [1, 1])):
                    values = image.double() if dtype == "f64" else image
                    call(f"{number}_{align}_{dtype}", name, [values], tolerance=1 << 14, output_size=size, align_corners=align)
        case(f"{name}_scaled", f"%r0 = {name} %a, output_size=none, align_corners=false, scale_factors=[0.4, 1.3]", [image],
             lambda a, name=name: getattr(aten, name)(a, None, False, [0.4, 1.3]), tolerance=1 << 14)


def sampled():
    grids = {2: (torch.arange(36).reshape(1, 3, 6, 2) * 7919 % 53 - 26) / 16, 3: (torch.arange(72).reshape(1, 2, 3, 4, 3) * 7919 % 53 - 26) / 16}
    images = {2: block(1, 2, 4, 5), 3: block(1, 2, 3, 4, 5)}
    for dims, modes in ((2, (0, 1, 2)), (3, (0, 1))):
        for mode in modes:
            for padding in (0, 1, 2):
                for align in (False, True):
                    for dtype in ("f32", "f64"):
                        inputs = [images[dims], grids[dims]] if dtype == "f32" else [images[dims].double(), grids[dims].double()]
                        case(f"grid_sampler_{dims}d_{mode}_{padding}_{align}_{dtype}".lower(),
                             f"%r0 = grid_sampler_{dims}d %a, %b, interpolation_mode={mode}, padding_mode={padding}, align_corners={str(align).lower()}", inputs,
                             lambda a, b, mode=mode, padding=padding, align=align: torch.grid_sampler(a, b, mode, padding, align), tolerance=1 << 16)
        case(f"grid_sampler_of_{dims}", "%r0 = grid_sampler %a, %b, interpolation_mode=0, padding_mode=0, align_corners=false", [images[dims], grids[dims]],
             lambda a, b: torch.grid_sampler(a, b, 0, 0, False), tolerance=1 << 16)
    for label, image, grid, mode in (("dtypes", images[2].double(), grids[2], 0), ("batch", block(2, 2, 4, 5), grids[2], 0), ("rank", images[3], grids[2], 0),
                                     ("places", images[2], grids[2][..., :1], 0), ("cubic", images[3], grids[3], 2), ("empty", images[2][:, :, :0], grids[2], 0)):
        case(f"grid_sampler_{label}", f"%r0 = grid_sampler %a, %b, interpolation_mode={mode}, padding_mode=0, align_corners=false", [image, grid.contiguous()],
             lambda a, b, mode=mode: torch.grid_sampler(a, b, mode, 0, False))
    for label, theta, size in (("image", block(2, 2, 3), [2, 1, 3, 4]), ("volume", block(2, 3, 4), [2, 1, 2, 3, 4]), ("one", block(1, 2, 3), [1, 1, 1, 4]),
                               ("batch", block(2, 2, 3), [1, 1, 3, 4]), ("matrix", block(2, 3, 3), [2, 1, 3, 4]), ("sizes", block(2, 2, 3), [2, 3, 4])):
        for align in (False, True):
            case(f"affine_grid_generator_{label}_{align}".lower(), f"%r0 = affine_grid_generator %a, size={size}, align_corners={str(align).lower()}", [theta],
                 lambda a, size=size, align=align: torch.affine_grid_generator(a, size, align), tolerance=1 << 16)


def pools():
    plane, cube = block(1, 2, 6, 7), block(1, 2, 4, 5, 6)
    kept, places = F.max_pool2d(plane, 2, return_indices=True)
    case("max_unpool2d_plain", "%r0 = max_unpool2d %a, %b, output_size=[6, 7]", [kept, places], lambda a, b: aten.max_unpool2d(a, b, [6, 7]))
    case("max_unpool2d_wide", "%r0 = max_unpool2d %a, %b, output_size=[8, 9]", [kept[0], places[0]], lambda a, b: aten.max_unpool2d(a, b, [8, 9]))
    case("max_unpool2d_beyond", "%r0 = max_unpool2d %a, %b, output_size=[3, 3]", [kept, places], lambda a, b: aten.max_unpool2d(a, b, [3, 3]), results=["f32[1,2,3,3]"])
    case("max_unpool2d_sizes", "%r0 = max_unpool2d %a, %b, output_size=[6, 7]", [kept, places[:, :, :2]], lambda a, b: aten.max_unpool2d(a, b, [6, 7]))
    case("max_unpool2d_dtype", "%r0 = max_unpool2d %a, %b, output_size=[6, 7]", [kept, places.to(torch.int32)], lambda a, b: aten.max_unpool2d(a, b, [6, 7]))
    kept, places = F.max_pool3d(cube, 2, return_indices=True)
    case("max_unpool3d_plain", "%r0 = max_unpool3d %a, %b, output_size=[4, 5, 6], stride=[2, 2, 2], padding=[0, 0, 0]", [kept, places],
         lambda a, b: aten.max_unpool3d(a, b, [4, 5, 6], [2, 2, 2], [0, 0, 0]))
    case("max_unpool3d_stride", "%r0 = max_unpool3d %a, %b, output_size=[4, 5, 6], stride=[2, 0, 2], padding=[0, 0, 0]", [kept, places],
         lambda a, b: aten.max_unpool3d(a, b, [4, 5, 6], [2, 0, 2], [0, 0, 0]))
    lost = plane.clone()
    lost[0, 0, 2, 3] = lost[0, 0, 2, 4] = float("nan")
    for label, name, values, size in (("line", "adaptive_max_pool1d", block(2, 3, 7), [3]), ("even", "adaptive_max_pool2d", plane, [3, 7]),
                                      ("uneven", "adaptive_max_pool2d", plane, [4, 3]), ("more", "adaptive_max_pool2d", plane[0], [8, 9]),
                                      ("nan", "adaptive_max_pool2d", lost, [2, 3]), ("f64", "adaptive_max_pool2d", plane.double(), [2, 3]),
                                      ("cube", "adaptive_max_pool3d", cube, [2, 3, 4]), ("rank", "adaptive_max_pool2d", plane[0, 0], [2, 3]),
                                      ("empty", "adaptive_max_pool2d", plane[:, :, :0], [2, 3]), ("sizes", "adaptive_max_pool2d", plane, [2, 3, 4])):
        call(label, name, [values], getattr(aten, name), output_size=size)


def fractions():
    plane, cube = block(2, 3, 6, 7), block(1, 2, 4, 5, 6)
    lost, low = plane.clone(), torch.full((1, 1, 4, 4), -INF)
    lost[0, 0, 2:4, 3:5] = NAN
    drawn = {dims: (torch.arange(6 * dims).reshape(2, 3, dims) * 7919 % 97) / 97 for dims in (2, 3)}
    for label, values, size, count, samples in (("plain", plane, [2, 2], [3, 4], drawn[2]), ("one", plane, [3, 2], [1, 1], drawn[2]),
                                                ("nan", lost, [2, 3], [4, 3], drawn[2]), ("single", plane[1], [2, 2], [5, 6], drawn[2][1:]),
                                                ("low", low, [2, 2], [2, 2], drawn[2][:1, :1]), ("f64", plane.double(), [2, 2], [3, 3], drawn[2].double()),
                                                ("dtypes", plane, [2, 2], [3, 3], drawn[2].double()), ("many", plane, [3, 3], [6, 3], drawn[2]),
                                                ("samples", plane, [2, 2], [3, 3], drawn[3]), ("rank", plane[0, 0], [2, 2], [3, 3], drawn[2])):
        call(label, "fractional_max_pool2d", [values, samples.contiguous()], lambda a, b, kernel_size, output_size: aten.fractional_max_pool2d(
            a, kernel_size, output_size, b), operands="%a, random_samples=%b", kernel_size=size, output_size=count)
    for label, values, size, count, samples in (("plain", cube, [2, 2, 2], [3, 3, 4], drawn[3][:1, :2]), ("single", cube[0], [2, 1, 3], [2, 5, 3], drawn[3][:1, :2]),
                                                ("samples", cube, [2, 2, 2], [3, 3, 4], drawn[2][:1, :2])):
        call(label, "fractional_max_pool3d", [values, samples.contiguous()], lambda a, b, kernel_size, output_size: aten.fractional_max_pool3d(
            a, kernel_size, output_size, b), operands="%a, random_samples=%b", kernel_size=size, output_size=count)


def record():
    for part in (resampled, interpolated, sampled, pools, fractions):
        part()
