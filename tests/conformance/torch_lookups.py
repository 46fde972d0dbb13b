"""What PyTorch says about elements that are found: by places of the flattened tensor, masks, an order, and in bags."""
import torch
from torch_forms import block, call
from torch_recorder import ALL, INF, NAN, case, ones, tensor



def places():
    index = tensor([[0, 5], [-1, 3]], "i64")
    for dtype in ALL:
        values = block(2, 3, dtype=dtype)
        call(dtype, "take", [values, index])
        call(dtype, "put", [values, index, block(2, 2, dtype=dtype)])
        if dtype != "bool":
            call(f"sum_{dtype}", "put", [values, tensor([0, 2, 0, -1], "i64"), block(4, dtype=dtype)], accumulate=True)
        call(dtype, "masked_scatter", [values, block(2, 3, dtype="bool"), block(7, dtype=dtype)])
    plane = block(2, 3)
    call("number", "take", [plane, tensor(4, "i64")])
    call("none", "take", [plane, ones(0, dtype="i64")])
    case("take_beyond", "%r0 = take %a, %b", [plane, tensor([6], "i64")], torch.take, results=["f32[1]"])
    case("take_empty", "%r0 = take %a, %b", [ones(0), tensor([0], "i64")], torch.take, results=["f32[1]"])
    call("real", "take", [plane, tensor([0.0])])
    call("none", "put", [plane, ones(0, dtype="i64"), ones(0)])
    call("sizes", "put", [plane, tensor([0, 1], "i64"), ones(3)])
    call("dtypes", "put", [plane, tensor([0, 1], "i64"), block(2, dtype="i64")])
    case("put_beyond", "%r0 = put %a, %b, %c", [plane, tensor([6], "i64"), ones(1)], torch.Tensor.put, results=["f32[2,3]"])
    half = block(3, dtype="bool")
    call("spread", "masked_scatter", [block(2, 3), half, block(8)])
    call("wide", "masked_scatter", [block(3), block(2, 3, dtype="bool"), block(8)])
    call("nothing", "masked_scatter", [plane, torch.zeros(2, 3, dtype=torch.bool), ones(0)])
    call("dtypes", "masked_scatter", [plane, half, block(8, dtype="i64")])
    call("number_mask", "masked_scatter", [plane, block(3, dtype="i64"), block(8)])
    case("masked_scatter_short", "%r0 = masked_scatter %a, %b, %c", [plane, torch.ones(2, 3, dtype=torch.bool), ones(5)], torch.masked_scatter,
         results=["f32[2,3]"])


def masked():
    plane, mask = block(4, 5), block(3, 3, dtype="bool")
    rows, columns = tensor([[0], [5], [-7]], "i64"), tensor([[1, 4, 9]], "i64")

    def read(self, mask, *indices, fill):
        return torch.ops.aten._unsafe_masked_index(self, mask, indices, fill)

    def write(self, mask, *rest):
        return torch.ops.aten._unsafe_masked_index_put_accumulate(self, mask, rest[:-1], rest[-1])

    for dtype in ("i32", "f32", "f64"):
        values = block(4, 5, dtype=dtype)
        case(f"_unsafe_masked_index_{dtype}", "%r0 = _unsafe_masked_index %a, %b, [%c, %d], 7", [values, mask, rows, columns],
             lambda a, b, c, d: read(a, b, c, d, fill=7))
        case(f"_unsafe_masked_index_put_accumulate_{dtype}", "%r0 = _unsafe_masked_index_put_accumulate %a, %b, [%c, %d], %e",
             [values, mask, rows, columns, block(3, 3, dtype=dtype)], write)
    case("_unsafe_masked_index_one", "%r0 = _unsafe_masked_index %a, %b, [%c], 0.5", [block(5), tensor([True, False, True], "bool"), tensor([4, 9, 0], "i64")],
         lambda a, b, c: read(a, b, c, fill=0.5))


def orders():
    line, rows = tensor([-2.0, 0.0, 0.0, 1.5, 4.0]), tensor([[0.0, 1.0, 3.0], [-1.0, -1.0, 2.0]])
    values = tensor([[NAN, -INF, -2.0], [0.0, 1.5, 9.0]])
    for dtype in ALL:
        ordered = torch.sort(block(9, dtype=dtype))[0]
        for more in ({}, {"right": True}):
            call(f"{dtype}_{bool(more)}", "searchsorted", [ordered, block(2, 5, dtype=dtype)], **more)
            call(f"{dtype}_{bool(more)}", "bucketize", [block(2, 5, dtype=dtype), ordered], **more)
        call(dtype, "isin", [block(3, 4, dtype=dtype), block(5, dtype=dtype)])
        call(f"many_{dtype}", "isin", [block(3, 4, dtype=dtype), block(40, dtype=dtype)], invert=True)
    for label, inputs, more in (("special", [line, values], {}), ("special_right", [line, values], {"side": "right"}),
                                ("left", [line, values], {"side": "left"}), ("both", [line, values], {"right": True, "side": "right"}),
                                ("other", [line, values], {"right": True, "side": "left"}), ("word", [line, values], {"side": "up"}),
                                ("narrow", [line, values], {"out_int32": True}), ("rows", [rows, tensor([[0.5, 3.0], [-1.0, 2.0]])], {}),
                                ("uneven", [rows, ones(3, 2)], {}), ("rank", [rows, ones(2)], {}), ("one", [line, tensor(0.0)], {}),
                                ("none", [ones(0), values], {}), ("promoted", [tensor([1, 2, 3], "i64"), values], {}),
                                ("no_value", [line, ones(0, 3)], {})):
        call(label, "searchsorted", inputs, **more)
    case("searchsorted_number", "%r0 = searchsorted %a, 0.5", [line], lambda a: torch.searchsorted(a, 0.5))
    case("searchsorted_whole_number", "%r0 = searchsorted %a, 2", [tensor([1, 2, 3], "i64")], lambda a: torch.searchsorted(a, 2))
    case("searchsorted_number_rows", "%r0 = searchsorted %a, 0.5", [rows], lambda a: torch.searchsorted(a, 0.5))
    shuffled = tensor([3.0, 1.0, 2.0])
    for label, order in (("", tensor([1, 2, 0], "i64")), ("_short", tensor([1, 2], "i64")), ("_real", tensor([1.0, 2.0, 0.0]))):
        case(f"searchsorted_sorter{label}", "%r0 = searchsorted %a, %b, sorter=%c", [shuffled, values, order],
             lambda a, b, c: torch.searchsorted(a, b, sorter=c))
    case("bucketize_number", "%r0 = bucketize 0.5, %a", [line], lambda a: torch.bucketize(0.5, a))
    call("narrow", "bucketize", [values, line], out_int32=True)
    call("rows", "bucketize", [values, rows])
    call("special", "isin", [values, tensor([NAN, 1.5, -2.0])])
    call("special_many", "isin", [values, torch.cat([block(20), values.reshape(-1)])])
    call("none", "isin", [values, ones(0)])
    call("no_element", "isin", [ones(0, 2), ones(3)])
    case("isin_number", "%r0 = isin %a, 1.5", [values], lambda a: torch.isin(a, 1.5))
    case("isin_among", "%r0 = isin 1.5, %a, invert=true", [values], lambda a: torch.isin(1.5, a, invert=True))


def bags():
    table = block(6, 3)
    indices, offsets = tensor([4, 1, 3, 3, 0, 2], "i64"), tensor([0, 2, 2, 5], "i64")

    def first(*inputs, factors=False, **more):
        names = {"per_sample_weights": inputs[3]} if factors else {}
        return torch.embedding_bag(*inputs[:3], **names, **more)[0]

    def bag(label, inputs, words="", **more):
        factors = len(inputs) == 4
        operands = "%a, %b, %c" + (", per_sample_weights=%d" if factors else "")
        whole = operands + "".join(f", {key}={str(value).lower()}" for key, value in more.items())
        case(f"embedding_bag_{label}", f"%p:4 = embedding_bag {whole}\n%r0 = alias %p#0", inputs,
             lambda *values: first(*values, factors=factors, **more), tolerance=4)

    for mode in (0, 1, 2):
        for dtype in ("f32", "f64"):
            bag(f"{mode}_{dtype}", [block(6, 3, dtype=dtype), indices, offsets], mode=mode)
        bag(f"{mode}_last", [table, indices, tensor([0, 2, 2, 6], "i64")], mode=mode, include_last_offset=True)
        bag(f"{mode}_none", [table, ones(0, dtype="i64"), tensor([0, 0], "i64")], mode=mode)
        for padding in (3, -3):
            case(f"embedding_bag_{mode}_padding_{padding}".replace("-", "minus_"),
                 f"%p:4 = embedding_bag %a, %b, %c, scale_grad_by_freq=false, mode={mode}, sparse=false, include_last_offset=false, padding_idx={padding}\n%r0 = alias %p#0", [table, indices, offsets],
                 lambda a, b, c, mode=mode, padding=padding: torch.embedding_bag(a, b, c, False, mode, False, None, False, padding)[0], tolerance=4)
        case(f"_embedding_bag_{mode}", f"%p:4 = _embedding_bag %a, %b, %c, mode={mode}, padding_idx=3\n%r0 = alias %p#0", [table, indices, offsets],
             lambda a, b, c, mode=mode: torch.ops.aten._embedding_bag(a, b, c, mode=mode, padding_idx=3)[0], tolerance=4)
    bag("factors", [table, indices, offsets, block(6)])
    bag("mean_factors", [table, indices, offsets, block(6)], mode=1)
    bag("narrow", [table, indices.to(torch.int32), offsets.to(torch.int32)])
    bag("mode", [table, indices, offsets], mode=3)
    bag("rank", [block(6), indices, offsets])
    bag("real", [table, indices.double(), offsets])
    case("embedding_bag_beyond", "%p:4 = embedding_bag %a, %b, %c\n%r0 = alias %p#0", [table, tensor([6], "i64"), tensor([0], "i64")],
         lambda a, b, c: torch.embedding_bag(a, b, c)[0], results=["f32[1,3]"])
    case("embedding_bag_begin", "%p:4 = embedding_bag %a, %b, %c\n%r0 = alias %p#0", [table, indices, tensor([1, 2], "i64")],
         lambda a, b, c: torch.embedding_bag(a, b, c)[0], results=["f32[2,3]"])


def record():
    for part in (places, masked, orders, bags):
        part()
