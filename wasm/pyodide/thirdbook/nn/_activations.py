"""Activations and dropout of torch.nn.functional.

In: a tensor. Out: a fresh one of its sizes, or with `inplace` the tensor itself, written. Errors: ValueError or RuntimeError for options out of range,
NotImplementedError where PyTorch has a function for floating dtypes only.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import ops
from .._forms import need_floats, scalar_name


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
    need_floats("leaky_relu_cpu", input.dtype)
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(input, negative_slope)), inplace)


def prelu(input, weight):
    """leaky_relu with a slope per channel (dimension 1)."""
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {scalar_name(input.dtype)} and {scalar_name(weight.dtype)}")
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
    if weight.numel() == 1:
        weight = ops.view(weight, ())
    elif input.dim() > 1:
        weight = ops.view(weight, [-1] + [1] * (input.dim() - 2))
    return ops.where(ops.gt(input, 0), input, ops.mul(weight, input))


def elu(input, alpha=1.0, inplace=False):
    """x above zero, alpha * (exp(x) - 1) below."""
    need_floats("elu_cpu", input.dtype)
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(ops.expm1(input), alpha)), inplace)


def celu(input, alpha=1.0, inplace=False):
    """x above zero, alpha * (exp(x / alpha) - 1) below."""
    need_floats("elu_cpu", input.dtype)
    return _in_place(input, ops.where(ops.gt(input, 0), input, ops.mul(ops.expm1(ops.div(input, alpha)), alpha)), inplace)


def selu(input, inplace=False):
    """Self-normalising elu."""
    need_floats("elu_cpu", input.dtype)
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    made = ops.where(ops.gt(input, 0), ops.mul(input, scale), ops.mul(ops.expm1(input), scale * alpha))
    return _in_place(input, made, inplace)


def gelu(input, *, approximate="none"):
    """x * Φ(x); approximate="tanh" uses the hyperbolic tangent."""
    need_floats("GeluKernelImpl", input.dtype)
    if approximate == "tanh":
        inner = ops.mul(ops.add(input, ops.mul(ops.mul(ops.mul(input, input), input), 0.044715)), math.sqrt(2.0 / math.pi))
        return ops.mul(ops.mul(input, 0.5), ops.add(ops.tanh(inner), 1))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return ops.mul(ops.mul(input, 0.5), ops.add(ops.erf(ops.mul(input, math.sqrt(0.5))), 1))


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    need_floats("silu_cpu", input.dtype)
    return _in_place(input, ops.mul(input, ops.sigmoid(input)), inplace)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    need_floats("mish_cpu", input.dtype)
    return _in_place(input, ops.mul(input, ops.tanh(softplus(input))), inplace)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds threshold."""
    need_floats("softplus_cpu", input.dtype)
    scaled = ops.mul(input, beta)
    return ops.where(ops.gt(scaled, threshold), input, ops.div(ops.log1p(ops.exp(scaled)), beta))


def logsigmoid(input):
    """log(sigmoid(x)), without overflow."""
    need_floats("log_sigmoid_cpu", input.dtype)
    return ops.sub(ops.minimum(input, ops.zeros((), dtype=input.dtype)), ops.log1p(ops.exp(ops.neg(ops.abs(input)))))


def softsign(input):
    """x / (1 + |x|)."""
    return ops.div(input, ops.add(ops.abs(input), 1))


def tanhshrink(input):
    """x - tanh(x)."""
    return ops.sub(input, ops.tanh(input))


def softshrink(input, lambd=0.5):
    """x moved towards zero by lambd."""
    need_floats("softshrink_check", input.dtype)
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, inf) for input dtype, but found {lambd}")
    return ops.where(ops.gt(input, lambd), ops.sub(input, lambd), ops.where(ops.lt(input, -lambd), ops.add(input, lambd), ops.mul(input, 0)))


def hardshrink(input, lambd=0.5):
    """0 between -lambd and lambd, else x."""
    need_floats("hardshrink_cpu", input.dtype)
    return ops.where(ops.logical_and(ops.ge(input, -lambd), ops.le(input, lambd)), 0.0, input)


def threshold(input, threshold, value, inplace=False):
    """x where it exceeds threshold, else value."""
    if not input.dtype.is_floating_point:
        value = int(value)
    return _in_place(input, ops.masked_fill(input, ops.le(input, threshold), value), inplace)


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    need_floats("hardsigmoid_cpu", input.dtype)
    return _in_place(input, ops.div(ops.clamp(ops.add(input, 3), 0, 6), 6), inplace)


def hardswish(input, inplace=False):
    """x * hardsigmoid(x)."""
    need_floats("hardswish_cpu", input.dtype)
    return _in_place(input, ops.div(ops.mul(input, ops.clamp(ops.add(input, 3), 0, 6)), 6), inplace)


def glu(input, dim=-1):
    """First half times sigmoid of the second half."""
    need_floats("glu_cpu", input.dtype)
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



def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Elements set to zero with probability p while training, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return _in_place(input, ops.mul(input, ops.zeros((), dtype=input.dtype)), inplace)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(input.dtype)}")
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
