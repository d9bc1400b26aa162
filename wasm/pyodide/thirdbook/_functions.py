"""Functions of the torch namespace that are composites of ops: elementwise ones, comparisons of whole tensors, products of matrices.

In: tensors (numbers where PyTorch takes them). Out: fresh tensors. Plain code over `ops`, which the tracer inlines.
"""

from __future__ import annotations

import builtins
import math

from . import _core
from ._core import Tensor, ops
from ._einsum import einsum
from ._forms import need_floats, need_tensors, takes_out
from ._shapes import broadcast_shapes

METHODS = (
    "addbmm", "addcdiv", "addcmul", "addmv", "addr", "allclose", "baddbmm", "clamp_max", "clamp_min", "copysign", "cross", "deg2rad",
    "equal", "float_power", "fmax", "fmin", "frac", "heaviside", "hypot", "index_copy", "index_fill", "inner", "isclose", "kron", "isneginf",
    "isposinf", "isreal", "ldexp", "logaddexp", "logaddexp2", "logit", "masked_scatter", "matrix_power", "nan_to_num", "positive",
    "rad2deg", "scatter", "scatter_reduce", "sgn", "signbit", "sinc", "vdot", "xlogy",
)  # fmt: skip
FUNCTIONS = (
    *METHODS, "cdist", "einsum", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "isin", "numel", "real", "rsub", "tensordot", "trapezoid", "where", "softmax", "log_softmax",
)  # fmt: skip
METHOD_ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc", "ger": "outer", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "subtract": "sub", "true_divide": "div",
}  # fmt: skip


def where(condition, input=None, other=None, *, out=None):
    """Elements of input where condition holds, else of other; with one argument the indices where it holds."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return ops.where(condition, input, other, out=out)


def softmax(input, dim, dtype=None, *, out=None):
    """exp(x) / sum(exp(x)) along dim."""
    return ops.softmax(input, dim, dtype, out=out)


def log_softmax(input, dim, dtype=None, *, out=None):
    """The logarithm of softmax, without overflow."""
    return ops.log_softmax(input, dim, dtype, out=out)


def rsub(input, other, *, alpha=1):
    """other - alpha * input."""
    need_tensors("rsub", input)
    return ops.sub(other, input, alpha=alpha)


def positive(input):
    """The tensor itself; RuntimeError for bool."""
    return +input


@takes_out
def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2."""
    return ops.add(input, ops.mul(tensor1, tensor2), alpha=value)


@takes_out
def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2; RuntimeError for integers."""
    if not (tensor1.dtype.is_floating_point or tensor2.dtype.is_floating_point):
        raise RuntimeError("Integer division with addcdiv is no longer supported")
    return ops.add(input, ops.div(tensor1, tensor2), alpha=value)


@takes_out
def clamp_min(input, min):
    """Not below min."""
    return ops.maximum(input, min) if isinstance(min, Tensor) else ops.clamp(input, min, None)


@takes_out
def clamp_max(input, max):
    """Not above max."""
    return ops.minimum(input, max) if isinstance(max, Tensor) else ops.clamp(input, None, max)


@takes_out
def frac(input):
    """What is behind the point, with the sign."""
    need_floats("frac_cpu", input.dtype)
    return ops.sub(input, ops.trunc(input))


@takes_out
def sgn(input):
    """sign."""
    return ops.sign(input)


@takes_out
def signbit(input):
    """Whether the sign bit is set (also of -0.0)."""
    if not input.dtype.is_floating_point:
        return ops.lt(input, 0)
    return ops.logical_or(ops.lt(input, 0), ops.logical_and(ops.eq(input, 0), ops.lt(ops.reciprocal(input), 0)))


def _as_floats(input, other):
    """Both operands in the floating type that they compute in; a number becomes a 0-d tensor."""
    dtype = _core.result_type(input, other)
    if not dtype.is_floating_point:
        dtype = _core.get_default_dtype()
    return _converted(input, dtype), _converted(other, dtype)


def _converted(operand, dtype):
    if not isinstance(operand, Tensor):
        return ops.full((), operand, dtype=dtype)
    return operand if operand.dtype is dtype else ops.to(operand, dtype)


def _float_pair(name, input, other):
    """_as_floats, for functions that PyTorch has for tensors of floats only."""
    need_tensors(name, input, other)
    need_floats(name + "_cpu", _core.result_type(input, other))
    return _as_floats(input, other)


@takes_out
def copysign(input, other):
    """The magnitude of input with the sign of other."""
    need_tensors("copysign", input)
    if not isinstance(other, Tensor):
        size = ops.abs(_as_floats(input, 1.0)[0])
        return ops.neg(size) if math.copysign(1.0, other) < 0 else size
    input, other = _as_floats(input, other)
    size = ops.abs(input)
    return ops.where(signbit(other), ops.neg(size), size)


@takes_out
def hypot(input, other):
    """sqrt(input² + other²), without overflow."""
    a, b = _float_pair("hypot", input, other)
    a, b = ops.abs(a), ops.abs(b)
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    ratio = ops.div(small, ops.where(ops.eq(large, 0), 1, large))
    made = ops.mul(large, ops.sqrt(ops.add(ops.mul(ratio, ratio), 1)))
    return ops.where(ops.isinf(large), math.inf, made)


@takes_out
def logaddexp(input, other):
    """log(exp(input) + exp(other))."""
    a, b = _float_pair("logaddexp", input, other)
    return _shifted_sum(a, b, ops.log1p(ops.exp(ops.neg(ops.abs(ops.sub(a, b))))))


@takes_out
def logaddexp2(input, other):
    """log2(2**input + 2**other)."""
    a, b = _float_pair("logaddexp2", input, other)
    return _shifted_sum(a, b, ops.div(ops.log1p(ops.exp2(ops.neg(ops.abs(ops.sub(a, b))))), math.log(2.0)))


def _shifted_sum(a, b, rest):
    return ops.where(ops.logical_and(ops.isinf(a), ops.eq(a, b)), a, ops.add(ops.maximum(a, b), rest))


@takes_out
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """NaN and the infinities replaced (by 0 and the dtype's limits)."""
    if not input.dtype.is_floating_point:
        return ops.clone(input)
    limit = 3.4028234663852886e38 if input.dtype is _core.float32 else 1.7976931348623157e308
    high = limit if posinf is None else posinf
    low = -limit if neginf is None else neginf
    made = ops.where(ops.isnan(input), 0.0 if nan is None else nan, input)
    made = ops.where(ops.eq(input, math.inf), high, made)
    return ops.where(ops.eq(input, -math.inf), low, made)


@takes_out
def heaviside(input, values):
    """0 below zero, 1 above, values at zero."""
    need_tensors("heaviside", input, values, names=("input", "values"))
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    step = ops.to(ops.gt(input, 0), input.dtype)
    return ops.where(ops.eq(input, 0), values, ops.where(ops.isnan(input), input, step))


@takes_out
def xlogy(input, other):
    """input * log(other), 0 where input is 0 (NaN where other is NaN)."""
    if not isinstance(input, Tensor):
        need_tensors("xlogy", other, names=("other",))
    input, other = _as_floats(input, other)
    zero = ops.logical_and(ops.eq(input, 0), ops.logical_not(ops.isnan(other)))
    return ops.where(zero, 0.0, ops.mul(input, ops.log(other)))


@takes_out
def ldexp(input, other):
    """input * 2**other."""
    need_tensors("ldexp", input, other)
    input, other = _as_floats(input, other)
    return ops.mul(input, ops.pow(2.0, other))


@takes_out
def float_power(input, exponent):
    """input ** exponent in float64."""
    base = ops.to(input, _core.float64) if isinstance(input, Tensor) else input
    power = ops.to(exponent, _core.float64) if isinstance(exponent, Tensor) else exponent
    return ops.pow(base, power)


@takes_out
def sinc(input):
    """sin(πx) / (πx), 1 at zero."""
    angle = ops.mul(input, math.pi)
    return ops.where(ops.eq(input, 0), 1.0, ops.div(ops.sin(angle), angle))


@takes_out
def logit(input, eps=None):
    """log(x / (1 - x)), of x clamped to [eps, 1 - eps] where eps is given."""
    if not input.dtype.is_floating_point:
        input = ops.to(input, _core.get_default_dtype())
    x = input if eps is None else ops.clamp(input, eps, 1 - eps)
    return ops.log(ops.div(x, ops.sub(1, x)))


@takes_out
def deg2rad(input):
    """Degrees to radians."""
    return ops.mul(input, math.pi / 180.0)


@takes_out
def rad2deg(input):
    """Radians to degrees."""
    return ops.mul(input, 180.0 / math.pi)


@takes_out
def fmax(input, other):
    """The larger element; a NaN loses against a number."""
    need_tensors("fmax", input, other)
    if not (input.dtype.is_floating_point or other.dtype.is_floating_point):
        return ops.maximum(input, other)
    return ops.where(ops.isnan(input), other, ops.where(ops.isnan(other), input, ops.maximum(input, other)))


@takes_out
def fmin(input, other):
    """The smaller element; a NaN loses against a number."""
    need_tensors("fmin", input, other)
    if not (input.dtype.is_floating_point or other.dtype.is_floating_point):
        return ops.minimum(input, other)
    return ops.where(ops.isnan(input), other, ops.where(ops.isnan(other), input, ops.minimum(input, other)))


@takes_out
def isposinf(input):
    """Whether each element is +inf."""
    return ops.eq(input, math.inf)


@takes_out
def isneginf(input):
    """Whether each element is -inf."""
    return ops.eq(input, -math.inf)


def isreal(input):
    """True everywhere."""
    return ops.ones(input.shape, dtype=_core.bool)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|input - other| <= atol + rtol * |other|, elementwise."""
    need_tensors("isclose", input, other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.type()[6:-6]} did not match {other.type()[6:-6]}")
    if rtol < 0 or atol < 0:
        raise RuntimeError("rtol and atol must be greater than or equal to zero")
    close = ops.eq(input, other)
    if equal_nan and input.dtype.is_floating_point:
        close = ops.logical_or(close, ops.logical_and(ops.isnan(input), ops.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.is_floating_point:
        gap, bound = ops.abs(ops.sub(input, other)), ops.add(ops.abs(ops.mul(other, rtol)), atol)
    else:
        a, b = ops.to(input, _core.float64), ops.to(other, _core.float64)
        gap, bound = ops.abs(ops.sub(a, b)), ops.add(ops.abs(ops.mul(b, rtol)), atol)
    return ops.logical_or(close, ops.logical_and(ops.isfinite(gap), ops.le(gap, bound)))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close: a Python bool."""
    return bool(ops.all(isclose(input, other, rtol, atol, equal_nan)).item())


def equal(input, other):
    """Whether sizes and all elements are the same: a Python bool."""
    if input.shape != other.shape:
        return False
    return bool(ops.all(ops.eq(input, other)).item())


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is among test_elements."""
    values = elements if isinstance(elements, Tensor) else _core.tensor(elements)
    tests = test_elements if isinstance(test_elements, Tensor) else _core.tensor(test_elements)
    found = ops.any(ops.eq(ops.unsqueeze(values, -1), ops.reshape(tests, (-1,))), -1)
    return ops.logical_not(found) if invert else found


def real(input):
    """The tensor itself."""
    return input


def is_tensor(obj) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input) -> bool:
    """Whether the dtype is floating."""
    return input.dtype.is_floating_point


def is_complex(input) -> bool:
    """False: there are no complex dtypes."""
    return False


def is_nonzero(input) -> bool:
    """The truth of the only element."""
    if input.numel() == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    return bool(input)


def numel(input) -> int:
    """The number of elements."""
    return input.numel()


# ---- indexing


def index_fill(input, dim, index, value):
    """A copy with value at the given indices of dim."""
    rows = ops.arange(0, input.size(dim) if input.dim() else 1)
    index = ops.where(ops.lt(index, 0), ops.add(index, rows.size(0)), index)
    hit = ops.any(ops.eq(ops.unsqueeze(rows, 1), ops.reshape(index, (1, -1))), 1)
    shape = [1] * input.dim()
    if shape:
        shape[dim] = rows.size(0)
    return ops.masked_fill(input, ops.reshape(hit, shape), value)


def index_copy(input, dim, index, source):
    """A copy with source's slices at the given indices of dim."""
    if input.dim() == 0:
        return ops.view(index_copy(ops.reshape(input, (1,)), 0, ops.reshape(index, (1,)), ops.reshape(source, (1,))), ())
    if dim % input.dim() == 0:
        return ops.index_put(input, [ops.reshape(index, (-1,))], source)
    return _index_copy_at(input, dim % input.dim(), ops.reshape(index, (-1,)), source)


def _index_copy_at(input, place, index, source):
    moved = ops.transpose(input, 0, place)
    return ops.transpose(ops.index_put(moved, [index], ops.transpose(source, 0, place)), 0, place)


def masked_scatter(input, mask, source):
    """A copy with source's elements, in order, where mask holds."""
    if mask.dtype is not _core.bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.type()[6:-6]}")
    if input.dtype is not source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes")
    shape = broadcast_shapes(input.shape, mask.shape)
    input, wide = ops.expand(input, shape), ops.expand(mask, shape)
    flat = ops.reshape(wide, (-1,))
    place = ops.clamp(ops.sub(ops.cumsum(flat, 0), 1), 0)
    picked = ops.index_select(ops.reshape(source, (-1,)), 0, place)
    return ops.where(wide, ops.view(picked, input.shape), input)


def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy with src's elements (or a number) at the places along dim that index names; reduce "add" or "multiply" combines."""
    source = src if value is None else value
    if reduce is None:
        return ops.scatter(input, dim, index, source)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(source, Tensor):
        source = ops.full(index.shape, source, dtype=input.dtype)
    return scatter_reduce(input, dim, index, source, "sum" if reduce == "add" else "prod")


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """scatter with "sum", "mean", "prod", "amax" or "amin" of what meets in a place."""
    if reduce not in ("sum", "mean", "prod", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if input.dim() == 0:
        made = scatter_reduce(
            ops.reshape(input, (1,)), 0, ops.reshape(index, (-1,)), ops.reshape(src, (-1,)), reduce, include_self=include_self
        )
        return ops.view(made, ())
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("scatter(): Expected dtype int32 or int64 for index")
    if input.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.dim() != input.dim() or src.dim() != input.dim():
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    place = dim % input.dim()
    for d in range(input.dim()):
        if index.size(d) > src.size(d) or (d != place and index.size(d) > input.size(d)):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {place} "
                f"and to be no larger than src {list(src.shape)}"
            )
        src = ops.narrow(src, d, 0, index.size(d))
    region = input
    for d in range(input.dim()):
        if d != place:
            region = ops.narrow(region, d, 0, index.size(d))
    made = _reduced_places(region, place, index, src, reduce, include_self)
    for d in range(input.dim()):
        if d != place and made.size(d) != input.size(d):
            rest = ops.narrow(input, d, made.size(d), input.size(d) - made.size(d))
            for e in range(d + 1, input.dim()):
                if e != place:
                    rest = ops.narrow(rest, e, 0, made.size(e))
            made = ops.cat([made, rest], d)
    return made


_NEUTRAL = {"sum": 0, "mean": 0, "prod": 1}


def _reduced_places(region, place, index, src, reduce, include_self):
    """Every place of the region against every element of src along the dimension: a mask, then a reduction."""
    old, at, new = (ops.transpose(t, place, -1) for t in (region, index, src))
    hit = ops.eq(ops.unsqueeze(at, -2), ops.unsqueeze(ops.arange(0, old.size(-1)), -1))
    if reduce in _NEUTRAL:
        neutral = _NEUTRAL[reduce]
    elif region.dtype.is_floating_point:
        neutral = -math.inf if reduce == "amax" else math.inf
    elif region.dtype is _core.bool:
        neutral = reduce == "amin"
    else:
        low, high = _LIMITS[region.dtype]
        neutral = low if reduce == "amax" else high
    kept = ops.any(hit, -1)
    wide = ops.to(ops.where(hit, ops.unsqueeze(new, -2), neutral), region.dtype)
    base = old if include_self else ops.to(ops.where(kept, neutral, old), region.dtype)
    if wide.size(-1) == 0:
        made = base
    elif reduce in ("sum", "mean"):
        made = ops.add(base, ops.sum(wide, (-1,), dtype=region.dtype))
    elif reduce == "prod":
        made = ops.mul(base, ops.prod(wide, -1, dtype=region.dtype))
    elif reduce == "amax":
        made = ops.maximum(base, ops.amax(wide, (-1,)))
    else:
        made = ops.minimum(base, ops.amin(wide, (-1,)))
    if reduce == "mean":
        counts = ops.clamp(ops.add(ops.sum(hit, (-1,)), 1 if include_self else 0), 1)
        mode = None if region.dtype.is_floating_point else "floor"
        made = ops.to(ops.div(made, counts, rounding_mode=mode), region.dtype)
    return ops.transpose(made, place, -1).contiguous()


_LIMITS = {_core.uint8: (0, 255), _core.int32: (-(2**31), 2**31 - 1), _core.int64: (-(2**63), 2**63 - 1)}


# ---- products


@takes_out
def inner(input, other):
    """The product over the last dimensions."""
    if input.dim() == 0 or other.dim() == 0:
        return ops.mul(input, other)
    return tensordot(input, other, ([-1], [-1]))


@takes_out
def kron(input, other):
    """The Kronecker product."""
    rank = builtins.max(input.dim(), other.dim())
    a = ops.reshape(input, [1] * (rank - input.dim()) + list(input.shape))
    b = ops.reshape(other, [1] * (rank - other.dim()) + list(other.shape))
    wide_a, wide_b, sizes = [], [], []
    for d in range(rank):
        wide_a.extend([a.size(d), 1])
        wide_b.extend([1, b.size(d)])
        sizes.append(a.size(d) * b.size(d))
    return ops.reshape(ops.mul(ops.reshape(a, wide_a), ops.reshape(b, wide_b)), sizes)


def cdist(x1, x2, p=2.0, compute_mode=None):
    """Distances between the rows of x1 and x2: (…, n, d) and (…, m, d) to (…, n, m)."""
    return ops.linalg_vector_norm(ops.sub(ops.unsqueeze(x1, -2), ops.unsqueeze(x2, -3)), p, -1)


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along dim by the trapezoidal rule."""
    sums = ops.add(ops.slice(y, dim, 1), ops.slice(y, dim, 0, -1))
    if x is None:
        return ops.mul(ops.sum(sums, dim), (1.0 if dx is None else dx) / 2.0)
    steps = ops.sub(ops.slice(x, -1 if x.dim() == 1 else dim, 1), ops.slice(x, -1 if x.dim() == 1 else dim, 0, -1))
    if x.dim() == 1 and y.dim() > 1:
        shape = [1] * y.dim()
        shape[dim] = steps.size(0)
        steps = ops.view(steps, shape)
    return ops.div(ops.sum(ops.mul(sums, steps), dim), 2.0)


@takes_out
def vdot(input, other):
    """dot."""
    return ops.dot(input, other)


@takes_out
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * mat @ vec."""
    return _scaled_sum(input, ops.mv(mat, vec), beta, alpha)


@takes_out
def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * outer(vec1, vec2)."""
    return _scaled_sum(input, ops.outer(vec1, vec2), beta, alpha)


@takes_out
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * batch1 @ batch2."""
    return _scaled_sum(input, ops.bmm(batch1, batch2), beta, alpha)


@takes_out
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the sum of batch1 @ batch2 over the batch."""
    return _scaled_sum(input, ops.sum(ops.bmm(batch1, batch2), 0), beta, alpha)


def _scaled_sum(input, product, beta, alpha):
    if not product.dtype.is_floating_point:
        alpha, beta = int(alpha), int(beta)
    input = ops.expand(input, product.shape)
    scaled = product if alpha == 1 else ops.mul(product, alpha)
    if beta == 0:
        return scaled
    return ops.add(input if beta == 1 else ops.mul(input, beta), scaled)


@takes_out
def cross(input, other, dim=-1):
    """The cross product of 3-vectors along dim."""
    if input.size(dim) != 3 or other.size(dim) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.size(dim)} and {other.size(dim)}"
        )
    a1, b1 = ops.roll(input, (-1,), (dim,)), ops.roll(other, (-1,), (dim,))
    a2, b2 = ops.roll(input, (-2,), (dim,)), ops.roll(other, (-2,), (dim,))
    return ops.sub(ops.mul(a1, b2), ops.mul(a2, b1))


@takes_out
def matrix_power(input, n):
    """The n-th power of square matrices; negative n inverts."""
    if input.dim() < 2 or input.size(-1) != input.size(-2):
        raise RuntimeError("linalg.matrix_power: A must be batches of square matrices")
    base = ops.linalg_inv(input) if n < 0 else input
    n = builtins.abs(n)
    if n == 0:
        return ops.clone(ops.expand(ops.eye(input.size(-1), dtype=input.dtype), input.shape))
    made = None
    while n > 0:
        if n % 2 == 1:
            made = base if made is None else ops.matmul(made, base)
        n //= 2
        if n > 0:
            base = ops.matmul(base, base)
    return made


@takes_out
def tensordot(a, b, dims=2):
    """Products summed over dims: the last of a with the first of b, or two lists of dimensions."""
    if isinstance(dims, int):
        over_a, over_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        over_a, over_b = dims
        over_a = [over_a] if isinstance(over_a, int) else list(over_a)
        over_b = [over_b] if isinstance(over_b, int) else list(over_b)
    over_a, over_b = [d % a.dim() for d in over_a], [d % b.dim() for d in over_b]
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    for x, y in zip(over_a, over_b):
        if a.size(x) == 1 and b.size(y) != 1:
            b = ops.sum(b, (y,), True, dtype=b.dtype)
        elif b.size(y) == 1 and a.size(x) != 1:
            a = ops.sum(a, (x,), True, dtype=a.dtype)
        if a.size(x) != b.size(y):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.size(x)} in dim {x} "
                f"and second has size {b.size(y)} in dim {y}"
            )
    keep_a = [d for d in range(a.dim()) if d not in over_a]
    keep_b = [d for d in range(b.dim()) if d not in over_b]
    shared = math.prod([a.size(d) for d in over_a])
    rows, columns = [a.size(d) for d in keep_a], [b.size(d) for d in keep_b]
    left = ops.reshape(ops.permute(a, keep_a + over_a), (math.prod(rows), shared))
    right = ops.reshape(ops.permute(b, over_b + keep_b), (shared, math.prod(columns)))
    return ops.reshape(ops.mm(left, right), rows + columns)
