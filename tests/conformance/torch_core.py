"""What PyTorch says about the rest of its core: gradients of other operators, copies, and functions whose names begin with _."""
import torch
from torch_forms import block, call
from torch_recorder import case

aten = torch.ops.aten


def group_gradients(grad, x, weight, groups):
    """What native_group_norm_backward gives, which ends the process where it is called by itself."""
    wanted = [x] if weight is None else [x, weight, torch.zeros(x.shape[1])]
    wanted = [tensor.detach().requires_grad_() for tensor in wanted]
    scale, shift = wanted[1:] or (None, None)
    out = torch.native_group_norm(wanted[0], scale, shift, *x.shape, groups, 1e-5)[0]
    return torch.autograd.grad(out, wanted, grad)


def gradients(label, name, inputs, mask, function, tolerance, **arguments):
    """A case of three gradients, of which those that the mask does not want are without elements."""
    whole = ", ".join([*(f"%{letter}" for letter, _ in zip("abcdef", inputs)),
                       *(f"{key}={value}" for key, value in arguments.items()), f"output_mask={mask}"])
    body = f"%p:3 = {name} {whole}\n" + "\n".join(f"%r{i} = alias %p#{i}" for i in range(3))

    def found(*values):
        results = [*function(*values), None, None][:3]
        nothing = torch.zeros(0, dtype=values[0].dtype)
        return [result if wanted else nothing for result, wanted in zip(results, mask)]

    case(f"{name}_{label}", body, inputs, found, tolerance=tolerance)


def layer_norms():
    x, grad, weight = block(2, 3, 4) / 4, block(24).square().reshape(2, 3, 4) / 8, block(4) / 2
    for label, values, out, shape, scale in (
            ("plain", x, grad, [4], weight), ("two", x, grad, [3, 4], None), ("whole", x[0], grad[0], [3, 4], None),
            ("f64", x.double(), grad.double(), [4], weight.double())):
        _, mean, rstd = torch.native_layer_norm(values, shape, scale, None, 1e-5)
        inputs = [out, values, mean, rstd] + ([scale] if scale is not None else [])
        for mask in ([1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]) if scale is not None else ([1, 0, 0], [0, 0, 0]):
            def found(a, b, c, d, e=None, shape=shape, mask=mask):
                return aten.native_layer_norm_backward(a, b, shape, c, d, e, e, [wanted == 1 for wanted in mask])
            gradients(f"{label}_{''.join(map(str, mask))}", "native_layer_norm_backward", inputs, mask, found, 1 << 10,
                      normalized_shape=shape)


def group_norms():
    x, grad, weight = block(2, 6, 5) / 4, block(60).square().reshape(2, 6, 5) / 8, block(6) / 2
    for label, groups, scale, mask in (("three", 3, weight, [1, 1, 1]), ("one", 1, weight, [1, 1, 1]),
                                       ("parts", 2, weight, [0, 1, 0]), ("all", 6, None, [1, 0, 0])):
        _, mean, rstd = torch.native_group_norm(x, scale, None, 2, 6, 5, groups, 1e-5)
        inputs = [grad, x, mean, rstd] + ([scale] if scale is not None else [])
        gradients(label, "native_group_norm_backward", inputs, mask,
                  lambda a, b, c, d, e=None, groups=groups: group_gradients(a, b, e, groups), 64,
                  N=2, C=6, HxW=5, group=groups)


def batch_norms():
    x = block(2, 3, 4) / 4
    call("plain", "_native_batch_norm_legit", [x],
         lambda a, **k: aten._native_batch_norm_legit.no_stats(a, None, None, *k.values()),
         training=True, momentum=0.1, eps=1e-5, tolerance=64)
    moments = [block(3) / 4, block(3).abs() + 1]
    for label, training in (("training", True), ("given", False)):
        call(label, "_native_batch_norm_legit", [x, block(3), block(3) / 2, *moments],
             lambda a, b, c, d, e, **k: aten._native_batch_norm_legit(a, b, c, d.clone(), e.clone(), *k.values()),
             training=training, momentum=0.1, eps=1e-5, tolerance=64)
    call("plain", "_native_batch_norm_legit_no_training", [x, block(3), block(3) / 2, block(3) / 4, block(3).abs() + 1],
         aten._native_batch_norm_legit_no_training, momentum=0.1, eps=1e-5, tolerance=64)


def convolutions():
    number = 0
    for sizes, weight, stride, padding, dilation, transposed, further, groups, mask in (
            ([2, 3, 9], [4, 3, 2], [1], [0], [1], False, [0], 1, [1, 1, 1]),
            ([2, 4, 10], [6, 2, 3], [2], [1], [1], False, [0], 2, [1, 1, 1]),
            ([2, 3, 7, 8], [4, 3, 3, 2], [2, 3], [1, 0], [1, 2], False, [0, 0], 1, [1, 1, 0]),
            ([1, 4, 6, 5], [4, 1, 3, 3], [1, 1], [1, 1], [1, 1], False, [0, 0], 4, [1, 0, 1]),
            ([1, 2, 4, 5, 4], [2, 2, 2, 2, 1], [1, 2, 3], [1, 0, 0], [2, 1, 1], False, [0, 0, 0], 1, [1, 1, 1]),
            ([2, 3, 5], [3, 2, 3], [2], [1], [1], True, [1], 1, [1, 1, 1]),
            ([2, 4, 3, 4], [4, 3, 2, 3], [3, 1], [0, 1], [1, 2], True, [2, 0], 2, [1, 1, 1]),
            ([1, 2, 4, 3], [2, 1, 2, 2], [1, 2], [0, 0], [2, 3], True, [1, 2], 1, [0, 1, 0])):
        x, scale = block(*sizes) / 4, block(*weight) / 2
        out = aten.convolution(x, scale, None, stride, padding, dilation, transposed, further, groups)
        for label, dtype in (("", torch.float32), ("_f64", torch.float64)) if number < 2 else (("", torch.float32),):
            def found(a, b, c, *k):
                return aten.convolution_backward(a, b, c, [out.shape[1]], stride, padding, dilation, transposed, further,
                                                 groups, [wanted == 1 for wanted in mask])
            inputs = [block(*out.shape).flip(-1).to(dtype), x.to(dtype), scale.to(dtype)]
            gradients(f"{number}{label}", "convolution_backward", inputs, mask, found, 1 << 12,
                      stride=stride, padding=padding, dilation=dilation, transposed=str(transposed).lower(),
                      output_padding=further, groups=groups)
        number += 1
    case("convolution_backward_sizes", "%p:3 = convolution_backward %a, %b, %c, stride=[1], padding=[0], dilation=[1], "
         "transposed=false, output_padding=[0], groups=1, output_mask=[1, 1, 1]", [block(2, 4, 7), block(2, 3, 9), block(4, 3, 2)],
         lambda a, b, c: aten.convolution_backward(a, b, c, [4], [1], [0], [1], False, [0], 1, [True] * 3))


def lookups():
    grad, indices = block(2, 3, 4), torch.tensor([[1, 0, 1], [4, 1, 0]])
    for label, padding, frequency in (("plain", -1, False), ("padding", 1, False), ("often", 0, True)):
        call(label, "embedding_dense_backward", [grad, indices], aten.embedding_dense_backward, num_weights=5, padding_idx=padding, scale_grad_by_freq=frequency,
             tolerance=8)


def pools():
    x = block(2, 3, 7, 8)
    for label, values, size in (("even", block(2, 3, 6, 8), (3, 4)), ("uneven", x, (3, 5)), ("more", x[0], (8, 9)), ("one", x.double(), (1, 1))):
        grad = block(*values.shape[:-2], *size).to(values.dtype)
        call(label, "_adaptive_avg_pool2d_backward", [grad, values], aten._adaptive_avg_pool2d_backward, tolerance=1 << 12)
    number = 0
    for size, stride, padding, up, padded, divisor in (([2, 2], [2, 2], [0, 0], False, True, None), ([3, 2], [2, 1], [1, 1], False, True, None),
                                                       ([3, 2], [2, 3], [1, 0], True, False, None), ([3, 3], [2, 2], [1, 1], True, True, None),
                                                       ([2, 3], [1, 2], [0, 1], False, True, 5), ([2, 2], [], [0, 0], False, True, None)):
        grad = block(*aten.avg_pool2d(x, size, stride, padding, up, padded, divisor).shape)
        call(str(number), "avg_pool2d_backward", [grad, x], aten.avg_pool2d_backward, kernel_size=size, stride=stride, padding=padding, ceil_mode=up,
             count_include_pad=padded, divisor_override="none" if divisor is None else divisor, tolerance=1 << 12) if divisor is not None else case(
                 f"avg_pool2d_backward_{number}", f"%r0 = avg_pool2d_backward %a, %b, kernel_size={size}, stride={stride}, padding={padding}, "
                 f"ceil_mode={str(up).lower()}, count_include_pad={str(padded).lower()}, divisor_override=none", [grad, x],
                 lambda a, b, size=size, stride=stride, padding=padding, up=up, padded=padded: aten.avg_pool2d_backward(
                     a, b, size, stride, padding, up, padded, None), tolerance=1 << 12)
        number += 1
        kept, places = aten.max_pool2d_with_indices(x, size, stride, padding, [1, 1], up)
        call(str(number), "max_pool2d_with_indices_backward", [block(*kept.shape), x, places],
             lambda a, b, c, **k: aten.max_pool2d_with_indices_backward(a, b, *k.values(), c), operands="%a, %b, indices=%c", kernel_size=size, stride=stride,
             padding=padding, dilation=[1, 1], ceil_mode=up)
    call("sizes", "avg_pool2d_backward", [block(2, 3, 2, 2), x], aten.avg_pool2d_backward, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], ceil_mode=False,
         count_include_pad=True, divisor_override=1)


def parts():
    """What those are made of."""
    grad, x = block(2, 3, 4), block(2, 3, 4) / 4
    mean, rstd = x.mean(2, keepdim=True), 1 / (x.std(2, keepdim=True, correction=0) + 1)
    case("_layer_norm_backward_sums", "%p:3 = _layer_norm_backward %a, %b, %c, %d, dims=[2], outer=[0, 1]\n%r0 = alias %p#1\n%r1 = alias %p#2",
         [grad, x, mean, rstd], lambda a, b, c, d: ((a * (b - c) * d).sum((0, 1)), a.sum((0, 1))), tolerance=1 << 12)
    case("_group_norm_backward_sums", "%p:3 = _group_norm_backward %a, %b, %c, %d, grouped=[2, 3, 1, 4], by_channel=[3, 1, 1], by_group=[2, 3, 1, 1]\n"
         "%r0 = alias %p#2", [grad, x, mean, rstd], lambda a, b, c, d: a.sum((0, 2)).reshape(3, 1))
    case("_parts_table_plain", "%r0 = _parts_table %a, %b, size=4, dtype=f32", [torch.tensor([[0], [1]]), torch.tensor([[2], [4]])],
         lambda a, b: torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 1]]))
    case("_adaptive_table_plain", "%r0 = _adaptive_table parts=2, size=3, dtype=f32", [], lambda: torch.tensor([[0.5, 0.5, 0], [0, 0.5, 0.5]]))
    case("_pooled_table_plain", "%r0 = _pooled_table windows=2, size=3, place=[2, 2, 1], padded=true, averages=true, dtype=f32", [],
         lambda: torch.tensor([[0.5, 0, 0], [0, 0.5, 0.5]]))


def memory():
    x = block(2, 3)
    call("row", "copy", [x, block(3, dtype="i64")], aten.copy)
    call("sizes", "copy", [x, block(2)], aten.copy)
    case("_to_copy_f64", "%r0 = _to_copy %a, dtype=f64", [x], lambda a: aten._to_copy(a, dtype=torch.float64))
    case("_local_scalar_dense_one", "%r0 = _local_scalar_dense %a", [x[:1, 1:2].contiguous()], lambda a: torch.tensor(aten._local_scalar_dense(a)))
    for label, size in (("same", [3, 2]), ("less", [4]), ("none", [0, 5]), ("scalar", []), ("below", [-1]), ("pair", [-2, -3])):
        case(f"resize__{label}", f"%r0 = resize_ %a, size={size}", [x], lambda a, size=size: a.clone().resize_(size))
    case("sym_size_int", "%r0 = sym_size %a, dim=-1", [x], lambda a: torch.tensor(a.size(-1)))
    case("sym_stride_int", "%r0 = sym_stride %a, dim=0", [x], lambda a: torch.tensor(a.stride(0)))
    case("sym_numel", "%r0 = sym_numel %a", [x], lambda a: torch.tensor(a.numel()))
    case("sym_storage_offset", "%r0 = sym_storage_offset %a", [x], lambda a: torch.tensor(a.storage_offset()))
    case("sym_is_contiguous", "%r0 = sym_is_contiguous %a", [x], lambda a: torch.tensor(a.is_contiguous()))
    for name in ("_softmax", "_log_softmax"):
        for label, dim in (("first", 0), ("last", -1)):
            call(label, name, [block(3, 4)], getattr(aten, name), tolerance=16, dim=dim, half_to_float=False)
            out = getattr(aten, name)(block(3, 4), dim, False)
            case(f"{name}_backward_data_{label}", f"%r0 = {name}_backward_data %a, %b, dim={dim}, input_dtype=f32",
                 [block(3, 4).flip(0), out], lambda a, b, name=name, dim=dim: getattr(aten, f"{name}_backward_data")(
                     a, b, dim, torch.float32), tolerance=64)
    call("rows", "_cdist_forward", [block(3, 4), block(2, 4)], lambda a, b, p: aten._cdist_forward(a, b, p, None), tolerance=16, p=2.0)
    call("rows", "_pdist_forward", [block(4, 3)], aten._pdist_forward, tolerance=16, p=2.0)
    call("even", "_adaptive_avg_pool2d", [block(2, 3, 6, 8)], aten._adaptive_avg_pool2d, tolerance=8, output_size=[3, 4])
    call("even", "_adaptive_avg_pool3d", [block(2, 3, 4, 6, 8)], aten._adaptive_avg_pool3d, tolerance=8, output_size=[2, 3, 4])
    case("_chunk_cat_uneven", "%r0 = _chunk_cat [%a, %b], dim=0, num_chunks=2", [block(5, 2), block(3, 2, 2)],
         lambda a, b: aten._chunk_cat([a, b], 0, 2))


def record():
    for part in (layer_norms, group_norms, batch_norms, convolutions, lookups, pools, parts, memory):
        part()
