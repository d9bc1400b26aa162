"""L21: iterators, handed in, consumed, exhausted, escaping."""

import unittest

from harness import Program, ProgramCase


class Iterators(ProgramCase):
    row = "L21"

    of_list_and_tuple = Program(
        """
        items = [1, 2, 3, 4, 5, 6]
        a, b = iter(items), iter((10, 20, 30))
        def fn(x):
            return x * next(a) + next(b)
        """,
        expect="next(a) == 4 and next(b, None) is None",
    )
    exhaustion_is_remembered = Program(
        """
        items = [1, 2]
        it, back = iter(items), reversed(items)
        def fn(x):
            taken = list(it), list(back)
            items.append(9)
            return taken, next(it, "end"), list(it), next(back, "end"), x + 1
        """,
        steps=2,
    )
    partly_consumed_by_a_loop = Program(
        """
        it = iter(range(100))
        def fn(x):
            total = 0
            for n in it:
                total += n
                if n % 3 == 2:
                    break
            return x * total
        """,
        expect="next(it) == 9",
    )
    of_dict_and_set = Program(
        """
        table = {"a": 1, "b": 2, "c": 3, "d": 4}
        keys, values, items = iter(table), iter(table.values()), iter(table.items())
        def fn(x):
            key, pair = next(keys), next(items)
            return key, pair, x * next(values)
        """,
        expect="list(keys) == ['d']",
    )
    enumerate_and_zip = Program(
        """
        e = enumerate(["a", "b", "c", "d"], start=5)
        first, second = iter([1, 2, 3, 4]), iter("pqrs")
        z = zip(first, second)
        def fn(x):
            n, letter = next(e)
            m, other = next(z)
            return letter, other, x * n + m
        """,
        expect="next(e) == (8, 'd') and next(first) == 4 and next(second) == 's'",
    )
    zip_takes_one_too_many = Program(
        """
        a, b = iter([1, 2, 3]), iter([1])
        def fn(x):
            pairs = list(zip(a, b))
            return pairs, x + len(pairs)
        """,
        steps=1,
        expect="next(a) == 3",
    )
    zip_strict = Program(
        """
        a, b = iter([1, 2, 3, 4]), iter([1])
        def fn(x):
            try:
                return list(zip(a, b, strict=True))
            except ValueError as error:
                return str(error), next(a, "end"), x + 1
        """,
        steps=2,
    )
    map_and_filter = Program(
        """
        log = []
        def double(n):
            log.append(n)
            return n * 2
        m, f = map(double, [1, 2, 3, 4]), filter(lambda n: n % 2, range(10))
        def fn(x):
            return x * next(m) + next(f)
        """,
        expect="log == [1, 2, 3] and next(f) == 7",
    )
    reversed_and_range = Program(
        """
        r, back, down = iter(range(5)), reversed([1, 2, 3, 4]), iter(range(10, 0, -3))
        def fn(x):
            return x * next(r) + next(back) - next(down)
        """,
        expect="list(r) == [3, 4] and list(back) == [1] and list(down) == [1]",
    )
    itertools_handed_in = Program(
        """
        import itertools
        c, y, ch = itertools.count(5, 2), itertools.cycle("abc"), itertools.chain([1], [2, 3], "z")
        a, s = itertools.accumulate([1, 2, 3, 4]), itertools.islice(itertools.count(), 2, 8, 2)
        def fn(x):
            return x * next(c), next(y), next(ch), next(a), next(s)
        """,
        expect="(next(c), next(y), next(ch), next(a), next(s, 'end')) == (11, 'a', 'z', 10, 'end')",
    )
    itertools_inside = Program(
        """
        import itertools, operator
        def fn(x):
            out = [list(itertools.chain([1], (2,))), list(itertools.islice("abcdef", 1, None, 2)),
                   list(itertools.product("ab", [1, 2])), list(itertools.combinations([1, 2, 3], 2)),
                   list(itertools.permutations("ab")), list(itertools.accumulate([1, 2, 3], operator.mul)),
                   list(itertools.takewhile(lambda n: n < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda n: n < 3, [1, 3, 1])),
                   list(itertools.starmap(pow, [(2, 3)])), list(itertools.zip_longest("ab", [1], fillvalue=0)),
                   [(k, list(g)) for k, g in itertools.groupby([1, 1, 2])], list(itertools.pairwise([1, 2, 3])),
                   list(itertools.repeat(7, 2)), list(itertools.compress("abc", [1, 0, 1])), list(itertools.batched("abcde", 2)),
                   list(itertools.filterfalse(None, [0, 1])), list(itertools.chain.from_iterable([[1], [2]]))]
            left, right = itertools.tee([1, 2])
            return out, next(left), list(right), list(left), x + len(out)
        """
    )
    user_iterator = Program(
        """
        class Countdown:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if self.n == 0:
                    raise StopIteration
                self.n -= 1
                return self.n
        c = Countdown(5)
        def fn(x):
            total = next(c, 0)
            for n in Countdown(3):
                total += n
            return x * total, list(zip(c, "a"))
        """
    )
    sequence_protocol = Program(
        """
        reads = []
        class Seq:
            def __getitem__(self, n):
                reads.append(n)
                if n > 2:
                    raise IndexError
                return n * 10
        s = Seq()
        def fn(x): return list(s), 20 in s, x + len(reads)
        """
    )
    iter_with_sentinel = Program(
        """
        pending = [3, 0, 2, 1]
        it = iter(pending.pop, 0)
        def fn(x): return list(it), x + len(pending)
        """,
        steps=2,
    )
    position_past_what_the_replay_appends = Program(
        """
        items = [0] * 5
        def fn(x):
            for n in range(7):
                items.append(n)
            it = iter(items)
            for _ in range(len(items) - 2):
                next(it)
            torch.graph_break()
            return list(it), x + len(items)
        """,
        steps=2,
        breaks=None,
    )
    list_that_grows_under_its_iterator = Program(
        """
        items = [1, 2]
        it = iter(items)
        def fn(x):
            items.append(len(items) + 1)
            return x * next(it), next(it)
        """,
        steps=1,
    )
    position_is_no_reason_to_compile_again = Program(
        """
        items = list(range(10, 40))
        a, b, back, r = iter(items), iter(tuple(items)), reversed(items), iter(range(5, 100, 3))
        e = enumerate(iter(items), 100)
        def fn(x):
            n, value = next(e)
            return x * next(a) + next(b), next(back), next(r), n, value, b.__next__()
        """,
        steps=8,
        compiles=1,
    )
    moved_while_what_it_iterates_changes = Program(
        """
        items, table = [1, 2, 3, 4], {"a": 1, "b": 2}
        it, keys = iter(items), iter(table)
        def fn(x):
            first = next(it, "end")
            items.clear()
            second = next(it, "end")
            items.append(7)
            key = next(keys, "end")
            table["c"] = 3
            try:
                other = next(keys, "end")
            except RuntimeError as error:
                other = str(error)
            return first, second, next(it, "end"), key, other, x + 1
        """,
        steps=2,
        raises=RuntimeError,
        breaks=None,
    )
    user_code_behind_a_builtin_iterator = Program(
        """
        log = []
        class Count:
            def __init__(self): self.n = 0
            def __iter__(self): return self
            def __next__(self):
                self.n += 1
                log.append(self.n)
                return self.n
        def double(n):
            log.append(("double", n))
            return n * 2
        e, m, z = enumerate(Count()), map(double, Count()), zip(Count(), Count())
        chained = enumerate(map(double, [1, 2, 3, 4]))
        def fn(x):
            log.append("start")
            a, b, c, d = next(e), next(m), next(z), next(chained)
            log.append("end")
            return a, b, c, d, x + 1
        """,
        breaks=None,
    )
    two_names_of_one_iterator = Program(
        """
        def fn(x, a, b):
            return next(a), next(b), next(a), x + 1
        one, two = iter([1, 2, 3, 4, 5, 6, 7, 8, 9]), iter([10, 20, 30, 40])
        """,
        call="fn(x, *((one, two), (one, one), (two, one))[i])",
    )
    unpacking_takes_one_more_than_it_needs = Program(
        """
        it, short = iter([1, 2, 3, 4, 5]), iter((1, 2))
        def fn(x):
            a, b = short
            try:
                c, d = it
            except ValueError as error:
                return a, b, str(error), next(it, "end"), x + 1
        """,
        steps=1,
        breaks=None,
    )
    escaping_iterators_stay_lazy = Program(
        """
        calls = []
        def double(n):
            calls.append(n)
            return n * 2
        def fn(x):
            source = [1, 2, 3]
            return (map(double, source), filter(None, source), zip(source, "abc"), enumerate(source), iter(source),
                    reversed(source), source, x + len(calls))
        """,
        expect="calls == []",
    )
