"""What to try instead of a name that laze does not have: `laze.concatenate`, `x.astype`, `laze.sofmax`.

Names are PyTorch's. Those that a NumPy user types are in one table, with what laze calls the same thing or how it is
written; misspelled ones are compared with all that there are. Only names that are missing come here, so that an entry
for one that laze gets later says nothing any more.
"""
import difflib
import functools

# A name of laze's, or an expression of tensors x and y and a number n; "": not there, and not written in a line.
OTHER_NAMES = {
    "absolute": "abs", "allclose": "((x - y).abs() <= 1e-6).all()", "array": "tensor",
    "array_equal": "(x == y).all()", "ascontiguousarray": "asarray", "astype": "to", "average": "mean",
    "clip": "clamp", "concat": "cat", "concatenate": "cat", "copy": "clone", "einsum": "", "empty": "zeros",
    "empty_like": "zeros_like", "expand_dims": "unsqueeze", "fill": "full_like",
    "flip": "x[laze.arange(len(x) - 1, -1, -1)]", "get_threads": "get_num_threads", "hstack": "cat",
    "identity": "eye", "inner": "(x * y).sum(dim=-1)", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "linalg": "", "moveaxis": "permute", "multiply": "mul", "ndarray": "Tensor", "negative": "neg",
    "norm": "(x * x).sum().sqrt()", "outer": "x[:, None] * y[None, :]",
    "pad": "laze.cat([laze.zeros(n), x, laze.zeros(n)])", "power": "pow", "product": "prod", "random": "rand",
    "ravel": "flatten", "repeat": "", "repeat_interleave": "", "right_shift": "bitwise_right_shift", "rint": "round",
    "roll": "laze.cat([x[-n:], x[:-n]])", "seed": "manual_seed", "set_threads": "set_num_threads", "subtract": "sub",
    "swapaxes": "transpose", "tile": "", "true_divide": "div", "unique": "", "vstack": "cat",
}


def _names(owner):
    return [name for name in dir(owner) if not name.startswith("_")]


@functools.lru_cache(maxsize=256)
def hint(name, is_method):
    """A sentence about what to try, or ""."""
    import laze
    functions, methods = _names(laze), _names(laze.Tensor)
    spelled = {known: f"laze.{known}" for known in functions}
    own = {known: f".{known}" for known in methods}
    spelled = {**spelled, **own} if is_method else {**own, **spelled}  # what is asked of goes first
    other = OTHER_NAMES.get(name)
    if other == "":
        return "laze has no operator for it yet"
    if other is not None:
        return f"laze calls it {spelled[other]}" if other in spelled else f"write {other}"
    close = difflib.get_close_matches(name, methods if is_method else functions, n=1, cutoff=0.75)
    close = [spelled[name]] if name in spelled else [spelled[known] for known in close]
    return f"did you mean {close[0]}?" if close else ""


def missing(what, name, is_method):
    """The message of an AttributeError."""
    return f"{what} has no attribute {name!a}; " + (hint(name, is_method) or "dir() lists those it has")
