"""Resume code: functions cut in two before each of their instructions end as if they had never stopped."""

import contextlib
import gc
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

from split import cut_everywhere
from thirdbook import _core


def straight(a: int, b: int, *, c: int = 3) -> object:
    d = a + b * c
    e = [a, b, *range(d)]
    f, *g = e
    return f"{d:>4}{e!r}" + str(g[1:2]), a < b < c, (d if d > 2 else e)


def loops(log: list, n: int) -> int:
    total = 0
    for i in range(n):
        if i == 3:
            continue
        for j in (1, 2):
            total += i * j
            log.append(total)
        while total > 20:
            total -= 7
            if total == 1:
                break
        else:
            log.append("no break")
    return total


def handlers(log: list, n: int) -> str:
    for i in range(n):
        try:
            log.append(("try", i))
            if i % 3 == 0:
                raise ValueError(i)
            if i % 3 == 1:
                raise KeyError(i)
        except ValueError as error:
            log.append(repr(error))
            try:
                raise TypeError("inner") from error
            except TypeError as second:
                log.append((repr(second), repr(second.__cause__)))
        except (KeyError, IndexError):
            log.append("key")
            continue
        else:
            log.append("else")
        finally:
            log.append("finally")
    return "done"


def raises_out(log: list) -> None:
    try:
        try:
            log.append(1 / 0)
        except ZeroDivisionError:
            log.append("first")
            raise
        finally:
            log.append("clean")
    except ArithmeticError as error:
        log.append("second")
        raise RuntimeError("out") from error


def returns_from_finally(log: list) -> object:
    for i in range(3):
        try:
            if i == 1:
                return ("value", log[i])
            log.append(i)
        finally:
            log.append("f")
    return None


class Manager:
    def __init__(self, log: list, swallow: bool) -> None:
        self.log, self.swallow = log, swallow

    def __enter__(self) -> str:
        self.log.append("enter")
        return "entered"

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        self.log.append(("exit", repr(error)))
        return self.swallow

    def __repr__(self) -> str:
        return "Manager"


def managers(log: list) -> str:
    with Manager(log, True) as entered, contextlib.suppress(KeyError):
        log.append(entered)
        {}["missing"]
    with Manager(log, True):
        with Manager(log, False):
            log.append(len(log))
            raise OSError("x")
    with Manager(log, False):
        return "returned " + str(len(log))


def manager_raises(log: list) -> None:
    with Manager(log, False):
        for i in range(3):
            log.append(i)
            if i == 2:
                raise LookupError(i)


def groups(log: list) -> str:
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as part:
        log.append(repr(part))
    except* TypeError as part:
        log.append(repr(part))
        log.append("typed")
    except* KeyError:
        log.append("key")
    return "end"


def cells(log: list, start: int) -> object:
    count = start
    step = 2

    def bump(by: int = 1) -> int:
        nonlocal count
        count += by * step
        log.append(count)
        return count

    bump()
    step = 3
    later = [lambda: (x, start, step) for x in range(2)]
    bump(2)
    start += 10
    return count, [f() for f in later], (lambda: start)()


def comprehensions(log: list, rows: list) -> object:
    x = "outer"
    squares = {k: [x * v for x in rows for v in (1, k) if v] for k in range(3)}
    functions = [lambda y=x: (x, y) for x in rows]
    log.append(x)
    return squares, [f() for f in functions], {x for x in rows} | {1}, sum(v for v in rows), x


def patterns(log: list, subjects: list) -> list:
    out = []
    for subject in subjects:
        match subject:
            case [a, b, *rest] if a != b:
                out.append((a, b, rest))
            case {"k": value, **others}:
                out.append((value, others))
            case int(n) | str(n):
                out.append(n)
            case complex(real=r, imag=i):
                out.append((r, i))
            case None:
                log.append("none")
            case _:
                out.append("other")
    return out


def deletes(log: list, flag: int) -> object:
    a, b, c = flag, [flag], {"k": flag}
    del a
    try:
        log.append(a)
    except UnboundLocalError as error:
        log.append(str(error))
    del b[0], c["k"]
    if flag > 5:
        late = 1
    try:
        return late, b, c
    except UnboundLocalError as error:
        return str(error)


def many_locals(log: list, a: int, b: int, *args: int, **kwargs: int) -> object:
    c, d, e, f, g, h = a + 1, b + 2, a + b, a - b, a * b, a // b
    i, j, k, m, n, o = c + d, d + e, e + f, f + g, g + h, h + c
    p, q, r, s, t, u = i + j, j + k, k + m, m + n, n + o, o + i
    p, q = q, p
    r, s, t = t, r, s
    log.append((p + q, r + s, t + u))
    u = p
    v = u
    return (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, args, kwargs)


class Base:
    def name(self) -> str:
        return "base"


class Derived(Base):
    def __init__(self, log: list) -> None:
        self.log = log

    def name(self) -> str:
        first = super().name()
        self.log.append(first)
        self.count = len(self.log)
        self.count += 1
        return first + super().name() + __class__.__name__ + str(self.count)

    def __repr__(self) -> str:
        return "Derived"


def walrus_and_calls(log: list, items: list) -> object:
    while items and (head := items.pop()) > 0:
        log.append(head)
    text = "{}-{key}".format(*[1, 2], key=max(3, *log, key=lambda v: -v), **{})
    ok = not items or items[0] is None and head in log
    slices = log[1:], log[::-1][:2]
    log[0:1] = [9, 9]
    assert ok is not None, "never"
    import math as imported
    return text, ok, slices, imported.floor(2.5), head


CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (straight, lambda: (1, 2)),
    (loops, lambda: ([], 6)),
    (handlers, lambda: ([], 5)),
    (raises_out, lambda: ([],)),
    (returns_from_finally, lambda: (["a", "b"],)),
    (managers, lambda: ([],)),
    (manager_raises, lambda: ([],)),
    (groups, lambda: ([],)),
    (cells, lambda: ([], 5)),
    (comprehensions, lambda: ([], [1, 2, 3])),
    (patterns, lambda: ([], [[1, 2, 3], [1, 1], {"k": 1, "z": 2}, 7, "s", 1j, None, 2.5])),
    (deletes, lambda: ([], 1)),
    (deletes, lambda: ([], 9)),
    (many_locals, lambda: ([], 7, 2, 30, 40)),
    (Derived.name, lambda: (Derived([]),)),
    (walrus_and_calls, lambda: ([], [0, 3, 2])),
]

# Never a place to go on: an exception has arrived but is not handled yet, or is on its way out again.
UNRESUMABLE = set("PUSH_EXC_INFO COPY POP_EXCEPT RERAISE LOAD_CONST STORE_FAST DELETE_FAST POP_TOP".split())


class ResumeCodeTest(unittest.TestCase):
    def test_functions_cut_before_each_instruction_end_as_if_uncut(self) -> None:
        for number, (function, make_arguments) in enumerate(CASES):
            results = cut_everywhere(function, make_arguments)
            self.assertGreater(len(results), 15)
            for index, name, outcome, expected in results:
                with self.subTest(f"{number} {function.__name__}", index=index, opcode=name):
                    self.assertEqual(outcome, expected)
            self.assertIsNone(sys.exception())

    def test_only_places_on_the_way_into_or_out_of_a_handler_are_refused(self) -> None:
        for function, _ in CASES:
            if function is groups:  # except* handlers are refused as a whole
                continue
            code = function.__code__
            for index, row in enumerate(_core._read_code(code)["instructions"]):
                if row[4] < 0:  # unreachable
                    continue
                try:
                    _core._resume_items(code, index)
                except ValueError:
                    self.assertIn(row[0], UNRESUMABLE, f"{function.__name__} at {index}")

    def test_the_same_point_gives_the_same_code(self) -> None:
        code = straight.__code__
        nulls = [False] * len(_core._resume_items(code, 5))
        first = _core._resume_code(code, 5, [0, 1], nulls)
        self.assertIs(first, _core._resume_code(code, 5, [0, 1], nulls))
        self.assertIsNot(first, _core._resume_code(code, 5, [1, 0], nulls))

    def test_a_loop_that_is_left_in_each_turn_has_one_resume_code(self) -> None:
        code = loops.__code__
        rows = _core._read_code(code)["instructions"]
        target = next(i for i, row in enumerate(rows) if row[0] == "CALL" and row[4] == 5)
        bound, nulls = [0, 1, 2, 3, 4], [False, False, False, False, True, False]
        items = _core._resume_items(code, target)
        nulls = [False] * len(items)
        first = _core._resume_code(code, target, bound, nulls)
        origin = [_core._resume_origin(first, i) for i in range(len(_core._read_code(first)["instructions"]))]
        again = next(i for i, (_, index) in enumerate(origin) if index == target)
        self.assertTrue(all(from_code is code for from_code, _ in origin))
        names = first.co_varnames
        slots = [names.index(code.co_varnames[slot]) for slot in bound]
        self.assertIs(_core._resume_code(first, again, slots, nulls), first)

    def test_description_is_the_originals(self) -> None:
        code = Derived.name.__code__
        items = _core._resume_items(code, 12)
        made = _core._resume_code(code, 12, [0], [False] * len(items))
        for attribute in ("co_name", "co_qualname", "co_filename", "co_firstlineno"):
            self.assertEqual(getattr(made, attribute), getattr(code, attribute))
        self.assertIs(_core._resume_origin(made)[0], code)
        self.assertIsNone(_core._resume_origin(code))

    def test_impossible_points_are_refused(self) -> None:
        code = loops.__code__
        points = [(-1, [], []), (10_000, [], []), (4, [99], []), (4, [0, 0], []), (4, [], [False] * 9)]
        for target, bound, nulls in points:
            with self.subTest(target=target, bound=bound), self.assertRaises(ValueError):
                _core._resume_code(code, target, bound, nulls)
        with self.assertRaises(ValueError):  # a cell is not a bound local
            _core._resume_code(cells.__code__, 8, [0, 1, 2, 3, 4, 5], [])

    def test_bare_super_that_would_not_find_its_object_is_refused(self) -> None:
        class Captured(Base):
            def bare(self) -> object:
                proxy = super()
                return (lambda: self), proxy

            def kept(self) -> object:
                proxy = super()
                return proxy

        captured, kept = Captured.bare.__code__, Captured.kept.__code__
        end = len(_core._read_code(captured)["instructions"]) - 1
        with self.assertRaises(NotImplementedError):
            _core._resume_code(captured, end, [], [False])
        rows = _core._read_code(kept)["instructions"]
        first = next(i for i, row in enumerate(rows) if row[0] == "LOAD_GLOBAL")
        with self.assertRaises(NotImplementedError):
            _core._resume_code(kept, first, [], [])
        made = _core._resume_code(kept, first, [0], [])
        instance = Captured()
        proxy = types.FunctionType(made, globals(), closure=Captured.kept.__closure__)(instance)
        self.assertIs(proxy.__self__, instance)

    def test_code_objects_and_their_resume_code_die_together(self) -> None:
        import weakref

        def alive() -> tuple[weakref.ref, weakref.ref]:
            namespace: dict[str, Any] = {}
            exec("def f(a):\n    b = a\n    return b\n", namespace)
            code = namespace["f"].__code__
            made = _core._resume_code(code, 2, [0], [False] * len(_core._resume_items(code, 2)))
            return weakref.ref(code), weakref.ref(made)

        references = alive()
        gc.collect()
        self.assertEqual([r() for r in references], [None, None])

    def test_stack_values_die_when_the_function_drops_them(self) -> None:
        import weakref

        class Thing:
            pass

        def f(get: Callable[[], Any]) -> object:
            return [get(), probe()]  # noqa: F821

        code = f.__code__
        rows = _core._read_code(code)["instructions"]
        calls = [i for i, row in enumerate(rows) if row[0] == "CALL"]
        made = _core._resume_code(code, calls[0] + 1, [0], [False])
        thing = Thing()
        reference = weakref.ref(thing)
        resume = types.FunctionType(made, {"probe": lambda: None})
        resume(None, thing)
        del thing
        self.assertIsNone(reference())


if __name__ == "__main__":
    unittest.main()
