"""Calls as Python that can be pasted: laze.add(laze.tensor([1.0, nan], dtype=laze.float32), 2)."""
import torch

MOST = 64  # elements of a tensor that are written out


def text(calls):
    return "; ".join(map(call_text, calls))


def call_text(call):
    args = [value_text(value) for value in call.args]
    args += [f"{key}={value_text(value)}" for key, value in call.kwargs.items()]
    if not call.is_method:
        return f"laze.{call.name}({', '.join(args)})"
    return f"{args[0]}.{call.name}({', '.join(args[1:])})"


def value_text(value):
    if isinstance(value, torch.Tensor):
        return tensor_text(value)
    if isinstance(value, torch.dtype):
        return dtype_text(value)
    if isinstance(value, (list, torch.Size)):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def tensor_text(tensor):
    dtype = dtype_text(tensor.dtype)
    if tensor.layout != torch.strided:
        return f"<{tensor.layout}>"
    if tensor.numel() == 0 and tensor.shape != (0,):
        return f"laze.zeros({list(tensor.shape)}, dtype={dtype})"
    if tensor.numel() <= MOST:
        return f"laze.tensor({tensor.tolist()}, dtype={dtype})"
    return f"<{dtype}{list(tensor.shape)}>"


def dtype_text(dtype):
    return str(dtype).replace("torch.", "laze.")
