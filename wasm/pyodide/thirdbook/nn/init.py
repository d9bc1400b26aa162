"""torch.nn.init: fills tensors in place, drawing from the generator in PyTorch's order.

In: a tensor. Out: the same tensor. Errors: ValueError for sizes or modes that do not fit.
"""

from __future__ import annotations

import math

from .._core import ops
from .._grad_mode import no_grad

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "sparse_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights are scaled for a nonlinearity."""
    if nonlinearity in ("linear", "conv1d", "conv2d", "conv3d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, without what lies outside [a, b]."""

    def below(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    low, high = below((a - mean) / std), below((b - mean) / std)
    with no_grad():
        if high - low > 0.3:
            tensor.normal_(mean, std, generator=generator)
            outside = ops.logical_or(ops.lt(tensor, a), ops.gt(tensor, b))
            while ops.any(outside).item():
                again = ops.normal(tensor.shape, mean, std, dtype=tensor.dtype, generator=generator)
                ops.copy_(tensor, ops.where(outside, again, tensor))
                outside = ops.logical_or(ops.lt(tensor, a), ops.gt(tensor, b))
            return tensor
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.copy_(_erfinv(tensor))
        tensor.mul_(std * math.sqrt(2.0)).add_(mean)
        return tensor.clamp_(a, b)


def _erfinv(x):
    """The inverse of erf: a rational start and two Newton steps."""
    x = x.double()
    log = ops.log1p(ops.neg(ops.mul(x, x)))
    term = ops.add(ops.mul(log, 0.5), 2 / (math.pi * 0.147))
    start = ops.sqrt(ops.sub(ops.sqrt(ops.sub(ops.mul(term, term), ops.div(log, 0.147))), term))
    made = ops.where(ops.lt(x, 0), ops.neg(start), start)
    for _ in range(3):
        slope = ops.mul(ops.exp(ops.neg(ops.mul(made, made))), 2 / math.sqrt(math.pi))
        made = ops.sub(made, ops.div(ops.sub(ops.erf(made), x), slope))
    return made


def constant_(tensor, val):
    """val everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(ops.eye(tensor.size(0), tensor.size(1)))


def dirac_(tensor, groups=1):
    """Convolution weights that keep the input's channels."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _fans(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with variance 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _fans(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with variance 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _fans(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with variance gain² / fan."""
    if 0 in tensor.shape:
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with variance gain² / fan."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal, with a share of each column set to zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    normal_(tensor, 0, std, generator)
    with no_grad():
        for column in range(columns):
            tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor
