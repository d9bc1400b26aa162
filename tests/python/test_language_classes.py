"""Class bodies, inheritance, super, metaclasses, special methods, abstract classes, type queries."""

import unittest

from harness import Program, ProgramCase


class Bodies(ProgramCase):
    class_made_inside_a_function = Program(
        """
        log = []
        def fn(x, k):
            class Base:
                scale = k
                def __init_subclass__(cls, **kwargs): log.append((cls.__name__, kwargs))
                def apply(self, v): return v * self.scale
            class Leaf(Base, tag="t"):
                scale = Base.scale + 1
                def apply(self, v): return super().apply(v) + 1
            return Leaf().apply(x), Leaf.__mro__[1].__name__, Leaf.__qualname__
        """,
        call="fn(x, i)",
        breaks=None,
    )
    set_name_and_order_of_the_body = Program(
        """
        log = []
        class Field:
            def __set_name__(self, owner, name): log.append((owner.__name__, name))
        def fn(x):
            class Box:
                log.append("body")
                a = Field()
                b = Field()
                log.append("end")
                c = [n for n in range(2)]
            return Box.c, x + len(log)
        """,
        breaks=None,
    )
    made_by_type_call_and_new_class = Program(
        """
        import types
        def fn(x):
            A = type("A", (), {"v": 1, "get": lambda self: self.v})
            B = type("B", (A,), {"v": 2})
            C = types.new_class("C", (B,))
            return A().get(), B().get(), C().v, isinstance(C(), A), x + B.v
        """,
        breaks=None,
    )
    super_of_every_shape = Program(
        """
        log = []
        class A:
            def f(self): log.append("A"); return 1
            @classmethod
            def c(cls): return cls.__name__
            @property
            def p(self): return 10
        class B(A):
            def f(self): log.append("B"); return super().f() + 1
            @classmethod
            def c(cls): return "B" + super().c()
        class C(A):
            def f(self): log.append("C"); return super(C, self).f() + 10
        class D(B, C):
            def f(self):
                log.append("D")
                g = super().f
                return g() + 100
            @property
            def p(self): return super().p + 1
            def each(self): return [f() for f in (super().f, self.f)]
        d = D()
        def fn(x): return d.f(), D.c(), d.p, d.each(), [k.__name__ for k in D.__mro__], x + len(log)
        """
    )
    method_kinds_and_access = Program(
        """
        class Box:
            n = 1
            def m(self, k=1): return self.n + k
            @classmethod
            def c(cls, k): return cls.n * k
            @staticmethod
            def s(k): return k * 100
        b = Box()
        b.n = 5
        def fn(x):
            m, c, s = b.m, b.c, Box.s
            b.n += 1
            return (m(), m(k=2), Box.m(b), c(2), Box.c(3), s(1), b.s(2), m.__self__ is b, m.__func__ is Box.m, b.m == b.m,
                    b.m is b.m, x * m())
        """
    )
    metaclass_hooks = Program(
        """
        log = []
        class Meta(type):
            def __call__(cls, *args):
                log.append(("call", cls.__name__))
                return super().__call__(*args)
            def __getattr__(cls, name): return f"meta {name}"
            def __len__(cls): return 7
            def __iter__(cls): return iter("it")
            def __instancecheck__(cls, obj): return obj == 5
            @property
            def tag(cls): return "tag"
        class Box(metaclass=Meta):
            def __init__(self, n): self.n = n
        def fn(x):
            b = Box(2)
            return b.n, Box.unknown, len(Box), list(Box), isinstance(5, Box), Box.tag, hasattr(b, "tag"), x * b.n
        """
    )
    slots_and_weakrefs_and_dict = Program(
        """
        import weakref
        class Slots: __slots__ = ("a", "__weakref__")
        class Mixed(Slots): __slots__ = ("b", "__dict__")
        def fn(x):
            m = Mixed()
            m.a, m.b, m.c = 1, x, 3
            return m, weakref.ref(m)() is m, vars(m), x + m.a
        """
    )


class SpecialMethods(ProgramCase):
    conversions = Program(
        """
        class V:
            def __int__(self): return 3
            def __float__(self): return 2.5
            def __complex__(self): return 1j
            def __index__(self): return 2
            def __bool__(self): return False
            def __str__(self): return "str"
            def __repr__(self): return "repr"
            def __bytes__(self): return b"b"
            def __hash__(self): return 42
            def __len__(self): return 4
            def __round__(self, n=None): return ("round", n)
            def __divmod__(self, o): return ("divmod", o)
            def __pow__(self, o, m=None): return ("pow", o, m)
            def __dir__(self): return ["z", "a"]
            def __length_hint__(self): return 9
            def __reversed__(self): return iter("rev")
            def __missing__(self, key): return key
        v = V()
        def fn(x):
            return (int(v), float(v), complex(v), [1, 2, 3][v], bool(v), str(v), repr(v), bytes(v), hash(v), len(v), round(v), round(v, 2),
                    divmod(v, 1), pow(v, 2, 3), v ** 4, dir(v), list(reversed(v)), bin(v), "x" if v else "y", f"{v} {v!r}", x[v])
        """,
        breaks=None,
    )
    containers = Program(
        """
        log = []
        class Box:
            def __init__(self): self.d = {}
            def __getitem__(self, k): log.append(("get", k)); return self.d[k]
            def __setitem__(self, k, v): log.append(("set", k)); self.d[k] = v
            def __delitem__(self, k): log.append(("del", k)); del self.d[k]
            def __contains__(self, k): log.append(("in", k)); return k in self.d
            def __iter__(self): return iter(list(self.d))
            def __len__(self): return len(self.d)
        b = Box()
        def fn(x):
            b["a"] = 1
            b["a"] += 5
            b[1:2] = "slice" if False else b["a"]
            out = "a" in b, "z" in b, list(b), len(b), [*b], b["a"]
            del b["a"]
            try:
                b["gone"]
            except KeyError as error:
                log.append(error.args)
            return out, x + len(log), bool(b)
        """,
        breaks=None,
    )
    callable_objects_and_bound_attributes = Program(
        """
        class Adder:
            def __init__(self, k): self.k, self.calls = k, 0
            def __call__(self, v, *, twice=False):
                self.calls += 1
                return v + self.k * (2 if twice else 1)
        class Holder:
            add = Adder(5)
            def __init__(self): self.own = Adder(7)
        h = Holder()
        def fn(x): return h.add(x), h.own(x, twice=True), Adder(1)(2), list(map(h.add, [1, 2])), h.add.calls
        """
    )
    equality_and_hash_in_containers = Program(
        """
        class V:
            def __init__(self, n): self.n = n
            def __eq__(self, o): return self.n == getattr(o, "n", o)
            def __hash__(self): return hash(self.n)
        a, b = V(1), V(1)
        def fn(x):
            table = {a: "a"}
            table[b] = "b"
            return (len(table), table[V(1)], V(1) in [1, 2], [V(2), V(1)].index(1), {V(1), V(1), V(2)} == {V(2), V(1)}, a != b, a in {1: 0},
                    (a, 1) == (b, 1), [V(3)].count(3), x + len(table))
        """
    )
    copies_of_objects = Program(
        """
        import copy
        class Node:
            def __init__(self): self.items, self.me = [1, [2]], self
        class Own:
            def __copy__(self): return "copied"
            def __deepcopy__(self, memo): return "deep"
        n = Node()
        def fn(x):
            shallow, deep = copy.copy(n), copy.deepcopy(n)
            deep.items[1].append(3)
            return shallow, deep, copy.copy(Own()), copy.deepcopy([Own()]), copy.copy([n])[0] is n, copy.deepcopy({"t": (1, [2])}), x + 1
        """,
        breaks=None,
    )
    pickling_free_reduce_and_new_without_init = Program(
        """
        class Box:
            def __init__(self): raise AssertionError("not run")
        def fn(x):
            b = Box.__new__(Box)
            b.v = x
            c = object.__new__(Box)
            c.w = b
            return b, c
        """
    )


class TypeQueries(ProgramCase):
    isinstance_with_everything = Program(
        """
        import collections.abc, numbers, typing
        class A: pass
        class B(A): pass
        class Sized:
            def __len__(self): return 1
        class Liar:
            @property
            def __class__(self): return int
        @typing.runtime_checkable
        class HasName(typing.Protocol):
            name: str
        class Named: name = "n"
        def fn(x):
            b = B()
            return (isinstance(b, A), isinstance(b, (int, A)), isinstance(1, int | str), issubclass(B, A), isinstance(Sized(), collections.abc.Sized),
                    isinstance([], collections.abc.Sequence), isinstance({}, collections.abc.Mapping), isinstance(1.5, numbers.Real),
                    isinstance(Liar(), int), type(Liar()) is int, isinstance(Named(), HasName), isinstance(x, torch.Tensor), isinstance(None, type(None)),
                    isinstance(B, type), callable(b), type(b).__name__, x + issubclass(bool, int))
        """,
        breaks=None,
    )
    abstract_classes = Program(
        """
        from abc import ABC, abstractmethod
        class Shape(ABC):
            @abstractmethod
            def area(self): ...
            def double(self): return self.area() * 2
        class Square(Shape):
            def __init__(self, s): self.s = s
            def area(self): return self.s * self.s
        @Shape.register
        class Virtual: pass
        def fn(x):
            try:
                Shape()
            except TypeError as error:
                text = str(error)
            return Square(3).double(), text, isinstance(Virtual(), Shape), issubclass(Square, Shape), x * Square(2).area()
        """,
        breaks=None,
    )
    attribute_queries = Program(
        """
        class Box:
            kind = "class"
            def __init__(self): self.own = 1
            def method(self): pass
            @property
            def broken(self): raise AttributeError("inner")
            @property
            def failing(self): raise ValueError("loud")
        b = Box()
        def fn(x):
            out = [hasattr(b, n) for n in ("own", "kind", "method", "broken", "nothing")]
            out += [getattr(b, "broken", "default"), getattr(b, "nothing", None), getattr(b, "own")]
            try:
                hasattr(b, "failing")
            except ValueError as error:
                out.append(str(error))
            try:
                b.broken
            except AttributeError as error:
                out.append(str(error))
            try:
                b.nothing
            except AttributeError as error:
                out.append((str(error), error.name, error.obj is b))
            return out, sorted(n for n in dir(b) if not n.startswith("__")), x + len(out)
        """,
        breaks=None,
    )
    generic_aliases_and_typing = Program(
        """
        import typing
        from typing import NamedTuple, TypedDict, Optional, cast
        class Row(NamedTuple):
            a: int
            b: str = "b"
        class Movie(TypedDict):
            name: str
        def fn(x):
            row = Row(1)
            movie: Movie = {"name": "m"}
            movie2 = Movie(name="n")
            a, b = row
            return row, row.a, row._replace(b="c"), movie2, cast(int, "s"), list[int]([1]), a, b, x * row.a
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
