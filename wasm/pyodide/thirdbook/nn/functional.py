"""torch.nn.functional: activations, normalisation, losses, convolution, pooling, attention, padding.

In: tensors (N, …) as PyTorch documents them. Out: fresh tensors. Plain code over ops, which the tracer inlines. Errors: ValueError or RuntimeError
for sizes and options that do not fit.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import ops
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

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "alpha_dropout", "avg_pool1d", "avg_pool2d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "dropout", "dropout1d", "dropout2d", "elu", "embedding", "gaussian_nll_loss", "gelu", "glu", "group_norm", "gumbel_softmax",
    "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "margin_ranking_loss", "max_pool1d", "max_pool2d", "mish",
    "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "poisson_nll_loss", "prelu", "relu",
    "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss", "unfold", "upsample",
]  # fmt: skip

linear = ops.linear
sigmoid = ops.sigmoid
tanh = ops.tanh
one_hot = ops.one_hot


# ---- activations


def _in_place(input, made, inplace):
    return ops.copy_(input, made) if inplace else made


def relu(input, inplace=False):
    """max(x, 0)."""
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return _in_place(input, ops.clamp(input, 0, 6), inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x clamped to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not input.dtype.is_floating_point:
        if input.dtype is _core.bool:
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if input.dtype is _core.uint8 and (min_val < 0 or max_val < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    return _in_place(input, ops.clamp(input, min_val, max_val), inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above zero, negative_slope * x below."""
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(input, negative_slope)), inplace)


def prelu(input, weight):
    """leaky_relu with a slope per channel (dimension 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.numel() != 1 and input.dim() > 1:
        weight = ops.view(weight, [-1] + [1] * (input.dim() - 2))
    return ops.where(ops.gt(input, 0), input, ops.mul(weight, input))


def elu(input, alpha=1.0, inplace=False):
    """x above zero, alpha * (exp(x) - 1) below."""
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(ops.expm1(input), alpha)), inplace)


def celu(input, alpha=1.0, inplace=False):
    """x above zero, alpha * (exp(x / alpha) - 1) below."""
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(ops.expm1(ops.div(input, alpha)), alpha)), inplace)


def selu(input, inplace=False):
    """Self-normalising elu."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    made = ops.where(ops.gt(input, 0), ops.mul(input, scale), ops.mul(ops.expm1(input), scale * alpha))
    return _in_place(input, made, inplace)


def gelu(input, approximate="none"):
    """x * Φ(x); approximate="tanh" uses the hyperbolic tangent."""
    if approximate == "tanh":
        inner = ops.mul(ops.add(input, ops.mul(ops.mul(ops.mul(input, input), input), 0.044715)), math.sqrt(2.0 / math.pi))
        return ops.mul(ops.mul(input, 0.5), ops.add(ops.tanh(inner), 1))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return ops.mul(ops.mul(input, 0.5), ops.add(ops.erf(ops.mul(input, math.sqrt(0.5))), 1))


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _in_place(input, ops.mul(input, ops.sigmoid(input)), inplace)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    return _in_place(input, ops.mul(input, ops.tanh(softplus(input))), inplace)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds threshold."""
    scaled = ops.mul(input, beta)
    return ops.where(ops.gt(scaled, threshold), input, ops.div(ops.log1p(ops.exp(scaled)), beta))


def logsigmoid(input):
    """log(sigmoid(x)), without overflow."""
    return ops.sub(ops.minimum(input, ops.zeros((), dtype=input.dtype)), ops.log1p(ops.exp(ops.neg(ops.abs(input)))))


def softsign(input):
    """x / (1 + |x|)."""
    return ops.div(input, ops.add(ops.abs(input), 1))


def tanhshrink(input):
    """x - tanh(x)."""
    return ops.sub(input, ops.tanh(input))


def softshrink(input, lambd=0.5):
    """x moved towards zero by lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, inf) for input dtype, but found {lambd}")
    return ops.where(ops.gt(input, lambd), ops.sub(input, lambd), ops.where(ops.lt(input, -lambd), ops.add(input, lambd), ops.mul(input, 0)))


def threshold(input, threshold, value, inplace=False):
    """x where it exceeds threshold, else value."""
    return _in_place(input, ops.where(ops.le(input, threshold), value, input), inplace)


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    return _in_place(input, ops.div(ops.clamp(ops.add(input, 3), 0, 6), 6), inplace)


def hardswish(input, inplace=False):
    """x * hardsigmoid(x)."""
    return _in_place(input, ops.div(ops.mul(input, ops.clamp(ops.add(input, 3), 0, 6)), 6), inplace)


def glu(input, dim=-1):
    """First half times sigmoid of the second half."""
    if input.size(dim) % 2 != 0:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.size(dim)}")
    half = input.size(dim) // 2
    return ops.mul(ops.narrow(input, dim, 0, half), ops.sigmoid(ops.narrow(input, dim, half, half)))


def _softmax_dim(name, rank, dim):
    if dim is not None:
        return dim
    return 0 if rank in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along dim."""
    return ops.softmax(input, _softmax_dim("softmax", input.dim(), dim), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -x."""
    return ops.softmax(ops.neg(input), _softmax_dim("softmin", input.dim(), dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    return ops.log_softmax(input, _softmax_dim("log_softmax", input.dim(), dim), dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A draw from the Gumbel-softmax distribution."""
    gumbels = ops.neg(ops.log(ops.neg(ops.log(ops.rand(logits.shape, dtype=logits.dtype)))))
    soft = ops.softmax(ops.div(ops.add(logits, gumbels), tau), dim)
    if not hard:
        return soft
    index = ops.argmax(soft, dim, True)
    return ops.scatter(ops.zeros(logits.shape, dtype=logits.dtype), dim, index, 1.0)


# ---- dropout


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Elements set to zero with probability p while training, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return _in_place(input, ops.mul(input, 0), inplace)
    keep = ops.div(ops.bernoulli(input, 1 - p), 1 - p)
    return ops.mul_(input, keep) if inplace else ops.mul(input, keep)


def _channel_dropout(input, p, training, inplace):
    _check_probability(p)
    if not training or p == 0:
        return input
    shape = list(input.shape)
    keep = ops.zeros(shape[:2] + [1] * (len(shape) - 2), dtype=input.dtype)
    keep = ops.div(ops.bernoulli(keep, 1 - p), 1 - p) if p < 1 else keep
    return ops.mul_(input, keep) if inplace else ops.mul(input, keep)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels, (N, C, L) or (C, L)."""
    if input.dim() == 2:
        return ops.squeeze(_channel_dropout(ops.unsqueeze(input, 0), p, training, False), 0)
    return _channel_dropout(input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels, (N, C, H, W)."""
    return _channel_dropout(input, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout that keeps mean and variance of selu's output."""
    _check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return _in_place(input, ops.mul(input, 0), inplace)
    saturation = -1.7580993408473766
    keep = ops.bernoulli(input, 1 - p)
    a = 1.0 / math.sqrt((saturation**2 * p + 1) * (1 - p))
    made = ops.add(ops.mul(ops.where(ops.gt(keep, 0), input, saturation), a), -a * saturation * p)
    return _in_place(input, made, inplace)


# ---- normalisation


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x / max(‖x‖_p, eps) along dim."""
    made = ops.div(input, ops.clamp(ops.linalg_vector_norm(input, p, dim, True), eps))
    return made if out is None else ops.copy_(out, made)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x²) + eps) over the last dimensions, times weight."""
    if len(normalized_shape) == 0:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got normalized_shape = []"
        )
    if list(input.shape[-len(normalized_shape) :]) != list(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(str(n) for n in normalized_shape)}], but got input of size{list(input.shape)}"
        )
    over = list(range(-len(normalized_shape), 0))
    if eps is None:
        eps = 1.1920928955078125e-07 if input.dtype is _core.float32 else 2.220446049250313e-16
    made = ops.mul(input, ops.rsqrt(ops.add(ops.mean(ops.mul(input, input), over, True), eps)))
    return made if weight is None else ops.mul(made, weight)


def _channel_shape(rank):
    return [1, -1] + [1] * (rank - 2)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Mean 0 and variance 1 per channel (dimension 1); training uses and tracks the batch's statistics."""
    if input.dim() < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got 1): batch_norm of shape {input.shape}")
    shape = _channel_shape(input.dim())
    if training:
        over = [0, *range(2, input.dim())]
        count = input.numel() // input.size(1) if input.size(1) else 0
        if count <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        mean = ops.mean(input, over)
        centred = ops.sub(input, ops.view(mean, shape))
        var = ops.mean(ops.mul(centred, centred), over)
        if running_mean is not None:
            ops.copy_(running_mean, ops.add(ops.mul(running_mean, 1 - momentum), ops.mul(mean, momentum)))
        if running_var is not None:
            unbiased = ops.mul(var, count / (count - 1))
            ops.copy_(running_var, ops.add(ops.mul(running_var, 1 - momentum), ops.mul(unbiased, momentum)))
    else:
        centred = ops.sub(input, ops.view(running_mean, shape))
        var = running_var
    scale = ops.rsqrt(ops.add(var, eps))
    if weight is not None:
        scale = ops.mul(scale, weight)
    made = ops.mul(centred, ops.view(scale, shape))
    return made if bias is None else ops.add(made, ops.view(bias, shape))


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Mean 0 and variance 1 per channel and example."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    over = list(range(2, input.dim()))
    mean = ops.mean(input, over, True)
    centred = ops.sub(input, mean)
    var = ops.mean(ops.mul(centred, centred), over, True)
    made = ops.mul(centred, ops.rsqrt(ops.add(var, eps)))
    if running_mean is not None:
        count = input.numel() // (input.size(0) * input.size(1))
        new_mean, new_var = ops.mean(ops.reshape(mean, input.shape[:2]), 0), ops.mean(ops.reshape(var, input.shape[:2]), 0)
        ops.copy_(running_mean, ops.add(ops.mul(running_mean, 1 - momentum), ops.mul(new_mean, momentum)))
        ops.copy_(running_var, ops.add(ops.mul(running_var, 1 - momentum), ops.mul(new_var, momentum * count / (count - 1))))
    shape = _channel_shape(input.dim())
    if weight is not None:
        made = ops.mul(made, ops.view(weight, shape))
    return made if bias is None else ops.add(made, ops.view(bias, shape))


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 per group of channels and example."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    if input.size(1) % num_groups != 0:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    groups = ops.reshape(input, (input.size(0), num_groups, -1))
    mean = ops.mean(groups, (2,), True)
    centred = ops.sub(groups, mean)
    var = ops.mean(ops.mul(centred, centred), (2,), True)
    made = ops.reshape(ops.mul(centred, ops.rsqrt(ops.add(var, eps))), input.shape)
    shape = _channel_shape(input.dim())
    if weight is not None:
        made = ops.mul(made, ops.view(weight, shape))
    return made if bias is None else ops.add(made, ops.view(bias, shape))


# ---- embedding, attention


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


# ---- convolution and pooling


def _same_padding(input, kernel, dilation):
    """(left, right) of each dimension, last first, so that the output has the input's size."""
    pads = []
    for size, step in zip(reversed(kernel), reversed(dilation)):
        total = step * (size - 1)
        pads.extend([total // 2, total - total // 2])
    return ops.constant_pad_nd(input, pads)


def _numbers(value, count):
    return [value] * count if isinstance(value, int) else list(value)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, L); padding is a size, "valid" or "same"."""
    if padding == "same":
        return ops.conv1d(_same_padding(input, weight.shape[2:], _numbers(dilation, 1)), weight, bias, stride, 0, dilation, groups)
    return ops.conv1d(input, weight, bias, stride, 0 if padding == "valid" else padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, H, W); padding is a size, "valid" or "same"."""
    if padding == "same":
        return ops.conv2d(_same_padding(input, weight.shape[2:], _numbers(dilation, 2)), weight, bias, stride, 0, dilation, groups)
    return ops.conv2d(input, weight, bias, stride, 0 if padding == "valid" else padding, dilation, groups)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of (N, C, H, W)."""
    if return_indices:
        return _max_pool_with_places(input, kernel_size, stride, padding, dilation, ceil_mode)
    return ops.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def _max_pool_with_places(input, kernel_size, stride, padding, dilation, ceil_mode):
    """max_pool2d and the places of the largest elements in each (H, W) plane, row-major."""
    made = ops.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)
    (kh, kw), (ph, pw), (dh, dw) = _numbers(kernel_size, 2), _numbers(padding, 2), _numbers(dilation, 2)
    sh, sw = (kh, kw) if stride is None or stride == () else _numbers(stride, 2)
    height, width = input.size(-2), input.size(-1)
    rows = ops.unsqueeze(ops.mul(ops.arange(0, made.size(-2)), sh), 1)
    columns = ops.unsqueeze(ops.mul(ops.arange(0, made.size(-1)), sw), 0)
    best, places = None, None
    for i in range(kh):
        for j in range(kw):
            y, x = ops.add(rows, i * dh - ph), ops.add(columns, j * dw - pw)
            inside = ops.logical_and(
                ops.logical_and(ops.ge(y, 0), ops.lt(y, height)), ops.logical_and(ops.ge(x, 0), ops.lt(x, width))
            )
            place = ops.add(ops.mul(ops.clamp(y, 0, height - 1), width), ops.clamp(x, 0, width - 1))
            flat = ops.reshape(input, [*input.shape[:-2], height * width])
            value = ops.view(ops.index_select(flat, -1, ops.reshape(place, (-1,))), made.shape)
            if best is None:
                best, places = ops.zeros(made.shape, dtype=_core.bool), ops.zeros(made.shape, dtype=_core.int64)
            same = ops.logical_or(ops.eq(value, made), ops.logical_and(ops.ne(value, value), ops.ne(made, made)))
            hit = ops.logical_and(ops.logical_and(same, inside), ops.logical_not(best))
            places, best = ops.where(hit, place, places), ops.logical_or(best, hit)
    return made, places


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of (N, C, L)."""
    (kernel,), (pad,), (dil,) = _numbers(kernel_size, 1), _numbers(padding, 1), _numbers(dilation, 1)
    (step,) = (kernel,) if stride is None else _numbers(stride, 1)
    wide = ops.unsqueeze(input, -2)
    if return_indices:
        made, places = _max_pool_with_places(wide, (1, kernel), (1, step), (0, pad), (1, dil), ceil_mode)
        return ops.squeeze(made, -2), ops.squeeze(places, -2)
    made = ops.max_pool2d(wide, (1, kernel), (1, step), (0, pad), (1, dil), ceil_mode)
    return ops.squeeze(made, -2)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of (N, C, H, W)."""
    return ops.avg_pool2d(
        input, kernel_size, () if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of (N, C, L)."""
    (kernel,), (pad,) = _numbers(kernel_size, 1), _numbers(padding, 1)
    (step,) = (kernel,) if stride is None else _numbers(stride, 1)
    made = ops.avg_pool2d(ops.unsqueeze(input, -2), (1, kernel), (1, step), (0, pad), ceil_mode, count_include_pad, None)
    return ops.squeeze(made, -2)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows chosen so that the output has the given sizes; None keeps a size."""
    if input.dim() < 3:
        raise ValueError("Input dimension should be at least 3")
    sizes = _numbers(output_size, 2) if output_size is not None else [None, None]
    if len(sizes) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    return ops.adaptive_avg_pool2d(input, [input.size(d - 2) if sizes[d] is None else sizes[d] for d in range(2)])


def adaptive_avg_pool1d(input, output_size):
    """Means of windows chosen so that the output has the given length."""
    if not isinstance(output_size, int) and len(output_size) != 1:
        raise RuntimeError(f"adaptive_avg_pool1d() argument 'output_size' should contain one int (got {len(output_size)})")
    (length,) = _numbers(output_size, 1)
    return ops.squeeze(ops.adaptive_avg_pool2d(ops.unsqueeze(input, -2), (1, length)), -2)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of (N, C, H, W) as columns: (N, C * kernel, windows)."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (_numbers(v, 2) for v in (kernel_size, dilation, padding, stride))
    padded = ops.constant_pad_nd(input, (pw, pw, ph, ph))
    rows = (padded.size(2) - dh * (kh - 1) - 1) // sh + 1
    columns = (padded.size(3) - dw * (kw - 1) - 1) // sw + 1
    parts = []
    for i in range(kh):
        for j in range(kw):
            part = ops.slice(padded, 2, i * dh, i * dh + (rows - 1) * sh + 1, sh)
            parts.append(ops.slice(part, 3, j * dw, j * dw + (columns - 1) * sw + 1, sw))
    return ops.reshape(ops.stack(parts, 2), (input.size(0), input.size(1) * kh * kw, rows * columns))


def pixel_shuffle(input, upscale_factor):
    """(…, C * r², H, W) to (…, C, H * r, W * r)."""
    r = upscale_factor
    *lead, channels, height, width = input.shape
    made = ops.reshape(input, [*lead, channels // (r * r), r, r, height, width])
    n = len(lead)
    made = ops.permute(made, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return ops.reshape(made, [*lead, channels // (r * r), height * r, width * r])


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    """Resampling of (N, C, L) or (N, C, H, W): mode "nearest", "linear" or "bilinear"."""
    if antialias:
        raise NotImplementedError("interpolate: antialias is not supported by Thirdbook")
    if not input.dtype.is_floating_point and mode != "nearest":
        raise NotImplementedError(f"interpolate: mode {mode!r} of {input.dtype} is not supported by Thirdbook; convert to float first")
    spatial = input.dim() - 2
    if spatial not in (1, 2):
        raise NotImplementedError(f"Got {input.dim()}D input, but interpolate needs 3D or 4D input in Thirdbook")
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined" if size is not None else "either size or scale_factor should be defined")
    scales = [None] * spatial
    if size is not None:
        sizes = _numbers(size, spatial)
    else:
        scales = [float(s) for s in scale_factor] if isinstance(scale_factor, (list, tuple)) else [float(scale_factor)] * spatial
        sizes = [int(math.floor(input.size(d + 2) * scales[d])) for d in range(spatial)]
        if recompute_scale_factor:
            scales = [None] * spatial
    if spatial == 1:
        if mode not in ("nearest", "linear"):
            raise NotImplementedError(f"interpolate: mode {mode!r} is not supported for 3D input")
        wide = ops.unsqueeze(input, 2)
        if mode == "nearest":
            made = ops.upsample_nearest2d(wide, [1, sizes[0]], None, scales[0])
        else:
            made = ops.upsample_bilinear2d(wide, [1, sizes[0]], bool(align_corners), None, scales[0])
        return ops.squeeze(made, 2)
    if mode == "nearest":
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
        return ops.upsample_nearest2d(input, sizes, scales[0], scales[1])
    if mode == "bilinear":
        return ops.upsample_bilinear2d(input, sizes, bool(align_corners), scales[0], scales[1])
    raise NotImplementedError(f"interpolate: mode {mode!r} is not supported by Thirdbook; it has 'nearest', 'linear', 'bilinear'")


upsample = interpolate


def pad(input, pad, mode="constant", value=None):
    """Padding from the last dimension on: (left, right, top, bottom, …); mode constant, reflect, replicate, circular."""
    if mode == "constant":
        return ops.constant_pad_nd(input, pad, 0 if value is None else value)
    made = input
    for step in range(len(pad) // 2):
        dim = input.dim() - 1 - step
        size = input.size(dim)
        before, after = pad[2 * step], pad[2 * step + 1]
        if mode == "reflect":
            if before >= size or after >= size:
                raise RuntimeError(
                    "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                    f"({before}, {after}) at dimension {dim} of input {list(input.shape)}"
                )
            places = [_reflected(i, size) for i in range(-before, size + after)]
        elif mode == "replicate":
            places = [0 if i < 0 else size - 1 if i >= size else i for i in range(-before, size + after)]
        elif mode == "circular":
            places = [i % size for i in range(-before, size + after)]
        else:
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        made = ops.index_select(made, dim, _core.tensor(places))
    return made


def _reflected(place, size):
    place = -place if place < 0 else place
    return 2 * (size - 1) - place if place >= size else place
