"""Multi-head attention.

In: query, key and value (length, batch, width), or batch first. Out: the same sizes, with the weights where they are asked for.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import ops
from . import functional as F
from . import init
from .layers import Linear
from .module import Module
from .parameter import Parameter

__all__ = [
    "MultiheadAttention", "NonDynamicallyQuantizableLinear",
]  # fmt: skip


class MultiheadAttention(Module):
    """Attention with several heads; forward(query, key, value) gives (output, weights)."""

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
        batch_first=False, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        if embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.add_zero_attn = add_zero_attn
        self.head_dim = embed_dim // num_heads
        separate = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(ops.empty((3 * embed_dim, embed_dim), dtype=dtype))
            for name in separate:
                self.register_parameter(name, None)
        else:
            for name, width in separate.items():
                self.register_parameter(name, Parameter(ops.empty((embed_dim, width), dtype=dtype)))
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = Parameter(ops.empty((3 * embed_dim,), dtype=dtype))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(ops.empty((1, 1, embed_dim), dtype=dtype)) if add_bias_kv else None)
        for weight in [self.in_proj_weight] if self._qkv_same_embed_dim else [getattr(self, name) for name in separate]:
            init.xavier_uniform_(weight)
        if bias:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if add_bias_kv:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def _projected(self, place, x):
        """Query, key or value (place 0, 1, 2) in the width of the attention: (length, batch, embed_dim)."""
        width = self.embed_dim
        if self._qkv_same_embed_dim:
            weight = ops.narrow(self.in_proj_weight, 0, place * width, width)
        else:
            weight = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)[place]
        bias = None if self.in_proj_bias is None else ops.narrow(self.in_proj_bias, 0, place * width, width)
        return ops.linear(x, weight, bias)

    def _heads(self, x):
        length, batch = x.size(0), x.size(1)
        return ops.transpose(ops.reshape(x, (length, batch * self.num_heads, self.head_dim)), 0, 1)

    def _with_extra_keys(self, k, v):
        """Heads of keys and values, with the learnt and the zero position behind; and how many positions that are."""
        extra = 0
        if self.bias_k is not None:
            k = ops.cat([k, ops.repeat(self.bias_k, (1, k.size(1), 1))])
            v = ops.cat([v, ops.repeat(self.bias_v, (1, v.size(1), 1))])
            extra += 1
        k, v = self._heads(k), self._heads(v)
        if self.add_zero_attn:
            k, v = (ops.constant_pad_nd(x, (0, 0, 0, 1)) for x in (k, v))
            extra += 1
        return k, v, extra

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False
    ):
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        single = query.dim() == 2
        if single:
            query, key, value = ops.unsqueeze(query, 1), ops.unsqueeze(key, 1), ops.unsqueeze(value, 1)
            if key_padding_mask is not None:
                key_padding_mask = ops.unsqueeze(key_padding_mask, 0)
        elif self.batch_first:
            query, key, value = ops.transpose(query, 0, 1), ops.transpose(key, 0, 1), ops.transpose(value, 0, 1)
        width, target, batch, source = self.embed_dim, query.size(0), query.size(1), key.size(0)
        q, k, v = (self._projected(place, x) for place, x in enumerate((query, key, value)))
        q = self._heads(q)
        k, v, extra = self._with_extra_keys(k, v)
        scores = ops.bmm(ops.mul(q, 1.0 / math.sqrt(self.head_dim)), ops.transpose(k, 1, 2))
        if is_causal and key_padding_mask is None and not need_weights:
            later = ops.triu(ops.ones((target, source + extra), dtype=_core.bool), 1)
            scores = ops.masked_fill(scores, later, -math.inf)
        elif attn_mask is not None:
            if attn_mask.shape not in ((target, source), (batch * self.num_heads, target, source)):
                raise RuntimeError(
                    f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {(target, source)} or "
                    f"{(batch * self.num_heads, target, source)}."
                )
            scores = ops.add(scores, ops.constant_pad_nd(_additive(attn_mask, scores.dtype), (0, extra)))
        if key_padding_mask is not None:
            if key_padding_mask.shape != (batch, source):
                raise AssertionError(
                    f"expecting key_padding_mask shape of {(batch, source)}, but got {tuple(key_padding_mask.shape)}"
                )
            mask = ops.constant_pad_nd(_additive(key_padding_mask, scores.dtype), (0, extra))
            mask = ops.view(mask, (batch, 1, 1, source + extra))
            scores = ops.reshape(ops.add(ops.view(scores, (batch, self.num_heads, target, source + extra)), mask), scores.shape)
        weights = ops.softmax(scores, -1)
        if self.dropout > 0.0:
            weights = F.dropout(weights, self.dropout, self.training)
        made = ops.reshape(ops.transpose(ops.bmm(weights, v), 0, 1), (target, batch, width))
        made = ops.linear(made, self.out_proj.weight, self.out_proj.bias)
        if single:
            made = ops.squeeze(made, 1)
        elif self.batch_first:
            made = ops.transpose(made, 0, 1)
        if not need_weights:
            return made, None
        weights = ops.view(weights, (batch, self.num_heads, target, source + extra))
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        return made, ops.squeeze(weights, 0) if single else weights


class NonDynamicallyQuantizableLinear(Linear):
    """The name PyTorch gives to attention's output layer."""


def _additive(mask, dtype):
    """A bool mask as numbers to add: -inf where it is True."""
    if mask.dtype is not _core.bool:
        return mask
    return ops.masked_fill(ops.zeros(mask.shape, dtype=dtype), mask, -math.inf)
