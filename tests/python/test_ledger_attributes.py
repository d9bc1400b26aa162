"""L07–L09: deletes, user attribute protocols, properties, descriptors, slots, writes through the dictionary."""

import unittest

from harness import Program, ProgramCase


class SetAndDelete(ProgramCase):
    row = "L07"

    by_name = Program(
        """
        class Box: pass
        b = Box()
        def fn(x):
            setattr(b, "a", 1)
            setattr(b, "b", x * 2)
            b.c = getattr(b, "a") + 1
            delattr(b, "a")
            return b.b + b.c, hasattr(b, "a")
        """
    )
    made_and_deleted_inside = Program(
        """
        class Box: pass
        b = Box()
        b.kept = 1
        def fn(x):
            b.temporary = x
            y = b.temporary + 1
            del b.temporary
            return y
        """,
        expect="vars(b) == {'kept': 1}",
    )
    deleted_twice = Program(
        """
        class Box: pass
        b = Box()
        def fn(x):
            b.a = 1
            del b.a
            try:
                del b.a
            except AttributeError as error:
                return str(error), x + 1
        """
    )
    delete_of_a_missing_attribute_leaves = Program(
        """
        class Box: pass
        b = Box()
        def fn(x):
            b.before = 1
            del b.missing
            b.after = 2
        """,
        raises=AttributeError,
        breaks=None,
    )
    read_of_a_deleted_attribute = Program(
        """
        class Box:
            a = "class"
        b = Box()
        b.a = "instance"
        def fn(x):
            before = b.a
            if "a" in vars(b):
                del b.a
            return before, b.a, x + 1
        """,
        steps=(1, "b.a = 'again'", 2),
    )
    deleted_then_stored_moves_to_the_end = Program(
        """
        class Box: pass
        b = Box()
        b.a, b.b = 1, 2
        def fn(x):
            del b.a
            b.a = 3
            return list(vars(b)), x + 1
        """
    )


class UserProtocols(ProgramCase):
    row = "L08"

    setattr_fires_once = Program(
        """
        log = []
        class Box:
            def __setattr__(self, name, value):
                log.append(("set", name))
                object.__setattr__(self, name, value)
            def __delattr__(self, name):
                log.append(("del", name))
                super().__delattr__(name)
        b = Box()
        def fn(x):
            b.a = x * 2
            b.b = 1
            b.b += 1
            del b.b
            return b.a
        """,
        expect="len(log) == 12",
    )
    setattr_into_another_place = Program(
        """
        class Box:
            def __init__(self): self.__dict__["store"] = {}
            def __setattr__(self, name, value): self.store[name] = value
            def __getattr__(self, name):
                try:
                    return self.store[name]
                except KeyError:
                    raise AttributeError(name) from None
        b = Box()
        def fn(x):
            b.n = getattr(b, "n", 0) + 1
            return x * b.n, hasattr(b, "nothing")
        """,
        expect="b.store == {'n': 3}",
    )
    getattr_only_for_missing_names = Program(
        """
        class Lazy:
            present = 1
            misses = 0
            def __getattr__(self, name):
                if name.startswith("_"):
                    raise AttributeError(name)
                type(self).misses += 1
                return name
        z = Lazy()
        def fn(x):
            return z.present, z.absent, z.absent, x + z.misses
        """
    )
    getattribute_sees_every_read = Program(
        """
        reads = []
        class Spy:
            def __init__(self): self.v = 3
            def __getattribute__(self, name):
                reads.append(name)
                return object.__getattribute__(self, name)
        s = Spy()
        def fn(x):
            s.v = s.v + 1
            return x * s.v
        """
    )
    inherited_setattr_of_a_new_object = Program(
        """
        log = []
        class Base:
            def __setattr__(self, name, value):
                log.append(name)
                super().__setattr__(name, value)
        class Leaf(Base):
            def __init__(self): self.a = 1
        def fn(x):
            leaf = Leaf()
            leaf.b = x
            return leaf
        """
    )
    refusing_setattr = Program(
        """
        class Frozen:
            def __setattr__(self, name, value): raise AttributeError("frozen " + name)
        f, out = Frozen(), []
        def fn(x):
            out.append(1)
            try:
                f.a = 1
            except AttributeError as error:
                out.append(str(error))
            return x + len(out)
        """
    )


class Descriptors(ProgramCase):
    row = "L09"

    property_with_logic = Program(
        """
        class Thermo:
            def __init__(self): self._c, self.reads = 0, 0
            @property
            def f(self):
                self.reads += 1
                return self._c * 2 + 30
            @f.setter
            def f(self, value): self._c = (value - 30) // 2
            @f.deleter
            def f(self): self._c = None
        t = Thermo()
        def fn(x):
            t.f = 50
            t.f += 10
            y = x * t.f
            if t.reads > 4:
                del t.f
            return y
        """,
        steps=2,
    )
    read_only_property = Program(
        """
        class Box:
            @property
            def size(self): return 3
        b = Box()
        def fn(x):
            try:
                b.size = 1
            except AttributeError as error:
                return type(error), x * b.size
        """
    )
    data_and_non_data_descriptors = Program(
        """
        class Data:
            def __set_name__(self, owner, name): self.key = "_" + name
            def __get__(self, obj, cls): return self if obj is None else obj.__dict__.get(self.key, 0)
            def __set__(self, obj, value): obj.__dict__[self.key] = value * 2
        class NonData:
            def __get__(self, obj, cls): return "from the class"
        class Box:
            data, non = Data(), NonData()
        b = Box()
        def fn(x):
            b.data = 4
            before = b.non
            b.non = "from the instance"
            b.__dict__["data"] = "hidden"
            return x * b.data, before, b.non
        """
    )
    slots = Program(
        """
        class Point:
            __slots__ = ("a", "b")
        p = Point()
        def fn(x):
            p.a = getattr(p, "a", 0) + 1
            p.b = x * p.a
            try:
                p.c = 1
            except AttributeError:
                p.a += 10
            q = Point()
            q.b = p.a
            return q, hasattr(q, "a"), p.b
        """
    )
    deleted_slot = Program(
        """
        class Point:
            __slots__ = ("a",)
        p = Point()
        p.a = 1
        def fn(x):
            del p.a
            missing = hasattr(p, "a")
            p.a = 5
            return missing, x + p.a
        """
    )
    through_the_dictionary = Program(
        """
        class Box:
            def __setattr__(self, name, value): raise AssertionError("not called")
        b = Box()
        def fn(x):
            b.__dict__["a"] = b.__dict__.get("a", 0) + 1
            vars(b)["b"] = x * b.a
            b.__dict__.update(c=1, d=2)
            del vars(b)["d"]
            return b.b, list(vars(b)), len(b.__dict__)
        """
    )
    dictionary_replaced = Program(
        """
        class Box: pass
        b = Box()
        b.a = 1
        other = {"z": 5}
        def fn(x):
            b.__dict__ = other
            b.y = 6
            return x * b.z, hasattr(b, "a"), b.__dict__ is other
        """,
        breaks=None,
    )
    dictionary_kept_by_the_caller_is_live = Program(
        """
        class Box: pass
        b = Box()
        view = vars(b)
        def fn(x):
            b.n = view.get("n", 0) + 1
            view["m"] = b.n * 2
            return x + b.m
        """
    )
    cached_property = Program(
        """
        import functools
        runs = []
        class Box:
            n = 3
            @functools.cached_property
            def big(self):
                runs.append(1)
                return self.n * 100
        b = Box()
        def fn(x): return x + b.big + b.big
        """,
        steps=(2, "del b.big", 2),
        expect="len(runs) == 2",
    )
    class_access_and_shadowing = Program(
        """
        class Box:
            v = 1
            def method(self): return self.v
            @classmethod
            def make(cls, v):
                self = cls()
                self.v = v
                return self
            @staticmethod
            def twice(v): return v * 2
        b = Box()
        def fn(x):
            first = b.method()
            b.v = first + 1
            b.method = Box.twice
            other = Box.make(7)
            return first, b.method(3), x * other.method(), Box.v
        """,
        steps=(1, "del b.method", 1),
    )


if __name__ == "__main__":
    unittest.main()
