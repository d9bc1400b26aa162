"""The part of the world that a call can reach: kept, put back, and described, for verify mode.

In: a function and the arguments of a call. `Reach` walks to every object that the function can change: arguments, closure, the globals that it and the
functions it calls name, attributes, items, classes of the user's. Out: `put_back()` gives every one of them the contents it had; `describe()` tells
them as flat data. Invariant: walking and putting back run no code of the user's; objects whose state cannot be read or written (locks, files,
iterators, generators) are named in `unrepeatable`.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import functools
import io
import logging
import os
import pathlib
import random
import re
import struct
import sys
import types
import weakref

from . import _core
from ._core import Tensor

_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
_IMMUTABLE = (
    *_ATOMS, types.CodeType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType, types.GenericAlias, types.UnionType, re.Pattern, re.Match,
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, pathlib.PurePath, logging.Logger, logging.Handler,
    type(_core.float32), type(dict().keys()), type(dict().values()), type(dict().items()), types.MappingProxyType, super,
    type(_core.ops.relu), random.SystemRandom,
)  # fmt: skip
_HERE = os.path.dirname(__file__) + os.sep
_OUTSIDE = (_HERE, os.path.dirname(os.__file__) + os.sep)
_UNSET = object()
_CLASS_ITEMS_LEFT_OUT = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __firstlineno__ __static_attributes__ _abc_impl __annotate_func__ "
    "__annotations_cache__ __annotate__ __annotations__ __abstractmethods__ __type_params__".split()
)


def is_outside(filename: str) -> bool:
    """Whether a file is Python's, Thirdbook's or an installed package's: code there is taken to keep no state that matters."""
    return filename.startswith(_OUTSIDE) or filename.startswith("<frozen ") or f"{os.sep}site-packages{os.sep}" in filename


def module_is_outside(name) -> bool:
    if not isinstance(name, str) or name in sys.builtin_module_names or name.partition(".")[0] in ("thirdbook", "torch"):
        return True
    module = sys.modules.get(name)
    names = vars(module) if type(module) is types.ModuleType else {}
    filename, spec = names.get("__file__"), names.get("__spec__")
    if filename is None:
        return getattr(spec, "origin", None) in ("frozen", "built-in")
    return isinstance(filename, str) and is_outside(filename)


def names_in(code) -> set[str]:
    """Every name that code, or code inside of it, looks up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names


def dict_of(value):
    """The instance dict, or None; no code of the user's runs."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def slots_of(kind):
    for base in kind.__mro__:
        for name, item in vars(base).items():
            if type(item) is types.MemberDescriptorType and base.__flags__ & _HEAP and item.__objclass__ is base:
                yield name, item


_HEAP = 1 << 9   # of type.__flags__: made at run time
_POINTER = struct.calcsize("P")


def is_plain(kind) -> bool:
    """Whether dict and slots are all the state of an instance: a class that C code made has room for more."""
    slots = sum(1 for _ in slots_of(kind))
    pointers = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__itemsize__ == 0 and kind.__basicsize__ == object.__basicsize__ + pointers * _POINTER


def _same(left, right):
    return len(left) == len(right) and all(a is b for a, b in zip(left, right))


def _flat(mapping):
    return [part for pair in dict.items(mapping) for part in pair]


# ---- how each kind of object is kept: a function that returns the one that puts it back -----------------------------------------------


def _keep_list(value):
    before = list.copy(value) if type(value) is list else list(list.__iter__(value))

    def put_back():
        if not _same(before, list(list.__iter__(value))):
            list.__setitem__(value, slice(None), before)

    return put_back


def _keep_dict(value):
    ordered = issubclass(type(value), collections.OrderedDict)
    before = [(key, dict.__getitem__(value, key)) for key in collections.OrderedDict.__iter__(value)] if ordered else list(dict.items(value))
    flat = [part for pair in before for part in pair]
    by_default = issubclass(type(value), collections.defaultdict)
    factory = value.default_factory if by_default else None

    def put_back():
        now = _flat(value) if not ordered else [p for key in collections.OrderedDict.__iter__(value) for p in (key, dict.__getitem__(value, key))]
        if not _same(flat, now):
            if len(flat) == len(now) and _same(flat[::2], now[::2]):
                for key, item in before:
                    dict.__setitem__(value, key, item)
            elif ordered:
                collections.OrderedDict.clear(value)
                for key, item in before:
                    collections.OrderedDict.__setitem__(value, key, item)
            else:
                dict.clear(value)
                dict.update(value, before)
        if by_default:
            value.default_factory = factory

    return put_back


def _keep_set(value):
    before = list(set.__iter__(value))

    def put_back():
        if not _same(before, list(set.__iter__(value))):
            set.clear(value)
            set.update(value, before)

    return put_back


def _keep_deque(value):
    before = list(collections.deque.__iter__(value))

    def put_back():
        if not _same(before, list(collections.deque.__iter__(value))):
            collections.deque.clear(value)
            collections.deque.extend(value, before)

    return put_back


def _keep_bytearray(value):
    before = bytes(value)

    def put_back():
        if bytes(value) != before:
            bytearray.__setitem__(value, slice(None), before)

    return put_back


def _keep_cell(value):
    before = _cell_contents(value)

    def put_back():
        if _cell_contents(value) is before:
            return
        if before is _UNSET:
            del value.cell_contents
        else:
            value.cell_contents = before

    return put_back


def _cell_contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return _UNSET


def _keep_class(value):
    before = {name: item for name, item in vars(value).items() if name not in _CLASS_ITEMS_LEFT_OUT}

    def put_back():
        now = {name: item for name, item in vars(value).items() if name not in _CLASS_ITEMS_LEFT_OUT}
        for name in now.keys() - before.keys():
            type.__delattr__(value, name)
        for name, item in before.items():
            if now.get(name, _UNSET) is not item:
                type.__setattr__(value, name, item)

    return put_back


def _keep_slot(value, item):
    before = _slot(value, item)

    def put_back():
        if _slot(value, item) is before:
            return
        if before is _UNSET:
            item.__delete__(value)
        else:
            item.__set__(value, before)

    return put_back


def _slot(value, item):
    try:
        return item.__get__(value)
    except AttributeError:
        return _UNSET


def _keep_function(value):
    before = value.__code__, value.__defaults__, value.__kwdefaults__

    def put_back():
        if value.__code__ is not before[0]:
            value.__code__ = before[0]
        if value.__defaults__ is not before[1]:
            value.__defaults__ = before[1]
        if value.__kwdefaults__ is not before[2]:
            value.__kwdefaults__ = before[2]

    return put_back


def _keep_instance_class(value):
    before = type(value)

    def put_back():
        if type(value) is not before:
            object.__setattr__(value, "__class__", before)

    return put_back


def _keep_exception(value):
    before = value.args, value.__cause__, value.__context__, value.__suppress_context__, value.__traceback__

    def put_back():
        value.args, value.__cause__, value.__context__, value.__suppress_context__, value.__traceback__ = before

    return put_back


def _keep_tensor(value):
    detached = value.detach()
    before, requires_grad = detached.clone(), value.requires_grad

    def put_back():
        if value.requires_grad != requires_grad:
            value.requires_grad_(requires_grad)
        if not same_bits(detached, before):
            _core._commit(detached, before)

    return put_back


def same_bits(left, right) -> bool:
    """Equal elements, a NaN being equal to itself."""
    return bool(((left == right) | ((left != left) & (right != right))).all().item())


def _keep_state(value):
    before = type(value).__getstate__(value)
    return lambda: type(value).__setstate__(value, before)


def _keep_random(value):
    before = random.Random.getstate(value)
    return lambda: random.Random.setstate(value, before)


class Reach:
    """What a call of `function` with these arguments can get at. `paths`: id → the source by which it was reached first."""

    def __init__(self, function, args, kwargs):
        self.paths: dict[int, str] = {}
        self.unrepeatable: list[tuple[str, str]] = []
        self._alive = []
        self._restores = []
        self._queue = collections.deque()
        self._names: set[str] = set()
        self._home: dict | None = None
        self._modules: dict[int, tuple[dict, str, set]] = {}
        self.roots = list(self._argument_roots(function, args, kwargs))
        for path, value in self.roots:
            self._queue.append((value, path))
        self._queue.append((function, "fn"))
        self._drain()

    @staticmethod
    def _argument_roots(function, args, kwargs):
        names = ()
        if isinstance(function, types.MethodType):
            yield "L['self']", function.__self__
            function = function.__func__
            names = function.__code__.co_varnames[1:] if isinstance(function, types.FunctionType) else ()
        elif isinstance(function, types.FunctionType):
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
        for index, value in enumerate(args):
            yield f"L['{names[index]}']" if index < len(names) else f"argument {index + 1}", value
        for name, value in kwargs.items():
            yield f"L['{name}']", value

    def reached(self, kind) -> list:
        """The objects of a class that were reached."""
        return [value for value in self._alive if issubclass(type(value), kind)]

    def put_back(self) -> None:
        for restore in self._restores:
            restore()

    # ---- walking -----------------------------------------------------------------------------------------------------------------

    def _drain(self):
        while self._queue:
            value, path = self._queue.popleft()
            if type(value) in _ATOMS or id(value) in self.paths:
                continue
            self.paths[id(value)] = path
            self._alive.append(value)
            self._visit(value, path)

    def _go(self, value, path):
        self._queue.append((value, path))

    def _visit(self, value, path):
        kind = type(value)
        if issubclass(kind, type):
            return self._class(value, path)
        if kind is types.FunctionType:
            return self._function(value, path)
        if kind is types.ModuleType:
            return self._module(value, path)
        if kind is types.MethodType:
            self._go(value.__self__, path + ".__self__")
            return self._go(value.__func__, path)
        if kind in (_core.CompiledFunction, _core.DisabledFunction):
            return self._go(value.__wrapped__, path)
        if kind is types.CellType:
            self._restores.append(_keep_cell(value))
            contents = _cell_contents(value)
            return None if contents is _UNSET else self._go(contents, path)
        if kind in (staticmethod, classmethod):
            return self._go(value.__func__, path)
        if kind is property:
            for part in (value.fget, value.fset, value.fdel):
                self._go(part, path)
            return None
        if kind is functools.partial:
            for index, part in enumerate((value.func, *value.args, *value.keywords.values())):
                self._go(part, f"{path}.partial[{index}]")
            return None
        if issubclass(kind, weakref.ref):
            return self._go(value(), path + "()")
        if issubclass(kind, _IMMUTABLE):
            return None
        return self._instance(value, path, kind)

    def _instance(self, value, path, kind):
        if not self._contents(value, path, kind):
            self.unrepeatable.append((path, f"{kind.__module__}.{kind.__qualname__}"))
            return
        if issubclass(kind, enum.Enum):
            return
        if kind.__flags__ & _HEAP:
            self._go(kind, f"type({path})")
            if not issubclass(kind, (Tensor, tuple, frozenset)):
                self._restores.append(_keep_instance_class(value))
        attributes = dict_of(value)
        if attributes is not None:
            self._restores.append(_keep_dict(attributes))
            self.paths.setdefault(id(attributes), path + ".__dict__")
            self._alive.append(attributes)
            for name, item in list(attributes.items()):
                self._go(item, f"{path}.{name}")
        for name, item in slots_of(kind):
            if name in ("__dict__", "__weakref__"):
                continue
            self._restores.append(_keep_slot(value, item))
            held = _slot(value, item)
            if held is not _UNSET:
                self._go(held, f"{path}.{name}")

    def _contents(self, value, path, kind):
        """Keeps what the C part of the object holds; False when it cannot be known."""
        if issubclass(kind, dict):
            self._restores.append(_keep_dict(value))
            for index, (key, item) in enumerate(list(dict.items(value))):
                self._go(key, f"{path}.keys[{index}]")
                self._go(item, f"{path}[{key!r}]" if type(key) in _ATOMS else f"{path}.values[{index}]")
            return True
        for base, keep in ((list, _keep_list), (set, _keep_set), (collections.deque, _keep_deque), (tuple, None), (frozenset, None)):
            if issubclass(kind, base):
                if keep is not None:
                    self._restores.append(keep(value))
                for index, item in enumerate(list(base.__iter__(value))):
                    self._go(item, f"{path}[{index}]")
                return True
        for base, keep in ((Tensor, _keep_tensor), (bytearray, _keep_bytearray), (io.StringIO, _keep_state), (io.BytesIO, _keep_state),
                           (random.Random, _keep_random), (BaseException, _keep_exception)):
            if issubclass(kind, base):
                self._restores.append(keep(value))
                if base is BaseException:
                    self._go(value.args, path + ".args")
                return True
        if kind is types.SimpleNamespace or issubclass(kind, (int, float, str, bytes, complex)):
            return True
        return is_plain(kind)

    def _class(self, value, path):
        if not value.__flags__ & _HEAP or module_is_outside(value.__module__):
            return
        if "__del__" in vars(value):
            self.unrepeatable.append((path, f"a class with __del__ ({value.__qualname__})"))
        self._restores.append(_keep_class(value))
        for base in value.__bases__:
            self._go(base, base.__qualname__)
        if type(value) is not type:
            self._go(type(value), f"type({path})")
        for name, item in list(vars(value).items()):
            if name not in _CLASS_ITEMS_LEFT_OUT:
                self._go(item, f"{path}.{name}")

    def _function(self, value, path):
        if is_outside(value.__code__.co_filename):
            wrapped = value.__dict__.get("__wrapped__")
            if wrapped is not None:
                self._go(wrapped, path)
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                self._go(cell, f"{path}.{name}")   # a decorator of the library's around a function of the user's
            return
        self._restores += [_keep_function(value), _keep_dict(value.__dict__)]
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            self._go(cell, f"C['{name}']")
        self._go(value.__defaults__, path + ".__defaults__")
        self._go(value.__kwdefaults__, path + ".__kwdefaults__")
        for name, item in list(value.__dict__.items()):
            self._go(item, f"{path}.{name}")
        new_names = names_in(value.__code__) - self._names
        self._names |= new_names
        self._namespace(value.__globals__, self._prefix_of(value.__globals__))
        for name in new_names:   # imported inside of a function
            if type(sys.modules.get(name)) is types.ModuleType:
                self._go(sys.modules[name], f"sys.modules['{name}']")
        for names, prefix, done in list(self._modules.values()):
            self._named(names, prefix, done)

    def _module(self, value, path):
        if module_is_outside(vars(value).get("__name__")):
            return
        self._namespace(vars(value), path)
        names, prefix, done = self._modules[id(vars(value))]
        self._named(names, prefix, done)

    def _prefix_of(self, names):
        """G for the module of the function itself, the module's name for others."""
        if self._home is None:
            self._home = names
        return "G" if names is self._home else str(names.get("__name__", "?"))

    def _namespace(self, names, prefix):
        """Every binding of the module is kept; only what code names is walked into."""
        if id(names) not in self._modules:
            self._modules[id(names)] = (names, prefix, set())
            self._restores.append(_keep_dict(names))
            self.paths.setdefault(id(names), prefix)
            self._alive.append(names)

    def _named(self, names, prefix, done):
        everything = not self._names.isdisjoint(("globals", "vars", "eval", "exec", "__dict__", "getattr", "setattr"))
        wanted = set(names) if everything else self._names & names.keys()
        for name in sorted(n for n in wanted - done if isinstance(n, str) and not n.startswith("__")):
            done.add(name)
            self._go(names[name], f"G['{name}']" if prefix == "G" else f"{prefix}.{name}")
        registry = names.get("__warningregistry__")
        if registry is not None:
            self._go(registry, f"{prefix}.__warningregistry__")

    # ---- telling -----------------------------------------------------------------------------------------------------------------

    def describe(self, outcome) -> list[tuple[str, object]]:
        """(path, what is there) in the order of discovery: outcome first, then arguments, then each module's names, then the rest."""
        from ._picture import Picture

        picture = Picture(self.paths)
        picture.look("result", outcome)
        for names, prefix, _done in self._modules.values():
            picture.look_at_names(prefix, names)
        for value in self._alive:
            picture.look(self.paths[id(value)], value)
        return picture.finish()
