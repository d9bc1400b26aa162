"""Objects as flat data, so that two worlds at different times can be compared.

In: roots, and the paths of the objects that were there before. Out: (path, data) rows; data is a text, a float, or a tensor's copy. An object that was there
before is told by its old path, a new one by the path at which it was found first: identity and aliasing are part of the data. Invariant: looking
runs no code of the user's.
"""

from __future__ import annotations

import collections
import math
import re
import types

from . import _core
from ._contents import ATOMS, CLASS_ITEMS_LEFT_OUT, UNSET, cell_contents, dict_of, module_is_outside, slot_value, slots_of
from ._core import Tensor
from ._functions import allclose

_ADDRESS = re.compile(r"0x[0-9a-f]{4,}")
_RTOL = {"float64": 1e-7, "complex128": 1e-7, "float32": 1.3e-6, "complex64": 1.3e-6, "float16": 1e-3, "bfloat16": 1.6e-2}
_ATOL = {"float64": 1e-7, "complex128": 1e-7}


class TensorData:
    """A tensor's meta data and a copy of its elements."""

    __slots__ = ("copy", "meta")

    def __init__(self, tensor):
        self.copy = tensor.detach().clone()
        self.meta = (str(tensor.dtype), tuple(tensor.shape), tensor.requires_grad)

    def __str__(self):
        return repr(self.copy)

    def same(self, other) -> bool:
        if type(other) is not TensorData or self.meta != other.meta:
            return False
        name = self.meta[0].rpartition(".")[2]
        if name in _RTOL:
            return bool(allclose(self.copy, other.copy, rtol=_RTOL[name], atol=_ATOL.get(name, 1e-5), equal_nan=True))
        return bool((self.copy == other.copy).all().item())


def same(left, right) -> bool:
    if type(left) is TensorData:
        return left.same(right)
    if type(left) is float and type(right) is float:
        return left == right or (left != left and right != right) or math.isclose(left, right, rel_tol=1.3e-6, abs_tol=1e-9)
    return type(left) is type(right) and left == right


class Picture:
    def __init__(self, existing):
        self._existing = existing
        self._paths = {}
        self._alive = []
        self._rows = []
        self._queue = collections.deque()

    def look(self, path, value):
        self._row(path, value)
        self._drain()

    def look_at_names(self, prefix, names):
        for name, item in list(names.items()):
            if isinstance(name, str) and not name.startswith("__"):
                self._row(f"G['{name}']" if prefix == "G" else f"{prefix}.{name}", item)

    def finish(self):
        self._drain()
        return self._rows

    def _row(self, path, value):
        self._rows.append((path, self._label(value, path)))

    def _label(self, value, path):
        kind = type(value)
        if kind is float:
            return value
        if kind in ATOMS:
            return f"{value!r}"
        if id(value) in self._paths:
            return f"the object at {self._paths[id(value)]}"
        known = self._existing.get(id(value))
        self._paths[id(value)] = known if known is not None else path
        self._alive.append(value)
        self._queue.append((value, path))
        if known is not None and known != path:
            return f"the object at {known}"
        if issubclass(kind, (types.FunctionType, type)):
            return f"{kind.__name__} {value.__qualname__}"
        return f"a {kind.__qualname__}"

    def _drain(self):
        while self._queue:
            value, path = self._queue.popleft()
            self._look(value, path)

    def _look(self, value, path):
        kind = type(value)
        if issubclass(kind, type):
            if not module_is_outside(value.__module__):
                for name, item in list(vars(value).items()):
                    if name not in CLASS_ITEMS_LEFT_OUT:
                        self._row(f"{path}.{name}", item)
            return
        if kind is types.ModuleType or issubclass(kind, (types.BuiltinFunctionType, types.CodeType)):
            return
        if issubclass(kind, Tensor):
            self._rows.append((path, TensorData(value)))
        elif issubclass(kind, dict):
            keys = list(collections.OrderedDict.__iter__(value) if issubclass(kind, collections.OrderedDict) else dict.keys(value))
            self._rows.append((path, f"keys {', '.join(str(self._label(key, f'{path}.keys[{i}]')) for i, key in enumerate(keys))}"))
            for index, key in enumerate(keys):
                self._row(f"{path}[{key!r}]" if type(key) in ATOMS else f"{path}.values[{index}]", dict.__getitem__(value, key))
        elif issubclass(kind, (set, frozenset)):
            base = set if issubclass(kind, set) else frozenset
            texts = [str(self._label(item, f"{path}.element")) for item in base.__iter__(value)]
            self._rows.append((path, f"elements {', '.join(sorted(texts))}"))
        elif issubclass(kind, (list, tuple, collections.deque)):
            base = next(b for b in (list, tuple, collections.deque) if issubclass(kind, b))
            items = list(base.__iter__(value))
            self._rows.append((path, f"{len(items)} items"))
            for index, item in enumerate(items):
                self._row(f"{path}[{index}]", item)
        elif issubclass(kind, bytearray):
            self._rows.append((path, bytes(value).hex()))
        elif issubclass(kind, BaseException):
            self._row(f"{path}.args", value.args)
            self._row(f"{path}.__cause__", type(value.__cause__).__name__)
        elif kind is types.FunctionType:
            self._row(f"{path}.__defaults__", value.__defaults__)
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                self._row(f"{path}.{name}", cell)
        elif kind is types.CellType:
            contents = cell_contents(value)
            if contents is not UNSET:
                self._row(path, contents)
            else:
                self._rows.append((path, "an empty cell"))
            return
        elif kind is types.MethodType:
            self._row(f"{path}.__self__", value.__self__)
            self._row(f"{path}.__func__", value.__func__)
            return
        elif kind in (_core.CompiledFunction, _core.DisabledFunction):
            return
        elif issubclass(kind, (int, float, str, bytes, complex)):
            base = next(b for b in (int, float, str, bytes, complex) if issubclass(kind, b))
            self._rows.append((path, base.__repr__(value)))
        attributes = dict_of(value)
        if attributes is not None:
            self._rows.append((path, f"attributes {', '.join(map(str, attributes))}"))
            for name, item in list(attributes.items()):
                self._row(f"{path}.{name}", item)
        for name, item in slots_of(kind):
            held = slot_value(value, item) if name not in ("__dict__", "__weakref__") else UNSET
            if held is not UNSET:
                self._row(f"{path}.{name}", held)


def plain(text: str) -> str:
    """Text without addresses."""
    return _ADDRESS.sub("0x…", text)
