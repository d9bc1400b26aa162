"""Everything that can be observed from some roots, as plain data.

In: named root objects. Out: a Snapshot, a list of nodes in the order of discovery; every node says its type, its
contents and, by number, which objects it leads to, so that identity, aliasing and cycles are part of the data.
Invariant: looking runs no user code and changes nothing; two worlds that differ only in addresses are equal.
"""

import collections
import contextvars
import enum
import functools
import inspect
import io
import logging
import random
import re
import threading
import types
import weakref

import thirdbook

_ADDRESS = re.compile(r"0x[0-9a-f]{4,}")
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice))
_ITERATORS = tuple(
    type(iter(maker()))
    for maker in (list, tuple, str, bytes, set, dict, lambda: {}.values(), lambda: {}.items(), lambda: range(1),
                  lambda: reversed([]), lambda: reversed({}), lambda: range(1 << 70), collections.deque)
) + (map, filter, zip, enumerate, reversed)
_NAMED = frozenset((
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.CodeType, types.GenericAlias, types.UnionType,
    re.Pattern, re.Match,
))  # fmt: skip
_BARE = frozenset((list, tuple, dict, set, frozenset, collections.deque, collections.defaultdict, property, *_ATOMS, *_ITERATORS))
_DISPATCH_CACHE = "_clear_cache"  # of functools.singledispatch: which types were asked for is its own affair
_SKIPPED_CLASS_ITEMS = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __firstlineno__ __static_attributes__ _abc_impl __annotate_func__ "
    "__annotations_cache__ __annotate__ __annotations__ __dataclass_fields__ __dataclass_params__ __match_args__ "
    "__type_params__ __orig_bases__ __parameters__".split()
)


def plain(text):
    """Text without addresses."""
    return _ADDRESS.sub("0x…", text)


class Node:
    """One object: `label` (type and contents that lead nowhere) and `edges`, (name, atom text or number of a node)."""

    __slots__ = ("path", "label", "edges")

    def __init__(self, path, label, edges):
        self.path, self.label, self.edges = path, label, edges


class _Kind:
    """What is done with the objects of one type: `name` gives the text of those that are not looked into (or None),
    `look` is the row of _LOOKS, `slots` are its members, `label` is its name."""

    __slots__ = ("name", "look", "slots", "label")

    def __init__(self, name, look, slots, label):
        self.name, self.look, self.slots, self.label = name, look, slots, label


def _module_name(value):
    return f"module {value.__name__}"


def _logger_name(value):
    return f"logger {value.name} level {value.level} disabled {value.disabled}"


def _plain_name(value):
    return plain(f"{type(value).__name__} {value!r}")


class Snapshot:
    """Nodes in breadth-first order from `roots`. `home` is the name of the module whose classes and functions are
    looked into; those of other modules are named only. `unwrap` maps ids of compiled callables to their originals."""

    def __init__(self, roots, home="program", unwrap=None):
        self.nodes = []
        self._home = home
        self._unwrap = unwrap or {}
        self._numbers = {}
        self._alive = []
        self._storages = {}
        self._kinds = {}
        self._queue = collections.deque()
        first = [(name, self._reference(value, name)) for name, value in roots.items()]
        self.nodes.append(Node("", "roots", first))
        while self._queue:
            number, value, path = self._queue.popleft()
            label, children = self._look(value)
            edges = [(name, self._reference(child, path + name)) for name, child in children]
            self.nodes.append(Node(path, label, edges))
        del self._alive, self._numbers, self._kinds

    # ---- numbering ---------------------------------------------------------------------------------------------

    def _reference(self, value, path):
        value = self._unwrap.get(id(value), value)
        number = self._numbers.get(id(value))
        if number is not None:
            return number
        kind = type(value)
        if kind in _ATOMS:
            long = kind is int and value.bit_length() > 10_000  # Python refuses to write those in decimal
            return f"{kind.__name__} {hex(value) if long else repr(value)}"
        if kind is _Text:
            return value.text
        found = self._kinds.get(kind) or self._kind(kind)
        text = found.name(value) if found.name is not None else None
        if text is not None:
            return text
        number = len(self._numbers) + 1
        self._numbers[id(value)] = number
        self._alive.append(value)
        self._queue.append((number, value, path))
        return number

    def _kind(self, kind):
        """What is done with the objects of a type; found out once a snapshot, for a program may change its types."""
        name = None
        if kind is types.ModuleType:
            name = _module_name
        elif issubclass(kind, logging.Logger):
            name = _logger_name
        elif kind is types.FunctionType or issubclass(kind, type):
            name = self._foreign_name
        elif kind in _NAMED:
            name = _plain_name
        look = next((look for base, look in _LOOKS if issubclass(kind, base)), None)
        found = self._kinds[kind] = _Kind(name, look, _slots(kind), f"{kind.__module__}.{kind.__qualname__}")
        return found

    def _foreign_name(self, value):
        """The name of a function or class of another module, which is not looked into."""
        if value.__module__ == self._home:
            return None
        return f"{'function' if isinstance(value, types.FunctionType) else 'class'} {value.__module__}.{value.__qualname__}"

    # ---- looking -----------------------------------------------------------------------------------------------

    def _look(self, value):
        kind = type(value)
        if issubclass(kind, type):
            return self._look_at_class(value)
        found = self._kinds[kind]
        label, slots = found.label, found.slots
        children = []
        if kind.__module__ == self._home:
            children.append((".__class__", kind))
        if issubclass(kind, (set, frozenset)):
            extra, items = self._set(value)
            return label + extra, children + items + _attributes(value, slots)
        if kind.__module__ == "numpy" and hasattr(value, "__array_interface__"):
            return label + self._array(value), [(".base", value.base)] if hasattr(value.base, "__array_interface__") else []
        if found.look is not None:
            extra, items = found.look(value)
            label += extra
            children += items
        elif issubclass(kind, thirdbook.Tensor):
            label += self._tensor(value)
        elif kind.__module__ != self._home and kind.__repr__ is not object.__repr__ and not _is_plain_module_class(kind):
            label += " " + plain(repr(value))
        if not issubclass(kind, (types.MethodType, types.CellType)):
            children += _attributes(value, slots)
        return label, children

    def _look_at_class(self, cls):
        children = [(".__bases__", cls.__bases__), (".__metaclass__", type(cls))]
        items = [(name, item) for name, item in vars(cls).items() if name not in _SKIPPED_CLASS_ITEMS]
        children += [(f".{name}", item) for name, item in items]
        return f"class {cls.__qualname__}", children

    def _set(self, value):
        """In iteration order when the hashes are values'; else by what is known of the items, for that order is made of
        addresses."""
        items = list((frozenset if isinstance(value, frozenset) else set).__iter__(value))
        if all(_hashes_by_value(item) for item in items):
            return "", [(f"{{{index}}}", item) for index, item in enumerate(items)]
        return " unordered", [("{}", item) for item in sorted(items, key=self._sort_key)]

    def _sort_key(self, item):
        target = item() if isinstance(item, weakref.ReferenceType) else item
        simple = [(name, repr(child)) for name, child in _attributes(target, _slots(type(target))) if type(child) in _ATOMS]
        return self._numbers.get(id(target), 1 << 60), plain(object.__repr__(target)), plain(repr(item)), simple

    def _array(self, array):
        """An array or scalar of NumPy; floats to fewer digits, for sums are added in another order."""
        flags = f"writeable {array.flags.writeable} own {array.flags.owndata}" if array.shape or array.base is None else ""
        digits = 5 if array.itemsize < 8 else 8
        values = [f"{value:.{digits}g}" for value in array.flat] if array.dtype.kind == "f" else array.tolist()
        return f" {array.dtype} shape {array.shape} strides {array.strides} {flags} {values}"

    def _tensor(self, tensor):
        storage = ""
        if tensor.numel() > 0:
            pointer = tensor.untyped_storage().data_ptr()
            storage = f" storage #{self._storages.setdefault(pointer, len(self._storages))}+{tensor.storage_offset()}"
        return (f" {tensor.dtype} shape {tuple(tensor.shape)} stride {tuple(tensor.stride())}{storage} "
                f"grad {tensor.requires_grad} {tensor.tolist()!r}")


class _Text:
    """A child that is nothing but this text."""

    def __init__(self, text):
        self.text = text


def _is_plain_module_class(kind):
    return isinstance(kind.__dict__.get("__repr__"), types.FunctionType) or thirdbook.nn.Module in kind.__mro__


def _slots(kind):
    """The members of a type that `__slots__` made, by name."""
    return [
        (name, item)
        for cls in kind.__mro__ if "__slots__" in vars(cls)
        for name, item in vars(cls).items() if type(item) is types.MemberDescriptorType
    ]  # fmt: skip


def _attributes(value, slots):
    """The instance dictionary and the slots, read behind any `__getattribute__`."""
    if type(value) in _BARE:
        return []
    children = []
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        found = None
    if type(found) is dict and not isinstance(value, functools.partial):
        children += [(f".{name}", item) for name, item in dict.items(found) if name != _DISPATCH_CACHE]
    for name, item in slots:
        try:
            children.append((f".{name}", item.__get__(value)))
        except AttributeError:
            children.append((f".{name}", _Text("unset")))
    return children


def _sequence(iterate):
    return lambda value: ("", [(f"[{index}]", item) for index, item in enumerate(iterate(value))])


def _mapping(value):
    children = []
    for index, (key, item) in enumerate(_items(value)):
        name = f"[{key!r}]" if type(key) in _ATOMS else f"[key {index}]"
        children += [(f".key{index}", key), (name, item)]
    return "", children


def _items(value):
    if collections.OrderedDict in type(value).__mro__:
        return [(key, dict.__getitem__(value, key)) for key in collections.OrderedDict.__iter__(value)]
    return list(dict.items(value))


def _hashes_by_value(item):
    if type(item) is tuple:
        return all(_hashes_by_value(one) for one in item)
    return type(item) in (int, float, complex, bool, str, bytes, range)


def _deque(value):
    return f" maxlen {value.maxlen}", [(f"[{i}]", item) for i, item in enumerate(collections.deque.__iter__(value))]


def _default_dict(value):
    label, children = _mapping(value)
    return label, [(".default_factory", value.default_factory)] + children


def _function(value):
    children = [(".__defaults__", value.__defaults__), (".__kwdefaults__", value.__kwdefaults__)]
    names = value.__code__.co_freevars
    children += [(f".<cell {name}>", cell) for name, cell in zip(names, value.__closure__ or ())]
    return f" {value.__qualname__} line {value.__code__.co_firstlineno}", children


def _cell(value):
    try:
        return "", [(".contents", value.cell_contents)]
    except ValueError:
        return " empty", []


def _exception(error):
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("program"):
            frames.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    if isinstance(error, RecursionError):  # how deep the interpreter gets is its own affair
        frames = list(dict.fromkeys(frames))
    children = [(".args", error.args), (".__cause__", error.__cause__), (".__context__", error.__context__)]
    if isinstance(error, BaseExceptionGroup):
        children.append((".exceptions", error.exceptions))
    if isinstance(error, StopIteration):
        children.append((".value", error.value))
    return f" suppress {error.__suppress_context__} traceback {frames}", children


def _generator(value):
    kind = {types.GeneratorType: "gi", types.CoroutineType: "cr", types.AsyncGeneratorType: "ag"}[type(value)]
    frame = getattr(value, f"{kind}_frame")
    if frame is None:
        return f" {value.__qualname__} finished", []
    state = inspect.getgeneratorstate(value) if kind == "gi" else ""
    found = dict(frame.f_locals)
    return f" {value.__qualname__} {state} line {frame.f_lineno}", [(f".<local {name}>", found[name]) for name in sorted(found)]


def _iterator(value):
    try:
        parts = value.__reduce__()
    except TypeError:
        return "", []
    except RuntimeError as error:  # what it iterates has changed
        return f" {error}", []
    return "", [(f".<part {index}>", part) for index, part in enumerate(parts) if part is not None]


def _bound(value):
    return "", [(".__func__", value.__func__), (".__self__", value.__self__)]


def _property(value):
    return "", [(".fget", value.fget), (".fset", value.fset), (".fdel", value.fdel)]


def _cached(value):
    return f" {value.cache_info()}", [(".__wrapped__", value.__wrapped__)]


def _partial(value):
    return "", [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]


def _weak(value):
    target = value()
    return (" dead", []) if target is None else ("", [("()", target)])


def _context_variable(value):
    try:
        return f" {value.name}", [(".value", value.get())]
    except LookupError:
        return f" {value.name} unset", []


def _thread_local(value):
    return "", []


_LOOKS = [
    (types.FunctionType, _function),
    (types.CellType, _cell),
    (types.MethodType, _bound),
    (BaseException, _exception),
    (collections.defaultdict, _default_dict),
    (dict, _mapping),
    (types.MappingProxyType, lambda value: _mapping(dict(value))),
    (list, _sequence(list.__iter__)),
    (tuple, _sequence(tuple.__iter__)),
    (collections.deque, _deque),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _generator),
    (_ITERATORS, _iterator),
    ((staticmethod, classmethod), lambda value: ("", [(".__func__", value.__func__)])),
    (property, _property),
    (functools._lru_cache_wrapper, _cached),
    (functools.partial, _partial),
    (weakref.ReferenceType, _weak),
    (contextvars.ContextVar, _context_variable),
    (threading.local, _thread_local),
    (random.Random, lambda value: (f" state {hash(random.Random.getstate(value))}", [])),
    (io.StringIO, lambda value: (f" {io.StringIO.getvalue(value)!r}", [])),
    (bytearray, lambda value: (f" {bytes(value)!r}", [])),
    (enum.Enum, lambda value: (f" {value._name_}", [])),
    ((int, str, float, bytes, complex), lambda value: (_scalar(value), [])),
]


def _scalar(value):
    for base in (int, str, float, bytes, complex):
        if isinstance(value, base):
            return f" {base.__repr__(value)}"
    raise AssertionError(value)


def first_difference(expected, actual):
    """A sentence about the first difference of two snapshots, or None."""
    for left, right in zip(expected.nodes, actual.nodes):
        if left.label != right.label:
            return f"{left.path or 'roots'}: eager {left.label}\n    compiled {right.label}"
        if left.edges != right.edges:
            return _edge_difference(left, right, expected, actual)
    return None


def _edge_difference(left, right, expected, actual):
    for (name, child), (other_name, other) in zip(left.edges, right.edges):
        place = left.path + name
        if name != other_name:
            names = [edge[0] for edge in left.edges], [edge[0] for edge in right.edges]
            return f"{left.path or 'roots'}: eager has {names[0]}\n    compiled has {names[1]}"
        if child != other:
            return f"{place}: eager {_say(child, expected)}\n    compiled {_say(other, actual)}"
    longer, which = (left, "eager") if len(left.edges) > len(right.edges) else (right, "compiled")
    extra = longer.edges[min(len(left.edges), len(right.edges)):]
    return f"{left.path or 'roots'}: only {which} has {[name for name, _ in extra]}"


def _say(reference, snapshot):
    if isinstance(reference, str):
        return reference
    node = snapshot.nodes[reference]
    return f"the object {node.path} ({node.label})"
