"""What every model starts and ends with: arrays to tensors over their memory, tensors to arrays or scalars.

In: arrays, NumPy's scalars, numbers of Python. Out: tensors in the dtypes of a loop; results in NumPy's layout. The models in this package are
never called: the tracer traces them in the place of NumPy's functions (core/interpret/arrays.cc), so they are plain code over `ops`,
and `no_model` is a graph break.
"""

from .. import _core
from .._core import _array as array
from .._core import _array_ask as ask
from .._core import _array_kind as kind
from .._core import _array_memory as memory
from .._core import _array_no_model as no_model
from .._core import _array_require as require
from .._core import _array_scalar as scalar
from .._core import ops
from . import questions

FLOATING = (_core.float32, _core.float64)
FLOAT_FLAGS = questions.FLOAT_FLAGS


def is_number(x):
    """Whether it is a number of Python: weak in promotion."""
    what = kind(x)
    return what is float or what is int or what is bool


def fits(number, dtype):
    """Breaks where NumPy raises OverflowError: an int that the array's dtype cannot hold."""
    if dtype not in FLOATING and dtype != _core.bool:
        low, high = ask(questions.bounds, dtype)
        if number < low or number > high:
            no_model("an int that the array's dtype cannot hold", "python-raises")


def operand(x, dtype):
    """An operand in the dtype of a loop; numbers stay weak."""
    what = kind(x)
    if what is int:
        fits(x, dtype)
        return x
    if what is float or what is bool:
        return x
    return cast(memory(x), dtype)


def strong(x, dtype):
    """A number as a 0-d tensor, a tensor as it is."""
    return ops.fill(ops.zeros((), dtype=dtype), x) if type(x) in (int, float, bool) else x


def cast(tensor, dtype):
    """The tensor in that dtype; floats that no int can hold hand the call back."""
    if tensor.dtype == dtype:
        return tensor
    if tensor.dtype in FLOATING and dtype not in FLOATING and dtype != _core.bool:
        low, high = ask(questions.bounds, dtype)
        inside = ops.logical_and(ops.gt(tensor, low - 1.0), ops.lt(tensor, high + 1.0))
        require(ops.all(inside))
    return ops.to(tensor, dtype)


def checked(tensor):
    """Where NumPy would notice an overflow or a division by zero, a result that is not finite hands the call back, so that NumPy warns."""
    if FLOAT_FLAGS and tensor.dtype in FLOATING:
        require(ops.all(ops.isfinite(tensor)))
    return tensor


def ordered(tensor, operands):
    """The tensor with its axes in memory as a ufunc of these tensors leaves them."""
    rank = tensor.dim()
    layouts = ()
    plain = tensor.is_contiguous()
    for x in operands:
        if x.dim() == rank:
            plain = plain and x.is_contiguous()
        layouts = (*layouts, (tuple(x.shape), x.stride()))
    if rank < 2 or plain:
        return tensor
    axes = ask(questions.order, tuple(tensor.shape), *layouts)
    if axes == tuple(range(rank)):
        return ops.contiguous(tensor)
    moved = ops.permute(tensor, axes)
    if moved.is_contiguous():
        return tensor
    back = [0] * rank
    for place, axis in enumerate(axes):
        back[axis] = place
    return ops.permute(ops.contiguous(moved), back)


def result(tensor):
    """A fresh result: a scalar where NumPy gives one."""
    return scalar(tensor) if tensor.dim() == 0 else array(tensor)


def dtype_or(dtype, default):
    """The graph's dtype that a `dtype=` argument names."""
    return default if dtype is None else ask(questions.ours, dtype)


def write(target, tensor):
    """Puts a result into an existing array, as `out=` and in-place operators do."""
    place = memory(target)
    if not ask(questions.can_cast, tensor.dtype, place.dtype):
        no_model("a result is written into an array of another kind", "python-raises")
    if tuple(place.shape) != tuple(tensor.shape):
        no_model("a result is written into an array of another shape", "python-raises")
    place.copy_(cast(tensor, place.dtype))
    return target
