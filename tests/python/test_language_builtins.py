"""Built-in functions and the pure parts of the standard library, modelled without a break."""

import unittest

from harness import Program, ProgramCase


class Builtins(ProgramCase):
    sequences = Program(
        """
        def fn(x, items):
            return (len(items), sum(items), sum([[1], [2]], []), min(items), max(items, key=lambda n: -n), max([], default=0), min(3, 1, 2),
                    sorted(items), sorted(items, reverse=True), list(reversed(items)), any(items), all(items), list(enumerate(items, 1)),
                    list(zip(items, "abc")), list(map(lambda a, b: a + b, items, items)), list(filter(None, items)), tuple(items), set(items),
                    frozenset(items), dict(zip("ab", items)), list(range(5))[1:3], next(iter(items)), next(iter([]), "d"), x * len(items))
        """,
        call="fn(x, [3, 0, 2])",
    )
    numbers = Program(
        """
        def fn(x, n):
            return (abs(-n), divmod(n, 3), pow(n, 2), pow(2, n, 7), round(n / 7, 3), round(2.5), round(3.5), int(3.9), int("7"), float(n), complex(n, 1),
                    bool(n), bin(n), hex(n), oct(n), chr(97 + n), ord("a"), hash(n), hash("s") == hash("s"), min(n, 2.0), max(n, True), sum([n, 0.5]),
                    (n).bit_length(), (n).bit_count(), float("inf") > n, n.real, (n / 2).as_integer_ratio(), float.fromhex("0x1p3"), x + n)
        """,
        call="fn(x, i + 1)",
    )
    objects = Program(
        """
        class Box:
            v = 1
        b = Box()
        def fn(x):
            setattr(b, "n", getattr(b, "n", 0) + 1)
            return (type(b), type(b).__name__, isinstance(b, Box), callable(Box), hasattr(b, "n"), vars(b), id(b) == id(b), repr([1, "a"]), str(None),
                    ascii("é"), format(3, "04"), object() is not object(), type(x), iter([1]).__class__.__name__, slice(1, 2), bytes(3), x + b.n)
        """
    )
    constructors_are_fresh = Program(
        """
        source = [1, 2]
        def fn(x):
            made = list(source), tuple(source), list(), dict(), set(), dict(a=1), dict([("k", 1)]), list("ab"), bytearray(2), str(), int()
            made[0].append(3)
            return made, tuple(made) is made, x + len(made)
        """
    )
    locals_globals_and_eval = Program(
        """
        g = 5
        def fn(x, n):
            m = n + 1
            seen = sorted(locals())
            return seen, globals()["g"], eval("g + n", {"g": 1, "n": n}), x * m
        """,
        call="fn(x, i)",
        breaks=None,
    )
    input_of_wrong_types_raises = Program(
        """
        actions = [lambda: len(1), lambda: sum(["a"]), lambda: int([]), lambda: ord("ab"), lambda: max([]), lambda: iter(5), lambda: next([]),
                   lambda: sorted([1, "a"]), lambda: range(1.5), lambda: abs("a"), lambda: chr(-1), lambda: dict([1]), lambda: zip(1),
                   lambda: isinstance(1, 1), lambda: setattr(1, "a", 2), lambda: float("x"), lambda: round("a"), lambda: hash([])]
        def fn(x):
            out = []
            for action in actions:
                try:
                    out.append(action())
                except (TypeError, ValueError, AttributeError) as error:
                    out.append((type(error).__name__, str(error)))
            return out, x + 1
        """
    )


class Libraries(ProgramCase):
    math_module = Program(
        """
        import math
        def fn(x, v):
            return (math.sqrt(v), math.floor(v), math.ceil(v), math.trunc(-v), math.exp(0.0), math.log(v), math.log2(8), math.log(8, 2), math.sin(0.0),
                    math.pi, math.gcd(12, 18), math.factorial(5), math.isclose(v, v), math.inf, math.isnan(math.nan), math.copysign(1, -0.0), math.hypot(3, 4),
                    math.prod([1, 2, 3]), math.comb(5, 2), math.fsum([0.1] * 10), math.isqrt(17), math.modf(2.5), math.fmod(7, 3), math.degrees(0.0),
                    x * math.floor(v))
        """,
        call="fn(x, (2.5, 9.0, 0.25)[i])",
    )
    collections_module = Program(
        """
        from collections import Counter, OrderedDict, defaultdict, deque, namedtuple, ChainMap
        def fn(x):
            c = Counter("hello")
            d = defaultdict(list)
            for n in range(4):
                d[n % 2].append(n)
            o = OrderedDict(sorted({"b": 1, "a": 2}.items()))
            q = deque([1, 2, 3], maxlen=2)
            return c.most_common(1), dict(d), list(o), q, ChainMap({"a": 1}, {"b": 2})["b"], sum(c.values()), x * len(d)
        """,
        breaks=None,
    )
    functools_and_operator = Program(
        """
        import functools, operator
        def fn(x):
            add = functools.partial(operator.add, 5)
            return (functools.reduce(lambda a, b: a * b, [1, 2, 3]), add(1), sorted([3, 1], key=functools.cmp_to_key(lambda a, b: b - a)),
                    operator.contains([1], 1), operator.getitem([5], 0), operator.truediv(1, 2), operator.neg(2), operator.index(3),
                    operator.concat("a", "b"), functools.reduce(torch.add, [x, x, x]), operator.iadd([1], [2]))
        """
    )
    regular_expressions_on_constants = Program(
        """
        import re
        word = re.compile(r"(\\w+)-(\\d+)")
        def fn(x, text):
            m = word.match(text)
            return (m.groups() if m else None, re.sub("a", "b", "banana"), re.findall(r"\\d", "a1b2"), word.search("zz q-9").group(2), re.split(",", "a,b"),
                    bool(re.fullmatch("a+", "aaa")), x + len(text))
        """,
        call="fn(x, ('ab-12', 'none', 'c-3')[i])",
        breaks=None,
    )
    json_on_constants = Program(
        """
        import json
        def fn(x):
            text = json.dumps({"a": [1, 2.5, None, True], "b": "é"}, sort_keys=True)
            try:
                json.loads("{bad")
            except json.JSONDecodeError as error:
                message = error.msg
            return text, json.loads(text), message, x + len(text)
        """,
        breaks=None,
    )
    bisect_heapq_and_string = Program(
        """
        import bisect, heapq, string
        heap, ordered = [], [1, 3, 5]
        def fn(x, n):
            heapq.heappush(heap, n)
            heapq.heappush(heap, -n)
            bisect.insort(ordered, n + 2)
            return heapq.heappop(heap), bisect.bisect(ordered, 3), heapq.nsmallest(2, ordered), string.ascii_lowercase[:3], x + len(heap)
        """,
        call="fn(x, i)",
        breaks=None,
    )
    copy_module_and_dataclasses = Program(
        """
        import copy
        from dataclasses import dataclass, replace
        @dataclass
        class State:
            n: int
            items: list
        s = State(1, [1])
        def fn(x):
            new = replace(s, n=s.n + 1)
            deep = copy.deepcopy(s)
            s.items.append(s.n)
            return new, deep, new.items is s.items, x * new.n
        """,
        breaks=None,
    )
    time_and_random_are_not_frozen = Program(
        """
        import time, random
        last = 0.0
        def fn(x):
            global last
            now = time.perf_counter()
            grew = now > last
            last = 0.0
            return grew, 0 <= random.random() < 1, x + 1
        """,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
