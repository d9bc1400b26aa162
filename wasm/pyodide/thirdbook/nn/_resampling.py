"""Images in other sizes: interpolation, padding, windows as columns, pixel shuffling.

In: (N, C, L) or (N, C, H, W). Out: a fresh tensor. Errors: ValueError for sizes that contradict each other, NotImplementedError for modes and ranks
that are missing.
"""

from __future__ import annotations

import math

from .. import _core
from .._core import ops
from ._windows import adaptive_avg_pool1d, adaptive_avg_pool2d, numbers


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of (N, C, H, W) as columns: (N, C * kernel, windows)."""
    if input.dim() == 3:
        return ops.squeeze(unfold(ops.unsqueeze(input, 0), kernel_size, dilation, padding, stride), 0)
    if input.dim() != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size, but got: {list(input.shape)}")
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (numbers(v, 2) for v in (kernel_size, dilation, padding, stride))
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
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    r = upscale_factor
    *lead, channels, height, width = input.shape
    made = ops.reshape(input, [*lead, channels // (r * r), r, r, height, width])
    n = len(lead)
    made = ops.permute(made, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return ops.reshape(made, [*lead, channels // (r * r), height * r, width * r])


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    """Resampling of (N, C, L) or (N, C, H, W): nearest, nearest-exact, area, linear, bilinear, bicubic."""
    if antialias:
        raise NotImplementedError("interpolate: antialias is not supported by Thirdbook")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif not input.dtype.is_floating_point:
        raise NotImplementedError(f"interpolate: mode {mode!r} of {input.dtype} is not supported by Thirdbook; convert to float first")
    spatial = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes, scales = _per_dimension(size, spatial, "output", input), [None] * spatial
    elif scale_factor is not None:
        scales = [float(s) for s in _per_dimension(scale_factor, spatial, "scale_factor", input)]
        sizes = [int(math.floor(input.size(d + 2) * scales[d])) for d in range(spatial)]
        if recompute_scale_factor:
            scales = [None] * spatial
    else:
        raise ValueError("either size or scale_factor should be defined")
    if mode not in _RANKS or spatial not in _RANKS[mode]:
        raise NotImplementedError(
            "Input Error: Only 3D and 4D input Tensors supported by Thirdbook "
            f"(got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | area | nearest-exact (got {mode})"
        )
    if mode == "area":
        return adaptive_avg_pool1d(input, sizes) if spatial == 1 else adaptive_avg_pool2d(input, sizes)
    if mode == "nearest-exact":
        made = input
        for d in range(spatial):
            made = ops.index_select(made, d + 2, _core.tensor(_exact_places(input.size(d + 2), sizes[d], scales[d])))
        return made
    if mode == "bicubic":
        rows, columns = (_cubic_weights(input.size(d + 2), sizes[d], scales[d], bool(align_corners)) for d in range(2))
        rows, columns = (_core.tensor(weights, dtype=input.dtype) for weights in (rows, columns))
        return ops.matmul(ops.matmul(rows, input), ops.transpose(columns, 0, 1))
    wide = ops.unsqueeze(input, 2) if spatial == 1 else input
    if spatial == 1:
        sizes, scales = [1, *sizes], [None, *scales]
    if mode == "nearest":
        made = ops.upsample_nearest2d(wide, sizes, scales[0], scales[1])
    else:
        made = ops.upsample_bilinear2d(wide, sizes, bool(align_corners), scales[0], scales[1])
    return ops.squeeze(made, 2) if spatial == 1 else made


upsample = interpolate
# How many spatial dimensions a mode takes.
_RANKS = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "nearest": (1, 2), "area": (1, 2), "nearest-exact": (1, 2)}


def _per_dimension(value, spatial, what, input):
    if not isinstance(value, (list, tuple)):
        return [value] * spatial
    if len(value) != spatial:
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(input.shape[2:])} and {what} of {value}."
        )
    return list(value)


def _exact_places(length, count, scale):
    step = 1.0 / scale if scale else length / count
    return [min(int(math.floor((i + 0.5) * step)), length - 1) for i in range(count)]


def _cubic_weights(length, count, scale, align_corners):
    """A (count, length) matrix of the weights with which each output place takes its four neighbours; a place outside counts as the edge."""
    if align_corners:
        step = (length - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = 1.0 / scale if scale else length / count
    rows = []
    for i in range(count):
        at = i * step if align_corners else (i + 0.5) * step - 0.5
        first = math.floor(at)
        row = [0.0] * length
        for near in range(-1, 3):
            row[min(max(first + near, 0), length - 1)] += _cubic(abs(at - first - near))
        rows.append(row)
    return rows


def _cubic(x, a=-0.75):
    """The cubic convolution kernel at distance x < 2."""
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a


def pad(input, pad, mode="constant", value=None):
    """Padding from the last dimension on: (left, right, top, bottom, …); mode constant, reflect, replicate, circular."""
    if not isinstance(pad, (list, tuple)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    if mode == "constant":
        return ops.constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) not in (2, 4, 6) or input.dim() not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor.")
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
        else:
            places = [i % size for i in range(-before, size + after)]
        made = ops.index_select(made, dim, _core.tensor(places))
    return made


def _reflected(place, size):
    place = -place if place < 0 else place
    return 2 * (size - 1) - place if place >= size else place
