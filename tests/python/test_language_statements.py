"""Loops, match, try, with, assert, del, scoping statements, imports."""

import unittest

from harness import Program, ProgramCase


class Loops(ProgramCase):
    for_else_break_continue = Program(
        """
        def fn(x, stop):
            log = []
            for n in range(5):
                if n == 1:
                    continue
                if n == stop:
                    break
                log.append(n)
            else:
                log.append("else")
            return log, n, x * len(log)
        """,
        call="fn(x, (3, 9, 0)[i])",
    )
    while_else_and_nesting = Program(
        """
        def fn(x, limit):
            log, n = [], 0
            while n < limit:
                n += 1
                m = 0
                while True:
                    m += 1
                    if m == n:
                        log.append((n, m))
                        break
                    if m > 2:
                        break
                else:
                    log.append("never")
                if n == 4:
                    break
            else:
                log.append("else")
            return log, x + n
        """,
        call="fn(x, (0, 3, 9)[i])",
    )
    loop_variable_survives_and_empty_loop_leaves_it_unbound = Program(
        """
        def fn(x, items):
            for n in items:
                pass
            try:
                return n, x
            except UnboundLocalError as error:
                return str(error), x + 1
        """,
        call="fn(x, [1, 2] if i % 2 else [])",
    )
    over_everything_iterable = Program(
        """
        def fn(x, table):
            out = []
            for pair in table.items(): out.append(pair)
            for n, (a, b) in enumerate(zip("ab", [1, 2])): out.append((n, a, b))
            for c in "xy": out.append(c)
            for b in b"ab": out.append(b)
            for n in range(5, 0, -2): out.append(n)
            for n in reversed((1, 2)): out.append(n)
            for n in sorted({3, 1}): out.append(n)
            for t in x: out.append(t * 2)
            return out
        """,
        call="fn(x, {'k': 1, 'l': 2})",
    )
    tensors_accumulated_in_a_loop = Program(
        """
        def fn(x, n):
            total, parts = torch.zeros(4), []
            for k in range(n):
                total = total + x * k
                if k % 2 == 0:
                    parts.append(total)
            return total, parts
        """,
        call="fn(x, i + 2)",
    )
    long_loop_is_finite_work = Program(
        """
        log = []
        def fn(x):
            n = 0
            for k in range(2000):
                n += k % 3
            log.append(n)
            return x + n
        """,
        breaks=None,
    )
    return_from_inside_nested_loops = Program(
        """
        log = []
        def search(grid, wanted):
            for r, row in enumerate(grid):
                for c, v in enumerate(row):
                    log.append(v)
                    if v == wanted:
                        return r, c
            return None
        def fn(x): return search([[1, 2], [3, 4]], 3), search([], 1), x + len(log)
        """
    )


class Match(ProgramCase):
    every_pattern = Program(
        """
        from dataclasses import dataclass
        from enum import Enum
        class Color(Enum): RED, BLUE = 1, 2
        @dataclass
        class Point:
            a: int
            b: int = 0
        class Slots:
            __match_args__ = ("p", "q")
            def __init__(self, p, q): self.p, self.q = p, q
        values = [0, -1, 1.5, "s", None, True, [1], [1, 2, 3], (1, (2, 3)), {"k": 1, "z": 2}, {"only": []}, Point(1, 2), Point(0),
                  Slots(1, [2, 3]), Color.RED, Color.BLUE, 2 + 3j, b"x", {1}, range(3), "long text", [], {}, 7]
        def kind(v):
            match v:
                case bool(): return "bool"
                case None: return "none"
                case -1 | 0: return "small"
                case 2 + 3j: return "complex"
                case "s" | b"x": return "letters"
                case Color.RED: return "red"
                case Color(): return "other color"
                case Point(a=0): return "origin"
                case Point(a, b) if a < b: return ("point", a, b)
                case Slots(p, [q, *_]): return ("slots", p, q)
                case []: return "empty"
                case [one]: return ("one", one)
                case [1, [2, inner]]: return ("nested", inner)
                case [first, *middle, last]: return ("many", first, middle, last)
                case {"k": k, **rest}: return ("key", k, rest)
                case {"only": []}: return "only"
                case {}: return "mapping"
                case float(f): return ("float", f)
                case int() as n if n > 5: return ("big", n)
                case str(s): return ("str", s)
                case set() | frozenset(): return "set"
                case _: return "default"
        def fn(x): return [kind(v) for v in values], x + 1
        """
    )
    captures_bind_even_when_the_guard_fails = Program(
        """
        def fn(x, v):
            match v:
                case [a, b] if a > b: out = "desc"
                case [a, b] as pair: out = ("pair", a, b, pair is v)
                case _: out = "other"
            return out, "a" in locals() and a, x + 1
        """,
        call="fn(x, ([2, 1], [1, 2], 5)[i])",
        breaks=None,
    )
    subject_is_evaluated_once_and_user_mapping_and_sequence = Program(
        """
        import collections.abc
        log = []
        class M(collections.abc.Mapping):
            def __getitem__(self, key):
                log.append(key)
                return {"a": 1}[key]
            def __iter__(self): return iter("a")
            def __len__(self): return 1
        class S(collections.abc.Sequence):
            def __getitem__(self, n):
                log.append(n)
                return [10, 20][n]
            def __len__(self): return 2
        def subject(v):
            log.append("subject")
            return v
        def fn(x):
            out = []
            for v in (M(), S()):
                match subject(v):
                    case {"b": 1}: out.append("b")
                    case {"a": n}: out.append(n)
                    case [p, q]: out.append((p, q))
            return out, x + len(log)
        """,
        breaks=None,
    )
    missing_match_args_raises = Program(
        """
        class Plain: pass
        def fn(x):
            try:
                match Plain():
                    case Plain(1): return "no"
            except TypeError as error:
                return str(error), x + 1
        """
    )


class Try(ProgramCase):
    every_clause = Program(
        """
        def attempt(kind, log):
            try:
                log.append("try")
                if kind == 1: raise ValueError("v")
                if kind == 2: raise KeyError("k")
                if kind == 3: return "returned"
                if kind == 4: raise ArithmeticError
            except ValueError:
                log.append("value")
            except (KeyError, IndexError) as error:
                log.append(("key", error.args))
                return "from except"
            except Exception:
                log.append("any")
                raise
            else:
                log.append("else")
            finally:
                log.append("finally")
            return "end"
        def fn(x):
            log, out = [], []
            for kind in range(5):
                try:
                    out.append(attempt(kind, log))
                except ArithmeticError:
                    out.append("reraised")
            return log, out, x * len(log)
        """
    )
    finally_overrides_and_loops = Program(
        """
        def over():
            try:
                return "try"
            finally:
                for k in range(2):
                    try:
                        continue
                    finally:
                        log.append(k)
        log = []
        def swallow():
            while True:
                try:
                    raise KeyError
                except KeyError:
                    try:
                        break
                    finally:
                        log.append("cleanup")
            return "swallowed"
        def fn(x): return over(), swallow(), x + len(log)
        """
    )
    nested_handlers_see_the_right_exception = Program(
        """
        import sys
        def fn(x):
            out = []
            try:
                try:
                    raise ValueError(1)
                except ValueError:
                    out.append(sys.exception())
                    try:
                        raise KeyError(2)
                    except KeyError:
                        out.append(sys.exception())
                    out.append(sys.exception())
                    raise
            except ValueError as error:
                out.append(error.__context__)
            out.append(sys.exception())
            return out, x + 1
        """,
        breaks=None,
    )
    except_star = Program(
        """
        def fn(x):
            log = []
            try:
                raise ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3), TypeError(4)])])
            except* ValueError as group:
                log.append(("value", [type(e).__name__ for e in group.exceptions]))
            except* (KeyError, TypeError) as group:
                log.append(("rest", str(group)))
            else:
                log.append("no")
            finally:
                log.append("finally")
            try:
                try:
                    raise ExceptionGroup("g", [OSError(1), ValueError(2)])
                except* ValueError:
                    raise RuntimeError("new")
            except ExceptionGroup as group:
                log.append([type(e).__name__ for e in group.exceptions])
            return log, x + 1
        """,
        breaks=None,
    )
    raise_forms = Program(
        """
        def fn(x, kind):
            if kind == 0: raise ValueError
            if kind == 1: raise ValueError("a") from KeyError("b")
            if kind == 2: raise ValueError("a") from None
            if kind == 3: raise
            if kind == 4: raise 5
            if kind == 5: raise ValueError from 5
            raise KeyError("k", kind)
        """,
        call="fn(x, i)",
        steps=7,
        raises=Exception,
        breaks=None,
    )
    user_exception_hierarchies = Program(
        """
        class Base(Exception): pass
        class Left(Base): pass
        class Right(Base):
            def __init__(self, a, b):
                super().__init__(a)
                self.b = b
            def __str__(self): return f"right {self.b}"
        def fn(x):
            out = []
            for make in (lambda: Left("l"), lambda: Right(1, 2), lambda: Base()):
                try:
                    raise make()
                except Left as error:
                    out.append(("left", str(error)))
                except Base as error:
                    out.append((type(error).__name__, str(error), error.args))
            return out, x + len(out)
        """
    )
    dynamic_handler_classes = Program(
        """
        def fn(x, kinds):
            out = []
            try:
                raise KeyError("k")
            except kinds as error:
                out.append(type(error))
            try:
                try:
                    raise ValueError("v")
                except "not a class":
                    pass
            except TypeError as error:
                out.append((str(error), type(error.__context__)))
            return out, x
        """,
        call="fn(x, (KeyError, (ValueError, KeyError), LookupError)[i])",
        breaks=None,
    )


class OtherStatements(ProgramCase):
    with_several_and_targets = Program(
        """
        log = []
        class Scope:
            def __init__(self, v): self.v = v
            def __enter__(self):
                log.append(("in", self.v))
                return self.v
            def __exit__(self, *exc):
                log.append(("out", self.v, exc[0]))
        class Box: pass
        b = Box()
        def fn(x):
            with (Scope(1) as a, Scope((2, 3)) as (c, d), Scope(4) as b.v):
                y = x * (a + c + d + b.v)
            with Scope(5):
                return y
        """
    )
    with_on_a_wrong_object = Program(
        """
        class Half:
            def __enter__(self): return 1
        def fn(x):
            out = []
            for manager in (5, Half()):
                try:
                    with manager: pass
                except TypeError as error:
                    out.append(str(error))
            return out, x + 1
        """
    )
    assertions = Program(
        """
        def fn(x, n):
            assert n >= 0
            try:
                assert n > 1, f"too small: {n}"
            except AssertionError as error:
                return str(error), x
            return x * n
        """,
        call="fn(x, i)",
    )
    del_of_everything = Program(
        """
        class Box: pass
        b, items, table = Box(), [1, 2, 3, 4], {"a": 1, "b": 2}
        b.v = 1
        def fn(x):
            y = x + 1
            z = y
            del y
            try:
                y
            except UnboundLocalError as error:
                text = str(error)
            if hasattr(b, "v"):
                del b.v, table["a"]
            del items[0:1], (z)
            return text, x + len(items)
        """
    )
    global_and_nonlocal_statements = Program(
        """
        g = 0
        def outer():
            n = 0
            def inner():
                global g
                nonlocal n
                g += 1
                n += 10
                return g + n
            return inner(), inner(), n
        def fn(x): return outer(), x + g
        """
    )
    imports_inside = Program(
        """
        def fn(x):
            import math, collections.abc as cabc
            from math import pi as p, sqrt
            from collections import OrderedDict
            try:
                import no_such_module_here
            except ImportError as error:
                text = str(error)
            try:
                from math import no_such_name
            except ImportError as error:
                text += type(error).__name__
            return math.floor(p), sqrt(4.0), OrderedDict(a=1), cabc.Mapping.__name__, text, x + 1
        """,
        breaks=None,
    )
    annotations_and_type_aliases = Program(
        """
        def fn(x: torch.Tensor, n: "int" = 1) -> undefined_name:
            local: not_evaluated = n
            b: int
            type Pair[T] = tuple[T, T]
            return x * local, Pair.__name__
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
