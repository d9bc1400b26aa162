"""What NumPy itself says, asked while a function is traced.

In: constants (dtypes of this package, the types of Python numbers, sizes and strides). Out: constants. These functions run as plain Python,
with real NumPy: promotion, casting and memory order are NumPy's own answers, not a copy of its rules. Errors: whatever NumPy raises, or
Unknown, becomes a graph break.
"""

import functools

import numpy

from .. import _core

# The element types that graphs know, by NumPy's names.
DTYPES = {name: numpy.dtype(name) for name in ("bool", "uint8", "int32", "int64", "float32", "float64")}
OURS = {dtype: getattr(_core, name) for name, dtype in DTYPES.items()}
THEIRS = {ours: dtype for dtype, ours in OURS.items()}


class Unknown(TypeError):
    """NumPy computes in an element type that graphs do not know."""


def ours(dtype):
    """The graph's dtype for NumPy's."""
    dtype = numpy.dtype(dtype)
    if dtype not in OURS:
        raise Unknown(f"NumPy computes in {dtype} here, which graphs do not know")
    return OURS[dtype]


def theirs(dtype):
    """NumPy's dtype for the graph's."""
    return THEIRS[dtype]


def _operand(kind):
    """A kind as NumPy's promotion takes it: numbers of Python are weak, bool is not."""
    return numpy.dtype(bool) if kind is bool else THEIRS.get(kind, kind)


@functools.lru_cache(maxsize=None)
def loop(name, *kinds):
    """The dtypes of a ufunc's loop: operands, then the result."""
    ufunc = getattr(numpy._core.umath, name)
    dtypes = ufunc.resolve_dtypes((*map(_operand, kinds), *(None,) * ufunc.nout))
    return tuple(map(ours, dtypes))


@functools.lru_cache(maxsize=None)
def result(*kinds):
    """The common dtype of concatenate, where and the like."""
    example = {int: 0, float: 0.0}
    return ours(numpy.result_type(*(example.get(kind, _operand(kind)) for kind in kinds)))


@functools.lru_cache(maxsize=None)
def reduced(name, kind):
    """The dtype of a reduction."""
    return ours(getattr(numpy, name)(numpy.ones(2, THEIRS[kind])).dtype)


def can_cast(source, target):
    """Whether an in-place operation may write source into target."""
    return numpy.can_cast(THEIRS[source], THEIRS[target], "same_kind")


def bounds(dtype):
    """The smallest and largest int of an integer dtype."""
    info = numpy.iinfo(THEIRS[dtype])
    return int(info.min), int(info.max)


def order(sizes, *layouts):
    """The axes from the largest stride to the smallest of what a ufunc makes of operands with these (sizes, strides)."""
    nothing = numpy.empty(0, numpy.int8)
    # Which axis is outside of which does not depend on how long they are; nothing is read.
    operands = [
        numpy.lib.stride_tricks.as_strided(nothing, [min(n, 2) for n in operand_sizes], strides)
        for operand_sizes, strides in layouts
    ]
    flags = [["readonly"]] * len(operands) + [["writeonly", "allocate"]]
    made = numpy.nditer([*operands, None], ["zerosize_ok"], flags, op_dtypes=[None] * len(operands) + [numpy.int8]).operands[-1]
    return tuple(sorted(range(len(sizes)), key=lambda axis: -made.strides[axis]))


def viewable(sizes, strides, shape):
    """Whether reshape() of an array with these sizes and strides gives a view."""
    nothing = numpy.lib.stride_tricks.as_strided(numpy.empty(0, numpy.int8), sizes, strides)
    try:
        nothing.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def _has_float_flags():
    """Whether this NumPy notices divisions by zero and overflows of floats: WebAssembly has no flags for them."""
    with numpy.errstate(all="raise"):
        try:
            numpy.divide(numpy.ones(1), numpy.zeros(1))
        except FloatingPointError:
            return True
    return False


FLOAT_FLAGS = _has_float_flags()


def samples():
    """Arrays and scalars with what NumPy says of their memory, against which the adapter checks how it reads them."""
    arrays = []
    for name, dtype in DTYPES.items():
        array = numpy.zeros((3, 4, 5), dtype)
        fixed = numpy.zeros((), dtype)
        fixed.flags.writeable = False
        arrays += [array, array[1:, ::2, 0], array.T, fixed, numpy.zeros((2, 0), dtype)]
    scalars = [dtype.type(3) for dtype in DTYPES.values()]
    return (
        [(a, a.shape, a.strides, a.__array_interface__["data"][0], a.base) for a in arrays],
        [(scalar, scalar.tobytes()) for scalar in scalars],
    )
