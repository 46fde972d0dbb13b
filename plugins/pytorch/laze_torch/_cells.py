"""What PyTorch calls on accelerators for a step of a recurrent net, for a layer of an encoder in inference, and for batch
norms: operators that it has no decomposition of, or that write to tensors without saying so."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

aten = torch.ops.aten


def _sum(*terms: torch.Tensor | None) -> torch.Tensor:
    """Of those that there are."""
    first, *others = (term for term in terms if term is not None)
    for term in others:
        first = first + term
    return first


def lstm_cell(input_gates: Any, hidden_gates: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    gates = _sum(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    into, forget, out = (gates[at].sigmoid() for at in (0, 1, 3))
    cell = gates[2].tanh()
    cy = forget * cx + into * cell
    return out * cy.tanh(), cy, torch.cat([into, forget, cell, out], 1)


def lstm_cell_backward(grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool) -> Any:
    into, forget, cell, out = workspace.chunk(4, 1)
    bent = cy.tanh()
    through = _sum(None if grad_hy is None else grad_hy * out * (1 - bent * bent), grad_cy)
    of_out = torch.zeros_like(out) if grad_hy is None else grad_hy * bent * (1 - out) * out
    gates = torch.cat([through * cell * (1 - into) * into, through * cx * (1 - forget) * forget,
                       through * into * (1 - cell * cell), of_out], 1)
    return gates, through * forget, gates.sum(0) if has_bias else None


def gru_cell(input_gates: Any, hidden_gates: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    of_input, of_hidden = _sum(input_gates, input_bias).chunk(3, 1), _sum(hidden_gates, hidden_bias).chunk(3, 1)
    reset, keep = ((of_input[at] + of_hidden[at]).sigmoid() for at in (0, 1))
    new = (of_input[2] + reset * of_hidden[2]).tanh()
    return new + keep * (hx - new), torch.cat([reset, keep, new, hx, of_hidden[2]], 1)


def gru_cell_backward(grad_hy: Any, workspace: Any, has_bias: bool) -> Any:
    reset, keep, new, hx, hidden = workspace.chunk(5, 1)
    of_new = grad_hy * (1 - keep) * (1 - new * new)
    of_keep = grad_hy * (hx - new) * (1 - keep) * keep
    of_reset = of_new * hidden * (1 - reset) * reset
    of_input, of_hidden = torch.cat([of_reset, of_keep, of_new], 1), torch.cat([of_reset, of_keep, of_new * reset], 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * keep, *biases


_OF_KEYS = 1  # a mask is [batch, keys]; others are [queries, keys], or [batch, heads, queries, keys]


def encoder_layer(src: Any, width: int, heads: int, in_weight: Any, in_bias: Any, out_weight: Any, out_bias: Any,
                  use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any, norm_bias_1: Any,
                  norm_weight_2: Any, norm_bias_2: Any, weight_1: Any, bias_1: Any, weight_2: Any, bias_2: Any,
                  mask: Any = None, mask_type: int | None = None) -> Any:
    """Of [batch, places, width]; the mask is true of what is not looked at."""
    def attend(x: Any) -> Any:
        parts = functional.linear(x, in_weight, in_bias).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (heads, width // heads)).transpose(1, 2) for part in parts)
        allowed = None if mask is None else mask.to(torch.bool).logical_not()
        if allowed is not None and mask_type == _OF_KEYS:
            allowed = allowed[:, None, None]
        seen = functional.scaled_dot_product_attention(query, key, value, allowed)
        return functional.linear(seen.transpose(1, 2).flatten(2), out_weight, out_bias)

    def feed(x: Any) -> Any:
        inner = functional.linear(x, weight_1, bias_1)
        return functional.linear(functional.gelu(inner) if use_gelu else inner.relu(), weight_2, bias_2)
    norms = [lambda x, given=given: functional.layer_norm(x, (width,), *given, eps)
             for given in ((norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2))]
    for norm, part in zip(norms, (attend, feed)):
        src = src + part(norm(src)) if norm_first else norm(src + part(src))
    return src


def note_statistics(x: Any, running_mean: Any, running_var: Any, momentum: float) -> None:
    """What a batch norm in training writes to the statistics that it keeps."""
    axes = [axis for axis in range(x.dim()) if axis != 1]
    var, mean = torch.var_mean(x.to(running_mean.dtype), axes)
    for kept, new in ((running_mean, mean), (running_var, var)):
        kept.mul_(1 - momentum).add_(new * momentum)
