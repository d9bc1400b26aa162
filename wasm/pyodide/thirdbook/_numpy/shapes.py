"""Making, converting, indexing and reshaping arrays.

In: arrays, sizes, keys. Out: views over the same memory wherever NumPy gives a view, else fresh arrays.
"""

from .. import _core
from .._core import ops
from .arrays import array, ask, cast, dtype_or, fits, is_number, kind, memory, no_model, ordered, result, scalar, strong
from . import questions

FLOATING = (_core.float32, _core.float64)


# ---- making ----


def _fresh(make, shape, dtype, order, device, like):
    if order != "C" or device is not None or like is not None:
        no_model("an array is made with order=, device= or like=")
    return array(make((shape,) if type(shape) is int else shape, dtype=dtype_or(dtype, _core.float64)))


def zeros(shape, dtype=None, order="C", *, device=None, like=None):
    return _fresh(ops.zeros, shape, dtype, order, device, like)


def ones(shape, dtype=None, order="C", *, device=None, like=None):
    return _fresh(ops.ones, shape, dtype, order, device, like)


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    if not is_number(fill_value) or order != "C" or device is not None or like is not None:
        no_model("numpy.full() with an array, order=, device= or like=")
    dtype = dtype_or(dtype, ask(questions.result, kind(fill_value)))
    if type(fill_value) is int:
        fits(fill_value, dtype)
    elif dtype not in FLOATING and type(fill_value) is float:
        no_model("numpy.full() of a float in an integer dtype")
    made = ops.zeros((shape,) if type(shape) is int else shape, dtype=dtype)
    return array(ops.fill(made, fill_value))


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None):
    if stop is None:
        start, stop = 0, start
    if type(start) is not int or type(stop) is not int or type(step) is not int or device is not None or like is not None:
        no_model("numpy.arange() of anything but ints: how NumPy rounds the steps of floats is its own")
    return array(ops.arange(start, stop, step, dtype=dtype_or(dtype, ask(questions.result, int))))


def _like(make, a, dtype, order, subok, shape, device):
    values = memory(a)
    if order != "K" or shape is not None or device is not None or not values.is_contiguous():
        no_model("an array is made like one that is not contiguous, or with order=, shape= or device=")
    return array(make(tuple(values.shape), dtype=dtype_or(dtype, values.dtype)))


def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(ops.zeros, a, dtype, order, subok, shape, device)


def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(ops.ones, a, dtype, order, subok, shape, device)


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    values = memory(a)
    if order != "K" or shape is not None or device is not None or not values.is_contiguous():
        no_model("an array is made like one that is not contiguous, or with order=, shape= or device=")
    return full(tuple(values.shape), fill_value, ask(questions.theirs, dtype_or(dtype, values.dtype)))


def _copied(values, dtype):
    """A copy in that dtype, in the order of memory of the original."""
    return result(ordered(ops.clone(cast(values, dtype)), (values,)))


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    values = memory(a)
    if is_number(a) or order is not None or device is not None or copy is not None or like is not None:
        no_model("numpy.asarray() of a number, or with order=, device=, copy= or like=")
    if dtype_or(dtype, values.dtype) == values.dtype and type(a) is ndarray:
        return a
    return _copied(values, dtype_or(dtype, values.dtype))


def asarray_of(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    """numpy.array() of an array."""
    values = memory(object)
    if is_number(object) or copy is not True or order != "K" or ndmin != 0 or like is not None:
        no_model("numpy.array() of a number, or with copy=, order=, ndmin= or like=")
    return _copied(values, dtype_or(dtype, values.dtype))


def copy(a, order="K", subok=False):
    values = memory(a)
    if order != "K" and not values.is_contiguous():
        no_model("a copy in another order")
    return _copied(values, values.dtype)


def copy_method(self, order="C"):
    values = memory(self)
    if order != "C":
        no_model("a copy in another order")
    return result(ops.clone(ops.contiguous(values)))


def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    values = memory(self)
    wanted = ask(questions.ours, dtype)
    if order != "K" or casting != "unsafe":
        no_model("astype() with order= or casting=")
    if wanted == values.dtype and copy is False:
        return self
    return _copied(values, wanted)


def scalar_type(name):
    """The model of numpy.float32(x) and the like."""
    dtype = questions.ours(name)

    def model(value=0):
        if is_number(value):
            if type(value) is int:
                fits(value, dtype)
            elif type(value) is float and dtype not in FLOATING:
                no_model("an integer scalar is made of a float")
            return scalar(strong(value, dtype))
        return result(ops.clone(cast(memory(value), dtype)))

    return model


# ---- what is known of an array ----


def shape(a):
    return tuple(memory(a).shape)


def ndim(a):
    return memory(a).dim()


def size(a, axis=None):
    return memory(a).numel() if axis is None else memory(a).shape[axis]


def dtype(self):
    return ask(questions.theirs, kind(self))


def itemsize(self):
    return memory(self).element_size()


def nbytes(self):
    return memory(self).element_size() * memory(self).numel()


def strides(self):
    item = memory(self).element_size()
    return tuple(stride * item for stride in memory(self).stride())


def item(self):
    """The only element as a number of Python."""
    values = memory(self)
    if values.numel() != 1:
        no_model("item() of an array with more than one element", "python-raises")
    return ops.reshape(values, ()).item()


# ---- items ----


def _key(values, key):
    """The key for a tensor, and whether it takes the elements out one by one."""
    parts = key if type(key) is tuple else (key,)
    made, arrays, ints, others = (), 0, 0, 0
    for part in parts:
        what = type(part)
        if what is int:
            ints += 1
        elif what is slice:
            if part.step is not None and part.step < 0:
                no_model("a slice with a negative step: graphs have no negative strides, use numpy.flip outside")
            others += 1
        elif part is None or part is Ellipsis:
            others += 1
        elif what is list:
            part = _core.tensor(part)
            if part.dtype not in (_core.int64, _core.bool):
                no_model("an index that is neither ints nor bools")
            arrays += 1
        elif what is bool:
            no_model("a bool as an index")
        else:
            part = _index(values, part, len(parts))
            arrays += 1
        made = (*made, part)
    if arrays > 0 and (ints > 0 or arrays > 1) and others > 0:
        no_model("arrays as an index together with ints, other arrays and slices: where NumPy puts the dimensions is its own")
    return made, arrays, others


def _index(values, part, count):
    index = memory(part)
    if index.dtype in FLOATING:
        no_model("floats as an index", "python-raises")
    if index.dim() == 0 and (index.dtype == _core.bool or values.dim() != 1 or count != 1):
        no_model("a scalar of NumPy as one of several indices", "shared-memory")
    if index.dtype == _core.bool:
        return index
    return ops.to(ops.reshape(index, (1,)) if index.dim() == 0 else index, _core.int64)


def _is_scalar(key):
    """Whether it is a scalar or 0-d array of NumPy."""
    what = type(key)
    if what is int or what is slice or what is list or what is tuple or key is None or key is Ellipsis:
        return False
    return memory(key).dim() == 0


def getitem(x, key):
    values = memory(x)
    made, arrays, others = _key(values, key)
    part = values[made]
    if _is_scalar(key[0] if type(key) is tuple and len(key) == 1 else key):
        return scalar(ops.reshape(part, ()))
    if arrays == 0:
        if part.dim() > 0 or others > 0:
            return array(_with_new_axes(values, made, part))
        return scalar(part)
    if part.dim() > 1 and (others > 0 or not values.is_contiguous()):
        part = _taken(values, made, part)
    return result(part)


def _with_new_axes(values, key, part):
    """NumPy gives the dimensions that None makes the stride 0."""
    strides, rest, place, new = list(part.stride()), values.dim(), 0, False
    for one in key:
        if type(one) is int or type(one) is slice:
            rest -= 1
        new = new or one is None
    if not new:
        return part
    for one in key:
        if one is None:
            strides[place] = 0
        if one is None or type(one) is slice:
            place += 1
        elif one is Ellipsis:
            place += rest
    return ops.as_strided(part, tuple(part.shape), tuple(strides))


def _taken(values, key, part):
    """NumPy makes the dimensions of the index first and moves them to their place afterwards."""
    before = 0
    for one in key:
        if type(one) is not slice:
            break
        before += 1
    if type(key[before]) is slice or key[before] is None or key[before] is Ellipsis or not values.is_contiguous():
        no_model("an index of arrays and slices whose memory order is not known")
    rank = key[before].dim() if key[before].dtype != _core.bool else 1
    axes = (*range(before, before + rank), *range(before), *range(before + rank, part.dim()))
    back = [0] * part.dim()
    for place, axis in enumerate(axes):
        back[axis] = place
    return ops.permute(memory(array(ops.clone(ops.permute(part, axes)))), back)


def setitem(x, key, value):
    values = memory(x)
    made, arrays, others = _key(values, key)
    if is_number(value):
        if type(value) is int:
            fits(value, values.dtype)
        elif type(value) is float and values.dtype not in FLOATING:
            no_model("a float is put into an array of integers: convert it with int() before")
        values[made] = strong(value, values.dtype)
    else:
        values[made] = cast(memory(value), values.dtype)


# ---- shapes ----


def reshape(a, shape, order="C", *, copy=None):
    if order != "C" or copy is not None:
        no_model("reshape() with order= or copy=")
    values = memory(a)
    if not values.is_contiguous() and not ask(questions.viewable, tuple(values.shape), values.stride(), shape):
        values = memory(array(ops.clone(values)))  # of which the result is a view
    return array(ops.reshape(values, (shape,) if type(shape) is int else shape))


def reshape_method(self, *shape, order="C", copy=None):
    return reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def ravel(a, order="C"):
    values = memory(a)
    if order != "C":
        no_model("ravel() with order=")
    return array(ops.reshape(values if values.is_contiguous() else ops.contiguous(values), (-1,)))


def flatten(self, order="C"):
    if order != "C":
        no_model("flatten() with order=")
    return array(ops.clone(ops.reshape(memory(self), (-1,))))


def transpose(a, axes=None):
    values = memory(a)
    return array(ops.permute(values, tuple(range(values.dim() - 1, -1, -1)) if axes is None else axes))


def transpose_method(self, *axes):
    if len(axes) == 1 and (axes[0] is None or type(axes[0]) is tuple or type(axes[0]) is list):
        return transpose(self, axes[0])
    return transpose(self, axes if len(axes) > 0 else None)


def transposed(self):
    return transpose(self)


def matrix_transposed(self):
    return swapaxes(self, -1, -2)


def swapaxes(a, axis1, axis2):
    return array(ops.transpose(memory(a), axis1, axis2))


def squeeze(a, axis=None):
    values = memory(a)
    if axis is None:
        return array(ops.squeeze(values))
    for one in (axis,) if type(axis) is int else axis:
        if values.shape[one] != 1:
            no_model("squeeze() of a dimension that is longer than 1", "python-raises")
    return array(ops.squeeze(values, axis))


def expand_dims(a, axis):
    if type(axis) is not int:
        no_model("numpy.expand_dims() with several dimensions")
    return array(ops.unsqueeze(memory(a), axis))


def broadcast_to(array_, shape, subok=False):
    return array(ops.expand(memory(array_), (shape,) if type(shape) is int else shape))


def _common(name, arrays):
    """The arrays as tensors of their common dtype."""
    if type(arrays) is not tuple and type(arrays) is not list or len(arrays) == 0:
        no_model(f"numpy.{name}() of anything but a list or tuple of arrays")
    kinds = tuple(kind(a) for a in arrays)
    dtype = ask(questions.result, *kinds)
    made = []
    for a in arrays:
        if is_number(a):
            no_model(f"numpy.{name}() of numbers: convert them to arrays before")
        values = cast(memory(a), dtype)
        if not values.is_contiguous():
            values = ops.contiguous(values) if values.dim() < 2 else no_model(f"numpy.{name}() of arrays that are not contiguous")
        made.append(values)
    for values in made:
        if values.dim() != made[0].dim():
            no_model(f"numpy.{name}() of arrays with different numbers of dimensions", "python-raises")
    return made


def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if out is not None or dtype is not None or type(axis) is not int:
        no_model("numpy.concatenate() with out=, dtype= or axis=None")
    made = _common("concatenate", arrays)
    if made[0].dim() == 0:
        no_model("numpy.concatenate() of 0-d arrays", "python-raises")
    return array(ops.cat(made, axis))


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if out is not None or dtype is not None:
        no_model("numpy.stack() with out= or dtype=")
    return array(ops.stack(_common("stack", arrays), axis))


def vstack(tup, *, dtype=None, casting="same_kind"):
    made = _common("vstack", tup)
    if dtype is not None or made[0].dim() not in (1, 2):
        no_model("numpy.vstack() with dtype=, or of other than vectors and matrices")
    return array(ops.stack(made, 0) if made[0].dim() == 1 else ops.cat(made, 0))


def hstack(tup, *, dtype=None, casting="same_kind"):
    made = _common("hstack", tup)
    if dtype is not None or made[0].dim() not in (1, 2):
        no_model("numpy.hstack() with dtype=, or of other than vectors and matrices")
    return array(ops.cat(made, made[0].dim() - 1))
