"""Which function of this package says what a function, method, attribute or operator of NumPy does.

In: the imported NumPy. Out: MODELS, by NumPy's own callables and descriptors, and OPERATIONS, by name; the tracer reads both through NumPy's row of
the array adapters (core/python/numpy_array.cc). A name that this NumPy does not have is left out. Invariant: what is not in the tables
is a graph break.
"""

import inspect

import numpy
from numpy import ndarray

from . import reductions, shapes, ufuncs
from .questions import DTYPES, samples

__all__ = ["DTYPES", "MODELS", "OPERATIONS", "ndarray", "samples"]

shapes.ndarray = ndarray

_FUNCTIONS = {
    **{name: getattr(reductions, name) for name in (
        "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var", "std", "cumsum", "cumprod", "matmul", "dot", "outer",
    )},
    **{name: getattr(shapes, name) for name in (
        "zeros", "ones", "full", "arange", "zeros_like", "ones_like", "full_like", "asarray", "copy", "shape", "ndim", "size", "reshape",
        "ravel", "transpose", "swapaxes", "squeeze", "expand_dims", "broadcast_to", "concatenate", "stack", "vstack", "hstack",
    )},
    "amax": reductions.max, "amin": reductions.min, "array": shapes.asarray_of, "where": ufuncs.where, "clip": ufuncs.clip,
    "round": ufuncs.around, "around": ufuncs.around, "astype": shapes.astype,
}  # fmt: skip
_METHODS = {
    **{name: getattr(reductions, name) for name in (
        "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var", "std", "cumsum", "cumprod", "dot",
    )},
    **{name: getattr(shapes, name) for name in ("ravel", "flatten", "swapaxes", "squeeze", "astype", "item")},
    "reshape": shapes.reshape_method, "transpose": shapes.transpose_method, "copy": shapes.copy_method, "clip": ufuncs.clip,
    "round": ufuncs.around, "__abs__": ufuncs.OPERATIONS["__abs__"], "__neg__": ufuncs.OPERATIONS["__neg__"],
    "__getitem__": shapes.getitem, "__setitem__": shapes.setitem,
}  # fmt: skip
_ATTRIBUTES = {
    "shape": shapes.shape, "ndim": shapes.ndim, "size": shapes.size, "dtype": shapes.dtype, "itemsize": shapes.itemsize,
    "nbytes": shapes.nbytes, "strides": shapes.strides, "T": shapes.transposed, "mT": shapes.matrix_transposed,
}  # fmt: skip


def _descriptors():
    for kind in (ndarray, *(dtype.type for dtype in DTYPES.values())):
        for name, model in {**_METHODS, **_ATTRIBUTES}.items():
            descriptor = inspect.getattr_static(kind, name, None)
            if descriptor is not None:
                yield descriptor, model


MODELS = {
    **ufuncs.MODELS,
    **{getattr(numpy, name): model for name, model in _FUNCTIONS.items() if hasattr(numpy, name)},
    **dict(_descriptors()),
    **{dtype.type: shapes.scalar_type(name) for name, dtype in DTYPES.items()},
    numpy.linalg.norm: reductions.norm,
}
OPERATIONS = {
    **ufuncs.OPERATIONS,
    "matmul": reductions.matmul,
    "getitem": shapes.getitem,
    "setitem": shapes.setitem,
}
