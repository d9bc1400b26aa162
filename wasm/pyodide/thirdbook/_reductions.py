"""Reductions and order: the forms of max, min, sort, std… that PyTorch spells as overloads of one name.

In: a tensor, `dim` (an int or ints, negative from the end), `keepdim`. Out: a tensor, or a named tuple of values and indices. Errors: IndexError for
a dimension out of range.
"""

from __future__ import annotations

import math

from . import _core, _return_types
from ._core import Tensor, ops
from ._forms import need_floats, scalar_name, spelled, takes_out
from ._shapes import check_dim

METHODS = (
    "aminmax", "count_nonzero", "dist", "kthvalue", "max", "median", "min", "nanmean", "nansum", "nonzero", "norm", "quantile", "sort",
    "std", "topk", "unique", "unique_consecutive", "var", "diff", "cov", "histc", "nanmedian", "mode", "logcumsumexp", "renorm",
    "cummax", "cummin", "msort",
)  # fmt: skip
FUNCTIONS = (*METHODS, "std_mean", "var_mean", "bucketize", "searchsorted")


@takes_out
@spelled
def max(input, dim=None, keepdim=False, *, other=None):
    """The largest element; with dim values and indices; with a tensor the elementwise maximum."""
    if other is not None:
        dim = other
    if dim is None:
        return ops.amax(input, ())
    if isinstance(dim, Tensor):
        return ops.maximum(input, dim)
    values, indices = ops.max_dim(input, dim, keepdim)
    return _return_types.max(values, indices)


@takes_out
@spelled
def min(input, dim=None, keepdim=False, *, other=None):
    """The smallest element; with dim values and indices; with a tensor the elementwise minimum."""
    if other is not None:
        dim = other
    if dim is None:
        return ops.amin(input, ())
    if isinstance(dim, Tensor):
        return ops.minimum(input, dim)
    values, indices = ops.min_dim(input, dim, keepdim)
    return _return_types.min(values, indices)


@takes_out
@spelled
def aminmax(input, *, dim=None, keepdim=False):
    """Smallest and largest, as min and max."""
    dims = () if dim is None else (dim,)
    return _return_types.aminmax(ops.amin(input, dims, keepdim), ops.amax(input, dims, keepdim))


def msort(input):
    """Sorted along dimension 0."""
    return ops.sort(input, 0)[0]


@takes_out
def sort(input, dim=-1, descending=False, stable=False):
    """Sorted values and where they came from."""
    values, indices = ops.sort(input, dim, descending, stable=bool(stable))
    return _return_types.sort(values, indices)


@takes_out
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The k largest (smallest) values and their indices."""
    values, indices = ops.topk(input, k, dim, largest, sorted)
    return _return_types.topk(values, indices)


def _spread(op, input, dim, unbiased, keepdim, correction):
    """std and var: dim may be the bool `unbiased`, as in x.std(False)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    return op(input, dim, correction=correction, keepdim=keepdim)


@takes_out
@spelled
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """Standard deviation; correction 1 divides by n - 1."""
    return _spread(ops.std, input, dim, unbiased, keepdim, correction)


@takes_out
@spelled
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """Variance; correction 1 divides by n - 1."""
    return _spread(ops.var, input, dim, unbiased, keepdim, correction)


@spelled
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """(std, mean)."""
    over = None if isinstance(dim, bool) else dim
    return std(input, dim, unbiased, keepdim, correction=correction), ops.mean(input, over, keepdim)


@spelled
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """(var, mean)."""
    over = None if isinstance(dim, bool) else dim
    return var(input, dim, unbiased, keepdim, correction=correction), ops.mean(input, over, keepdim)


@takes_out
@spelled
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm; "fro" is the 2-norm over dim."""
    if p == "nuc":
        from . import linalg  # built on this module

        return linalg.matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return ops.linalg_vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype=dtype)


def dist(input, other, p=2):
    """The p-norm of input - other."""
    return ops.linalg_vector_norm(ops.sub(input, other), p)


@takes_out
def renorm(input, p, dim, maxnorm):
    """Slices along dim whose p-norm exceeds maxnorm, scaled down to it."""
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    over = [d for d in range(input.dim()) if d != dim % input.dim()]
    size = ops.linalg_vector_norm(input, p, over, True)
    return ops.where(ops.gt(size, maxnorm), ops.mul(input, ops.div(maxnorm, ops.add(size, 1e-7))), input)


@spelled
def count_nonzero(input, dim=None):
    """How many elements are not zero, int64."""
    return ops.sum(ops.ne(input, 0), dim)


def nonzero(input, *, as_tuple=False):
    """Indices of the elements that are not zero: shape (n, dims), or one tensor per dimension."""
    found = ops.nonzero(input)
    if not as_tuple:
        return found
    if input.dim() == 0:
        found = ops.nonzero(ops.unsqueeze(input, 0))
    return tuple(ops.select(found, 1, d) for d in range(found.size(1)))


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in order; with inverse indices and counts where asked for."""
    values, inverse, counts = ops.unique(input, sorted, return_inverse, return_counts, dim)
    if return_inverse and return_counts:
        return values, inverse, counts
    if return_inverse:
        return values, inverse
    if return_counts:
        return values, counts
    return values


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """As unique, for runs of equal neighbours; dim=None flattens, 1-d along dim 0."""
    if dim is not None:
        return _unique_consecutive_along(input, dim % input.dim(), return_inverse, return_counts)
    flat = ops.reshape(input, (-1,))
    first = ops.ones((min_int(flat.numel(), 1),), dtype=_core.bool)
    starts = ops.cat([first, ops.ne(ops.slice(flat, 0, 1), ops.slice(flat, 0, 0, -1))])
    values = ops.masked_select(flat, starts)
    if not return_inverse and not return_counts:
        return values
    inverse = ops.view(ops.sub(ops.cumsum(starts, 0), 1), input.shape)
    counts = ops.bincount(ops.reshape(inverse, (-1,)))
    if return_inverse and return_counts:
        return values, inverse, counts
    return (values, inverse) if return_inverse else (values, counts)


def _unique_consecutive_along(input, dim, return_inverse, return_counts):
    rows = ops.transpose(input, 0, dim)
    flat = ops.reshape(rows, (rows.size(0), -1))
    first = ops.ones((min_int(flat.size(0), 1),), dtype=_core.bool)
    changed = ops.any(ops.ne(ops.slice(flat, 0, 1), ops.slice(flat, 0, 0, -1)), 1)
    starts = ops.cat([first, changed])
    values = ops.transpose(ops.index_select(rows, 0, ops.reshape(ops.nonzero(starts), (-1,))), 0, dim)
    inverse = ops.sub(ops.cumsum(starts, 0), 1)
    made = (values, inverse, ops.bincount(inverse))
    if return_inverse and return_counts:
        return made
    if return_inverse:
        return made[0], made[1]
    return (made[0], made[2]) if return_counts else values


def min_int(a: int, b: int) -> int:
    """The builtin min, which this module's own hides."""
    return a if a < b else b


def _need_int(name, dim):
    if not isinstance(dim, int):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")


def _need_numbers(name, input):
    if input.dtype is _core.bool:
        raise NotImplementedError(f"\"{name}_out\" not implemented for '{scalar_name(input.dtype)}'")


@takes_out
@spelled
def median(input, dim=None, keepdim=False):
    """The lower median; with dim values and indices. NaN when there is a NaN."""
    _need_numbers("median", input)
    if dim is None:
        flat = ops.reshape(input, (-1,))
        if flat.numel() == 0:
            return ops.full((), math.nan, dtype=input.dtype)
        return median(flat, 0).values
    _need_int("median", dim)
    check_dim(dim, input.dim())
    if input.dim() == 0:
        return _return_types.median(ops.clone(input), ops.zeros((), dtype=_core.int64))
    return _return_types.median(*_kth(input, (input.size(dim) + 1) // 2, dim, keepdim, True))


@takes_out
@spelled
def nanmedian(input, dim=None, keepdim=False):
    """As median, without the NaNs."""
    _need_numbers("nanmedian", input)
    if dim is None:
        kept = ops.masked_select(input, ops.logical_not(ops.isnan(input)))
        return median(kept)
    _need_int("nanmedian", dim)
    counts = ops.sum(ops.logical_not(ops.isnan(input)), dim, True)
    values, indices = ops.sort(input, dim, stable=True)
    place = ops.div(ops.sub(ops.where(ops.gt(counts, 0), counts, 1), 1), 2, rounding_mode="floor")
    values, indices = ops.gather(values, dim, place), ops.gather(indices, dim, place)
    if not keepdim:
        values, indices = ops.squeeze(values, dim), ops.squeeze(indices, dim)
    return _return_types.median(values, indices)


def _kth(input, k, dim, keepdim, nan_wins):
    values, indices = ops.sort(input, dim, stable=True)
    found, where = ops.narrow(values, dim, k - 1, 1), ops.narrow(indices, dim, k - 1, 1)
    if nan_wins and input.dtype.is_floating_point:
        last, last_where = ops.narrow(values, dim, -1, 1), ops.narrow(indices, dim, -1, 1)
        bad = ops.isnan(last)
        first_nan = ops.argmax(ops.to(ops.isnan(input), _core.uint8), dim, True)
        found, where = ops.where(bad, last, found), ops.where(bad, ops.where(bad, first_nan, last_where), where)
    if keepdim:
        return ops.clone(found), ops.clone(where)
    return ops.clone(ops.squeeze(found, dim)), ops.clone(ops.squeeze(where, dim))


@spelled
def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest value (from 1) along dim and its index."""
    size = input.size(dim) if input.dim() else 1
    if not 0 < k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if input.dim() == 0:
        return _return_types.kthvalue(ops.clone(input), ops.zeros((), dtype=_core.int64))
    return _return_types.kthvalue(*_kth(input, k, dim, keepdim, False))


@takes_out
@spelled
def mode(input, dim=-1, keepdim=False):
    """The most frequent value along dim (the smallest of several) and the last index where it occurs."""
    _need_int("mode", dim)
    check_dim(dim, input.dim())
    if input.dim() == 0:
        return _return_types.mode(ops.clone(input), ops.zeros((), dtype=_core.int64))
    same = ops.eq(ops.unsqueeze(ops.transpose(input, dim, -1), -1), ops.unsqueeze(ops.transpose(input, dim, -1), -2))
    counts = ops.sum(same, -1)
    rows = ops.transpose(input, dim, -1)
    best = ops.amax(counts, (-1,), True)
    far = math.inf if rows.dtype.is_floating_point else ops.amax(rows, (-1,), True)
    values = ops.amin(ops.where(ops.eq(counts, best), rows, far), (-1,), True)
    places = ops.arange(0, rows.size(-1))
    indices = ops.amax(ops.where(ops.eq(rows, values), places, -1), (-1,), True)
    values, indices = ops.transpose(values, dim, -1), ops.transpose(indices, dim, -1)
    if not keepdim:
        values, indices = ops.squeeze(values, dim), ops.squeeze(indices, dim)
    return _return_types.mode(values, indices)


@takes_out
@spelled
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is not NaN."""
    return ops.sum(ops.where(ops.isnan(input), 0, input), dim, keepdim, dtype=dtype)


@takes_out
@spelled
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of what is not NaN."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {scalar_name(input.dtype)}"
        )
    counts = ops.sum(ops.logical_not(ops.isnan(input)), dim, keepdim)
    return ops.div(nansum(input, dim, keepdim, dtype=dtype), counts)


@takes_out
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantile (number or 1-d tensor); interpolation linear, lower, higher, nearest, midpoint."""
    single = not isinstance(q, Tensor) or q.dim() == 0
    if input.dim() == 0:
        return quantile(ops.reshape(input, (1,)), q, 0, False, interpolation=interpolation)
    points = q if isinstance(q, Tensor) else ops.full((), q, dtype=input.dtype)
    points = ops.reshape(points, (-1,))
    shape = list(input.shape)
    if dim is None:
        rows = ops.reshape(input, (-1,))
        rest = [1] * len(shape) if keepdim else []
    else:
        rows = ops.transpose(input, dim, -1)
        place = dim % len(shape)
        rest = [1 if d == place else n for d, n in enumerate(shape)] if keepdim else shape[:place] + shape[place + 1 :]
    ordered = ops.sort(rows, -1)[0]
    at = ops.mul(points, ordered.size(-1) - 1)
    low, high = ops.floor(at), ops.ceil(at)
    if interpolation == "lower":
        high = low
    elif interpolation == "higher":
        low = high
    elif interpolation == "nearest":
        low = high = ops.round(at)
    elif interpolation not in ("linear", "midpoint"):
        raise RuntimeError("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest")
    weight = 0.5 if interpolation == "midpoint" else ops.sub(at, low)
    a = ops.index_select(ordered, -1, ops.to(low, _core.int64))
    b = ops.index_select(ordered, -1, ops.to(high, _core.int64))
    made = ops.lerp(a, b, weight) if interpolation in ("linear", "midpoint") else a
    made = ops.where(ops.any(ops.isnan(ordered), -1, True), math.nan, made)
    if dim is not None:
        made = ops.transpose(ops.unsqueeze(made, 0), 0, -1)
        made = ops.squeeze(made, (-1,))
        if keepdim or made.dim() > 1:
            made = _restore(made, dim % len(shape), len(shape), rest)
    else:
        made = ops.reshape(made, [points.numel(), *rest])
    return ops.squeeze(made, 0) if single else made


def _restore(made, place, dims, rest):
    """quantile's rows back in order: the reduced dimension was exchanged with the last one."""
    order = list(range(1, dims))
    if place < dims - 1:
        last = order.pop(place)
        order.append(last)
    return ops.reshape(ops.permute(made, [0, *order]), [made.size(0), *rest])


@takes_out
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th difference of neighbours along dim."""
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    parts = [part for part in (prepend, input, append) if part is not None]
    made = parts[0] if len(parts) == 1 else ops.cat(parts, dim)
    for _ in range(n):
        after, before = ops.slice(made, dim, 1), ops.slice(made, dim, 0, -1)
        made = ops.logical_xor(after, before) if made.dtype is _core.bool else ops.sub(after, before)
    return made


def cov(input, *, correction=1):
    """The covariance of rows."""
    if input.dim() > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with " f"{input.dim()} dimensions"
        )
    if not input.dtype.is_floating_point:
        input = ops.to(input, _core.get_default_dtype())
    rows = input if input.dim() == 2 else ops.unsqueeze(ops.reshape(input, (-1,)), 0)
    centred = ops.sub(rows, ops.mean(rows, 1, True))
    made = ops.div(ops.mm(centred, ops.t(centred)), rows.size(1) - correction)
    return made if input.dim() == 2 else ops.reshape(made, ())


def histc(input, bins=100, min=0, max=0):
    """How many elements fall into each of `bins` equal parts of [min, max]."""
    flat = ops.reshape(input, (-1,))
    if min == 0 and max == 0:
        min, max = ops.amin(flat, ()).item(), ops.amax(flat, ()).item()
    if min == max:
        min, max = min - 1, max + 1
    inside = ops.masked_select(flat, ops.logical_and(ops.ge(flat, min), ops.le(flat, max)))
    place = ops.to(ops.mul(ops.sub(inside, min), bins / (max - min)), _core.int64)
    return ops.to(ops.bincount(ops.clamp(place, 0, bins - 1), None, bins), input.dtype)


@takes_out
@spelled
def logcumsumexp(input, dim):
    """log(cumsum(exp(x))), shifted by the largest element."""
    check_dim(dim, input.dim())
    need_floats("logcumsumexp_out_cpu", input.dtype)
    if input.numel() == 0:
        return ops.clone(input)
    top = ops.amax(input, (dim,), True)
    top = ops.where(ops.isfinite(top), top, 0)
    return ops.add(ops.log(ops.cumsum(ops.exp(ops.sub(input, top)), dim)), top)


def _cumulative(input, dim, better, result):
    if input.dim() == 0 or input.numel() == 0:
        return result(ops.clone(input), ops.zeros(input.shape, dtype=_core.int64))
    rows = [ops.select(input, dim, i) for i in range(input.size(dim))]
    values, indices = [], []
    for i, row in enumerate(rows):
        here = ops.full(row.shape, i, dtype=_core.int64)
        if values:
            take = ops.logical_or(better(row, values[-1]), ops.isnan(row))
            row, here = ops.where(take, row, values[-1]), ops.where(take, here, indices[-1])
        values.append(row)
        indices.append(here)
    return result(ops.stack(values, dim), ops.stack(indices, dim))


@takes_out
@spelled
def cummax(input, dim):
    """The largest element so far along dim and its (last) index."""
    return _cumulative(input, dim, ops.ge, _return_types.cummax)


@takes_out
@spelled
def cummin(input, dim):
    """The smallest element so far along dim and its (last) index."""
    return _cumulative(input, dim, ops.le, _return_types.cummin)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None):
    """Where each element of input would be inserted into the (last dimension of the) sorted sequence."""
    if side is not None:
        right = side == "right"
    values = input if isinstance(input, Tensor) else _core.tensor(input)
    compare = ops.le if right else ops.lt
    if sorted_sequence.dim() == 1:
        below = compare(sorted_sequence, ops.unsqueeze(values, -1))
    else:
        below = compare(ops.unsqueeze(sorted_sequence, -2), ops.unsqueeze(values, -1))
    counts = ops.sum(below, -1)
    return ops.to(counts, _core.int32) if out_int32 else counts


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The bucket of each element between the sorted boundaries."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
