"""Methods of Tensor that are written in Python: conversions, in-place fills, copies, protocols.

In: the C type and the functions of this package. Out: `attach()` sets them on the type, once, at import. Everything here is plain code over
ops, so that the tracer inlines it.
"""

from __future__ import annotations

from copy import deepcopy

from . import _core, _forms, _functions, _reductions, _shapes
from ._core import Tensor, ops
from ._layout import strided
from ._printing import tensor_text

_DTYPE_OF_TYPE_NAME = {
    "torch.FloatTensor": _core.float32,
    "torch.DoubleTensor": _core.float64,
    "torch.IntTensor": _core.int32,
    "torch.LongTensor": _core.int64,
    "torch.ByteTensor": _core.uint8,
    "torch.BoolTensor": _core.bool,
}
_TYPE_NAME_OF_DTYPE = {dtype: name for name, dtype in _DTYPE_OF_TYPE_NAME.items()}


class _Methods:
    """A place to write the methods down; attach() moves them to Tensor."""

    __array_priority__ = 1000

    def __repr__(self, *, tensor_contents=None):
        return tensor_text(self)

    def __format__(self, format_spec):
        if self.dim() == 0:
            return format(self.item(), format_spec)
        return object.__format__(self, format_spec)

    def __reduce_ex__(self, protocol):
        state = dict(self.__dict__) or None
        return _rebuild, (type(self), _to_bytes(self), self.dtype, tuple(self.shape), self.requires_grad), state

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copied = _core._make_subclass(type(self), _cloned_with_strides(self), self.requires_grad)
        memo[id(self)] = copied
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        for name, value in self.__dict__.items():
            copied.__dict__[name] = deepcopy(value, memo)
        return copied

    def __copy__(self):
        copied = _core._make_subclass(type(self), self, self.requires_grad)
        copied.__dict__.update(self.__dict__)
        return copied

    def __reversed__(self):
        return self if self.dim() == 0 else ops.flip(self, (0,))

    def __array__(self, dtype=None, copy=None):
        import numpy

        made = numpy.asarray(memoryview(self))
        return made if dtype is None else made.astype(dtype, copy=False)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return _core.from_numpy(array)

    def __complex__(self):
        return complex(self.item())

    # ---- dtype and device

    def to(self, *args, **kwargs):
        """to(dtype), to(device), to(device, dtype), to(other): the tensor itself when nothing changes."""
        dtype, device, copy = _parse_to(args, kwargs)
        made = self if dtype is None or dtype is self.dtype else ops.to(self, dtype)
        if device is not None and device.type != made.device.type:
            return _core._with_device(made, device)
        return ops.clone(made) if copy and made is self else made

    def type(self, dtype=None):
        """The name of the type, e.g. "torch.FloatTensor", or a conversion to a dtype."""
        if dtype is None:
            return _TYPE_NAME_OF_DTYPE[self.dtype]
        if isinstance(dtype, str):
            if dtype not in _DTYPE_OF_TYPE_NAME:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = _DTYPE_OF_TYPE_NAME[dtype]
        return self if self.dtype is dtype else ops.to(self, dtype)

    def type_as(self, other):
        return self if self.dtype is other.dtype else ops.to(self, other.dtype)

    def float(self):
        return self if self.dtype is _core.float32 else ops.to(self, _core.float32)

    def double(self):
        return self if self.dtype is _core.float64 else ops.to(self, _core.float64)

    def int(self):
        return self if self.dtype is _core.int32 else ops.to(self, _core.int32)

    def long(self):
        return self if self.dtype is _core.int64 else ops.to(self, _core.int64)

    def byte(self):
        return self if self.dtype is _core.uint8 else ops.to(self, _core.uint8)

    def bool(self):
        return self if self.dtype is _core.bool else ops.to(self, _core.bool)

    def cpu(self, memory_format=None):
        """The tensor itself when it belongs to the CPU, else a copy there. RuntimeError where its elements are on the GPU and cannot be waited for."""
        return self if self.device.type == "cpu" else _core._with_device(self, "cpu")

    async def cpu_async(self):
        """cpu() that waits for the GPU as a coroutine does: for where Python cannot wait otherwise."""
        from . import _gpu

        await _gpu.fetch(self)
        return self.cpu()

    def cuda(self, device=None, non_blocking=False):
        raise RuntimeError("Thirdbook has no CUDA; there are 'cpu' and 'webgpu'")

    def numpy(self, *, force=False):
        """A NumPy array over the same memory; RuntimeError when it requires grad and force is False."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        import numpy

        return numpy.asarray(memoryview(self))

    def detach(self):
        return ops.alias(self)

    def detach_(self):
        return self.requires_grad_(False)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        raise NotImplementedError(
            "Tensor.backward: automatic differentiation is not part of this version of Thirdbook; "
            "compute gradients by hand or run this part with PyTorch"
        )

    def register_hook(self, hook):
        raise NotImplementedError("Tensor.register_hook: automatic differentiation is not part of this version of Thirdbook")

    def retain_grad(self):
        return None

    # ---- making others

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        return _core.tensor(data, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)

    def new_zeros(self, *size, dtype=None, device=None, requires_grad=False):
        return ops.zeros(_shapes.as_size(size, "new_zeros"), dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)

    def new_ones(self, *size, dtype=None, device=None, requires_grad=False):
        return ops.ones(_shapes.as_size(size, "new_ones"), dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)

    def new_empty(self, *size, dtype=None, device=None, requires_grad=False):
        return ops.empty(_shapes.as_size(size, "new_empty"), dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)

    def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
        return ops.full(size, fill_value, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)

    # ---- filling in place

    def copy_(self, src, non_blocking=False):
        return ops.copy_(self, src)

    def fill_(self, value):
        if isinstance(value, Tensor) and value.dim() != 0:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        return ops.copy_(self, value)

    def zero_(self):
        return ops.copy_(self, 0)

    def uniform_(self, a=0.0, b=1.0, *, generator=None):
        _forms.need_floats("check_uniform_bounds", self.dtype)
        if a > b:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
        return ops.copy_(self, ops.uniform(self.shape, a, b, dtype=self.dtype, generator=generator))

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        _forms.need_floats("normal_kernel_cpu", self.dtype)
        return ops.copy_(self, ops.normal(self.shape, mean, std, dtype=self.dtype, generator=generator))

    def bernoulli_(self, p=0.5, *, generator=None):
        return ops.copy_(self, ops.bernoulli(self, p, generator=generator))

    def random_(self, low=None, high=None, *, generator=None):
        if low is None:
            low, high = 0, _RANDOM_ENDS[self.dtype]
        elif high is None:
            low, high = 0, low
        dtype = self.dtype if not self.dtype.is_floating_point else _core.int64
        return ops.copy_(self, ops.randint(low, high, self.shape, dtype=dtype, generator=generator))

    def clamp_(self, min=None, max=None):
        return ops.clamp_(self, min, max)

    def clip_(self, min=None, max=None):
        return ops.clamp_(self, min, max)

    def where(self, condition, other):
        return ops.where(condition, self, other)

    def new(self, *size):
        return ops.empty(_shapes.as_size(size), dtype=self.dtype)

    def masked_scatter_(self, mask, source):
        self[mask] = ops.reshape(source, (-1,))[: int(ops.sum(ops.expand(mask, self.shape)).item())]
        return self

    def index_fill_(self, dim, index, value):
        return ops.copy_(self, _functions.index_fill(self, dim, index, value))

    def index_copy_(self, dim, index, source):
        return ops.copy_(self, _functions.index_copy(self, dim, index, source))

    def addcmul_(self, tensor1, tensor2, *, value=1):
        return ops.add_(self, ops.mul(tensor1, tensor2), alpha=value)

    def addcdiv_(self, tensor1, tensor2, *, value=1):
        return ops.add_(self, ops.div(tensor1, tensor2), alpha=value)

    def float_power_(self, exponent):
        if self.dtype is not _core.float64:
            raise RuntimeError(
                f"the base given to float_power_ has dtype {_forms.scalar_name(self.dtype)} but the operation's result requires dtype Double"
            )
        return ops.copy_(self, _functions.float_power(self, exponent))

    def fill_diagonal_(self, fill_value, wrap=False):
        ops.copy_(ops.diagonal(self), fill_value)
        return self

    def exponential_(self, lambd=1.0, *, generator=None):
        u = ops.uniform(self.shape, 0.0, 1.0, dtype=self.dtype, generator=generator)
        return ops.copy_(self, ops.div(ops.neg(ops.log1p(ops.neg(u))), lambd))

    def resize_(self, *size):
        """In place, keeping the first elements (row-major)."""
        size = _shapes.as_size(size, "resize_")
        count = 1
        for n in size:
            count *= n
        flat = ops.reshape(self, (-1,))
        if count > flat.numel():
            flat = ops.cat([flat, ops.zeros((count - flat.numel(),), dtype=self.dtype)])
        return self.set_(ops.view(ops.narrow(flat, 0, 0, count), size))

    # ---- properties and small queries

    def as_subclass(self, cls):
        return _core._make_subclass(cls, self, self.requires_grad)

    def inverse(self):
        return ops.linalg_inv(self)

    def det(self):
        return ops.linalg_det(self)

    def logdet(self):
        return ops.log(ops.linalg_det(self))

    def is_nonzero(self):
        return _functions.is_nonzero(self)

    def is_same_size(self, other):
        return self.shape == other.shape

    def swapaxes_(self, axis0, axis1):
        return ops.transpose_(self, axis0, axis1)

    swapdims_ = swapaxes_

    def to_dense(self):
        return self

    def dim_order(self):
        return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))

    def put_(self, index, source, accumulate=False):
        """Writes source's elements at places counted in row-major order."""
        flat = ops.index_put(ops.reshape(self, (-1,)), [ops.reshape(index, (-1,))], ops.reshape(source, (-1,)), accumulate)
        return ops.copy_(self, ops.view(flat, self.shape))

    def get_device(self):
        return -1

    def is_set_to(self, other):
        return self._shares_storage(other) and self.shape == other.shape and self.stride() == other.stride()

    def untyped_storage(self):
        return _Storage(self)

    def is_shared(self):
        return False

    def is_inference(self):
        return False

    def is_signed(self):
        return self.dtype.is_signed

    def apply_(self, function):
        flat = [function(value) for value in ops.reshape(self, (-1,)).tolist()]
        return ops.copy_(self, ops.view(_core.tensor(flat, dtype=self.dtype), self.shape))


_RANDOM_ENDS = {
    _core.bool: 2,
    _core.uint8: 256,
    _core.int32: 2**31 - 1,
    _core.int64: 2**63 - 1,
    _core.float32: 2**24 + 1,
    _core.float64: 2**53 + 1,
}


class _Storage:
    """What Tensor.untyped_storage() gives: enough to compare and measure memory."""

    def __init__(self, tensor):
        self._tensor = tensor

    def data_ptr(self):
        return self._tensor._storage_id()

    def nbytes(self):
        return self._tensor._storage_nbytes()

    size = nbytes
    __len__ = nbytes

    def __eq__(self, other):
        return isinstance(other, _Storage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


def _cloned_with_strides(tensor):
    """A copy whose elements lie as the tensor's do."""
    if tensor.is_contiguous():
        return ops.clone(tensor)
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    memory = ops.clone(ops.as_strided(tensor, (extent,), (1,), tensor.storage_offset()))
    return ops.as_strided(memory, tensor.shape, tensor.stride())


def _parse_to(args, kwargs):
    """(dtype or None, device or None, copy) of the forms of Tensor.to."""
    dtype = kwargs.get("dtype")
    copy = kwargs.get("copy", False)
    device = kwargs.get("device")
    for arg in args:
        if isinstance(arg, _core.dtype):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, (str, _core.device)):
            device = arg
        elif arg is float or arg is int or arg is bool:
            dtype = {float: _core.float64, int: _core.int64, bool: _core.bool}[arg]
        elif arg is not None and not isinstance(arg, bool):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(arg).__name__})")
    if kwargs.get("other") is not None:
        dtype, device = kwargs["other"].dtype, kwargs["other"].device
    return dtype, None if device is None else _core.device(device), copy


def _to_bytes(tensor) -> bytes:
    return memoryview(ops.contiguous(tensor)).tobytes() if tensor.numel() else b""


def _rebuild(cls, data: bytes, dtype, shape, requires_grad: bool):
    """A tensor from its pickled bytes (row-major, little endian)."""
    if data:
        made = ops.view(_core.frombuffer(bytearray(data), dtype=dtype), shape)
    else:
        made = ops.empty(shape, dtype=dtype)
    if cls is Tensor:
        return made.requires_grad_() if requires_grad else made
    return _core._make_subclass(cls, made, requires_grad)


def _transposed(self):
    if self.dim() == 2:
        return ops.t(self)
    return ops.permute(self, tuple(range(self.dim() - 1, -1, -1)))


def _matrix_transposed(name):
    def transposed(self):
        if self.dim() == 0:
            return self
        if self.dim() == 1 or (name == "H" and self.dim() != 2):
            what = "matrices (2-D tensors)" if name == "H" else "matrices or batches of matrices"
            raise RuntimeError(f"tensor.{name} is only supported on {what}. Got {self.dim()}-D tensor.")
        return ops.transpose(self, -2, -1)

    return property(transposed)


# Functions whose in-place method writes their result back.
_WITH_IN_PLACE = (
    "addbmm", "addmv", "addr", "baddbmm", "clamp_max", "clamp_min", "copysign", "deg2rad", "frac", "heaviside", "hypot", "ldexp",
    "logit", "nan_to_num", "rad2deg", "renorm", "scatter_reduce", "sgn", "sinc", "xlogy",
)  # fmt: skip


def attach() -> None:
    """Sets the methods of this package on Tensor."""
    for name, value in vars(_Methods).items():
        if name not in ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__"):
            setattr(Tensor, name, value)
    Tensor.T = property(_transposed)
    Tensor.H = _matrix_transposed("H")
    Tensor.mT = _matrix_transposed("mT")
    Tensor.mH = _matrix_transposed("mH")
    Tensor.layout = strided
    Tensor.real = property(lambda self: self)
    Tensor._make_subclass = staticmethod(_core._make_subclass)
    for module in (_functions, _reductions, _shapes):
        for name in module.METHODS:
            setattr(Tensor, name, getattr(module, name))
    for name in _WITH_IN_PLACE:
        setattr(Tensor, name + "_", _forms.in_place(getattr(Tensor, name)))
    for name, original in _functions.METHOD_ALIASES.items():
        setattr(Tensor, name, getattr(Tensor, original))
        if not original.endswith("_") and hasattr(Tensor, original + "_"):
            setattr(Tensor, name + "_", getattr(Tensor, original + "_"))
