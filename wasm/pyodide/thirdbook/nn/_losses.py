"""Losses of torch.nn.functional.

In: predictions and targets; `reduction` "none", "mean" or "sum" (`size_average`, `reduce` are the old spelling). Out: a 0-d tensor, or one
element per example. Errors: ValueError for an unknown reduction or sizes that do not fit.
"""

from __future__ import annotations

import math
import warnings

from .. import _core
from .._core import ops
from .._shapes import broadcast_tensors


def spelled_reduction(reduction, size_average, reduce):
    """The reduction that the old arguments ask for, where one of them is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        asked = "none"
    else:
        asked = "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{asked}' instead.", stacklevel=3)
    return asked


def _reduce(loss, reduction):
    if reduction == "mean":
        return ops.mean(loss)
    if reduction == "sum":
        return ops.sum(loss)
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)²."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    gap = ops.sub(input, target)
    loss = ops.mul(gap, gap)
    return _reduce(loss if weight is None else ops.mul(loss, weight), reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    loss = ops.abs(ops.sub(input, target))
    return _reduce(loss if weight is None else ops.mul(loss, weight), reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Quadratic below beta, linear above."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    gap = ops.abs(ops.sub(input, target))
    if beta == 0:
        return _reduce(gap, reduction)
    return _reduce(ops.where(ops.lt(gap, beta), ops.div(ops.mul(ops.mul(gap, gap), 0.5), beta), ops.sub(gap, 0.5 * beta)), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Quadratic below delta, linear above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    gap = ops.abs(ops.sub(input, target))
    loss = ops.where(ops.le(gap, delta), ops.mul(ops.mul(gap, gap), 0.5), ops.mul(ops.sub(gap, 0.5 * delta), delta))
    return _reduce(loss if weight is None else ops.mul(loss, weight), reduction)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-input[n, target[n]] for log-probabilities (N, C, …) and class numbers (N, …)."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if target.dtype.is_floating_point:
        raise RuntimeError(f'expected scalar type Long but found {target.type()[6:-6]}')
    classes = 1 if input.dim() > 1 else 0
    if input.dim() != target.dim() + 1:
        raise ValueError(f"Expected target size to be input's without the class dimension, got {target.shape} and {input.shape}")
    kept = ops.ne(target, ignore_index)
    safe = ops.where(kept, target, 0)
    picked = ops.squeeze(ops.gather(input, classes, ops.unsqueeze(safe, classes)), classes)
    if weight is None:
        weights = ops.to(kept, input.dtype)
    else:
        weights = ops.where(kept, ops.view(ops.index_select(weight, 0, ops.reshape(safe, (-1,))), safe.shape), 0.0)
    loss = ops.where(kept, ops.mul(ops.neg(picked), weights), 0.0)
    if reduction == "mean":
        return ops.div(ops.sum(loss), ops.sum(weights))
    return _reduce(loss, reduction)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """nll_loss of log_softmax, for class numbers; for class probabilities -sum(target * log_softmax)."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    classes = 1 if input.dim() > 1 else 0
    log_probability = ops.log_softmax(input, classes)
    count = input.size(classes)
    shape = [1] * input.dim()
    shape[classes] = count
    if target.dtype.is_floating_point:
        if target.shape != input.shape:
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got sizes {target.shape} and {input.shape}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        wanted = ops.add(ops.mul(target, 1 - label_smoothing), label_smoothing / count) if label_smoothing > 0 else target
        terms = ops.mul(log_probability, wanted)
        if weight is not None:
            terms = ops.mul(terms, ops.view(weight, shape))
        loss = ops.neg(ops.sum(terms, classes))
        if reduction == "mean":
            return ops.div(ops.sum(loss), input.numel() // count)
        return _reduce(loss, reduction)
    if label_smoothing == 0:
        return nll_loss(log_probability, target, weight, None, ignore_index, None, reduction)
    kept = ops.ne(target, ignore_index)
    scaled = log_probability if weight is None else ops.mul(log_probability, ops.view(weight, shape))
    smooth = ops.where(kept, ops.neg(ops.sum(scaled, classes)), 0.0)
    if reduction == "mean":
        safe = ops.where(kept, target, 0)
        if weight is None:
            total = ops.sum(kept)
        else:
            total = ops.sum(ops.where(kept, ops.view(ops.index_select(weight, 0, ops.reshape(safe, (-1,))), safe.shape), 0.0))
        smooth = ops.div(ops.sum(smooth), total)
    else:
        smooth = _reduce(smooth, reduction)
    plain = nll_loss(log_probability, target, weight, None, ignore_index, None, reduction)
    return ops.add(ops.mul(plain, 1 - label_smoothing), ops.mul(smooth, label_smoothing / count))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log x + (1 - t) log(1 - x)), the logarithms not below -100."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    yes = ops.clamp(ops.log(input), -100.0)
    no = ops.clamp(ops.log1p(ops.neg(input)), -100.0)
    loss = ops.sub(ops.mul(ops.sub(target, 1), no), ops.mul(target, yes))
    return _reduce(loss if weight is None else ops.mul(loss, weight), reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without overflow."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    tail = ops.add(ops.log1p(ops.exp(ops.neg(ops.abs(input)))), ops.clamp(ops.neg(input), 0))
    if pos_weight is not None:
        factor = ops.add(ops.mul(ops.sub(pos_weight, 1), target), 1)
        loss = ops.add(ops.mul(ops.sub(1, target), input), ops.mul(factor, tail))
    else:
        loss = ops.add(ops.mul(ops.sub(1, target), input), tail)
    return _reduce(loss if weight is None else ops.mul(loss, weight), reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log target - input); "batchmean" divides the sum by the batch size."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if log_target:
        loss = ops.mul(ops.exp(target), ops.sub(target, input))
    else:
        loss = ops.sub(ops.where(ops.eq(target, 0), 0.0, ops.mul(target, ops.log(target))), ops.mul(target, input))
    if reduction == "batchmean":
        return ops.div(ops.sum(loss), input.size(0) if input.dim() else 1)
    return _reduce(loss, reduction)


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    """exp(input) - target * input."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if log_input:
        loss = ops.sub(ops.exp(input), ops.mul(target, input))
    else:
        loss = ops.sub(input, ops.mul(target, ops.log(ops.add(input, eps))))
    if full:
        stirling = ops.add(ops.sub(ops.mul(target, ops.log(target)), target), ops.mul(ops.log(ops.mul(target, 2 * math.pi)), 0.5))
        loss = ops.add(loss, ops.where(ops.gt(target, 1), stirling, 0.0))
    return _reduce(loss, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """(log var + (input - target)² / var) / 2."""
    var = var if hasattr(var, "dim") else ops.full((), var, dtype=input.dtype)
    if var.shape != input.shape and var.dim() and var.shape == input.shape[:-1]:
        var = ops.unsqueeze(var, -1)
    elif var.shape != input.shape and var.dim() and (var.dim() != input.dim() or var.size(-1) != 1 or var.shape[:-1] != input.shape[:-1]):
        raise ValueError("var is of incorrect size")
    var = ops.clamp(var, eps)
    gap = ops.sub(input, target)
    loss = ops.mul(ops.add(ops.log(var), ops.div(ops.mul(gap, gap), var)), 0.5)
    return _reduce(ops.add(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    return _reduce(ops.log1p(ops.exp(ops.mul(ops.neg(target), input))), reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    far = ops.where(ops.eq(target, 1), 0.0, ops.clamp(ops.sub(margin, input), 0))
    near = ops.where(ops.eq(target, -1), 0.0, input)
    return _reduce(ops.add(far, near), reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    return _reduce(ops.clamp(ops.add(ops.mul(ops.neg(target), ops.sub(input1, input2)), margin), 0), reduction)


def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    """The cosine of the angle between vectors along dim."""
    dtype = _core.result_type(x1, x2)
    x1, x2 = broadcast_tensors(ops.to(x1, dtype), ops.to(x2, dtype))
    a, b = ops.linalg_vector_norm(x1, 2, dim, True), ops.linalg_vector_norm(x2, 2, dim, True)
    return ops.sum(ops.mul(ops.div(x1, ops.clamp(a, eps)), ops.div(x2, ops.clamp(b, eps))), dim)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    tiny = 1e-12
    dim = input1.dim() - 1
    dot = ops.sum(ops.mul(input1, input2), dim)
    squares = ops.mul(ops.add(ops.sum(ops.mul(input1, input1), dim), tiny), ops.add(ops.sum(ops.mul(input2, input2), dim), tiny))
    cos = ops.div(dot, ops.sqrt(squares))
    near = ops.where(ops.eq(target, 1), ops.sub(1, cos), 0.0)
    far = ops.where(ops.eq(target, -1), ops.clamp(ops.sub(cos, margin), 0), 0.0)
    return _reduce(ops.add(near, far), reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return ops.linalg_vector_norm(ops.add(ops.sub(x1, x2), eps), p, -1, keepdim)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    reduction = spelled_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduce(ops.clamp(ops.add(ops.sub(near, far), margin), 0), reduction)
