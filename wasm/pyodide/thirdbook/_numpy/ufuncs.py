"""Universal functions: elementwise, NumPy's promotion and broadcasting.

In: arrays and numbers. Out: arrays, scalars for 0-d results. Options other than `out=` (where, casting, order, dtype) break.
"""

import numpy

from .. import _core
from .._core import ops
from .arrays import ask, checked, is_number, kind, memory, no_model, operand, ordered, require, result, strong, write
from . import questions

FLOATING = (_core.float32, _core.float64)


def _add(a, b, dtype):
    return ops.logical_or(a, b) if dtype == _core.bool else _exact(ops.add, a, b, dtype)


def _subtract(a, b, dtype):
    return _exact(ops.sub, a, b, dtype)


def _multiply(a, b, dtype):
    return ops.logical_and(a, b) if dtype == _core.bool else _exact(ops.mul, a, b, dtype)


def _exact(op, a, b, dtype):
    """Integer scalars warn when they overflow: then the call is handed back."""
    out = op(a, b)
    if dtype not in FLOATING and out.dim() == 0:
        low, high = ask(questions.bounds, dtype)
        estimate = ops.abs(op(ops.to(a, _core.float64), strong(b, _core.float64)))
        require(ops.lt(estimate, high * (1.0 - 2.0**-50)))
    return out


def _divide(a, b, dtype):
    return ops.div(a, b)


def _not_zero(b):
    """NumPy warns of integers divided by zero."""
    if is_plain(b):
        if b == 0:
            no_model("integers are divided by zero: NumPy warns of it")
    else:
        require(ops.all(ops.ne(b, 0)))


def _floor_divide(a, b, dtype):
    if dtype not in FLOATING:
        _not_zero(b)
    return ops.floor_divide(a, b)


def _remainder(a, b, dtype):
    if dtype not in FLOATING:
        _not_zero(b)
        return ops.remainder(a, b)
    out = ops.remainder(a, b)
    b = strong(b, dtype)
    zero = strong(0.0, dtype)
    return ops.where(ops.eq(out, 0), ops.where(ops.lt(b, 0), ops.neg(zero), zero), out)


def _power(a, b, dtype):
    if dtype not in FLOATING:
        if is_plain(b):
            if b < 0:
                no_model("an integer to a negative power", "python-raises")
        else:
            require(ops.all(ops.ge(b, 0)))
        out = ops.pow(a, b)
        if out.dim() == 0:
            no_model("integer scalars to a power: whether NumPy warns of an overflow is not known")
        return out
    if is_plain(b):
        # As NumPy's own short cuts.
        if b == 2:
            return ops.square(a)
        if b == 0.5:
            return ops.sqrt(a)
        if b == 1:
            return ops.clone(a)
        if b == -1:
            return ops.reciprocal(a)
    return ops.pow(a, b)


def is_plain(x):
    return type(x) is int or type(x) is float or type(x) is bool


def _shift(op, a, b, dtype):
    low, high = ask(questions.bounds, dtype)
    if not is_plain(b):
        no_model("a shift by an array: shifts by more than the width are NumPy's own")
    if b < 0 or b > 30 or high < 2**b:
        no_model("a shift by more than the width of the dtype")
    return op(a, b)


def _left_shift(a, b, dtype):
    return _shift(ops.bitwise_left_shift, a, b, dtype)


def _right_shift(a, b, dtype):
    return _shift(ops.bitwise_right_shift, a, b, dtype)


def _plain(op):
    def compute(a, b, dtype):
        return op(a, b)

    return compute


def _of_tensors(op):
    """An op that takes no numbers."""

    def compute(a, b, dtype):
        return op(strong(a, dtype), strong(b, dtype))

    return compute


def _sign(a, dtype):
    return ops.where(ops.isnan(a), a, ops.sign(a)) if dtype in FLOATING else ops.sign(a)


def _negative(a, dtype):
    _no_integer_scalar(a, dtype)
    return ops.neg(a)


def _absolute(a, dtype):
    _no_integer_scalar(a, dtype)
    return ops.abs(a)


def _no_integer_scalar(a, dtype):
    if dtype not in FLOATING and a.dim() == 0:
        low, high = ask(questions.bounds, dtype)
        require(ops.gt(a, low))


def _reciprocal(a, dtype):
    if dtype not in FLOATING:
        no_model("the reciprocal of integers")
    return ops.reciprocal(a)


def _positive(a, dtype):
    return ops.clone(a)


def _of_one(op):
    def compute(a, dtype):
        return op(a)

    return compute


BINARY = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "power": _power,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "fmod": _of_tensors(ops.fmod),
    "maximum": _of_tensors(ops.maximum),
    "minimum": _of_tensors(ops.minimum),
    "arctan2": _of_tensors(ops.atan2),
    "bitwise_and": _plain(ops.bitwise_and),
    "bitwise_or": _plain(ops.bitwise_or),
    "bitwise_xor": _plain(ops.bitwise_xor),
    "logical_and": _of_tensors(ops.logical_and),
    "logical_or": _of_tensors(ops.logical_or),
    "logical_xor": _of_tensors(ops.logical_xor),
    "equal": _of_tensors(ops.eq),
    "not_equal": _of_tensors(ops.ne),
    "less": _of_tensors(ops.lt),
    "less_equal": _of_tensors(ops.le),
    "greater": _of_tensors(ops.gt),
    "greater_equal": _of_tensors(ops.ge),
}
UNARY = {
    "negative": _negative,
    "positive": _positive,
    "absolute": _absolute,
    "sign": _sign,
    "reciprocal": _reciprocal,
    "rint": _of_one(ops.round),
    "invert": _of_one(ops.bitwise_not),
    "arcsin": _of_one(ops.asin),
    "arccos": _of_one(ops.acos),
    "arctan": _of_one(ops.atan),
    "arcsinh": _of_one(ops.asinh),
    "arccosh": _of_one(ops.acosh),
    "arctanh": _of_one(ops.atanh),
    **{
        name: _of_one(getattr(ops, name))
        for name in (
            "square", "sqrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh",
            "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "logical_not",
        )  # fmt: skip
    },
}  # fmt: skip


def _plainly(name, where, casting, order, dtype, subok):
    if where is not True or casting != "same_kind" or order != "K" or dtype is not None or subok is not True:
        no_model(f"numpy.{name}() with where=, casting=, order= or dtype=: select with numpy.where, convert with astype()")


def _target(name, out):
    """The array of `out=`, which may stand in a tuple."""
    if type(out) is tuple:
        if len(out) != 1:
            no_model(f"numpy.{name}() with several outputs")
        out = out[0]
    return out


def binary(name, compute):
    """The model of a ufunc of two operands."""

    def model(x1, x2, out=None, *, where=True, casting="same_kind", order="K", dtype=None, subok=True):
        _plainly(name, where, casting, order, dtype, subok)
        left, right, loop = ask(questions.loop, name, kind(x1), kind(x2))
        a, b = operand(x1, left), operand(x2, right)
        arrays = ()
        if not is_number(x1):
            arrays = (memory(x1),)
        if not is_number(x2):
            arrays = (*arrays, memory(x2))
        made = compute(strong(a, left), b, left)
        if made.dtype != loop:
            made = ops.to(made, loop)
        return _finish(name, checked(ordered(made, arrays)), out)

    return model


def unary(name, compute):
    """The model of a ufunc of one operand."""

    def model(x, out=None, *, where=True, casting="same_kind", order="K", dtype=None, subok=True):
        _plainly(name, where, casting, order, dtype, subok)
        before, after = ask(questions.loop, name, kind(x))
        a = operand(x, before)
        made = compute(strong(a, before), before)
        if made.dtype != after:
            made = ops.to(made, after)
        return _finish(name, checked(made if is_number(x) else ordered(made, (memory(x),))), out)

    return model


def _finish(name, made, out):
    out = _target(name, out)
    return result(made) if out is None else write(out, made)


MODELS = {
    **{getattr(numpy, name): binary(name, compute) for name, compute in BINARY.items()},
    **{getattr(numpy, name): unary(name, compute) for name, compute in UNARY.items()},
}


def _in_place(model):
    def update(x, y):
        return model(x, y, x)

    return update


_OPERATORS = {
    "add": "add", "and": "bitwise_and", "floordiv": "floor_divide", "lshift": "left_shift", "mul": "multiply", "mod": "remainder",
    "or": "bitwise_or", "pow": "power", "rshift": "right_shift", "sub": "subtract", "truediv": "divide", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal"}
OPERATIONS = {
    **{name: MODELS[getattr(numpy, ufunc)] for name, ufunc in {**_OPERATORS, **_COMPARISONS}.items()},
    **{"i" + name: _in_place(MODELS[getattr(numpy, ufunc)]) for name, ufunc in _OPERATORS.items()},
    "__neg__": MODELS[numpy.negative],
    "__pos__": MODELS[numpy.positive],
    "__invert__": MODELS[numpy.invert],
    "__abs__": MODELS[numpy.absolute],
}


def where(condition, x=None, y=None):
    """Elements of x where the condition holds, else of y."""
    if x is None or y is None:
        no_model("numpy.where() of a condition alone", "size-from-data")
    chosen = memory(condition)
    if chosen.dtype != _core.bool:
        chosen = ops.ne(chosen, 0)
    dtype = ask(questions.result, kind(x), kind(y))
    a, b = operand(x, dtype), operand(y, dtype)
    made = ops.where(chosen, strong(a, dtype), strong(b, dtype))
    arrays = (chosen,)
    if not is_number(x):
        arrays = (*arrays, memory(x))
    if not is_number(y):
        arrays = (*arrays, memory(y))
    made = ordered(made, arrays)
    return result(made)


def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    """Elements between two bounds."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None:
        return MODELS[numpy.minimum](a, high, out)
    if high is None:
        return MODELS[numpy.maximum](a, low, out)
    first, second, third, loop = ask(questions.loop, "clip", kind(a), kind(low), kind(high))
    values = strong(operand(a, first), first)
    made = ops.minimum(ops.maximum(values, strong(operand(low, second), second)), strong(operand(high, third), third))
    return _finish("clip", checked(made if is_number(a) else ordered(made, (memory(a),))), out)


def around(a, decimals=0, out=None):
    """Rounds half to even."""
    if type(decimals) is not int or decimals < 0:
        no_model("numpy.round() with negative decimals")
    values = memory(a)
    if values.dtype not in FLOATING or decimals == 0:
        made = ops.round(values) if values.dtype in FLOATING else ops.clone(values)
    else:
        factor = 10.0**decimals
        made = ops.div(ops.round(ops.mul(values, factor)), factor)
    return _finish("round", checked(ordered(made, (values,))), out)
