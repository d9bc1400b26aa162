"""L01–L09: values and attributes of existing and new objects, reads while tracing, pruning, attribute protocols."""

import unittest

from harness import Program, ProgramCase


class ValueOfAnExistingObject(ProgramCase):
    row = "L01"

    every_container_reached_from_outside = Program(
        """
        from collections import deque
        items, table, seen, window = [1], {"a": 1}, {1, 2}, deque([1, 2], maxlen=3)
        def fn(x):
            items.append(len(items))
            table["n"] = table.get("n", 0) + 1
            seen.add(len(seen))
            window.append(len(items))
            return x * len(items)
        """,
        expect="items == [1, 1, 2, 3] and table == {'a': 1, 'n': 3} and list(window) == [2, 3, 4]",
    )
    reached_through_an_argument = Program(
        """
        box = {"inner": [[0]]}
        def fn(x, box):
            inner = box["inner"][0]
            inner.append(inner[-1] + 1)
            return x + inner[-1], inner
        """,
        call="fn(x, box)",
        expect="box['inner'][0] == [0, 1, 2, 3]",
    )
    iterator_and_random_reached_from_outside = Program(
        """
        import random
        it, dice = iter([10, 20, 30, 40]), random.Random(7)
        def fn(x):
            return x * next(it) + dice.randint(1, 6)
        """,
        expect="next(it) == 40",
        breaks=None,
    )


class ValueOfANewObject(ProgramCase):
    row = "L02"

    returned_containers = Program(
        """
        from collections import deque
        def fn(x):
            items = [x, 1]
            items.append(x * 2)
            table = {"items": items}
            table["again"] = items
            return table, {1, 2}, deque([items], maxlen=2), (items, table)
        """
    )
    only_one_of_two_escapes = Program(
        """
        def fn(x):
            kept, dropped = [1], [2]
            for n in range(3):
                kept.append(n)
                dropped.append(n * 2)
            return x + sum(dropped), kept
        """
    )
    stored_into_an_existing_object = Program(
        """
        box = []
        def fn(x):
            new = {"n": len(box)}
            box.append(new)
            new["later"] = [new["n"]]
            return x * 2
        """,
        expect="box[2] == {'n': 2, 'later': [2]}",
    )
    nested_in_each_other = Program(
        """
        def fn(x):
            a, b = [], {}
            a.append(b)
            b["a"] = a
            return a, b, x + 1
        """
    )


class AttributesOfAnExistingObject(ProgramCase):
    row = "L03"

    written_added_deleted = Program(
        """
        class Model:
            def __init__(self):
                self.calls, self.old = 0, "x"
        m = Model()
        def fn(x):
            m.calls += 1
            m.last = m.calls * 2
            if hasattr(m, "old"):
                del m.old
            return x * m.calls
        """,
        expect="vars(m) == {'calls': 3, 'last': 6}",
    )
    order_of_the_dictionary_is_eagers = Program(
        """
        class Box: pass
        b = Box()
        b.first, b.second = 1, 2
        def fn(x):
            b.third = 3
            del b.first
            b.first = 4
            b.second = 5
            return x + b.first
        """,
        expect="list(vars(b)) == ['second', 'third', 'first']",
    )
    tensor_attribute = Program(
        """
        class Box: pass
        b = Box()
        b.total = torch.zeros(4)
        def fn(x):
            b.total = b.total + x
            b.last = x
            return b.total * 2
        """,
        steps=(2, "b.total = torch.ones(4)", 2),
    )
    written_by_a_method_of_another_object = Program(
        """
        class Counter:
            def __init__(self): self.n = 0
            def bump(self, by=1):
                self.n += by
                return self
        class Owner:
            def __init__(self): self.counter = Counter()
            def run(self, x):
                self.counter.bump().bump(2)
                return x * self.counter.n
        o = Owner()
        def fn(x): return o.run(x)
        """,
        expect="o.counter.n == 9",
    )


class AttributesOfANewObject(ProgramCase):
    row = "L04"

    initialised_once = Program(
        """
        inits = []
        class Point:
            def __init__(self, a, b):
                inits.append((a, b))
                self.a, self.b = a, b
        def fn(x):
            p = Point(x, 2)
            p.c = p.a * p.b
            return p
        """,
        expect="len(inits) == 3",
    )
    new_with_arguments = Program(
        """
        made = []
        class Pair:
            def __new__(cls, a, b=3):
                made.append(a)
                self = super().__new__(cls)
                self.sum = a + b
                return self
            def __init__(self, a, b=3):
                self.a = a
        class Word(str):
            def __init__(self, text): self.size = len(text)
        class Number(int):
            def __new__(cls, n): return super().__new__(cls, n + 1)
        def fn(x):
            word, number = Word("abc"), Number(4)
            word.note = number
            return Pair(1), Pair(2, b=5), word, number, x + number
        """,
        expect="made == [1, 2] * 3",
    )
    new_that_returns_something_else = Program(
        """
        class Odd:
            def __new__(cls, n): return [n] if n else super().__new__(cls)
            def __init__(self, n): self.n = n
        def fn(x): return Odd(1), Odd(0), x + 1
        """
    )
    inherited_initialisers = Program(
        """
        class Base:
            def __init__(self, n): self.n = n
        class Middle(Base):
            def __init__(self, n):
                super().__init__(n + 1)
                self.middle = self.n
        class Leaf(Middle):
            kind = "leaf"
            def __init__(self, n, t):
                super().__init__(n)
                self.t = t * self.n
        def fn(x): return Leaf(1, x)
        """
    )
    stored_in_a_registry_by_init = Program(
        """
        registry = []
        class Node:
            def __init__(self, value):
                registry.append(self)
                self.value = value
        def fn(x):
            Node(1)
            last = Node(x)
            return last.value + len(registry)
        """
    )


class ReadsDuringTracing(ProgramCase):
    row = "L05"

    read_after_write = Program(
        """
        class Box: pass
        b, items, table, n = Box(), [1], {}, 0
        b.v = 1
        def fn(x):
            global n
            n += 1
            b.v = n * 10
            items[0] = b.v + 1
            table["k"] = items[0] + 1
            return x + n + b.v + items[0] + table["k"], list(items), dict(table), vars(b).copy()
        """
    )
    through_a_second_name = Program(
        """
        class Box: pass
        b = Box()
        b.items = []
        alias = b.items
        def fn(x):
            b.items.append(1)
            seen = len(alias)
            alias.append(2)
            return x * seen + len(b.items), alias is b.items
        """
    )
    negative_answers = Program(
        """
        class Box: pass
        b, table = Box(), {"a": 1}
        b.gone = 1
        def fn(x):
            out = ["a" in table, hasattr(b, "gone"), hasattr(b, "new")]
            table.pop("a", None)
            if hasattr(b, "gone"): del b.gone
            b.new = 1
            out += ["a" in table, hasattr(b, "gone"), hasattr(b, "new"), getattr(b, "gone", None), table.get("a")]
            return out, x + 1
        """
    )
    untouched_until_the_graph_has_run = Program(
        """
        class Box: pass
        b = Box()
        b.items = []
        def fn(x):
            b.items.append(1)
            b.value = 2
            return x.reshape(3, 5)
        """,
        raises=RuntimeError,
        breaks=None,
    )


class Pruning(ProgramCase):
    row = "L06"

    nothing_is_constructed = Program(
        """
        class Temp:
            def __init__(self, v): self.v = v
        def fn(x):
            t = Temp([1, 2])
            t.v.append(3)
            d = {"t": t}
            d["u"] = Temp(len(t.v))
            return x * d["u"].v
        """,
        compiles=1,
    )
    escapes_on_one_path_only = Program(
        """
        class Temp: pass
        kept = []
        def fn(x, keep):
            t = Temp()
            t.v = x * 2
            if keep:
                kept.append(t)
            return t.v
        """,
        call="fn(x, i % 2 == 1)",
        steps=4,
    )
    with_del_is_not_pruned = Program(
        """
        class Temp:
            def __init__(self, name): self.name = name
            def __del__(self): print("del", self.name)
        def fn(x):
            t = Temp("a")
            u = Temp("b")
            print("made")
            t = None
            print("after")
            return x + 1
        """,
        breaks=None,
    )

    def test_L06_rewritten_bytecode_constructs_nothing(self):
        """The rewritten code of a function whose new objects do not escape stores nothing and builds no container."""
        import thirdbook
        from harness import EAGER_ONLY, World
        if EAGER_ONLY:
            self.skipTest("bytecode needs compile")
        namespace = World(vars(Pruning)["nothing_is_constructed"], lambda f, **o: f)
        namespace.run()
        report = thirdbook.explain(namespace._fn)(thirdbook.arange(4.0)).report
        rewritten = str(report["compilations"][0]["bytecode"]["rewritten"])
        for operation in ("STORE_ATTR", "BUILD_MAP", "BUILD_LIST", "Temp", "LIST_APPEND", "STORE_SUBSCR"):
            self.assertNotIn(operation, rewritten)


if __name__ == "__main__":
    unittest.main()
