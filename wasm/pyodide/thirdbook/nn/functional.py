"""torch.nn.functional: activations, normalisation, losses, convolution, pooling, attention, padding.

In: tensors (N, …) as PyTorch documents them. Out: fresh tensors. Plain code over ops, which the tracer inlines. Errors: ValueError or RuntimeError
for sizes and options that do not fit.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import ops
from ._activations import (
    alpha_dropout,
    celu,
    dropout,
    dropout1d,
    dropout2d,
    elu,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from ._losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from ._normalisation import batch_norm, group_norm, instance_norm, layer_norm, normalize, rms_norm
from ._resampling import interpolate, pad, pixel_shuffle, unfold, upsample
from ._windows import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    max_pool1d,
    max_pool2d,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "alpha_dropout", "avg_pool1d", "avg_pool2d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "dropout", "dropout1d", "dropout2d", "elu", "embedding", "gaussian_nll_loss", "gelu", "glu", "group_norm", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "margin_ranking_loss", "max_pool1d", "max_pool2d", "mish",
    "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "poisson_nll_loss", "prelu", "relu",
    "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss", "unfold", "upsample",
    "celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_", "threshold_",
]  # fmt: skip

linear = ops.linear
sigmoid = ops.sigmoid
tanh = ops.tanh
one_hot = ops.one_hot


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of weight at the given indices."""
    if max_norm is not None:
        raise NotImplementedError("embedding: max_norm is not supported by Thirdbook")
    return ops.embedding(weight, input)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ keyᵀ * scale + mask) @ value, on (…, length, width)."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask is not None and attn_mask.dtype not in (_core.bool, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, "
            f"but got attn_mask.dtype: {attn_mask.type()} and query.dtype: {query.type()} instead."
        )
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scores = ops.mul(ops.matmul(query, ops.transpose(key, -2, -1)), factor)
    if is_causal:
        allowed = ops.tril(ops.ones((query.size(-2), key.size(-2)), dtype=_core.bool))
        scores = ops.masked_fill(scores, ops.logical_not(allowed), -math.inf)
    elif attn_mask is not None:
        if attn_mask.dtype is _core.bool:
            scores = ops.masked_fill(scores, ops.logical_not(attn_mask), -math.inf)
        else:
            scores = ops.add(scores, attn_mask)
    weights = ops.softmax(scores, -1)
    if attn_mask is not None and attn_mask.dtype is _core.bool:
        weights = ops.where(ops.any(attn_mask, -1, True), weights, 0.0)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return ops.matmul(weights, value)


# ---- the in-place spellings


def _written(function):
    def in_place(input, *args):
        return function(input, *args, inplace=True)

    return in_place


celu_ = _written(celu)
elu_ = _written(elu)
hardtanh_ = _written(hardtanh)
leaky_relu_ = _written(leaky_relu)
relu_ = _written(relu)
selu_ = _written(selu)
threshold_ = _written(threshold)
