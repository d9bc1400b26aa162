"""L16–L18: dataclasses and enums, exception objects, attributes of classes and functions."""

import unittest

from harness import Program, ProgramCase


class Dataclasses(ProgramCase):
    row = "L16"

    mutable = Program(
        """
        from dataclasses import dataclass, field
        @dataclass
        class State:
            n: int = 0
            history: list = field(default_factory=list)
            scale: float = 2.0
        s = State()
        def fn(x):
            s.n += 1
            s.history.append(s.n)
            other = State(5, scale=3.0)
            other.history.append(x)
            return x * s.scale, other, s == State(s.n, s.history)
        """
    )
    frozen = Program(
        """
        from dataclasses import dataclass, replace, FrozenInstanceError
        @dataclass(frozen=True)
        class Config:
            lr: float
            steps: int = 10
        c, out = Config(0.5), []
        def fn(x):
            new = replace(c, steps=c.steps + len(out))
            out.append(new)
            try:
                c.lr = 1.0
            except FrozenInstanceError as error:
                out.append(str(error))
            return x * new.lr, new, new == c, hash(new) == hash(Config(0.5, new.steps))
        """,
        breaks=None,
    )
    post_init_and_init_var = Program(
        """
        from dataclasses import dataclass, field, InitVar
        made = []
        @dataclass
        class Box:
            size: int
            seed: InitVar[int] = 3
            area: int = field(init=False)
            def __post_init__(self, seed):
                self.area = self.size * self.size + seed
                made.append(self)
        def fn(x):
            b = Box(2)
            return x * b.area, Box(3, 1)
        """
    )
    slots_order_and_inheritance = Program(
        """
        from dataclasses import dataclass
        @dataclass(slots=True, order=True)
        class Base:
            a: int
        @dataclass(slots=True, order=True)
        class Leaf(Base):
            b: int = 0
            def bump(self): self.b += self.a
        l = Leaf(1)
        def fn(x):
            l.bump()
            l.a += 1
            return l < Leaf(2, 9), repr(l), x + l.b
        """,
        breaks=None,
    )
    as_dict_and_fields = Program(
        """
        from dataclasses import dataclass, asdict, astuple, fields
        @dataclass
        class Point:
            a: int
            b: int = 2
        p = Point(1)
        def fn(x):
            p.a += 1
            return asdict(p), astuple(p), [f.name for f in fields(p)], x * p.a
        """,
        breaks=None,
    )
    enum_members = Program(
        """
        from enum import Enum, IntEnum, Flag, auto
        class Color(Enum):
            RED = 1
            BLUE = auto()
            @property
            def pretty(self): return self.name.lower()
        class Level(IntEnum):
            LOW, HIGH = 1, 2
        class Bits(Flag):
            A, B = auto(), auto()
        seen = {}
        Color.RED.hits = 0
        def fn(x):
            Color.RED.hits += 1
            seen[Color(2)] = Level.HIGH + 1
            seen[Color["RED"]] = Color.BLUE.pretty
            both = Bits.A | Bits.B
            return x * Level.HIGH, Color.RED is Color(1), list(Color), Bits.A in both, both.value, Level.LOW < 2
        """,
        breaks=None,
    )
    bad_enum_value_is_caught = Program(
        """
        from enum import Enum
        class Color(Enum):
            RED = 1
        out = []
        def fn(x):
            try:
                Color(7)
            except ValueError as error:
                out.append(str(error))
            return x + len(out)
        """,
        breaks=None,
    )


class Exceptions(ProgramCase):
    row = "L17"

    arguments_and_attributes = Program(
        """
        class Problem(Exception):
            def __init__(self, code, *rest):
                super().__init__(code, *rest)
                self.code = code
        kept = []
        def fn(x):
            error = Problem(1, "a")
            error.extra = x * 2
            error.args = error.args + ("more",)
            kept.append(error)
            return error.code, str(ValueError("v")), repr(error), x + 1
        """
    )
    notes = Program(
        """
        kept = []
        def fn(x):
            try:
                raise ValueError("v")
            except ValueError as error:
                error.add_note("first")
                error.add_note("n" + str(len(kept)))
                kept.append(error)
            return x + len(kept)
        """
    )
    existing_exception_object = Program(
        """
        error = KeyError("k")
        def fn(x):
            error.n = getattr(error, "n", 0) + 1
            error.add_note(str(error.n))
            error.args = ("changed", error.n)
            error.__cause__ = ValueError("c")
            return x * error.n
        """,
        expect="error.__notes__ == ['1', '2', '3'] and error.__suppress_context__",
    )
    cause_and_context = Program(
        """
        kept = []
        def fn(x):
            try:
                try:
                    raise KeyError("inner")
                except KeyError as inner:
                    raise ValueError("outer") from inner
            except ValueError as outer:
                kept.append(outer)
            try:
                try:
                    {}["missing"]
                except KeyError:
                    raise TypeError("during")
            except TypeError as error:
                kept.append((error.__context__, error.__cause__, error.__suppress_context__))
            return x + len(kept)
        """,
        breaks=None,
    )
    from_none = Program(
        """
        def fn(x):
            try:
                raise KeyError(1)
            except KeyError:
                raise ValueError(x.sum().item()) from None
        """,
        raises=ValueError,
        breaks=None,
    )
    group_and_nested = Program(
        """
        def fn(x):
            group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2)])])
            group.add_note("note")
            match, rest = group.split(TypeError)
            return match, rest, x + len(group.exceptions)
        """,
        breaks=None,
    )
    raised_with_tensor_argument = Program(
        """
        class Stop(Exception): pass
        def fn(x):
            y = x * 2
            try:
                raise Stop(y, [y])
            except Stop as stop:
                return stop.args[0] + 1, stop.args[1][0] is y
        """
    )
    name_is_unbound_after_the_handler = Program(
        """
        def fn(x):
            try:
                raise ValueError
            except ValueError as error:
                pass
            try:
                return error
            except UnboundLocalError as other:
                return type(other), other.args, x + 1
        """
    )
    with_traceback_and_context_manager = Program(
        """
        import contextlib
        log = []
        @contextlib.contextmanager
        def watch(name):
            try:
                yield name
            except ValueError as error:
                error.add_note(name)
                log.append(error)
                raise
        def fn(x):
            with watch("a"), watch("b"):
                raise ValueError("v")
        """,
        raises=ValueError,
        breaks=None,
    )
    exceptions_that_were_there_are_read_and_written = Program(
        """
        class Own(Exception):
            def __str__(self): return "own " + repr(self.args)
        class Plain(KeyError): pass
        errors = [ValueError(), ValueError("a"), KeyError("k"), Plain("p", 2), Own(1), OSError(2, "no"), AttributeError("x", name="n")]
        def fn(x):
            out = []
            for error in errors:
                out.append((str(error), repr(error), error.args, f"{error}"))
                error.add_note(f"note {len(out)}")
            errors[0].args = ["new", len(out)]
            errors[1].__cause__ = errors[2]
            out.append((str(errors[0]), errors[0].args, errors[1].__cause__ is errors[2], errors[1].__suppress_context__))
            return out, x
        """,
        steps=(3, "errors[1].args = (1, 2)", 2),
        breaks=None,
    )
    notes_that_are_refused = Program(
        """
        class Own(ValueError):
            __notes__ = ()
        kept = ValueError("k")
        kept.__notes__ = "text"
        def fn(x):
            out = []
            for error, note in ((ValueError(), 1), (Own(), "a"), (kept, "b"), (KeyError(), None)):
                try:
                    error.add_note(note)
                except TypeError as refused:
                    out.append(str(refused))
            made = KeyError("new")
            made.__cause__ = None
            return out, made, made.__suppress_context__, x
        """,
        steps=(3,),
        breaks=None,
    )
    errors_with_name_and_object = Program(
        """
        class Box: pass
        box = Box()
        def fn(x):
            out = []
            for made in (AttributeError("a", name="n", obj=box), NameError("b", name="m"), AttributeError(name="only")):
                out.append((str(made), list(made.args), made.name, getattr(made, "obj", "none"), made))
            for keywords in ({"path": 1}, {"obj": 1, "name": 2}):
                try:
                    out.append(NameError("c", **keywords).name)
                except TypeError as refused:
                    out.append(str(refused))
            return out, x
        """,
        steps=(3,),
        breaks=None,
    )


class ClassesAndFunctions(ProgramCase):
    row = "L18"

    class_counter = Program(
        """
        class Model:
            instances, log = 0, []
            def __init__(self):
                Model.instances += 1
                self.log.append(Model.instances)
        def fn(x):
            m = Model()
            type(m).last = m.instances
            return x * Model.instances
        """,
        steps=(2, "Model.instances = 10", 2),
        expect="Model.log == [1, 2, 11, 12]",
    )
    class_attribute_as_factor = Program(
        """
        class Scale:
            factor = 2
            def __call__(self, x): return x * self.factor
        s = Scale()
        def fn(x): return s(x)
        """,
        steps=(2, "Scale.factor = 3", 2, "s.factor = 5", 1, "del s.factor", 1, "Scale.factor = torch.ones(4)", 1),
    )
    changed_on_a_base_class = Program(
        """
        class Base:
            k = 1
        class Mid(Base): pass
        class Leaf(Mid): pass
        o = Leaf()
        def fn(x): return x + o.k
        """,
        steps=(1, "Base.k = 2", 1, "Mid.k = 3", 1, "del Mid.k", 1, "Leaf.k = property(lambda self: 9)", 1),
    )
    method_replaced = Program(
        """
        class Box:
            def get(self): return 1
        b = Box()
        def fn(x): return x + b.get()
        """,
        steps=(1, "Box.get = lambda self: 2", 1, "b.get = lambda: 3", 1, "del b.get", 1),
    )
    class_of_the_object_replaced = Program(
        """
        class A:
            def v(self): return 1
        class B:
            def v(self): return 2
        o = A()
        def fn(x): return x + o.v()
        """,
        steps=(1, "o.__class__ = B", 1, "o.__class__ = A", 1),
    )
    bases_replaced = Program(
        """
        class P:
            v = 1
        class Q:
            v = 2
        class A(P): pass
        o = A()
        def fn(x): return x + o.v
        """,
        steps=(1, "A.__bases__ = (Q,)", 1),
    )
    class_written_inside = Program(
        """
        class Box:
            n = 1
        b = Box()
        def fn(x):
            before = b.n
            Box.n = before + 1
            Box.new = lambda self: self.n * 100
            setattr(Box, "other", "o")
            if hasattr(Box, "gone"):
                del Box.gone
            return before, b.n, b.new(), x + Box.n
        """,
        steps=(2, "Box.gone = 1", 1),
    )
    function_attributes = Program(
        """
        def helper(x):
            helper.calls += 1
            return x + helper.calls
        helper.calls = 0
        def fn(x):
            fn.seen = getattr(fn, "seen", 0) + 1
            return helper(x) + helper(x)
        """,
        expect="helper.calls == 6 and fn.seen == 3",
    )
    counting_decorator = Program(
        """
        import functools
        def counted(f):
            @functools.wraps(f)
            def wrapper(*args, **kwargs):
                wrapper.calls += 1
                return f(*args, **kwargs)
            wrapper.calls = 0
            return wrapper
        @counted
        def double(x): return x * 2
        def fn(x): return double(double(x=x))
        """,
        expect="double.calls == 6",
    )
    defaults_changed = Program(
        """
        def helper(x, k=1, *, m=1): return x * k + m
        def fn(x): return helper(x)
        """,
        steps=(1, "helper.__defaults__ = (5,)", 1, "helper.__kwdefaults__ = {'m': 7}", 1),
    )
    code_replaced = Program(
        """
        def helper(x): return x + 1
        def other(x): return x + 2
        def fn(x): return helper(x)
        """,
        steps=(1, "helper.__code__ = other.__code__", 1),
    )
    mutable_default_is_shared = Program(
        """
        def remember(v, seen=[]):
            seen.append(v)
            return len(seen)
        def fn(x, log={}):
            log[len(log)] = remember(1)
            return x * remember(2)
        """,
        expect="len(remember.__defaults__[0]) == 6",
    )
    classmethod_and_metaclass_writes = Program(
        """
        class Meta(type):
            made = 0
            def bump(cls):
                cls.made += 1
                return cls.made
        class Box(metaclass=Meta):
            @classmethod
            def add(cls, n): cls.total = getattr(cls, "total", 0) + n
        class Sub(Box): pass
        def fn(x):
            Box.bump()
            Sub.add(2)
            Box.add(1)
            return x * Sub.total + Box.made
        """
    )


if __name__ == "__main__":
    unittest.main()
