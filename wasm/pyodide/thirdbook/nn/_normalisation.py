"""Normalisation of torch.nn.functional: over features, channels, groups and examples.

In: (N, C, …) or (…, features). Out: a fresh tensor of the same sizes; running statistics are written. Errors: ValueError or RuntimeError for sizes that
do not fit.
"""

from __future__ import annotations

from .. import _core
from .._core import ops
from .._forms import takes_out


@takes_out
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x / max(‖x‖_p, eps) along dim."""
    return ops.div(input, ops.clamp(ops.linalg_vector_norm(input, p, dim, True), eps))


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
