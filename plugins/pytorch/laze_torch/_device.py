"""PyTorch's device laze: tensors whose operators are recorded, and computed when a value is read.

  x + y  ──> aten::add.Tensor ──> kernel of the extension ──> laze's operator of that name
  x[0]   ──> aten::as_strided ──> PyTorch's own code: sizes and strides over the same memory
  what laze has not           ──> PyTorch's decomposition, or its kernel for the CPU, which fallbacks() counts

PyTorch's names of operators are laze's, so that no list says what is called: _kernel_for() asks for each overload what
there is, an operator or a rule that torch.compile's graphs are lowered by. What is written here is what lies at the
border: memory, copies between devices, factories, random numbers.
"""
from __future__ import annotations

import functools
from typing import Any, Callable

import torch
from torch.utils import _pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from laze import _laze
from laze_torch import _cells, _lowering
from laze_torch._recorded import Rule, recorded

aten = torch.ops.aten
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_IN_PLACE, _OUT = 1, 2
_Kernel = Callable[..., Any]

_tell: Callable[[str, str], None] = lambda name, reason: None


class _Module:
    """What torch.laze is."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def set_device(self, device: Any) -> None:
        pass

    class device:
        """`with torch.laze.device(0):` - there is one."""

        def __init__(self, index: Any):
            self.index = index

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_raised: Any) -> None:
            pass

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed(self, seed: int) -> None:
        """Numbers are drawn by PyTorch's generator for the CPU, which has its seed already."""

    manual_seed_all = manual_seed

    def get_rng_state(self, device: Any = "laze") -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = "laze") -> None:
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def synchronize(self, device: Any = None) -> None:
        step()


class _Kind(torch._C._autograd.DeviceType):
    """A kind of device that has attributes (_laze._DeviceGuard)."""


_kind = torch._C._autograd.DeviceType.PrivateUse1


class _Guard(torch._C._acc.DeviceGuard):
    type_ = _laze._DeviceGuard(_kind, functools.partial(_Kind, int(_kind)))


def step() -> None:
    """Computes all that tensors of device laze hold and that is pending, in one graph, and waits for it. A loop that
    reads no value needs it once in each round; reading a value does the same."""
    _laze._device_evaluate()


# ---- Between memories.

def to_laze(tensor: torch.Tensor) -> _laze.Tensor:
    """A copy of a tensor on the CPU."""
    own = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return _laze.from_dlpack(own)


def from_laze(value: _laze.Tensor) -> torch.Tensor:
    """A copy on the CPU, once everything that is pending is computed."""
    step()
    return torch.from_dlpack(value).clone()


def upload(tensor: torch.Tensor) -> torch.Tensor:
    return _laze._device_wrap(to_laze(tensor))


def value_of(tensor: torch.Tensor) -> _laze.Tensor:
    """Its value; PyTorch may say by a bit that the elements are the negatives of those that lie there."""
    value = _laze._device_unwrap(tensor)
    return _laze._call("neg", (value,), {}) if tensor.is_neg() else value


def download(tensor: torch.Tensor) -> torch.Tensor:
    return from_laze(value_of(tensor))


def _is_here(held: Any) -> bool:
    return isinstance(held, torch.Tensor) and held.device.type == "laze"


class _OtherDevice(RuntimeError):
    """PyTorch's error of tensors on two devices."""

    def __init__(self, device: torch.device):
        super().__init__("Expected all tensors to be on the same device, but found at least two devices, laze:0 and "
                         f"{device}!")


def _foreign(tensor: torch.Tensor) -> _laze.Tensor:
    """What an operand means that lies elsewhere: a number, if it is one on the CPU."""
    if tensor.device.type == "cpu" and tensor.dim() == 0:
        return to_laze(tensor)
    raise _OtherDevice(tensor.device)


def _foreign_index(tensor: torch.Tensor) -> _laze.Tensor:
    """Indices may lie on the CPU."""
    if tensor.device.type == "cpu" and tensor.dtype in (torch.int64, torch.int32, torch.bool, torch.uint8):
        return to_laze(tensor)
    return _foreign(tensor)


# ---- What PyTorch runs on the CPU.

def _on_cpu(op: Any, *arguments: Any, **named: Any) -> Any:
    """Runs an operator on copies, and brings back what it gives and writes to."""
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def copied(held: Any) -> Any:
        if not isinstance(held, torch.Tensor):
            return torch.device("cpu") if isinstance(held, torch.device) else held
        if not _is_here(held):
            _foreign(held)
            return held
        if id(held) not in copies:
            copies[id(held)] = (held, download(held))
        return copies[id(held)][1]
    args, kwargs = _pytree.tree_map(copied, (arguments, named))
    results = op(*args, **kwargs)
    written = {id(copy): tensor for tensor, copy in copies.values()}
    for argument, held in _arguments(op, arguments, named):
        if argument.alias_info is not None and argument.alias_info.is_write:
            for tensor in held if isinstance(held, (list, tuple)) else [held]:
                if _is_here(tensor):
                    _assign(tensor, copies[id(tensor)][1])

    def brought(held: Any) -> Any:
        if not isinstance(held, torch.Tensor):
            return held
        return written[id(held)] if id(held) in written else upload(held)
    return _pytree.tree_map(brought, results)


def _arguments(op: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[Any, Any]]:
    """What is passed, with the schema's arguments."""
    schema = op._schema.arguments
    return list(zip(schema, arguments)) + [(argument, named[argument.name]) for argument in schema
                                           if argument.name in named]


def _assign(tensor: torch.Tensor, value: torch.Tensor) -> None:
    if tensor.shape != value.shape:
        tensor.resize_(value.shape)
    _laze._device_write(tensor, to_laze(value))


def _fallback(op: Any, reason: str) -> _Kernel:
    def run(*arguments: Any, **named: Any) -> Any:
        _tell(op.name(), reason)
        return _on_cpu(op, *arguments, **named)
    return run


def _otherwise(op: Any) -> _Kernel:
    def run(error: BaseException | None, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if error is None:
            return _unusual(op, arguments, named)
        if isinstance(error, _OtherDevice):
            raise error
        results = _on_cpu(op, *arguments, **named)  # where that fails as well, the message is PyTorch's
        _tell(op.name(), str(error))
        return results
    return run


def _by_rule(functional: Any, rule: Rule, otherwise: _Kernel) -> _Kernel:
    """What a rule makes of arguments that laze's operator of the same name refuses."""
    made = recorded(functional, rule, otherwise)

    def run(error: BaseException | None, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        is_refused = isinstance(error, _laze.Error)
        return made(*arguments, **named) if is_refused else otherwise(error, arguments, named)
    return run


def _unusual(op: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What is asked for on another device, or in another dtype than laze's own where PyTorch has another by default."""
    device = torch.device(named.get("device") or "laze")
    if device.type == "laze":
        _check_index(device)
        return _on_cpu(op, *arguments, **named)
    return op(*_pytree.tree_map(lambda held: download(held) if _is_here(held) else held, arguments), **named)


# ---- What is written here: memory, copies, factories, numbers.

_RULES: dict[Any, _Kernel] = {}


def _rule(*targets: Any) -> Callable[[_Kernel], _Kernel]:
    def enter(rule: _Kernel) -> _Kernel:
        _RULES.update(dict.fromkeys(targets, rule))
        return rule
    return enter


def _made(name: str, *arguments: Any, **named: Any) -> torch.Tensor:
    return _laze._device_wrap(_laze._call(name, arguments, named))


def _check_index(device: Any) -> None:
    if device is not None and torch.device(device).index:
        raise RuntimeError(f"there is one device laze, laze:0, and no {device}")


for _op in (aten.empty.memory_format, aten._efficientzerotensor.default):
    _RULES[_op] = _laze._DeviceKernel("zeros", 0, False, (), _otherwise(_op), None)


@_rule(aten.empty_strided.default)
def _empty(size: Any, *_others: Any, dtype: Any = None, device: Any = None, **_places: Any) -> torch.Tensor:
    _check_index(device)
    return _made("zeros", list(size), dtype=dtype or torch.get_default_dtype())


@_rule(aten.copy_.default)
def _copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    if not _is_here(self):
        return self.copy_(download(source))
    value = value_of(source) if _is_here(source) else to_laze(source)
    if self.is_conj():
        _laze._device_write(self.conj(), _laze._call("conj_physical", (value,), {}))
        return self
    if self.is_neg():
        _laze._device_write(torch._neg_view(self), _laze._call("neg", (value,), {}))
        return self
    return _laze._device_write(self, value)


@_rule(aten._to_copy.default)
def _to_copy(self: torch.Tensor, *, dtype: Any = None, device: Any = None, **_places: Any) -> torch.Tensor:
    if device is not None and device.type != "laze":
        return download(self).to(device, dtype or self.dtype)
    _check_index(device)
    value = value_of(self) if _is_here(self) else to_laze(self)
    return _made("clone", value) if dtype in (None, self.dtype) else _made("to.dtype", value, dtype)


@_rule(aten._copy_from.default)
def _copy_from(self: torch.Tensor, dst: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return _copy(dst, self)


@_rule(aten.clone.default)
def _clone(self: torch.Tensor, *, memory_format: Any = None) -> torch.Tensor:
    return _made("clone", value_of(self))


@_rule(aten._local_scalar_dense.default)
def _item(self: torch.Tensor) -> Any:
    return download(self).item()


@_rule(aten.equal.default)
def _equal(self: torch.Tensor, other: torch.Tensor) -> bool:
    return self.shape == other.shape and bool((self == other).all().item())


@_rule(aten.resize_.default)
def _resize(self: torch.Tensor, size: Any, *, memory_format: Any = None) -> torch.Tensor:
    count = torch.Size(size).numel()
    if count * self.element_size() > self.untyped_storage().nbytes():
        made = aten.empty.memory_format(list(size), dtype=self.dtype, device=self.device)
        _laze._device_write(made.view(-1)[:self.numel()], _laze._device_unwrap(self.reshape(-1)))
        return self.set_(made)
    return self.as_strided_(size, torch.empty(size, device="meta").stride())


@_rule(aten.set_.source_Tensor)
def _set(self: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return self.set_(source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


def _by_pytorch(op: Any) -> _Kernel:
    """PyTorch's kernel for the CPU, of operators that look at no element."""
    return functools.partial(op._handle.redispatch_boxed, _CPU)


for _op in (aten.as_strided.default, aten.view.default, aten._reshape_alias.default, aten.unfold.default,
            aten.view_as_real.default, aten.view_as_complex.default, aten.set_.source_Storage,
            aten.set_.source_Storage_storage_offset):
    _RULES[_op] = _by_pytorch(_op)


_RULES.update({aten._thnn_fused_lstm_cell.default: _cells.lstm_cell,
               aten._thnn_fused_lstm_cell_backward_impl.default: _cells.lstm_cell_backward,
               aten._thnn_fused_gru_cell.default: _cells.gru_cell,
               aten._thnn_fused_gru_cell_backward.default: _cells.gru_cell_backward,
               aten._transformer_encoder_layer_fwd.default: _cells.encoder_layer})


@_rule(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
def _batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                momentum: float, eps: float) -> Any:
    """It writes to the running statistics, which not each schema says."""
    values = (None if x is None else _laze._device_unwrap(x) for x in (input, weight, bias, running_mean, running_var))
    made = _laze._call("native_batch_norm", (*values, training, momentum, eps), {})
    results = tuple(map(_laze._device_wrap, made))
    if training and running_mean is not None:
        _cells.note_statistics(input, running_mean, running_var, momentum)
    return results


@_rule(aten._batch_norm_with_update.default)
def _batch_norm_in_training(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,
                            eps: float) -> Any:
    """The last result is what other devices keep for the way back."""
    made = _batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, torch.empty(0, dtype=torch.uint8, device=input.device)


def _places(index: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    """Of a mask where it selects: how much that is a call must know that puts as many values."""
    is_mask = index is not None and index.dtype in (torch.bool, torch.uint8)
    return index.nonzero().unbind(1) if is_mask else (index,)


@_rule(aten._index_put_impl_.default)
def _index_put(self: torch.Tensor, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    places = [place for index in indices for place in _places(index)]
    return aten.index_put_(self, places, values, accumulate)  # the method takes no None among them


@_rule(aten.repeat_interleave.Tensor)
def _repeated(repeats: torch.Tensor, *, output_size: int | None = None) -> Any:
    """How long the result is only the values say, which are read."""
    if repeats.dim() != 1:
        raise RuntimeError(f"repeat_interleave: repeats have {repeats.dim()} dims; a list was expected")
    if repeats.dtype not in (torch.int32, torch.int64):
        raise NotImplementedError(f"repeat_interleave: repeats are {repeats.dtype}; int32 or int64 was expected")
    counts = repeats.tolist()
    size = sum(counts)
    if min(counts, default=0) < 0:
        raise RuntimeError(f"repeat_interleave: repeats go down to {min(counts)}; none may be below 0")
    if output_size not in (None, size):
        raise RuntimeError(f"repeat_interleave: output_size is {output_size}; repeats add up to {size}: leave it out")
    places = torch.arange(size, device=repeats.device)
    return torch.searchsorted(repeats.cumsum(0), places, right=True, out_int32=repeats.dtype == torch.int32)


@_rule(aten._unique.default)
def _unique(self: torch.Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    return aten._unique2(self, sorted, return_inverse)[:2]


@_rule(aten._nested_tensor_from_mask_left_aligned.default)
def _may_be_nested(self: torch.Tensor, mask: torch.Tensor) -> bool:
    """What nn.TransformerEncoder asks: there are no nested tensors here, and the mask does as well."""
    return False


# ---- Gradients that are scaled, as torch.amp.GradScaler has them.

@_rule(aten._amp_foreach_non_finite_check_and_unscale_.default)
def _unscale(self: list[torch.Tensor], found_inf: torch.Tensor, inv_scale: torch.Tensor) -> None:
    for gradient in self:
        found_inf.copy_(torch.maximum(found_inf, gradient.isfinite().logical_not().any().to(found_inf.dtype)))
        gradient.mul_(inv_scale)


@_rule(aten._amp_update_scale_.default)
def _update_scale(self: torch.Tensor, growth_tracker: torch.Tensor, found_inf: torch.Tensor, growth: float,
                  backoff: float, interval: int) -> torch.Tensor:
    found, grown = found_inf > 0, growth_tracker + 1 == interval
    larger = torch.where(grown & (self * growth).isfinite(), self * growth, self)
    self.copy_(torch.where(found, self * backoff, larger))
    growth_tracker.copy_(torch.where(found | grown, 0, growth_tracker + 1))
    return self


# ---- Which kernel an overload has.

def _name(target: Any) -> str:
    return _lowering.name_of(target)


def _overload(name: str) -> Any:
    base, _, overload = name.partition("::")[2].partition(".")
    return getattr(getattr(aten, base), overload or "default")


def _has(name: str, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)


def _form(op: Any) -> int:
    """0 of an operator that makes tensors, _IN_PLACE and _OUT of those that write to them; -1 of others."""
    schema = op._schema
    if not all(str(made.type) in ("Tensor", "List[Tensor]") for made in schema.returns):
        return -1
    if not schema.is_mutable:
        return 0
    if any(argument.is_out for argument in schema.arguments):
        return _OUT
    written = [argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments]
    in_place = schema.name.endswith("_") and not schema.name.endswith("__") and written[0] and not any(written[1:])
    return _IN_PLACE if in_place and str(schema.arguments[0].type) == "Tensor" else -1


def _outs(op: Any) -> tuple[str, ...]:
    return tuple(argument.name for argument in op._schema.arguments if argument.is_out)


def _functional(op: Any, form: int) -> Any:
    """The overload that makes a tensor of what this one writes; None: there is none."""
    base = _name(op).partition(".")[0]
    packet = getattr(aten, base[:-1] if form == _IN_PLACE else base, None)
    if packet is None:
        return None
    wanted = [(argument.name, str(argument.type)) for argument in op._schema.arguments if not argument.is_out]
    for other in packet.overloads():
        candidate = getattr(packet, other)
        taken = [(argument.name, str(argument.type)) for argument in candidate._schema.arguments]
        places = [argument for argument in taken if argument[0] not in _lowering._PLACES | {"dtype"}]
        if _form(candidate) == 0 and (taken == wanted or places == wanted):
            return candidate
    return None


def _takes_tensors(op: Any) -> bool:
    return any("Tensor" in str(argument.type) for argument in op._schema.arguments)


def _filling(functional: Any) -> _Kernel:
    """What factories are made of: they write their numbers to a tensor that has been made."""
    def run(*arguments: Any, out: torch.Tensor) -> torch.Tensor:
        value = _laze._call(_name(functional), arguments, {"dtype": out.dtype})
        if out.shape != value.shape:
            out.resize_(value.shape)
        return _laze._device_write(out, value)
    return run


def _writing(op: Any, form: int, make: _Kernel) -> _Kernel:
    """Makes what is written, and writes it."""
    outs = _outs(op)

    def run(*arguments: Any, **named: Any) -> Any:
        targets = [arguments[0]] if form == _IN_PLACE else [named.pop(out) for out in outs]
        results = make(*arguments, **named)
        for target in targets:
            if not _is_here(target):
                raise _OtherDevice(target.device)
        for target, result in zip(targets, results if isinstance(results, tuple) else (results,), strict=True):
            if target.shape != result.shape:
                target.resize_(result.shape)
            target.copy_(result)
        return targets[0] if len(targets) == 1 else tuple(targets)
    return run


def _call_of(functional: Any, form: int, otherwise: _Kernel, outs: tuple[str, ...] = ()) -> _Kernel:
    taking = _foreign_index if _name(functional).startswith("index") else _foreign
    foreign = taking if _takes_tensors(functional) else None
    listed = str(functional._schema.returns[0].type) == "List[Tensor]"
    return _laze._DeviceKernel(_name(functional), form, listed, outs, otherwise, foreign)


def _kernel_for(name: str) -> _Kernel | None:
    """What PyTorch is to call for an overload; None: what it has for all devices, or, where it has nothing, the kernel
    for the CPU (_fallback)."""
    op = _overload(name)
    if op in _RULES:
        return _RULES[op]
    is_composite = _has(name, "CompositeImplicitAutograd") and op not in _lowering._RULES
    if is_composite or op.is_view or torch.Tag.inplace_view in op.tags:
        return None
    if torch.Tag.nondeterministic_seeded in op.tags:
        has_own = _has(name, "CompositeExplicitAutograd")
        return None if has_own else functools.partial(_on_cpu, op)
    form = _form(op)
    functional = op if form == 0 else _functional(op, form) if form > 0 else None
    if form == _OUT and functional is not None and not _takes_tensors(functional):
        return _filling(functional) if _laze._has_operator(_name(functional)) else None
    if form == 0 and not _takes_tensors(op):
        return _call_of(op, 0, _otherwise(op)) if _laze._has_operator(_name(op)) else None
    if functional is not None and _takes_tensors(op):
        rule = _lowering._RULES.get(functional)
        is_called = _laze._has_operator(_name(functional)) or rule is None and _lowering.has(functional)
        if is_called and functional not in _RULES:
            if form == 0 and rule is not None:
                return _call_of(functional, form, _by_rule(functional, rule, _otherwise(op)))
            if form != _OUT:
                return _call_of(functional, form, _otherwise(op))
            again = _writing(op, form, _call_of(functional, 0, _otherwise(functional)))
            return _call_of(functional, form, lambda error, arguments, named: again(*arguments, **named), _outs(op))
        if not _has(name, "CompositeExplicitAutograd"):
            made = _decomposition(functional) if rule is None else recorded(functional, rule, _otherwise(functional))
            if made is not None:
                return made if form == 0 else _writing(op, form, made)
    if _has(name, "CompositeExplicitAutogradNonFunctional"):
        return _fallback(op, "laze has no such operator")
    return None


def _decomposition(op: Any) -> _Kernel | None:
    from torch._decomp import decomposition_table
    return decomposition_table.get(op)


def _any(op: Any, *arguments: Any, **named: Any) -> Any:
    return _fallback(op, "laze has no such operator")(*arguments, **named)


# ---- Storages, which PyTorch makes and copies without its dispatcher.

def _storage_methods() -> dict[str, Any]:
    kind = torch.UntypedStorage
    new, clone, cpu = kind.__new__, kind.clone, kind.cpu

    def is_here(storage: Any) -> bool:
        return storage.device.type == "laze"

    def make(cls: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        if device is None or torch.device(device).type != "laze":
            return new(cls, *arguments, device=device, **named) if device is not None else new(cls, *arguments, **named)
        return kind(*arguments, **named).laze()

    def cloned(self: Any) -> Any:
        return _made("clone", _laze._device_storage(self)).untyped_storage() if is_here(self) else clone(self)

    def on_cpu(self: Any) -> Any:
        return from_laze(_laze._device_storage(self)).untyped_storage() if is_here(self) else cpu(self)

    def on_laze(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        """The storage on device laze: the same, or a copy."""
        if is_here(self):
            return self
        return upload(torch.empty(0, dtype=torch.uint8).set_(self.cpu())).untyped_storage()
    return {"__new__": make, "clone": cloned, "cpu": on_cpu, "laze": on_laze}


def _exported(export: _Kernel) -> _Kernel:
    """DLPack for others, who find no elements where a tensor of device laze says that it has memory."""
    @functools.wraps(export)
    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        if _is_here(self):
            raise BufferError("a tensor of device laze has no memory that others can read; use tensor.cpu()")
        return export(self, *arguments, **named)
    return run


def _printed(contents: _Kernel) -> _Kernel:
    """What print() shows of a tensor's elements: of a copy on the CPU, in place of many operators on it."""
    def run(self: torch.Tensor, indent: int) -> str:
        return contents(self.detach().cpu() if _is_here(self) else self, indent)
    return run


# ---- torch.autocast: what is computed in the lower precision, and what in float32, as PyTorch has it for accelerators.

_LOWER = ("_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d.input",
          "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv",
          "linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "lstm_cell",
          "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "scaled_dot_product_attention")
_FULL = ("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
         "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm", "group_norm",
         "native_layer_norm", "frobenius_norm.dim", "nuclear_norm", "nuclear_norm.dim", "cosine_similarity",
         "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div",
         "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
         "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits", "dist",
         "pdist", "cdist", "renorm", "logsumexp", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "prod",
         "prod.dim_int", "sum", "sum.dim_IntList", "norm.Scalar", "norm.ScalarOpt_dim")


def _in_precision(op: Any, lower: bool) -> _Kernel:
    """The operator with its tensors of floats in the precision of torch.autocast, or in float32."""
    off = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def run(*arguments: Any, **named: Any) -> Any:
        dtype = torch.get_autocast_dtype("laze") if lower else torch.float32

        def cast(held: Any) -> Any:
            floats = _is_here(held) and held.is_floating_point() and held.dtype is not torch.float64
            return held.to(dtype) if floats else held
        with torch._C._ExcludeDispatchKeyGuard(off):
            arguments, named = _pytree.tree_map(cast, (arguments, named))
            return op(*arguments, **named)
    return run


_libraries: list[Any] = []


def _register() -> None:
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        try:
            kernel = _kernel_for(name)
        except AttributeError:  # an overload that Python does not know
            continue
        if kernel is not None:
            library.impl(name.partition("::")[2], kernel, "PrivateUse1")
    others.fallback(_any, "PrivateUse1")
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for names, lower in ((_LOWER, True), (_FULL, False)):
        for name in names:
            library.impl(name, _in_precision(_overload("aten::" + name), lower), "AutocastPrivateUse1")
    _libraries.extend([library, others])  # they end with their objects


def open_device(tell: Callable[[str, str], None]) -> None:
    """Makes the device known to PyTorch. `tell` hears of operators that are left to the CPU, and why."""
    global _tell
    _tell = tell
    _setup_privateuseone_for_python_backend("laze", backend_module=_Module(), device_guard=_Guard())
    _laze._device_open(torch.Tensor, torch.UntypedStorage, (torch.device("laze:0"), torch.device("laze")),
                       torch.get_default_dtype, torch.float32)
    for name, method in _storage_methods().items():
        setattr(torch.UntypedStorage, name, method)
    torch._tensor_str._tensor_str = _printed(torch._tensor_str._tensor_str)
    torch.Tensor.__dlpack__ = _exported(torch.Tensor.__dlpack__)
    torch.to_dlpack = torch.utils.dlpack.to_dlpack = _exported(torch.utils.dlpack.to_dlpack)
    _register()
