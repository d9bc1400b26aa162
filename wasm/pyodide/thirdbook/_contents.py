"""What objects of each kind hold, and how it is given back to them.

In: an object. Out: `dict_of`, `slots_of`, `names_in`: what can be read of it without running code of the user's; `keep_…`: a callable that gives the
object the contents it has now. Invariant: neither reading nor giving back runs code of the user's.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import logging
import os
import pathlib
import random
import re
import struct
import sys
import types

from . import _core

ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
IMMUTABLE = (
    *ATOMS, types.CodeType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType, types.GenericAlias, types.UnionType, re.Pattern, re.Match,
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, pathlib.PurePath, logging.Logger, logging.Handler,
    type(_core.float32), type(dict().keys()), type(dict().values()), type(dict().items()), types.MappingProxyType, super,
    type(_core.ops.relu), random.SystemRandom,
)  # fmt: skip
_HERE = os.path.dirname(__file__) + os.sep
_OUTSIDE = (_HERE, os.path.dirname(os.__file__) + os.sep)
UNSET = object()
CLASS_ITEMS_LEFT_OUT = frozenset(
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
            if type(item) is types.MemberDescriptorType and base.__flags__ & HEAP and item.__objclass__ is base:
                yield name, item


HEAP = 1 << 9   # of type.__flags__: made at run time
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


def keep_list(value):
    before = list.copy(value) if type(value) is list else list(list.__iter__(value))

    def put_back():
        if not _same(before, list(list.__iter__(value))):
            list.__setitem__(value, slice(None), before)

    return put_back


def keep_dict(value):
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


def keep_set(value):
    before = list(set.__iter__(value))

    def put_back():
        if not _same(before, list(set.__iter__(value))):
            set.clear(value)
            set.update(value, before)

    return put_back


def keep_deque(value):
    before = list(collections.deque.__iter__(value))

    def put_back():
        if not _same(before, list(collections.deque.__iter__(value))):
            collections.deque.clear(value)
            collections.deque.extend(value, before)

    return put_back


def keep_bytearray(value):
    before = bytes(value)

    def put_back():
        if bytes(value) != before:
            bytearray.__setitem__(value, slice(None), before)

    return put_back


def keep_cell(value):
    before = cell_contents(value)

    def put_back():
        if cell_contents(value) is before:
            return
        if before is UNSET:
            del value.cell_contents
        else:
            value.cell_contents = before

    return put_back


def cell_contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return UNSET


def keep_class(value):
    before = {name: item for name, item in vars(value).items() if name not in CLASS_ITEMS_LEFT_OUT}

    def put_back():
        now = {name: item for name, item in vars(value).items() if name not in CLASS_ITEMS_LEFT_OUT}
        for name in now.keys() - before.keys():
            type.__delattr__(value, name)
        for name, item in before.items():
            if now.get(name, UNSET) is not item:
                type.__setattr__(value, name, item)

    return put_back


def keep_slot(value, item):
    before = slot_value(value, item)

    def put_back():
        if slot_value(value, item) is before:
            return
        if before is UNSET:
            item.__delete__(value)
        else:
            item.__set__(value, before)

    return put_back


def slot_value(value, item):
    try:
        return item.__get__(value)
    except AttributeError:
        return UNSET


def keep_function(value):
    before = value.__code__, value.__defaults__, value.__kwdefaults__

    def put_back():
        if value.__code__ is not before[0]:
            value.__code__ = before[0]
        if value.__defaults__ is not before[1]:
            value.__defaults__ = before[1]
        if value.__kwdefaults__ is not before[2]:
            value.__kwdefaults__ = before[2]

    return put_back


def keep_instance_class(value):
    before = type(value)

    def put_back():
        if type(value) is not before:
            object.__setattr__(value, "__class__", before)

    return put_back


def keep_exception(value):
    before = value.args, value.__cause__, value.__context__, value.__suppress_context__, value.__traceback__

    def put_back():
        value.args, value.__cause__, value.__context__, value.__suppress_context__, value.__traceback__ = before

    return put_back


def keep_tensor(value):
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


def keep_state(value):
    before = type(value).__getstate__(value)
    return lambda: type(value).__setstate__(value, before)


def keep_random(value):
    before = random.Random.getstate(value)
    return lambda: random.Random.setstate(value, before)
