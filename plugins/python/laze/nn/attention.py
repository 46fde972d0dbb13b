"""Attention of several heads, as torch.nn.functional has it: one function, whose steps are operators.

    query [L, N, E] ── in_proj ──> [N heads, L, E / heads] ─┐
    key   [S, N, E] ── in_proj ──> [N heads, S, E / heads] ─┴> scores [N heads, L, S] ── softmax ──> weights
    value [S, N, E] ── in_proj ──> [N heads, S, E / heads] ── weighted ──> [L, N, E] ── out_proj ──> output
"""
from __future__ import annotations

import math
from typing import Any

import laze


def _refuse(text):
    raise laze.InvalidArgumentError(f"multi_head_attention_forward: {text}")


def _added(mask, name, dtype):
    """A mask as numbers that are added to scores: of bools, those that are true shut an element out."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != laze.bool:
        _refuse(f"{name} is of {mask.dtype}; bools or floats were expected")
    return laze.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def _check(query, key, value, embed_dim, heads):
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        _refuse(f"query, key and value have {query.ndim}, {key.ndim} and {value.ndim} dims; 2 of each, or with batches 3, "
                "were expected")
    if query.shape[-1] != embed_dim:
        _refuse(f"query has {query.shape[-1]} numbers for each token, and embed_dim_to_check is {embed_dim}")
    if heads < 1 or embed_dim % heads:
        _refuse(f"{embed_dim} numbers cannot be parted among {heads} heads")


def _project(query, key, value, packed, parts, bias):
    """The three through their own matrices, or the parts of one."""
    weights = laze.chunk(packed, 3) if parts is None else parts
    if any(weight is None for weight in weights):
        _refuse("with use_separate_proj_weight, q_proj_weight, k_proj_weight and v_proj_weight are given")
    biases = (None, None, None) if bias is None else laze.chunk(bias, 3)
    return [laze.linear(x, weight, b) for x, weight, b in zip((query, key, value), weights, biases)]


def _longer(mask):
    """For one more key, which is not shut out."""
    return None if mask is None else laze.cat([mask, laze.zeros((*mask.shape[:-1], 1), dtype=mask.dtype)], -1)


def _merged(mask, padding, batch, heads):
    """Both masks as one, [1 or N heads, L or 1, S]."""
    if mask is not None and mask.ndim == 2:
        mask = mask.unsqueeze(0)
    if padding is None:
        return mask
    padding = padding.reshape(batch, 1, 1, -1).expand(-1, heads, -1, -1).reshape(batch * heads, 1, -1)
    return padding if mask is None else mask + padding


def multi_head_attention_forward(query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool,
                                 dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True,
                                 key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
                                 use_separate_proj_weight: bool = False, q_proj_weight: Any = None,
                                 k_proj_weight: Any = None, v_proj_weight: Any = None, static_k: Any = None,
                                 static_v: Any = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Any, Any]:
    """(output, weights of the keys for each query, or None without need_weights).

    is_causal says that attn_mask, which has to be given, is the causal one; the mask is what counts.
    """
    _check(query, key, value, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        _refuse("is_causal needs attn_mask")
    batched = query.ndim == 3
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    mask = _added(attn_mask, "attn_mask", query.dtype)
    padding = _added(key_padding_mask, "key_padding_mask", query.dtype)
    parts = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(query, key, value, in_proj_weight, parts, in_proj_bias)
    if (bias_k is None) != (bias_v is None):
        _refuse("bias_k and bias_v are given together, or neither")
    if bias_k is not None:
        k, v = (laze.cat([x, bias.expand(1, batch, width)]) for x, bias in ((k, bias_k), (v, bias_v)))
        mask, padding = _longer(mask), _longer(padding)
    q, k, v = (x.reshape(x.shape[0], batch * num_heads, width // num_heads).transpose(0, 1) for x in (q, k, v))
    k, v = k if static_k is None else static_k, v if static_v is None else static_v
    if add_zero_attn:
        k, v = (laze.cat([x, laze.zeros(x.shape[0], 1, x.shape[2], dtype=x.dtype)], 1) for x in (k, v))
        mask, padding = _longer(mask), _longer(padding)
    scores = laze.bmm(q * math.sqrt(num_heads / width), k.transpose(1, 2))
    mask = _merged(mask, padding, batch, num_heads)
    weights = laze.softmax(scores if mask is None else mask + scores, -1)
    if training and dropout_p > 0:
        weights = laze.dropout(weights, dropout_p, True)
    output = laze.bmm(weights, v).transpose(0, 1).reshape(length, batch, width)
    output = laze.linear(output, out_proj_weight, out_proj_bias)
    weights = weights.reshape(batch, num_heads, length, -1)
    weights = weights.mean(1) if average_attn_weights else weights
    if not batched:
        output, weights = output.squeeze(1), weights.squeeze(0)
    return output, weights if need_weights else None
