"""copy.deepcopy without addresses, and how plain objects say what they are made of."""

import copy
import copyreg
import enum

from .._core import Tensor
from .._core import _array_no_model as no_model

_ATOMIC = frozenset(copy._atomic_types)


def _is_plain(cls):
    """Whether instances are a class and a __dict__, for copy and pickle as well."""
    if cls in copyreg.dispatch_table or cls.__new__ is not object.__new__ or cls.__reduce__ is not object.__reduce__:
        return False
    if cls.__reduce_ex__ is not object.__reduce_ex__ or cls.__getstate__ is not object.__getstate__:
        return False
    return not (hasattr(cls, "__slots__") or hasattr(cls, "__getnewargs__") or hasattr(cls, "__getnewargs_ex__"))


def _note_slot_names(cls):
    """CPython does it with every class whose instances it takes apart."""
    names = getattr(cls, "__slotnames__", None)
    for base in cls.__mro__[1:]:
        if names is not None and names is getattr(base, "__slotnames__", None):
            names = None  # inherited
    if names is None:
        cls.__slotnames__ = []


def reduced(self, protocol):
    """object.__reduce_ex__"""
    cls = type(self)
    if protocol < 2 or not _is_plain(cls):
        no_model("object.__reduce_ex__() of an object that is more than its __dict__")
    _note_slot_names(cls)
    return copyreg.__newobj__, (cls,), self.__dict__ or None, None, None


def deepcopy(x, memo=None, _nil=None):
    """copy.deepcopy"""
    if memo is not None:
        no_model("copy.deepcopy() with a memo")
    return _copied(x, [])


def _copied(x, made):
    cls = type(x)
    if cls in _ATOMIC:
        return x
    for known, its_copy in made:
        if known is x:
            return its_copy
    if cls is list:
        y = []
        made.append((x, y))
        for item in x:
            y.append(_copied(item, made))
        return y
    if cls is dict:
        y = {}
        made.append((x, y))
        for key, value in x.items():
            y[_copied(key, made)] = _copied(value, made)
        return y
    if cls is tuple:
        return _copied_tuple(x, made)
    if cls is set or cls is frozenset:
        y = cls([_copied(item, made) for item in x])
        made.append((x, y))
        return y
    if isinstance(x, enum.Enum):
        return x
    if issubclass(cls, Tensor) or hasattr(cls, "__deepcopy__") or hasattr(cls, "__setstate__") or not _is_plain(cls):
        no_model("copy.deepcopy() of an object that is more than its __dict__")
    _note_slot_names(cls)
    y = object.__new__(cls)
    made.append((x, y))
    state = y.__dict__
    for name, value in x.__dict__.items():
        state[name] = _copied(value, made)
    return y


def _copied_tuple(x, made):
    items = [_copied(item, made) for item in x]
    for known, its_copy in made:
        if known is x:
            return its_copy
    for old, new in zip(x, items):
        if old is not new:
            y = tuple(items)
            made.append((x, y))
            return y
    return x
