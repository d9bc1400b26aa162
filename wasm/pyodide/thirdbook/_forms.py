"""What PyTorch's argument parser gives every function, for functions that are written in Python: `out=`, a second spelling of `dim` and `keepdim`,
the in-place method, and the errors for arguments that are no tensors.

In: a composite of ops. Out: a function that takes the other forms as well. Errors: TypeError for a number where a tensor must be, RuntimeError where
the result does not fit the tensor that it is written to; that tensor is then as it was.
"""

from __future__ import annotations

import functools

from . import _core
from ._core import Tensor, ops


def scalar_name(dtype) -> str:
    """PyTorch's C++ name of a dtype: "Float", "Long"."""
    return _SCALAR_NAMES[dtype]


_SCALAR_NAMES = {
    _core.bool: "Bool", _core.uint8: "Byte", _core.int32: "Int", _core.int64: "Long", _core.float32: "Float", _core.float64: "Double",
}  # fmt: skip


def need_tensors(name, *operands, names=("input", "other")):
    """The TypeError of ops, for composites that would fail later and less clearly."""
    for place, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"{name}(): argument '{names[place]}' (position {place + 1}) must be Tensor, not {type(operand).__name__}"
            )


def need_tensor_list(items):
    """The TypeError of ops for a list of tensors with something else in it."""
    for place, item in enumerate(items):
        if not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(item).__name__}")


def need_floats(kernel, dtype):
    """NotImplementedError where PyTorch has a kernel for floating dtypes only."""
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(dtype)}'")


def takes_out(function):
    """The function with out=: a tensor, or a tuple of them for several results."""

    @functools.wraps(function)
    def called(*args, out=None, **kwargs):
        made = function(*args, **kwargs)
        if out is None:
            return made
        if isinstance(made, tuple):
            return type(made)(*[ops.clone(one, out=target) for one, target in zip(made, out, strict=True)])
        return ops.clone(made, out=out)

    return called


def spelled(function):
    """The function with axis= for dim= and keepdims= for keepdim=."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        if "keepdims" in kwargs:
            kwargs["keepdim"] = kwargs.pop("keepdims")
        return function(*args, **kwargs)

    return called


def in_place(function):
    """The method that writes the function's result into its first argument."""

    def method(self, *args, **kwargs):
        return written(self, function(self, *args, **kwargs))

    return method


def written(target, made):
    """target, with made's elements; RuntimeError where their category of numbers is a higher one."""
    if not _core.can_cast(made.dtype, target.dtype):
        raise RuntimeError(
            f"result type {scalar_name(made.dtype)} can't be cast to the desired output type {scalar_name(target.dtype)}"
        )
    return ops.copy_(target, made)
