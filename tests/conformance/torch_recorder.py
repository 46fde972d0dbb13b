"""What record_torch.py is written with: cases, rows of the table of differences, and the files they end in.

Each case is a graph in text form, its inputs, and what PyTorch makes of the
same call: results, or an error. laze has to agree, to the bit or within the case's distance in units in the last place,
and to refuse what PyTorch refuses. A case that names a row of the table has to differ: the conformance test `torch`
checks both, on every backend, and that the page has the rows recorded here. So a difference that is not listed fails the
test, and so does one that is listed and gone.
"""
import pathlib
import sys
import warnings

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parent.parent / "docs" / "semantics.md"
BEGIN, END = "<!-- differences: made by ./dev differences -->\n", "<!-- differences: end -->\n"
DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
          "i64": torch.int64, "f32": torch.float32, "f64": torch.float64}
HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}
COMPLEX = {"c64": torch.complex64, "c128": torch.complex128}
EVERY = DTYPES | HALVES
NAMED = EVERY | COMPLEX
NAMES = {dtype: name for name, dtype in NAMED.items()}
WIDTHS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
FLOATS, INTEGERS = ("f32", "f64"), ("u8", "i8", "i16", "i32", "i64")
ALL = ("bool",) + INTEGERS + FLOATS
NAN, INF = float("nan"), float("inf")
rows, cases, used = {}, [], set()


def row(key, *columns):
    """A row of the table: what differs, what PyTorch gives, what laze gives, and why."""
    rows[key] = columns


def type_of(tensor):
    return f"{NAMES[tensor.dtype]}[{','.join(str(size) for size in tensor.shape)}]"


def bits_of(tensor):
    if tensor.element_size() == 2:
        tensor = tensor.view(torch.int16)
    if tensor.is_complex():  # each part by itself
        tensor = torch.view_as_real(tensor.resolve_conj())
    flat = np.ascontiguousarray(tensor.detach().numpy()).reshape(-1).view(WIDTHS[tensor.element_size()])
    return "".join(f" {bits:x}" for bits in flat)


def results_of(function, inputs):
    """What PyTorch gives; None where it refuses the call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*inputs)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return None
    return list(found) if isinstance(found, (tuple, list)) else [found]


def case(name, body, inputs, function, differs=None, tolerance=0, results=()):
    """`body`: operators on %a, %b, ... that define %r0, %r1, ...; `differs`: the row of which this is an example. A
    graph whose call PyTorch refuses returns nothing, so that it is the call which has to fail, unless `results` gives
    the types of what fails only when it runs."""
    found = results_of(function, inputs)
    if name in used or (differs and differs not in rows):
        raise SystemExit(f"{name}: the name is used twice, or there is no row {differs}")
    used.add(name)
    types = list(results) if found is None else [type_of(result) for result in found]
    parameters = ", ".join(f"%{letter}: {type_of(value)}" for letter, value in zip("abcdef", inputs))
    declared = f" -> {', '.join(types)}" if types else ""
    text = [f"case {name} {tolerance} {differs or '-'}", "laze 1", f"graph @{name}({parameters}){declared} {{"]
    text += [f"  {line.strip()}" for line in body.strip().split("\n")]
    text += [f"  return {', '.join(f'%r{i}' for i in range(len(types)))}".rstrip(), "}"]
    text += [f"input {type_of(value)}{bits_of(value)}" for value in inputs]
    text += ["refused"] if found is None else [f"output {type_of(result)}{bits_of(result)}" for result in found]
    cases.append("\n".join(text + ["end"]))


def tensor(values, dtype="f32"):
    return torch.tensor(values, dtype=NAMED[dtype])


def ones(*sizes, dtype="f32"):
    return torch.ones(sizes, dtype=DTYPES[dtype])


def special(dtype):
    """Every kind of number of a dtype."""
    if dtype == "bool":
        return tensor([True, False, True], "bool")
    if dtype in INTEGERS:
        info = torch.iinfo(DTYPES[dtype])
        below = [-1, -3, info.min] if info.min else [info.max - 1, info.max - 3, info.max // 2 + 1]
        return tensor([0, 1, below[0], 2, 3, below[1], 7, info.max, below[2], 100], dtype)
    info = torch.finfo(EVERY[dtype])
    return tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 7.0, info.tiny, info.tiny / 8,
                   info.max, -info.max], dtype)


def pairs(dtype, divisor=False):
    """All pairs of special numbers. As a divisor no integer is 0, or -1, by which PyTorch divides the lowest integer
    only to end the process."""
    values = special(dtype)
    other = values[(values != 0) & (values != -1)] if divisor and dtype in INTEGERS else values
    return [values.reshape(-1, 1), other.reshape(1, -1)]


def number(dtype, value=3):
    """A number of the category of a dtype, in graph text and in Python."""
    if dtype == "bool":
        return "true", True
    return (f"{value}.5", value + 0.5) if dtype in FLOATS else (str(value), value)


def table():
    lines = ["| | PyTorch | laze | because |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(columns)} |" for columns in rows.values()]) + "\n"


def write():
    """Writes torch.txt and the table in docs/semantics.md."""
    (FOLDER / "torch.txt").write_text(
        "".join(f"row {key}\n" for key in rows) + "".join(f"table {line}\n" for line in table().splitlines()) +
        "\n".join(cases) + "\n")
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1])
    print(f"{len(cases)} cases, {len(rows)} rows", file=sys.stderr)
