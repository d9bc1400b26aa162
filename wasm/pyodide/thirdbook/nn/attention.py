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
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise NotImplementedError("MultiheadAttention: add_bias_kv, add_zero_attn, kdim and vdim are not supported by Thirdbook")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        self.in_proj_weight = Parameter(ops.empty((3 * embed_dim, embed_dim), dtype=dtype))
        if bias:
            self.in_proj_bias = Parameter(ops.empty((3 * embed_dim,), dtype=dtype))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)

    def _heads(self, x):
        length, batch = x.size(0), x.size(1)
        return ops.transpose(ops.reshape(x, (length, batch * self.num_heads, self.head_dim)), 0, 1)

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
        width = self.embed_dim
        parts = []
        for place, x in enumerate((query, key, value)):
            weight = ops.narrow(self.in_proj_weight, 0, place * width, width)
            bias = None if self.in_proj_bias is None else ops.narrow(self.in_proj_bias, 0, place * width, width)
            parts.append(self._heads(ops.linear(x, weight, bias)))
        q, k, v = parts
        target, batch, source = query.size(0), query.size(1), key.size(0)
        scores = ops.bmm(ops.mul(q, 1.0 / math.sqrt(self.head_dim)), ops.transpose(k, 1, 2))
        if attn_mask is not None:
            scores = ops.add(scores, _additive(attn_mask, scores.dtype))
        if key_padding_mask is not None:
            mask = ops.view(_additive(key_padding_mask, scores.dtype), (batch, 1, 1, source))
            scores = ops.reshape(ops.add(ops.view(scores, (batch, self.num_heads, target, source)), mask), scores.shape)
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
        weights = ops.view(weights, (batch, self.num_heads, target, source))
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
