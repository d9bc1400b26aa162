"""The standard library in compiled code: values of its types, functions that C code calls, copies, caches, logging, JSON."""

import unittest

from harness import Program, ProgramCase


class GivenFunctions(ProgramCase):
    """What C code calls goes through the tracer: nothing runs while tracing, and types are those of the values."""

    classes_are_made_by_map_filter_and_sorted = Program(
        """
        made = []
        class Point:
            def __init__(self, v):
                made.append(v)
                self.v = v
            def __lt__(self, other): return self.v < other.v
            def __repr__(self): return f"Point({self.v})"
        class Refused(Exception): pass
        def fn(x, i):
            points = list(map(Point, [3, i, 2]))
            kept = list(filter(Point, [i]))
            errors = [str(error) for error in map(Refused, ["a", i])]
            return points, sorted(points), kept, errors, max([i, 7], key=Point), x + points[1].v
        """,
        call="fn(x, i)",
        steps=(3,),
    )
    questions_about_values = Program(
        """
        from itertools import groupby, repeat
        class Thing: pass
        def fn(x, i):
            things = [1, 2.5, i, x, Thing()]
            kinds = [kind.__name__ for kind in map(type, things)]
            runs = [(kind.__name__, len(list(run))) for kind, run in groupby([i, 1, 2.5, x], type)]
            are = list(map(isinstance, [i, x], [int, torch.Tensor])), any(map(isinstance, [i, "a"], repeat(str)))
            return kinds, runs, are, list(map(issubclass, [int], [object])), list(map(callable, [Thing, i])), set(map(type, [i, 2.5])) == {int, float}, list(filter(callable, [i, len]))
        """,
        call="fn(x, i)",
    )
    effects_wait_for_the_replay = Program(
        """
        kept = []
        push = kept.append
        def fn(x, i):
            before = len(kept)
            found = list(map(push, [i, x]))
            shown = list(map(print, ["a", i]))
            return before, found, shown, len(kept)
        """,
        call="fn(x, i)",
    )
    numbers_by_functions_of_c = Program(
        """
        import math, operator
        from functools import reduce
        from itertools import accumulate
        def fn(x, i):
            numbers = [i, 4, -9]
            return list(map(abs, numbers)), sorted(numbers, key=abs), list(map(math.floor, [i + 0.5])), reduce(operator.add, numbers), list(accumulate(numbers, max)), list(map(len, ["a", numbers])), x
        """,
        call="fn(x, i)",
    )


class Values(ProgramCase):
    members_of_int_enums_are_numbers = Program(
        """
        from enum import IntEnum, IntFlag, StrEnum, auto
        class Level(IntEnum):
            LOW = 1
            MID = 5
            HIGH = 10
        class Colour(StrEnum):
            RED = auto()
            BLUE = auto()
        class Bits(IntFlag):
            A = 1
            B = 2
        limits = {Level.LOW: "low", Level.MID: "mid"}
        def fn(x, i):
            level = (Level.LOW, Level.MID, Level.HIGH)[i % 3]
            compared = level >= Level.MID, Level.LOW < level, level == 5, 5 == level, level != 2, Level.LOW in (1, 2), max(Level), sorted([Level.HIGH, Level.LOW])
            counted = level + 1, 1 + level, level * 2.5, level - Level.LOW, -level, ~level, level << 1, level / 4, level % 3, divmod(level, 4), int(level), float(level), bool(level), level.bit_length(), sum(Level), abs(level), round(level)
            texts = str(level), repr(level), f"{level:03d}", f"{level}", "%d" % level, Colour.RED + "x", Colour.BLUE.upper(), len(Colour.RED), Colour.RED[0], "e" in Colour.RED, list(Colour.RED), ",".join(Colour)
            used = [1, 2, 3][Level.LOW], "abc"[Level.LOW :], list(range(Level.LOW)), limits.get(1), limits.get(level), {level: i}, hash(level) == hash(int(level)), Bits.A | Bits.B, (Bits.A | Bits.B) & 1
            return compared, counted, texts, used, x * level, x[Level.LOW]
        """,
        call="fn(x, i)",
        steps=(6,),
    )
    numbers_and_texts_of_a_class = Program(
        """
        class Metres(float):
            @property
            def feet(self): return self * 3.25
            def __add__(self, other): return Metres(float(self) + other)
        class Tag(str):
            def __new__(cls, text, weight=1):
                tag = super().__new__(cls, text)
                tag.weight = weight
                return tag
        class Count(int): pass
        kept = Metres(2.0)
        def fn(x, i):
            length = Metres(1.5)
            tag = Tag("ab", weight=3)
            count = Count(7)
            return length.feet, length + 1, type(length + 1).__name__, kept.feet, kept > length, tag + "c", tag.weight, tag.upper(), len(tag), type(tag).__name__, count * 2, count == 7, hash(count) == hash(7), {count: 1}[7], f"{length:.2f}", x * length, tag, count
        """,
        steps=(3,),
        call="fn(x, i)",
    )
    dates_and_times = Program(
        """
        from datetime import date, datetime, timedelta, timezone
        start = date(2024, 1, 30)
        def fn(x, days):
            day = start + timedelta(days=days)
            later = datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc)
            return day.isoformat(), day.year, day.weekday(), (day - start).days, day > start, day == start, str(later), repr(day), later.date() - day, timedelta(hours=36).total_seconds(), date.fromisoformat("2024-02-03"), day.replace(day=1), sorted([day, start]), {day: 1}, hash(day) == hash(date.fromisoformat(day.isoformat())), x + day.day
        """,
        call="fn(x, i)",
        expect="True",
    )
    patterns_and_matches = Program(
        r"""
        import re
        PAIR = re.compile(r"(?P<key>\w+)=(?P<value>\w+)")
        def fn(x, text):
            match = PAIR.search(text)
            found = match.groupdict(), match.group("key"), match[2], match.span(), match.start(1), match.groups(), match.end()
            more = PAIR.findall(text), re.split(r"[=,]", text), re.sub("[aeiou]", "*", text), re.fullmatch("x", text) is None, [m.group() for m in re.finditer("[a-c]", text)], PAIR.pattern, PAIR.groups
            by_function = re.sub(r"\w", lambda m: m.group().upper(), text), PAIR.sub(lambda m: m["value"], text, count=1), re.subn("a", "b", text)
            return found, more, by_function, x
        """,
        call='fn(x, "a=b,c=%d" % (i % 2))',
        steps=(4,),
    )
    hashes_of_tuples_of_fields = Program(
        """
        from dataclasses import dataclass
        @dataclass(frozen=True)
        class Point:
            a: float
            b: str = "b"
        def fn(x, i):
            p = Point(i * 1.0)
            return hash(p) == hash((i * 1.0, "b")), p == Point(i * 1.0), repr(p), x
        """,
        call="fn(x, i)",
    )


class Copies(ProgramCase):
    deep_and_shallow_copies = Program(
        """
        import copy
        class Plain:
            def __init__(self, v):
                self.v, self.items = v, [v]
                self.again = self.items
        class Special(Plain):
            def __copy__(self): return "special"
        plain = Plain(3)
        nested = {"a": [1, [2]], "b": (3, [4]), "c": (5, 6)}
        def fn(x, i):
            deep, shallow, other = copy.deepcopy(plain), copy.copy(plain), copy.deepcopy(nested)
            deep.items.append(i)
            shallow.v = i
            other["a"][1].append(i)
            mine = copy.deepcopy(Plain([i]))
            mine.v.append(1)
            return deep.items, deep.again is deep.items, shallow.items is plain.items, plain.v, other, copy.copy(Special(1)), copy.copy([i]), mine.v, x
        """,
        call="fn(x, i)",
    )
    objects_that_hold_each_other = Program(
        """
        import copy
        class Node: pass
        a, b = Node(), Node()
        a.other, b.other = b, a
        def fn(x):
            c = copy.deepcopy(a)
            return c.other.other is c, c is a, x
        """
    )


class Json(ProgramCase):
    texts_and_structures = Program(
        """
        import json
        history = []
        def fn(x, i):
            read = json.loads('{"scale": 2.5, "names": ["a", "b"], "nested": {"k": null}}')
            read["names"].append(i)
            history.append({"i": i, "scale": read["scale"]})
            try:
                json.loads("{bad")
            except json.JSONDecodeError as error:
                refused = str(error), error.pos, error.lineno
            return read, json.dumps(read, sort_keys=True), json.dumps({"a": [1, (2, i)], "b": "é"}, indent=2), json.dumps(history[-1]), json.dumps([1.5, float("inf"), True, None]), refused, x * read["scale"]
        """,
        call="fn(x, i)",
    )


class Errors(ProgramCase):
    fields_of_built_in_exceptions = Program(
        """
        class Coded(Exception):
            def __init__(self, text, *, code):
                super().__init__(text)
                self.code = code
        def raised(which):
            if which == 0: raise OSError(2, "gone", "f.txt")
            if which == 1: raise ImportError("imp", name="mod")
            if which == 2: raise AttributeError("attr", name="a")
            if which == 3: raise UnicodeDecodeError("utf8", b"a", 0, 1, "bad")
            if which == 4: raise SyntaxError("syn", ("f", 1, 2, "t"))
            if which == 5: raise Coded("text", code=7)
            if which == 6: return object().missing
            raise FileNotFoundError("plain")
        def fn(x):
            found = []
            for which in range(8):
                try:
                    raised(which)
                except OSError as error:
                    found.append((type(error).__name__, error.errno, error.strerror, error.filename, str(error), error.args))
                except ImportError as error:
                    found.append((error.name, error.msg, str(error)))
                except AttributeError as error:
                    found.append((error.name, str(error)))
                except UnicodeDecodeError as error:
                    found.append((error.start, error.reason, error.object, str(error)))
                except SyntaxError as error:
                    found.append((error.msg, error.lineno, str(error)))
                except Coded as error:
                    found.append((error.code, str(error), error.args))
            return found, x
        """
    )
    instances_that_are_refused = Program(
        """
        from abc import ABC, abstractmethod
        class Shape(ABC):
            @abstractmethod
            def area(self): ...
        class Empty: pass
        def tried(make):
            try:
                return make()
            except TypeError as error:
                return str(error)
        def fn(x):
            return tried(Shape), tried(lambda: Empty(1, 2)), tried(lambda: object(1)), x
        """,
        breaks=None,
    )


class Locks(ProgramCase):
    locks_are_taken_and_given_back = Program(
        """
        import threading
        lock, again = threading.Lock(), threading.RLock()
        log = []
        def fn(x, i):
            with lock:
                with again:
                    log.append(i)
                    y = x * i
            return y, lock.locked()
        """,
        call="fn(x, i)",
        breaks=None,
        expect="not lock.locked()",
    )


class Logging(ProgramCase):
    records_of_plain_handlers = Program(
        """
        import io, logging
        out = io.StringIO()
        handler = logging.StreamHandler(out)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(funcName)s %(lineno)d %(message)s"))
        log = logging.getLogger("library")
        log.handlers[:] = [handler]
        log.setLevel(logging.INFO)
        log.propagate = False
        def helper(i): log.warning("in helper %s", i)
        def fn(x, i):
            log.info("i=%d x=%s", i, tuple(x.shape))
            log.debug("not shown")
            helper(i)
            return x * i
        def text(): return out.getvalue()
        """,
        call="(fn(x, i), text())",
        breaks=None,
    )
    handlers_of_the_program_see_each_record_in_time = Program(
        """
        import logging
        class Kept(logging.Handler):
            def emit(self, record): kept.append((record.getMessage(), record.args))
        kept = []
        log = logging.getLogger("library_kept")
        log.handlers[:] = [Kept()]
        log.setLevel(logging.INFO)
        log.propagate = False
        def fn(x, i):
            log.info("i=%d", i)
            return len(kept), x
        """,
        call="fn(x, i)",
        breaks=None,
    )


class Dispatch(ProgramCase):
    single_dispatch_over_types = Program(
        """
        from functools import singledispatch
        @singledispatch
        def show(v): return f"object {v}"
        @show.register
        def _(v: int): return f"int {v}"
        @show.register(list)
        def _(v): return "list " + ",".join(show(item) for item in v)
        for warm in (1, "a", [1]): show(warm)
        def fn(x, i): return show(i), show("a"), show([i, "b"]), x
        """,
        call="fn(x, i)",
    )


if __name__ == "__main__":
    unittest.main()
