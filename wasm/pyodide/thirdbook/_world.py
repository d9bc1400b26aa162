"""The part of the world that a call can reach: kept, put back, and described, for verify mode.

In: a function and the arguments of a call. `Reach` walks to every object that the function can change: arguments, closure, the globals that it and the
functions it calls name, attributes, items, classes of the user's. Out: `put_back()` gives every one of them the contents it had; `describe()` tells
them as flat data. Invariant: walking and putting back run no code of the user's; objects whose state cannot be read or written (locks, files,
iterators, generators) are named in `unrepeatable`.
"""

from __future__ import annotations

import collections
import enum
import functools
import io
import random
import sys
import types
import weakref

from . import _core
from ._contents import (
    ATOMS, CLASS_ITEMS_LEFT_OUT, HEAP, IMMUTABLE, UNSET, cell_contents, dict_of, is_outside, is_plain, keep_bytearray, keep_cell, keep_class,
    keep_deque, keep_dict, keep_exception, keep_function, keep_instance_class, keep_list, keep_random, keep_set, keep_slot, keep_state,
    keep_tensor, module_is_outside, names_in, slot_value, slots_of,
)  # fmt: skip
from ._core import Tensor
from ._picture import Picture


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
            if type(value) in ATOMS or id(value) in self.paths:
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
            self._restores.append(keep_cell(value))
            contents = cell_contents(value)
            return None if contents is UNSET else self._go(contents, path)
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
        if issubclass(kind, IMMUTABLE):
            return None
        return self._instance(value, path, kind)

    def _instance(self, value, path, kind):
        if not self._contents(value, path, kind):
            self.unrepeatable.append((path, f"{kind.__module__}.{kind.__qualname__}"))
            return
        if issubclass(kind, enum.Enum):
            return
        if kind.__flags__ & HEAP:
            self._go(kind, f"type({path})")
            if not issubclass(kind, (Tensor, tuple, frozenset)):
                self._restores.append(keep_instance_class(value))
        attributes = dict_of(value)
        if attributes is not None:
            self._restores.append(keep_dict(attributes))
            self.paths.setdefault(id(attributes), path + ".__dict__")
            self._alive.append(attributes)
            for name, item in list(attributes.items()):
                self._go(item, f"{path}.{name}")
        for name, item in slots_of(kind):
            if name in ("__dict__", "__weakref__"):
                continue
            self._restores.append(keep_slot(value, item))
            held = slot_value(value, item)
            if held is not UNSET:
                self._go(held, f"{path}.{name}")

    def _contents(self, value, path, kind):
        """Keeps what the C part of the object holds; False when it cannot be known."""
        if issubclass(kind, dict):
            self._restores.append(keep_dict(value))
            for index, (key, item) in enumerate(list(dict.items(value))):
                self._go(key, f"{path}.keys[{index}]")
                self._go(item, f"{path}[{key!r}]" if type(key) in ATOMS else f"{path}.values[{index}]")
            return True
        for base, keep in ((list, keep_list), (set, keep_set), (collections.deque, keep_deque), (tuple, None), (frozenset, None)):
            if issubclass(kind, base):
                if keep is not None:
                    self._restores.append(keep(value))
                for index, item in enumerate(list(base.__iter__(value))):
                    self._go(item, f"{path}[{index}]")
                return True
        for base, keep in ((Tensor, keep_tensor), (bytearray, keep_bytearray), (io.StringIO, keep_state), (io.BytesIO, keep_state),
                           (random.Random, keep_random), (BaseException, keep_exception)):
            if issubclass(kind, base):
                self._restores.append(keep(value))
                if base is BaseException:
                    self._go(value.args, path + ".args")
                return True
        if kind is types.SimpleNamespace or issubclass(kind, (int, float, str, bytes, complex)):
            return True
        return is_plain(kind)

    def _class(self, value, path):
        if not value.__flags__ & HEAP or module_is_outside(value.__module__):
            return
        if "__del__" in vars(value):
            self.unrepeatable.append((path, f"a class with __del__ ({value.__qualname__})"))
        self._restores.append(keep_class(value))
        for base in value.__bases__:
            self._go(base, base.__qualname__)
        if type(value) is not type:
            self._go(type(value), f"type({path})")
        for name, item in list(vars(value).items()):
            if name not in CLASS_ITEMS_LEFT_OUT:
                self._go(item, f"{path}.{name}")

    def _function(self, value, path):
        if is_outside(value.__code__.co_filename):
            wrapped = value.__dict__.get("__wrapped__")
            if wrapped is not None:
                self._go(wrapped, path)
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                self._go(cell, f"{path}.{name}")   # a decorator of the library's around a function of the user's
            return
        self._restores += [keep_function(value), keep_dict(value.__dict__)]
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
            self._restores.append(keep_dict(names))
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
        picture = Picture(self.paths)
        picture.look("result", outcome)
        for names, prefix, _done in self._modules.values():
            picture.look_at_names(prefix, names)
        for value in self._alive:
            picture.look(self.paths[id(value)], value)
        return picture.finish()
