"""Reductions, sums along an axis, products of matrices.

In: arrays; `axis` None, an int or a tuple of ints. Out: scalars where nothing is left of the dimensions, else arrays. Sums and products of
floats are added in another order than NumPy's, so their last digits may differ.
"""

from .. import _core
from .._core import ops
from .arrays import array, ask, cast, checked, dtype_or, kind, memory, no_model, ordered, result, scalar
from . import questions

FLOATING = (_core.float32, _core.float64)


def _axes(name, axis, rank):
    """The reduced dimensions, from 0."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int:
        axis = (axis,)
    if type(axis) is not tuple:
        no_model(f"numpy.{name}() with an axis that is no int and no tuple")
    axes = ()
    for one in axis:
        if type(one) is not int or one < -rank or one >= rank:
            no_model(f"numpy.{name}() along a dimension that is not there", "python-raises")
        one = one + rank if one < 0 else one
        if one in axes:
            no_model(f"numpy.{name}() along the same dimension twice", "python-raises")
        axes = (*axes, one)
    return axes


def _only(name, out, initial=None, where=True):
    if out is not None or initial is not None or where is not True:
        no_model(f"numpy.{name}() with out=, initial= or where=: assign the result, select with numpy.where")


def _count(values, axes):
    count = 1
    for axis in axes:
        count *= values.shape[axis]
    return count


def _shaped(values, axes, keepdims, made):
    """Leaves the axes that remain in the order of the operand's memory."""
    if values.is_contiguous() or made.dim() < 2:
        return result(made)
    outside = values
    for axis in sorted(axes, reverse=True):
        outside = ops.select(outside, axis, 0)
        if keepdims:
            outside = ops.unsqueeze(outside, axis)
    return result(ordered(made, (outside,)))


def _sum(values, axes, keepdims, dtype):
    if values.dtype != dtype:
        values = cast(values, dtype)
    return values if len(axes) == 0 else ops.sum(values, axes, keepdims, dtype=dtype)


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    _only("sum", out, initial, where)
    values = memory(a)
    axes = _axes("sum", axis, values.dim())
    total = _sum(values, axes, keepdims, dtype_or(dtype, ask(questions.reduced, "sum", kind(a))))
    return _shaped(values, axes, keepdims, checked(ops.clone(total) if len(axes) == 0 else total))


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    _only("prod", out, initial, where)
    values = memory(a)
    axes = _axes("prod", axis, values.dim())
    made = cast(values, dtype_or(dtype, ask(questions.reduced, "prod", kind(a))))
    for one in axes:
        made = ops.prod(made, one, True, dtype=made.dtype)
    made = ops.clone(made) if len(axes) == 0 else made
    return _shaped(values, axes, keepdims, checked(made if keepdims else _without(made, axes)))


def _without(made, axes):
    for one in sorted(axes, reverse=True):
        made = ops.select(made, one, 0)
    return ops.clone(made)


def _extremum(name, op, a, axis, out, keepdims, initial, where):
    _only(name, out, initial, where)
    values = memory(a)
    axes = _axes(name, axis, values.dim())
    if _count(values, axes) == 0:
        no_model(f"numpy.{name}() of nothing", "python-raises")
    made = ops.clone(values) if len(axes) == 0 else op(values, axes, keepdims)
    return _shaped(values, axes, keepdims, checked(made))


def max(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return _extremum("max", ops.amax, a, axis, out, keepdims, initial, where)


def min(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return _extremum("min", ops.amin, a, axis, out, keepdims, initial, where)


def _arg(name, op, a, axis, out, keepdims):
    _only(name, out)
    values = memory(a)
    if values.numel() == 0:
        no_model(f"numpy.{name}() of nothing", "python-raises")
    if values.dtype == _core.bool:
        values = ops.to(values, _core.uint8)
    if axis is None:
        if keepdims:
            no_model(f"numpy.{name}() of the whole array with keepdims")
        made = op(ops.reshape(values, (-1,)), 0, False)
    else:
        axes = _axes(name, axis, values.dim())
        if len(axes) != 1:
            no_model(f"numpy.{name}() along several dimensions", "python-raises")
        made = op(values, axes[0], keepdims)
    return result(cast(made, ask(questions.reduced, name, kind(a))))


def argmax(a, axis=None, out=None, *, keepdims=False):
    return _arg("argmax", ops.argmax, a, axis, out, keepdims)


def argmin(a, axis=None, out=None, *, keepdims=False):
    return _arg("argmin", ops.argmin, a, axis, out, keepdims)


def _test(name, op, a, axis, out, keepdims, where):
    _only(name, out, None, where)
    values = memory(a)
    axes = _axes(name, axis, values.dim())
    if values.dtype != _core.bool:
        values = ops.ne(values, 0)
    made = ops.clone(values) if len(axes) == 0 else op(values, axes, keepdims)
    return _shaped(values, axes, keepdims, made)


def any(a, axis=None, out=None, keepdims=False, *, where=True):
    return _test("any", ops.any, a, axis, out, keepdims, where)


def all(a, axis=None, out=None, keepdims=False, *, where=True):
    return _test("all", ops.all, a, axis, out, keepdims, where)


def _mean(values, axes, keepdims, dtype):
    count = _count(values, axes)
    if count == 0:
        no_model("the mean of nothing: NumPy warns of it")
    return ops.div(_sum(values, axes, keepdims, dtype), count)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    _only("mean", out, None, where)
    values = memory(a)
    axes = _axes("mean", axis, values.dim())
    dtype = dtype_or(dtype, ask(questions.reduced, "mean", kind(a)))
    if dtype not in FLOATING:
        no_model("numpy.mean() in an integer dtype")
    return _shaped(values, axes, keepdims, checked(_mean(values, axes, keepdims, dtype)))


def _variance(name, a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    _only(name, out, mean, where)
    if correction is not None:
        ddof = correction
    if type(ddof) is not int and type(ddof) is not float:
        no_model(f"numpy.{name}() with a ddof that is no number")
    values = memory(a)
    axes = _axes(name, axis, values.dim())
    dtype = dtype_or(dtype, ask(questions.reduced, name, kind(a)))
    count = _count(values, axes)
    if count <= ddof or dtype not in FLOATING:
        no_model(f"numpy.{name}() of fewer values than ddof: NumPy warns of it")
    centred = cast(values, dtype)
    centred = ops.sub(centred, _mean(values, axes, True, dtype))
    return values, axes, ops.div(_sum(ops.mul(centred, centred), axes, keepdims, dtype), count - ddof)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    values, axes, made = _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return _shaped(values, axes, keepdims, checked(made))


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    values, axes, made = _variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return _shaped(values, axes, keepdims, checked(ops.sqrt(made)))


def _along(name, op, a, axis, dtype, out):
    _only(name, out)
    values = cast(memory(a), dtype_or(dtype, ask(questions.reduced, name, kind(a))))
    if axis is None:
        return array(checked(op(ops.reshape(values, (-1,)), 0, dtype=values.dtype)))
    axes = _axes(name, axis, values.dim())
    if not values.is_contiguous() or len(axes) != 1:
        no_model(f"numpy.{name}() along a dimension of an array that is not contiguous")
    return array(checked(op(values, axes[0], dtype=values.dtype)))


def cumsum(a, axis=None, dtype=None, out=None):
    return _along("cumsum", ops.cumsum, a, axis, dtype, out)


def cumprod(a, axis=None, dtype=None, out=None):
    return _along("cumprod", ops.cumprod, a, axis, dtype, out)


def matmul(x1, x2, out=None):
    _only("matmul", out)
    left, right, loop = ask(questions.loop, "matmul", kind(x1), kind(x2))
    a, b = memory(x1), memory(x2)
    if loop == _core.bool or a.dim() == 0 or b.dim() == 0:
        no_model("numpy.matmul() of bools or of numbers")
    return result(checked(ops.matmul(cast(a, left), cast(b, right))))


def dot(a, b, out=None):
    _only("dot", out)
    if memory(a).dim() not in (1, 2) or memory(b).dim() not in (1, 2):
        no_model("numpy.dot() of numbers or of more than two dimensions: use numpy.matmul, * or numpy.einsum outside")
    return matmul(a, b)


def outer(a, b, out=None):
    _only("outer", out)
    left, right, loop = ask(questions.loop, "multiply", kind(a), kind(b))
    x = ops.reshape(cast(memory(a), left), (-1, 1))
    y = ops.reshape(cast(memory(b), right), (1, -1))
    if loop == _core.bool:
        no_model("numpy.outer() of bools")
    return array(checked(ops.mul(x, y)))


def norm(x, ord=None, axis=None, keepdims=False):
    """The 2-norm of all elements, or along one axis."""
    if ord is not None and not (ord == 2 and type(axis) is int):
        no_model("numpy.linalg.norm() with ord=")
    values = cast(memory(x), ask(questions.reduced, "mean", kind(x)))
    axes = _axes("linalg.norm", axis, values.dim())
    if axis is not None and type(axis) is not int:
        no_model("numpy.linalg.norm() of matrices")
    return _shaped(values, axes, keepdims, checked(ops.sqrt(_sum(ops.mul(values, values), axes, keepdims, values.dtype))))
