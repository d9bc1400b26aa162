"""Convolution and pooling of torch.nn.functional.

In: (N, C, L) or (N, C, H, W), the batch dimension may be missing. Out: a fresh tensor. Errors: those of the ops; RuntimeError for an unknown padding.
"""

from __future__ import annotations

from .. import _core
from .._core import ops


def _same_padding(input, kernel, dilation):
    """(left, right) of each dimension, last first, so that the output has the input's size."""
    pads = []
    for size, step in zip(reversed(kernel), reversed(dilation)):
        total = step * (size - 1)
        pads.extend([total // 2, total - total // 2])
    return ops.constant_pad_nd(input, pads)


def numbers(value, count):
    """One number for each of `count` dimensions."""
    return [value] * count if isinstance(value, int) else list(value)


def _one(name, value):
    """The number that stands for the only dimension."""
    made = numbers(value, 1)
    if len(made) != 1:
        raise RuntimeError(f"{name}() takes one number for the only dimension, got {made}")
    return made[0]


def _check_padding(padding, stride):
    if not isinstance(padding, str):
        return
    if padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "same" and any(step != 1 for step in numbers(stride, 1)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, L); padding is a size, "valid" or "same"."""
    _check_padding(padding, stride)
    if padding == "same":
        return ops.conv1d(_same_padding(input, weight.shape[2:], numbers(dilation, 1)), weight, bias, stride, 0, dilation, groups)
    return ops.conv1d(input, weight, bias, stride, 0 if padding == "valid" else padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, H, W); padding is a size, "valid" or "same"."""
    _check_padding(padding, stride)
    if padding == "same":
        return ops.conv2d(_same_padding(input, weight.shape[2:], numbers(dilation, 2)), weight, bias, stride, 0, dilation, groups)
    return ops.conv2d(input, weight, bias, stride, 0 if padding == "valid" else padding, dilation, groups)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of (N, C, H, W)."""
    if return_indices:
        return _max_pool_with_places(input, kernel_size, stride, padding, dilation, ceil_mode)
    return ops.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def _max_pool_with_places(input, kernel_size, stride, padding, dilation, ceil_mode):
    """max_pool2d and the places of the largest elements in each (H, W) plane, row-major."""
    made = ops.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)
    (kh, kw), (ph, pw), (dh, dw) = numbers(kernel_size, 2), numbers(padding, 2), numbers(dilation, 2)
    sh, sw = (kh, kw) if stride is None or stride == () else numbers(stride, 2)
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
    kernel, pad, dil = (_one("max_pool1d", value) for value in (kernel_size, padding, dilation))
    step = kernel if stride is None else _one("max_pool1d", stride)
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


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Largest elements of windows chosen so that the output has the given sizes; None keeps a size."""
    if return_indices:
        raise NotImplementedError("adaptive_max_pool2d: return_indices is not supported by Thirdbook")
    if input.dim() not in (3, 4):
        raise RuntimeError(f"adaptive_max_pool2d(): Expected 3D or 4D tensor, but got: {list(input.shape)}")
    sizes = numbers(output_size, 2)
    if len(sizes) != 2:
        raise RuntimeError("adaptive_max_pool2d(): internal error: output_size.size() must be 2")
    made = input
    for dim, size in zip((-2, -1), sizes):
        size = input.size(dim) if size is None else size
        if size < 0:
            raise RuntimeError("adaptive_max_pool2d: elements of output_size must be greater than or equal to 0")
        made = _largest_of_parts(made, dim, size)
    return made


def _largest_of_parts(input, dim, count):
    length = input.size(dim)
    parts = [
        ops.amax(ops.slice(input, dim, i * length // count, ((i + 1) * length + count - 1) // count), (dim,), True) for i in range(count)
    ]
    return ops.cat(parts, dim) if parts else ops.clone(ops.narrow(input, dim, 0, 0))


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of (N, C, L)."""
    kernel, pad = _one("avg_pool1d", kernel_size), _one("avg_pool1d", padding)
    step = kernel if stride is None else _one("avg_pool1d", stride)
    made = ops.avg_pool2d(ops.unsqueeze(input, -2), (1, kernel), (1, step), (0, pad), ceil_mode, count_include_pad, None)
    return ops.squeeze(made, -2)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows chosen so that the output has the given sizes; None keeps a size."""
    if input.dim() < 3:
        raise ValueError("Input dimension should be at least 3")
    sizes = numbers(output_size, 2) if output_size is not None else [None, None]
    if len(sizes) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    return ops.adaptive_avg_pool2d(input, [input.size(d - 2) if sizes[d] is None else sizes[d] for d in range(2)])


def adaptive_avg_pool1d(input, output_size):
    """Means of windows chosen so that the output has the given length."""
    if not isinstance(output_size, int) and len(output_size) != 1:
        raise RuntimeError(f"adaptive_avg_pool1d() argument 'output_size' should contain one int (got {len(output_size)})")
    (length,) = numbers(output_size, 1)
    return ops.squeeze(ops.adaptive_avg_pool2d(ops.unsqueeze(input, -2), (1, length)), -2)
