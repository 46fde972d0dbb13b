"""What PyTorch says about Fourier transforms along one axis and several, points that are cut or filled up, norms, what
is refused, and frames of signals."""
import torch

from torch_recorder import case, tensor

FORMS = {"": "complex", "i": "complex", "r": "real", "ir": "spectrum", "h": "spectrum", "ih": "real"}
PART = {"c64": "f32", "c128": "f64"}
aten = torch.ops.aten


def real(sizes, dtype):
    """Numbers without any order, so that no value of a spectrum is near 0."""
    count = torch.Size(sizes).numel()
    return tensor([((i * 37 + 11) % 29 - 9) / 4 for i in range(count)], dtype).reshape(sizes)


def spectrum(sizes, dtype):
    return torch.complex(real(sizes, PART[dtype]), real(sizes, PART[dtype]).flatten().flip(0).reshape(sizes) + 0.5)


def operand(form, sizes, dtype):
    return real(sizes, PART[dtype]) if form == "real" else spectrum(sizes, dtype)


def one_axis(dtype):
    for prefix, form in FORMS.items():
        name = f"fft_{prefix}fft"
        function = getattr(aten, name)
        for n, norm in ((None, "ortho"), (4, "forward"), (7, "backward"), (1, None)):
            arguments = ("" if n is None else f", n={n}") + ("" if norm is None else f', norm="{norm}"')
            case(f"{name}_{n}_{dtype}", f"%r0 = {name} %a{arguments}", [operand(form, (2, 5), dtype)],
                 lambda a: function(a, n, norm=norm), tolerance=64)
        case(f"{name}_axis_{dtype}", f"%r0 = {name} %a, dim=0", [operand(form, (4, 3), dtype)],
             lambda a: function(a, dim=0), tolerance=64)


def several_axes(dtype):
    for prefix, form in FORMS.items():
        for kind in "2n":
            name = f"fft_{prefix}fft{kind}"
            function = getattr(aten, name)
            case(f"{name}_{dtype}", f"%r0 = {name} %a", [operand(form, (3, 5), dtype)], function, tolerance=256)
            case(f"{name}_sizes_{dtype}", f"%r0 = {name} %a, s=[4, -1], dim=[2, 0], norm=\"ortho\"",
                 [operand(form, (3, 2, 5), dtype)], lambda a: function(a, [4, -1], [2, 0], "ortho"), tolerance=256)
        case(f"fft_{prefix}fftn_last_{dtype}", f"%r0 = fft_{prefix}fftn %a, s=[5]", [operand(form, (2, 3), dtype)],
             lambda a: getattr(aten, f"fft_{prefix}fftn")(a, [5]), tolerance=64)
    case(f"fft_fftn_none_{dtype}", "%r0 = fft_fftn %a, dim=[]", [spectrum((2, 3), dtype)],
         lambda a: torch.fft.fftn(a, dim=[]))


def primitives(dtype):
    for scale in range(3):
        case(f"_fft_c2c_{scale}_{dtype}", f"%r0 = _fft_c2c %a, dim=[1, -3], normalization={scale}, forward=true",
             [spectrum((3, 5, 2), dtype)], lambda a: aten._fft_c2c(a, [1, 0], scale, True), tolerance=256)
        case(f"_fft_r2c_{scale}_{dtype}", f"%r0 = _fft_r2c %a, dim=[1, 0], normalization={scale}, onesided=true",
             [real((3, 5, 2), PART[dtype])], lambda a: aten._fft_r2c(a, [1, 0], scale, True), tolerance=256)
        case(f"_fft_c2r_{scale}_{dtype}", f"%r0 = _fft_c2r %a, dim=[0, 1], normalization={scale}, last_dim_size=5",
             [spectrum((2, 3), dtype)], lambda a: aten._fft_c2r(a, [0, 1], scale, 5), tolerance=256)
    case(f"_fft_r2c_all_{dtype}", "%r0 = _fft_r2c %a, dim=[2, 0], normalization=0, onesided=false",
         [real((3, 2, 5), PART[dtype])], lambda a: aten._fft_r2c(a, [2, 0], 0, False), tolerance=256)
    case(f"_fft_c2r_wrong_{dtype}", "%r0 = _fft_c2r %a, dim=[1], normalization=0, last_dim_size=7",
         [spectrum((2, 3), dtype)], lambda a: aten._fft_c2r(a, [1], 0, 7))
    case(f"_fourier_{dtype}", '%r0 = _fourier %a, s=[4, -1], dim=[1, 0], norm="ortho", form="complex", forward=true, '
         "several=true", [spectrum((2, 3), dtype)], lambda a: torch.fft.fftn(a, [4, -1], [1, 0], "ortho"),
         tolerance=256)


def dtypes():
    for dtype in ("bool", "u8", "i64", "f64", "f16", "bf16"):
        values = tensor([True, False, True], dtype)
        case(f"fft_of_{dtype}", "%r0 = fft_fft %a", [values], torch.fft.fft, tolerance=64)
        case(f"irfft_of_{dtype}", "%r0 = fft_irfft %a", [values], torch.fft.irfft, tolerance=64)


def refused():
    real_, complex_ = real((2, 3), "f32"), spectrum((2, 3), "c64")
    calls = {"n_0": ("fft_fft %a, n=0", real_), "n_negative": ("fft_fft %a, n=-1", real_),
             "norm": ('fft_fft %a, norm="x"', real_), "axis": ("fft_fft %a, dim=2", real_),
             "no_axis": ("fft_fft %a", tensor(1.0)), "empty": ("fft_fft %a", torch.zeros(3, 0)),
             "half_of_one": ("fft_irfft %a", complex_[:, :1]), "complex": ("fft_rfft %a", complex_),
             "complex_n": ("fft_ihfftn %a", complex_), "lengths": ("fft_fftn %a, s=[4, 2], dim=[0]", real_),
             "many": ("fft_fftn %a, s=[1, 2, 3]", real_), "size": ("fft_fftn %a, s=[-2, 2]", real_),
             "twice": ("fft_fftn %a, dim=[0, -2]", real_), "nothing": ("fft_rfftn %a, dim=[]", real_),
             "scalar": ("fft_irfftn %a", tensor(1.0)), "short": ("fft_fft2 %a", real_[0])}
    for label, (text, value) in calls.items():
        name, _, rest = text.partition(" %a")
        keywords = eval(f"dict({rest.lstrip(', ')})")  # as written above
        case(f"fft_refused_{label}", f"%r0 = {text}", [value], lambda a: getattr(aten, name)(a, **keywords))


def around():
    for name in ("fft_fftshift", "fft_ifftshift"):
        function = getattr(aten, name)
        case(name, f"%r0 = {name} %a", [real((4, 5), "f32")], function)
        case(f"{name}_axis", f"%r0 = {name} %a, dim=[-1]", [spectrum((2, 5), "c64")], lambda a: function(a, [-1]))
        case(f"{name}_none", f"%r0 = {name} %a, dim=[]", [real((2, 5), "f32")], lambda a: function(a, []))
    for name in ("fft_fftfreq", "fft_rfftfreq"):
        function = getattr(aten, name)
        for n in (1, 4, 5):
            case(f"{name}_{n}", f"%r0 = {name} n={n}, d=0.3", [], lambda: function(n, 0.3), tolerance=2)
        case(f"{name}_f64", f"%r0 = {name} n=6, dtype=f64", [], lambda: function(6, dtype=torch.float64), tolerance=2)
        case(f"{name}_i64", f"%r0 = {name} n=6, dtype=i64", [], lambda: function(6, dtype=torch.int64))


def frames(dtype):
    part = PART[dtype]
    signal, window = real((2, 23), part), real((5,), part).abs() + 0.5
    case(f"stft_{dtype}", "%r0 = stft %a, n_fft=8, return_complex=true", [signal],
         lambda a: torch.stft(a, 8, center=False, return_complex=True), tolerance=512)
    case(f"stft_window_{dtype}", "%r0 = stft %a, %b, n_fft=8, hop_length=3, win_length=5, normalized=true, "
         "return_complex=false", [signal, window],
         lambda a, w: aten.stft(a, 8, 3, 5, w, True, return_complex=False), tolerance=512)
    case(f"stft_center_{dtype}", '%r0 = stft.center %a, n_fft=8, hop_length=3, win_length=5, '
         'pad_mode="constant", onesided=false, return_complex=true', [signal[0]], lambda a: aten.stft(
             a, 8, 3, 5, center=True, pad_mode="constant", onesided=False, return_complex=True), tolerance=512)
    case(f"stft_aligned_{dtype}", "%r0 = stft %a, n_fft=8, hop_length=3, win_length=4, return_complex=true, "
         "align_to_window=true", [signal],
         lambda a: aten.stft(a, 8, 3, 4, return_complex=True, align_to_window=True), tolerance=512)
    case(f"stft_complex_{dtype}", "%r0 = stft %a, n_fft=8", [torch.complex(signal, signal.flip(1))],
         lambda a: aten.stft(a, 8), tolerance=512)
    case(f"istft_{dtype}", "%r0 = istft %a, %b, n_fft=8, hop_length=2, win_length=5, length=9",
         [spectrum((2, 5, 7), dtype), window], lambda a, w: torch.istft(a, 8, 2, 5, w, length=9), tolerance=512)
    case(f"istft_long_{dtype}", "%r0 = istft %a, n_fft=8, center=false, normalized=true, length=20",
         [spectrum((5, 6), dtype)], lambda a: torch.istft(a, 8, center=False, normalized=True, length=20),
         tolerance=512)
    case(f"istft_complex_{dtype}", "%r0 = istft %a, n_fft=8, return_complex=true", [spectrum((8, 6), dtype)],
         lambda a: torch.istft(a, 8, return_complex=True), tolerance=512)
    for label, text in {"window": "%b, n_fft=8, hop_length=2, win_length=4, return_complex=true",
                        "hop": "n_fft=8, hop_length=0, return_complex=true",
                        "long": "n_fft=24, return_complex=true", "real": "n_fft=8"}.items():
        case(f"stft_refused_{label}_{dtype}", f"%r0 = stft %a, {text}", [signal, window], refuse_stft(label))
    case(f"istft_refused_{dtype}", "%r0 = istft %a, n_fft=9, onesided=false", [spectrum((5, 6), dtype)],
         lambda a: torch.istft(a, 9, onesided=False))


def refuse_stft(label):
    arguments = {"window": (8, 2, 4), "hop": (8, 0), "long": (24,), "real": (8,)}[label]
    keywords = {} if label == "real" else {"return_complex": True}
    return lambda a, w: aten.stft(a, *arguments, **keywords, **({"window": w} if label == "window" else {}))


def record():
    for dtype in PART:
        one_axis(dtype)
        several_axes(dtype)
        primitives(dtype)
        frames(dtype)
    dtypes()
    refused()
    around()
