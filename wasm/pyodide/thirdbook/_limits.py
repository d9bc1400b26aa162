"""finfo and iinfo: the limits of a dtype."""

from __future__ import annotations

from . import _core

_FLOATS = {
    _core.float32: (32, 1.1920928955078125e-07, 3.4028234663852886e38, 1.1754943508222875e-38, 1e-06, "float32"),
    _core.float64: (64, 2.220446049250313e-16, 1.7976931348623157e308, 2.2250738585072014e-308, 1e-15, "float64"),
}
_INTEGERS = {
    _core.uint8: (8, 0, 255, "uint8"),
    _core.int32: (32, -(2**31), 2**31 - 1, "int32"),
    _core.int64: (64, -(2**63), 2**63 - 1, "int64"),
}


class finfo:
    """Limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution, dtype."""

    def __init__(self, type=None):
        dtype = _core.get_default_dtype() if type is None else type
        if dtype not in _FLOATS:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type}'")
        self.bits, self.eps, self.max, self.tiny, self.resolution, self.dtype = _FLOATS[dtype]
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(("finfo", self.dtype))


class iinfo:
    """Limits of an integer dtype: bits, max, min, dtype."""

    def __init__(self, type):
        if type not in _INTEGERS:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self.bits, self.min, self.max, self.dtype = _INTEGERS[type]

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(("iinfo", self.dtype))
