"""Corners of the tracer: premises that were not looked at, C functions on numbers of later calls, breaks inside of handlers, calls that do not fit."""

import unittest

from harness import Program, ProgramCase


class CleanUps(ProgramCase):
    comprehension_that_raises_gives_its_variable_back_unbound = Program(
        """
        class Broken:
            def __init__(self, where): self.where = where
            def __iter__(self):
                if self.where == "iter": 1 / 0
                return self
            def __next__(self):
                if self.where == "next": 1 / 0
                raise StopIteration
        def fn(x, where):
            try:
                [v for v in Broken(where)]
                [(v, w) for v, w in Broken(where)]
            except Exception as error:
                try:
                    return repr(error), v
                except NameError as unbound:
                    return repr(error), str(unbound), x + 1
        """,
        call="fn(x, ['iter', 'next', ''][i % 3])",
        steps=6,
        breaks=None,
    )


class Premises(ProgramCase):
    global_that_was_only_passed_on_is_deleted = Program(
        """
        spare = [1]
        def fn(x):
            pair = (spare, x + 1)
            return pair[1]
        def drop():
            global spare
            del spare
        """,
        call="fn(x) if i < 2 else (drop() if i == 2 else None, fn(x))",
        steps=3,
        raises=NameError,
        breaks=None,
    )
    attribute_that_was_only_passed_on_is_deleted = Program(
        """
        class Box: pass
        b = Box()
        b.spare = [1]
        def fn(x):
            pair = (b.spare, x + 1)
            return pair[1]
        """,
        call="fn(x) if i < 2 else (delattr(b, 'spare'), fn(x))",
        steps=3,
        raises=AttributeError,
        breaks=None,
    )


class NumbersOfLaterCalls(ProgramCase):
    special_methods_through_c_functions = Program(
        """
        import math
        def fn(x, n, v):
            items = [n, v, n + 1]
            return (list(map(abs, items)), list(map(divmod, items, [2, 2, 2])), list(map(round, items)), list(map(math.floor, items)),
                    list(map(math.trunc, items)), sorted(items, key=abs), [format(k) for k in items], list(map(format, items)), x + n)
        """,
        call="fn(x, 3 - i, i - 2.5)",
        steps=4,
        breaks=None,
        compiles=None,
    )
    in_place_operators_through_c_functions = Program(
        """
        import functools, operator
        total = [1]
        def fn(x, n):
            parts = [[n], [n + 1]]
            return functools.reduce(operator.add, parts), functools.reduce(operator.mul, [n, 2, 3]), x * n
        """,
        call="fn(x, i + 1)",
        steps=3,
    )
    text_of_containers_stays_symbolic = Program(
        """
        def fn(x, n, name):
            return f"{[n, name]} {(n,)} {({name: n})} {n + 1}", ", ".join([name, str(n)]), repr((n, [1])), x + n
        """,
        call="fn(x, i, 'abc'[i])",
        steps=3,
        recompiles=None,
    )
    empty_iterators_that_escape = Program(
        """
        kept = []
        def fn(x):
            fresh, done = iter([]), iter([1])
            next(done)
            kept.append((fresh, done, iter(()), iter([n for n in (1, 2) if n > 5])))
            return x + 1
        """,
        steps=2,
        breaks=None,
    )
    sets_whose_elements_collide = Program(
        """
        kept = []
        def fn(x, n):
            s = {1, 2, 3}
            s.add(19)
            s.add(n)
            kept.append((s, frozenset(s), {8, 16, 0}, {17, 9, 1} | {33}))
            return list(s), x + 1
        """,
        call="fn(x, i * 8)",
        steps=3,
        breaks=None,
    )


class Handlers(ProgramCase):
    break_after_the_name_is_bound = Program(
        """
        log = []
        def fn(x):
            try:
                x.nothing
            except AttributeError as error:
                torch.graph_break()
                log.append(type(error).__name__)
                x = x + 1
            log.append("after")
            return x * 2
        """,
        steps=3,
        breaks=None,
    )
    break_in_a_handler_without_a_name = Program(
        """
        import sys
        log = []
        def fn(x, table):
            for key in ("a", "b"):
                try:
                    table[key]
                except KeyError:
                    torch.graph_break()
                    log.append((key, sys.exception().args))
                else:
                    log.append(key)
            return x + len(log), sys.exception()
        """,
        call="fn(x, {'a': 1} if i % 2 else {})",
        steps=4,
        breaks=None,
    )
    break_in_nested_handlers = Program(
        """
        import sys
        log = []
        def fn(x):
            try:
                {}["outer"]
            except KeyError as outer:
                try:
                    [][0]
                except IndexError as inner:
                    torch.graph_break()
                    log.append((str(outer), str(inner), inner.__context__ is outer, sys.exception() is inner))
                torch.graph_break()
                log.append((str(outer), sys.exception() is outer))
            return x + 1
        """,
        steps=3,
        breaks=None,
    )
    exception_raised_after_a_break_in_a_handler = Program(
        """
        log = []
        def fn(x, n):
            try:
                try:
                    {}["key"]
                except KeyError as error:
                    torch.graph_break()
                    if n:
                        raise ValueError(n) from error
                    log.append(str(error))
                finally:
                    log.append("finally")
            except ValueError as error:
                torch.graph_break()
                log.append((error.args, type(error.__cause__).__name__))
            return x * 2
        """,
        call="fn(x, i % 2)",
        steps=4,
        breaks=None,
    )
    return_from_a_handler_with_a_break = Program(
        """
        log = []
        def fn(x):
            for n in range(3):
                try:
                    if n == 1:
                        raise ValueError(n)
                    log.append(n)
                except ValueError as error:
                    torch.graph_break()
                    return x + len(str(error)), log
                finally:
                    log.append("done")
            return x
        """,
        steps=2,
        breaks=None,
    )
    parts_of_a_group = Program(
        """
        log = []
        def fn(x):
            y = x * 2
            try:
                raise ExceptionGroup("g", [ValueError(1), KeyError("k")])
            except* ValueError as group:
                torch.graph_break()
                log.append(len(group.exceptions))
            except* KeyError as group:
                log.append(str(group.exceptions[0]))
            return y + len(log)
        """,
        steps=2,
        breaks=None,
    )


class CallsThatDoNotFit(ProgramCase):
    every_shape_of_a_signature = Program(
        """
        def a(p, q=1, *, r): return p
        def b(p, /, q): return p
        def c(*rest, k, **more): return rest
        class D:
            def m(self, v, w=2): return v
        def gen(n): yield n
        calls = (lambda: a(), lambda: a(1), lambda: a(1, 2, 3, r=4), lambda: a(1, r=2, s=3), lambda: b(p=1, q=2), lambda: b(1), lambda: b(1, 2, q=3),
                 lambda: c(1, 2), lambda: D().m(), lambda: D().m(1, 2, 3), lambda: D().m(1, z=2), lambda: gen(), lambda: gen(1, 2))
        def fn(x):
            out = []
            def local(u, v=3): return u
            for call in (*calls, lambda: local(), lambda: local(1, w=2), lambda: local(*(1, 2, 3))):
                try:
                    call()
                except TypeError as error:
                    out.append(str(error))
            return out, x + len(out)
        """
    )
    unpacking_and_stars = Program(
        """
        def pair(v):
            a, b = v
            return a
        def rest(v):
            a, b, *c = v
            return a
        def spread(v): return [0, *v]
        def named(v): return dict(**v)
        def fn(x):
            out = []
            for function in (pair, rest, spread):
                for value in (5, None, [1], (1, 2, 3), "a", {1: 2}, range(4), {"k": 1}):
                    try:
                        out.append(function(value))
                    except (TypeError, ValueError) as error:
                        out.append(str(error))
            return out, x + 1
        """
    )
    wrong_classes = Program(
        """
        def fn(x):
            out = []
            for check in (lambda: isinstance(1, 5), lambda: isinstance(1, (int, 5)), lambda: isinstance("a", (int, "b")), lambda: issubclass(1, int),
                          lambda: issubclass(int, "a")):
                try:
                    out.append(check())
                except TypeError as error:
                    out.append(str(error))
            return out, x + 1
        """
    )
    partials_and_getters = Program(
        """
        import functools, operator
        class Box:
            def __init__(self, v): self.v, self.inner = v, self
            def times(self, n, scale=1): return self.v * n * scale
        def f(a, b=2, *rest, k=3, **more): return a, b, rest, k, more
        p = functools.partial(f, 1, k=5)
        q = functools.partial(p, b=7, z=8)
        first, path, call = operator.itemgetter(1, 0), operator.attrgetter("inner.v"), operator.methodcaller("times", 3, scale=2)
        kept = []
        class Holder:
            method = functools.partial(f, "bound")
        def fn(x, n):
            made = functools.partial(f, n, k=n)
            again = functools.partial(made, 9)
            kept.append((again, operator.itemgetter(n)))
            b = Box(n)
            return (p(), q(k=n), made(2, 3, z=1), again(), again.func is f, again.args, first([n, 2]), path(b), call(b),
                    sorted([(1, 2), (0, 5)], key=operator.itemgetter(1)), list(map(operator.attrgetter("v"), [b])), x + n)
        """,
        call="fn(x, i)",
        steps=3,
        breaks=None,
    )
    methods_compared = Program(
        """
        class Box:
            def m(self): return 1
            def k(self): return 2
        b, c = Box(), Box()
        kept = b.m
        def fn(x): return b.m == b.m, b.m == c.m, b.m != b.k, kept == b.m, b.m == 1, b.m is b.m, x + 1
        """
    )


if __name__ == "__main__":
    unittest.main()
