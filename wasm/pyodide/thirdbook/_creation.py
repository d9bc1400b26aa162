"""Functions that make tensors. Those that are ops (zeros, ones, rand…) are used as they are; here is what needs Python around them.

All take dtype=, device= ("cpu" or "webgpu") and requires_grad= as PyTorch's do. Errors: TypeError for a wrong type, RuntimeError for a wrong value.
"""

from __future__ import annotations

from . import _core
from ._core import Tensor, ops

__all__ = [
    "arange", "as_tensor", "asarray", "cartesian_prod", "empty", "empty_like", "empty_strided", "eye", "full", "full_like",
    "linspace", "logspace", "meshgrid", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "scalar_tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
]  # fmt: skip

zeros = ops.zeros
ones = ops.ones
empty = ops.empty
full = ops.full
eye = ops.eye
linspace = ops.linspace
rand = ops.rand
randn = ops.randn
randperm = ops.randperm


def arange(start, end=None, step=1, *, out=None, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
    """Numbers from start (0) up to but without end; int64 when all are ints."""
    if end is None:
        start, end = 0, start
    made = ops.arange(start, end, step, dtype=dtype, device=device, requires_grad=requires_grad)
    if out is not None:
        return ops.copy_(out, made)
    return made


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """base ** linspace(start, end, steps)."""
    whole = dtype is not None and not dtype.is_floating_point
    points = ops.linspace(start, end, steps, dtype=_core.float64 if whole else dtype, device=device)
    made = ops.pow(float(base), points)
    made = ops.to(made, dtype) if whole else made
    return made.requires_grad_() if requires_grad else made


def _like(input, dtype):
    return input.dtype if dtype is None else dtype


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Zeros of input's sizes and dtype."""
    return ops.zeros(input.shape, dtype=_like(input, dtype), device=device, requires_grad=requires_grad)


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Ones of input's sizes and dtype."""
    return ops.ones(input.shape, dtype=_like(input, dtype), device=device, requires_grad=requires_grad)


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Uninitialised memory of input's sizes and dtype."""
    return ops.empty(input.shape, dtype=_like(input, dtype), device=device, requires_grad=requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """fill_value everywhere, of input's sizes and dtype."""
    return ops.full(input.shape, fill_value, dtype=_like(input, dtype), device=device, requires_grad=requires_grad)


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Uniform numbers in [0, 1) of input's sizes and dtype."""
    return ops.rand(
        input.shape, dtype=_like(input, dtype), device=device, requires_grad=requires_grad, generator=generator
    )


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Standard normal numbers of input's sizes and dtype."""
    return ops.randn(
        input.shape, dtype=_like(input, dtype), device=device, requires_grad=requires_grad, generator=generator
    )


def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None, layout=None, requires_grad=False):
    """Integers in [low, high): randint(high, size) or randint(low, high, size)."""
    if size is None:
        low, high, size = 0, low, high
    if dtype is None:
        dtype = _core.int64
    return ops.randint(low, high, size, dtype=dtype, device=device, generator=generator, requires_grad=requires_grad)


def randint_like(input, low, high=None, *, dtype=None, device=None):
    """Integers in [low, high) of input's sizes and dtype."""
    if high is None:
        low, high = 0, low
    return ops.randint(low, high, input.shape, dtype=_like(input, dtype), device=device)


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-d tensor of a number; the default dtype."""
    dtype = _core.get_default_dtype() if dtype is None else dtype
    return ops.full((), s, dtype=dtype, device=device, requires_grad=requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Uninitialised memory with the given strides."""
    extent = 1
    for n, s in zip(size, stride):
        if n == 0:
            extent = 0
            break
        extent += (n - 1) * s
    return ops.as_strided(ops.empty((extent,), dtype=dtype, device=device, requires_grad=requires_grad), size, stride)


def as_tensor(data, dtype=None, device=None):
    """The tensor itself, a view of an array's memory, or a copy of other data."""
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else ops.to(data, dtype)
    if hasattr(data, "__array_interface__") and not isinstance(data, (int, float)):
        made = _core.from_numpy(data)
        return made if dtype is None or made.dtype is dtype else ops.to(made, dtype)
    return _core.tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """As as_tensor, and memory of any object with a buffer is shared; copy=True copies, copy=False forbids it."""
    if copy:
        made = _core.tensor(obj, dtype=dtype, device=device)
    else:
        made = as_tensor(obj, dtype, device)
        if copy is False and made is not obj and not hasattr(obj, "__array_interface__"):
            raise ValueError("cannot make a tensor of this object without copying it")
    return made.requires_grad_() if requires_grad else made


def meshgrid(*tensors, indexing=None):
    """Coordinates of a grid, one tensor per axis; indexing "ij" (default) or "xy"."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    axes = [ops.reshape(t, (t.numel(),)) for t in tensors]
    swap = indexing == "xy" and len(axes) > 1
    if swap:
        axes[0], axes[1] = axes[1], axes[0]
    size = [a.size(0) for a in axes]
    grids = []
    for place, axis in enumerate(axes):
        shape = [1] * len(axes)
        shape[place] = axis.size(0)
        grids.append(ops.expand(ops.view(axis, shape), size))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors):
    """Rows of all combinations of the 1-d tensors' elements."""
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ops.reshape(g, (-1,)) for g in meshgrid(*tensors)], 1)


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    """Row and column numbers of the lower triangle, shape (2, n)."""
    found = ops.t(ops.nonzero(ops.tril(ops.ones((row, col)), offset))).contiguous()
    return found if dtype is None else ops.to(found, dtype)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    """Row and column numbers of the upper triangle, shape (2, n)."""
    found = ops.t(ops.nonzero(ops.triu(ops.ones((row, col)), offset))).contiguous()
    return found if dtype is None else ops.to(found, dtype)
