"""What PyTorch says about forms of tensors: parts and what is put together, elements in other places, padding, sequences."""
import torch
import torch.nn.functional as F
from torch_recorder import ALL, DTYPES, FLOATS, INF, NAN, case, ones, tensor

LETTERS = "abcdef"


def block(*sizes, dtype="f32"):
    """Numbers in no order, of which some are equal."""
    count = torch.tensor(sizes).prod().item() if sizes else 1
    numbers = (torch.arange(count) * 7919 % 211).reshape(sizes)
    if dtype == "bool":
        return numbers > 100
    return ((numbers - 96) / 16 if dtype in FLOATS else numbers - 96).to(DTYPES[dtype])


def text(value):
    """A number, word or list of Python as graph text has it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def call(label, name, inputs, function=None, operands=None, differs=None, tolerance=0, **arguments):
    """A case of one call, with the same keywords for both; a list of results is named one by one."""
    function = function or getattr(torch, name, None) or getattr(torch.ops.aten, name)
    operands = operands or ", ".join(f"%{letter}" for letter, _ in zip(LETTERS, inputs))
    whole = ", ".join(filter(None, [operands, *(f"{key}={text(value)}" for key, value in arguments.items())]))

    def found(*values):
        return function(*values, **arguments)

    count = 0
    try:
        results = found(*inputs)
        count = len(results) if isinstance(results, (list, tuple)) else 0
    except (RuntimeError, ValueError, IndexError, TypeError):
        pass
    body = f"%r0 = {name} {whole}"
    if count:
        body = "\n".join([f"%p:{count} = {name} {whole}",
                          *(f"%r{i} = alias %p{f'#{i}' if count > 1 else ''}" for i in range(count))])
    case(f"{name}_{label}".lower(), body, inputs, found, differs, tolerance)


def method(name):
    return lambda self, *values, **keywords: getattr(self, name)(*values, **keywords)


def listed(function):
    return lambda *tensors, **keywords: function(tensors, **keywords)


def parts():
    line, plane, cube = block(7), block(5, 6), block(2, 4, 6)
    for dtype in ALL:
        values = block(5, 6, dtype=dtype)
        call(dtype, "chunk", [values], chunks=3, dim=1)
        call(dtype, "split", [values], method("split"), split_size=2, dim=0)
        call(dtype, "unbind", [values], dim=1)
    for size in (1, 3, 7, 9):
        call(f"by_{size}", "split", [line], method("split"), split_size=size)
        call(f"into_{size}", "chunk", [line], chunks=size)
    call("nothing", "split", [ones(0, 3)], method("split"), split_size=2)
    call("by_nothing", "split", [line], method("split"), split_size=0)
    call("of_nothing_by_nothing", "split", [ones(0, 3)], method("split"), split_size=0)
    call("below", "split", [line], method("split"), split_size=-1)
    call("nothing", "chunk", [ones(0, 3)], chunks=3)
    call("none", "chunk", [line], chunks=0)
    call("number", "chunk", [tensor(3.0)], chunks=1)
    call("last", "chunk", [plane], chunks=2, dim=-1)
    for name, keyword in (("split", "split_size"), ("split_with_sizes", "split_sizes"),
                          ("unsafe_split_with_sizes", "split_sizes"), ("split_with_sizes_copy", "split_sizes")):
        function = method("split") if name == "split" else None
        for label, sizes in (("lists", [2, 0, 5]), ("lists_short", [2, 4]), ("lists_long", [8]),
                             ("lists_below", [8, -1])):
            call(label, name, [line], function, **{keyword: sizes})
    call("last", "split_with_sizes", [plane], split_sizes=[1, 5], dim=-1)
    call("parts", "unsafe_split", [line], split_size=3)
    call("parts", "split_copy", [line], torch.ops.aten.split_copy, split_size=3)
    call("parts", "unsafe_chunk", [line], chunks=3)
    for label, arguments in (("sections", {"sections": 3}), ("many", {"sections": 9}), ("none", {"sections": 0}),
                             ("indices", {"indices": [2, 5]}), ("back", {"indices": [-2]}), ("beyond", {"indices": [3, 9]}),
                             ("down", {"indices": [5, 2]}), ("uncut", {"indices": []})):
        call(label, "tensor_split", [line], lambda a, **k: torch.tensor_split(a, *k.values()), **arguments)
    call("last", "tensor_split", [plane], lambda a, sections, dim: torch.tensor_split(a, sections, dim), sections=4, dim=-1)
    for name, values in (("hsplit", plane), ("vsplit", block(4, 3)), ("dsplit", cube)):
        function = getattr(torch, name)
        for label, arguments in (("two", {"sections": 2}), ("uneven", {"sections": 5}), ("none", {"sections": 0}),
                                 ("at", {"indices": [1, 3]})):
            call(label, name, [values], lambda a, f=function, **k: f(a, *k.values()), **arguments)
        call("number", name, [tensor(3.0)], lambda a, f=function, **k: f(a, *k.values()), sections=1)
        call("list", name, [line], lambda a, f=function, **k: f(a, *k.values()), sections=7)
    call("number", "unbind", [tensor(3.0)])
    call("one", "unbind", [ones(1, 2)])
    call("parts", "unbind_copy", [plane])


def joined():
    for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
        function = listed(getattr(torch, name))
        lists = {"numbers": [tensor(1.0), tensor(2.0)], "lists": [block(3), block(3) + 1], "planes": [block(2, 3), block(2, 3)],
                 "cubes": [block(2, 3, 2), block(2, 3, 2)], "one": [block(4)], "mixed": [tensor([1, 2], "i32"), block(2)],
                 "unequal": [block(2, 3), block(4, 5)], "ranks": [block(2), block(2, 3)]}
        for label, values in lists.items():
            letters = ", ".join(f"%{letter}" for letter, _ in zip(LETTERS, values))
            call(label, name, values, function, f"[{letters}]")
    kinds = {"numbers": [tensor(1.0), tensor(2.0)], "all": [tensor(1.0), block(2), block(2, 3)], "empty": [ones(0), block(2, 2)],
             "wide": [ones(0, 3), block(2)], "mixed": [tensor([[1]], "i64"), block(2)], "cube": [block(1, 1, 1)]}
    for label, values in kinds.items():
        letters = ", ".join(f"%{letter}" for letter, _ in zip(LETTERS, values))
        call(label, "block_diag", values, torch.block_diag, f"[{letters}]")
    for n in (1, 2, 3):
        function = getattr(torch, f"atleast_{n}d")
        for rank in range(5):
            call(f"rank_{rank}", f"atleast_{n}d", [block(*(2, 3, 2, 1)[:rank])])
        call("list", f"atleast_{n}d", [tensor(1.0), block(2, 3)], function, "[%a, %b]")
    for label, values in (("two", [block(2, 1), block(3)]), ("numbers", [tensor(1.0), block(2, 3)]), ("not", [block(2), block(3)])):
        call(label, "broadcast_tensors", values, torch.broadcast_tensors, "[%a, %b]")
    for indexing in ("ij", "xy", "zz"):
        for label, values in (("three", [block(2), block(3), block(4)]), ("number", [block(2), tensor(1.0), block(3)])):
            call(f"{indexing}_{label}", "meshgrid", values, torch.meshgrid, "[%a, %b, %c]", indexing=indexing)
    call("plain", "meshgrid", [block(2), block(3)], torch.meshgrid, "[%a, %b]")
    call("dtypes", "meshgrid", [block(2), block(3, dtype="i64")], torch.meshgrid, "[%a, %b]")
    call("plane", "meshgrid", [block(2), block(3, 2)], torch.meshgrid, "[%a, %b]")
    call("three", "cartesian_prod", [block(2), block(3), block(2)], torch.cartesian_prod, "[%a, %b, %c]")
    call("one", "cartesian_prod", [block(3)], torch.cartesian_prod, "[%a]")
    call("empty", "cartesian_prod", [block(2), ones(0)], torch.cartesian_prod, "[%a, %b]")
    call("plane", "cartesian_prod", [block(2), block(2, 2)], torch.cartesian_prod, "[%a, %b]")
    for dtype in ALL:
        call(dtype, "combinations", [block(4, dtype=dtype)])
    for r in (0, 1, 3, 4, 5, -1):
        call(f"of_{r}".replace("-", "minus_"), "combinations", [block(4)], r=r)
        call(f"again_{r}".replace("-", "minus_"), "combinations", [block(4)], r=r, with_replacement=True)
    call("empty", "combinations", [ones(0)])
    call("plane", "combinations", [block(2, 2)])


def places():
    plane, cube = block(3, 4), block(2, 3, 4)
    same = {"alias": None, "clone": None, "resolve_conj": None, "resolve_neg": None, "contiguous": method("contiguous"),
            "ravel": None, "alias_copy": torch.ops.aten.alias_copy, "detach_copy": torch.ops.aten.detach_copy,
            "t_copy": None, "squeeze_copy": None, "fliplr": None, "flipud": None, "adjoint": None, "trace": None}
    for name, function in same.items():
        for dtype in ALL:
            call(dtype, name, [block(3, 4, dtype=dtype)], function, tolerance=8 if name == "trace" else 0)
        call("cube", name, [cube], function)
        call("list", name, [block(3)], function)
    for name in ("view_as", "reshape_as", "expand_as"):
        call("other", name, [block(1, 6), block(2, 1, 3) if name != "expand_as" else block(2, 2, 6)], method(name))
        call("wrong", name, [plane, block(5)], method(name))
    for name in ("broadcast_to", "expand_copy"):
        call("more", name, [block(3, 1)], size=[2, 3, 4])
        call("wrong", name, [block(3, 2)], size=[3, 4])
    for label, size in (("all", []), ("rows", [4]), ("columns", [3, 1]), ("same", [3, 4]), ("wrong", [2, 4]), ("longer", [1, 3, 4])):
        call(label, "sum_to_size", [tensor([[1.0, 2.0, 3.0, 4.0]] * 3)], method("sum_to_size"), size=size)
    for label, arguments in (("two", {"dim": 1, "sizes": [2, 2]}), ("inferred", {"dim": -1, "sizes": [-1, 2]}),
                             ("wrong", {"dim": 1, "sizes": [3, 2]}), ("unknown", {"dim": 1, "sizes": [-1, -1]})):
        call(label, "unflatten", [plane], **arguments)
    for name in ("movedim", "moveaxis"):
        for source, destination in ((0, -1), (2, 0), (1, 1), (3, 0)):
            call(f"{source}_{destination}".replace("-", "minus_"), name, [cube], source=source, destination=destination)
        for label, source, destination in (("two", [0, 1], [2, 0]), ("none", [], []), ("twice", [0, 0], [1, 2]),
                                           ("onto", [0, 1], [2, 2]), ("uneven", [0], [1, 2])):
            call(label, name, [cube], source=source, destination=destination)
    call("last", "swapaxes", [cube], axis0=0, axis1=-1)
    call("last", "swapdims", [cube], dim0=0, dim1=-1)
    call("last", "transpose_copy", [cube], dim0=0, dim1=-1)
    call("turned", "permute_copy", [cube], dims=[2, 0, 1])
    call("middle", "narrow_copy", [cube], dim=1, start=1, length=2)
    call("one", "select_copy", [cube], dim=1, index=-1)
    call("some", "slice_copy", [cube], dim=2, start=1, end=4, step=2)
    call("dim", "squeeze_copy", [block(1, 3, 1)], dim=2)
    call("dims", "squeeze_copy", [block(1, 3, 1)], dim=[0, 1])
    call("last", "unsqueeze_copy", [cube], dim=-1)
    call("flat", "view_copy", [cube], size=[6, -1])
    for dims, shifts in (([], [5]), ([0], [1]), ([1], [-1]), ([0, 1], [4, 9]), ([0, 0], [1, 1]), ([0], [1, 2]), ([], [1, 2]), ([2], [1])):
        label = "_".join(str(item).replace("-", "minus_") for item in (*shifts, "of", *dims))
        call(label, "roll", [plane], shifts=shifts, dims=dims)
    call("nothing", "roll", [ones(0, 3)], shifts=[1], dims=[0])
    call("number", "roll", [tensor(3.0)], shifts=[1], dims=[])
    call("number_dim", "roll", [tensor(3.0)], shifts=[1], dims=[0])
    for k in range(-2, 5):
        call(f"{k}".replace("-", "minus_"), "rot90", [plane], k=k)
    for label, dims in (("others", [1, 2]), ("same", [1, 1]), ("one", [0]), ("back", [-1, 0])):
        call(label, "rot90", [cube], k=1, dims=dims)
    for label, times in (("each", [2, 3]), ("more", [2, 1, 3]), ("nothing", [0, 1]), ("few", [2]), ("below", [-1, 2])):
        call(label, "repeat", [plane], method("repeat"), repeats=times)
        call(label, "tile", [plane], lambda a, dims: a.tile(dims), dims=times)
    for label, arguments in (("flat", {"repeats": 2}), ("rows", {"repeats": 3, "dim": 0}), ("columns", {"repeats": 2, "dim": -1}),
                             ("nothing", {"repeats": 0, "dim": 1}), ("below", {"repeats": -1, "dim": 1})):
        call(label, "repeat_interleave", [plane], **arguments)
    for name in ("unfold", "unfold_copy"):
        for label, arguments in (("overlapping", (1, 3, 1)), ("apart", (2, 2, 2)), ("whole", (0, 2, 1)), ("long", (1, 4, 1)),
                                 ("still", (1, 2, 0))):
            dimension, size, step = arguments
            call(label, name, [cube], method("unfold") if name == "unfold" else None, dimension=dimension, size=size, step=step)
    call("number", "unfold", [tensor(3.0)], method("unfold"), dimension=0, size=1, step=1)


def diagonals():
    plane, cube = block(3, 4), block(2, 3, 4)
    for name in ("diagonal", "diagonal_copy"):
        for offset in (-3, -2, 0, 1, 3, 5):
            call(f"offset_{offset}".replace("-", "minus_"), name, [plane], offset=offset)
        call("dims", name, [cube], offset=1, dim1=0, dim2=2)
        call("turned", name, [cube], offset=-1, dim1=-1, dim2=1)
        call("same", name, [cube], dim1=1, dim2=-2)
    call("last", "linalg_diagonal", [cube], lambda a, **k: torch.linalg.diagonal(a, **k), offset=1)
    for offset in (-2, 0, 1):
        label = f"offset_{offset}".replace("-", "minus_")
        call(label, "diag_embed", [block(2, 3)], offset=offset)
        call(label, "diagflat", [block(2, 2)], offset=offset)
        for dtype in ALL:
            call(f"{label}_{dtype}", "diag", [block(3, dtype=dtype)], diagonal=offset)
        call(f"{label}_of", "diag", [plane], diagonal=offset)
        for name in ("tril", "triu"):
            for dtype in ALL:
                call(f"{label}_{dtype}", name, [block(4, 3, dtype=dtype)], diagonal=offset)
            call(f"{label}_batch", name, [cube], diagonal=offset)
            call(label, f"{name}_indices", [], row=3, col=4, offset=offset)
    call("dims", "diag_embed", [block(2, 3)], offset=1, dim1=0, dim2=2)
    call("same", "diag_embed", [block(2, 3)], offset=1, dim1=0, dim2=0)
    call("number", "diagflat", [tensor(3.0)])
    for name, values in (("diag", cube), ("tril", block(3)), ("triu", block(3)), ("diag_embed", tensor(3.0))):
        call("refused", name, [values])
    wild = tensor([[NAN, INF], [-INF, -0.0]])
    call("wild", "tril", [wild])
    call("wild", "triu", [wild])
    for name in ("tril_indices", "triu_indices"):
        call("nothing", name, [], row=0, col=3)
        call("far", name, [], row=2, col=3, offset=9)
        call("below", name, [], row=-1, col=3)


def computed():
    line, plane = block(12), block(3, 4)
    layouts = {"turned": ([4, 3], [1, 4], 0), "overlapping": ([5, 3], [2, 1], 1), "still": ([3, 3], [0, 1], 2), "empty": ([0, 3], [9, 9], 0),
               "number": ([], [], 5), "beyond": ([4, 4], [3, 1], 1), "below": ([2], [-1], 3), "uneven": ([2, 2], [1], 0)}
    for label, (size, stride, offset) in layouts.items():
        for name in ("as_strided", "as_strided_copy"):
            call(label, name, [line], size=size, stride=stride, storage_offset=offset)
    call("turned", "as_strided_scatter", [line, block(2, 3)], size=[2, 3], stride=[1, 3], storage_offset=2)
    call("refused", "as_strided_scatter", [line, block(2, 2)], size=[2, 3], stride=[1, 3], storage_offset=2)
    index = tensor([[0, 2, 1]], "i64")
    call("dim", "take_along_dim", [plane, index.reshape(3, 1)], dim=1)
    call("broadcast", "take_along_dim", [block(3, 1), tensor([[0, 2, 1, 0]], "i64")], dim=0)
    call("flat", "take_along_dim", [plane, tensor([[11, 0], [3, 5]], "i64")])
    call("ranks", "take_along_dim", [plane, tensor([1], "i64")], dim=0)
    for dtype in ALL:
        call(dtype, "fill", [block(2, 3, dtype=dtype), tensor(1.0)], torch.fill)
    call("number", "fill", [plane], lambda a: torch.fill(a, 2.5), "%a, 2.5")
    call("list", "fill", [plane, block(2)], torch.fill)
    for dtype in ALL:
        call(dtype, "unravel_index", [tensor([3, 7, 0], "i64").to(DTYPES[dtype])], torch.unravel_index, shape=[2, 4])
    call("groups", "channel_shuffle", [block(2, 6, 2, 2)], F.channel_shuffle, groups=3)
    call("uneven", "channel_shuffle", [block(2, 6, 2, 2)], F.channel_shuffle, groups=4)
    call("list", "channel_shuffle", [block(6)], F.channel_shuffle, groups=3)
    call("two", "pixel_shuffle", [block(2, 8, 2, 3)], upscale_factor=2)
    call("image", "pixel_shuffle", [block(9, 2, 3)], upscale_factor=3)
    call("uneven", "pixel_shuffle", [block(6, 2, 3)], upscale_factor=2)
    call("zero", "pixel_shuffle", [block(6, 2, 3)], upscale_factor=0)
    call("two", "pixel_unshuffle", [block(2, 2, 4, 6)], downscale_factor=2)
    call("uneven", "pixel_unshuffle", [block(2, 3, 6)], downscale_factor=2)


def padding():
    for dims, sizes in ((1, (2, 5)), (2, (2, 4, 5)), (3, (1, 3, 4, 5))):
        for kind, mode in (("reflection", "reflect"), ("replication", "replicate")):
            name = f"{kind}_pad{dims}d"
            function = getattr(torch.ops.aten, name)
            for label, one in (("two", (2, 1)), ("none", (0, 0)), ("cut", (-1, 2)), ("wide", (4, 0))):
                call(label, name, [block(*sizes)], function, padding=list(one) * dims)
            call("odd", name, [block(*sizes)], function, padding=[1] * (2 * dims + 1))
            call("rank", name, [block(*([2] * (dims + 3)))], function, padding=[1] * (2 * dims))
            call(f"{mode}_{dims}", "pad", [block(*sizes)], torch._C._nn.pad, pad=[1, 2] * dims, mode=mode)
        call(f"circular_{dims}", "pad", [block(*sizes)], torch._C._nn.pad, pad=[1, 2] * dims, mode="circular")
        call(f"constant_{dims}", "pad", [block(*sizes)], torch._C._nn.pad, pad=[1, 2] * dims, mode="constant", value=1.5)
    call("circular_cut", "pad", [block(1, 2, 5)], torch._C._nn.pad, pad=[2, -2], mode="circular")
    call("plain", "pad", [block(2, 3)], torch._C._nn.pad, pad=[1, 0, 2, 1])
    call("unheard", "pad", [block(2, 3)], torch._C._nn.pad, pad=[1, 0], mode="unheard")
    call("value", "pad", [block(2, 3)], torch._C._nn.pad, pad=[1, 0], mode="reflect", value=1.0)
    columns = {"plain": ((2, 12, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]), "padded": ((12, 12), [4, 5], [2, 3], [1, 1], [1, 1], [2, 1]),
               "apart": ((1, 4, 4), [4, 4], [2, 2], [2, 2], [0, 0], [1, 1]), "windows": ((2, 12, 5), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
               "channels": ((2, 10, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1])}
    for label, (sizes, output, kernel, dilation, around, stride) in columns.items():
        call(label, "col2im", [block(*sizes)], torch.ops.aten.col2im, tolerance=8, output_size=output, kernel_size=kernel,
             dilation=dilation, padding=around, stride=stride)


def sequences():
    like = block(2, dtype="i32")
    for name in ("new_empty", "new_zeros", "new_ones"):
        function = (lambda a, size: a.new_zeros(size)) if name == "new_empty" else method(name)
        call("sizes", name, [like], function, size=[2, 3])
    case("new_full_sizes", "%r0 = new_full %a, 7, size=[2]", [like], lambda a: a.new_full([2], 7))
    case("new_empty_strided_sizes", "%r0 = new_empty_strided %a, size=[2, 3], stride=[1, 2]", [like], lambda a: a.new_zeros([2, 3]))
    case("empty_sizes", "%r0 = empty size=[2, 3]", [], lambda: torch.zeros(2, 3))
    case("zero_dtype", "%r0 = zero %a", [like], torch.zeros_like)
    case("empty_like_dtype", "%r0 = empty_like %a", [like], torch.zeros_like)
    case("empty_strided_sizes", "%r0 = empty_strided size=[2, 3], stride=[1, 2]", [], lambda: torch.zeros(2, 3))
    case("empty_strided_uneven", "%r0 = empty_strided size=[2, 3], stride=[1]", [], lambda: torch.empty_strided((2, 3), (1,)))
    case("empty_permuted_sizes", "%r0 = empty_permuted size=[2, 3], physical_layout=[1, 0]", [], lambda: torch.zeros(2, 3))
    case("empty_permuted_twice", "%r0 = empty_permuted size=[2, 3], physical_layout=[1, 1]", [],
         lambda: torch.empty_permuted((2, 3), (1, 1)))
    case("scalar_tensor_numbers", "%r0 = scalar_tensor 3\n%r1 = scalar_tensor 2.5, dtype=i64", [],
         lambda: [torch.scalar_tensor(3), torch.scalar_tensor(2.5, dtype=torch.int64)])
    for label, start, end, more in (("tens", 0, 3, {"steps": 4}), ("real", -1.5, 2.0, {"steps": 7}), ("none", 0, 1, {"steps": 0}),
                                    ("one", 2, 9, {"steps": 1}), ("twos", 0, 8, {"steps": 9, "base": 2.0}),
                                    ("below", 0, 1, {"steps": -1})):
        call(label, "logspace", [], None, None, None, 16, start=start, end=end, **more)
    for dtype in ALL:
        call(dtype, "vander", [tensor([1, 2, 3]).to(DTYPES[dtype])], lambda x, **k: torch.vander(x, **k), tolerance=8)
        call(dtype, "diff", [block(3, 4, dtype=dtype)])
    call("n", "vander", [tensor([1.5, 2.0])], N=4, increasing=True)
    call("none", "vander", [tensor([1.5, 2.0])], N=0)
    call("plane", "vander", [block(2, 2)])
    call("batch", "linalg_vander", [block(2, 3)], lambda x, **k: torch.linalg.vander(x, **k), tolerance=8, N=3)
    call("number", "linalg_vander", [tensor(3.0)], lambda x, **k: torch.linalg.vander(x, **k), N=3)
    call("own", "linalg_vander", [tensor([2, 3], "i64")], lambda x, **k: torch.linalg.vander(x, **k))
    call("one", "linalg_vander", [tensor([2, 3], "i64")], lambda x, **k: torch.linalg.vander(x, **k), N=1)
    for n in (0, 2, 3, 9):
        call(f"n_{n}", "diff", [block(3, 4)], n=n)
    call("rows", "diff", [block(3, 4)], dim=0)
    call("below", "diff", [block(3)], n=-1)
    call("number", "diff", [tensor(3.0)])
    case("diff_around", "%r0 = diff %a, %b, %c, dim=1", [block(3, 4), block(3, 1), block(3, 2)],
         lambda a, b, c: torch.diff(a, dim=1, prepend=b, append=c))
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        function = getattr(torch, name)
        for dtype in ("bool", "i32", "i64", "f32", "f64"):
            call(f"plain_{dtype}", name, [block(3, 4, dtype=dtype)], function, tolerance=64)
        case(f"{name}_dx", f"%r0 = {name} %a, dx=0.5, dim=0", [block(3, 4)], lambda a, f=function: f(a, dx=0.5, dim=0), tolerance=64)
        call("places", name, [block(3, 4), block(4)], function, tolerance=64)
        call("planes", name, [block(2, 3, 4), block(3, 4)], function, tolerance=64)
        call("rows", name, [block(3, 4), block(3)], function, tolerance=64, dim=0)
        call("wrong", name, [block(3, 4), block(3)], function)
        call("one", name, [block(3, 1)], function)
    call("nothing", "trapezoid", [ones(3, 0)])


def windows():
    for length in (0, 1, 2, 5, 8):
        for name in ("bartlett", "blackman", "hann", "hamming"):
            for periodic in (True, False):
                call(f"{length}_{periodic}", f"{name}_window", [], window_length=length, periodic=periodic, tolerance=1 << 20,
                     differs="window_rounding" if name == "blackman" and length > 1 else None)
        for name in ("bartlett", "cosine", "exponential", "gaussian", "hann", "hamming", "blackman", "nuttall", "general_hamming"):
            for sym in (True, False):
                call(f"{length}_{sym}", f"signal_windows_{name}", [], getattr(torch.signal.windows, name), "",
                     "window_rounding" if name == "blackman" and length > 1 else None, 1 << 20, M=length, sym=sym)
        call(f"{length}", "signal_windows_general_cosine", [], torch.signal.windows.general_cosine, "", None, 1 << 20, M=length, a=[0.5, 0.25, 0.25])
    call("below", "hann_window", [], window_length=-1)
    call("tau", "signal_windows_exponential", [], torch.signal.windows.exponential, M=4, tau=-1.0)
    call("std", "signal_windows_gaussian", [], torch.signal.windows.gaussian, M=4, std=-1.0)


def record():
    for part in (parts, joined, places, diagonals, computed, padding, sequences, windows):
        part()
