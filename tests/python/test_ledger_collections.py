"""L14 and L15: OrderedDict, defaultdict, Counter, ChainMap; subclasses of the built-in containers; namedtuple."""

import unittest

from harness import Program, ProgramCase


class StandardMappings(ProgramCase):
    row = "L14"

    move_to_end_alone = Program(
        """
        from collections import OrderedDict
        d = OrderedDict(a=1, b=2, c=3)
        def fn(x):
            d.move_to_end("a")
            return x + d["a"]
        """,
        steps=2,
        expect="list(d) == ['b', 'c', 'a']",
    )
    ordered_dict_methods = Program(
        """
        from collections import OrderedDict
        d = OrderedDict([("a", 1), ("b", 2), ("c", 3)])
        def fn(x):
            d.move_to_end("c", last=False)
            d["d"] = 4
            first = d.popitem(last=False)
            last = d.popitem()
            d["c"] = d.pop("a", 0) + 1
            d.setdefault("a", 10)
            return first, last, list(reversed(d)), d == OrderedDict(d), x + len(d)
        """
    )
    least_recently_used_cache = Program(
        """
        from collections import OrderedDict
        class Cache:
            def __init__(self, size): self.size, self.store = size, OrderedDict()
            def get(self, key, make):
                if key in self.store:
                    self.store.move_to_end(key)
                    return self.store[key]
                value = self.store[key] = make()
                if len(self.store) > self.size:
                    self.store.popitem(last=False)
                return value
        cache = Cache(2)
        def fn(x, key): return cache.get(key, lambda: x * key)
        """,
        call="fn(x, (1, 2, 1, 3, 1)[i])",
        steps=5,
        expect="list(cache.store) == [3, 1]",
    )
    default_dict_inserts_missing_keys = Program(
        """
        from collections import defaultdict
        lists, counts, nested = defaultdict(list), defaultdict(int), defaultdict(lambda: defaultdict(int))
        def fn(x):
            lists["a"].append(1)
            lists["b"]
            counts["n"] += 1
            nested["p"]["q"] += len(lists["a"])
            found = lists.get("none"), "none" in lists
            return found, x * counts["n"]
        """,
        expect="list(lists) == ['a', 'b'] and nested['p']['q'] == 6",
    )
    default_factory_with_effects = Program(
        """
        from collections import defaultdict
        made = []
        def factory():
            made.append(len(made))
            return [len(made)]
        d = defaultdict(factory)
        def fn(x, key):
            d[key].append("x")
            d[key].append("y")
            return x * len(made)
        """,
        call="fn(x, 'ab'[i % 2])",
    )
    default_factory_none_raises = Program(
        """
        from collections import defaultdict
        d = defaultdict(None, a=1)
        def fn(x):
            try:
                d["z"]
            except KeyError as error:
                return error.args, x + d["a"]
        """
    )
    counter = Program(
        """
        from collections import Counter
        c = Counter("abca")
        def fn(x):
            c["a"] += 1
            c.update("bz")
            c.subtract({"b": 1})
            missing = c["nothing"]
            return missing, c.most_common(1), c.total(), "nothing" in c, x + c["a"]
        """
    )
    counter_arithmetic = Program(
        """
        from collections import Counter
        c = Counter(a=2, b=1)
        same = c
        def fn(x):
            global c
            c += Counter(a=1)
            return c + Counter(b=5), c - Counter(a=1), c | Counter(z=1), c & Counter(a=1), c is same, x + c["a"]
        """
    )
    chain_map = Program(
        """
        from collections import ChainMap
        first, second = {"a": 1}, {"a": 2, "b": 3}
        chain = ChainMap(first, second)
        def fn(x):
            chain["b"] = chain["b"] + 1
            child = chain.new_child({"c": 0})
            child["c"] = 5
            second["deep"] = 1
            return chain["deep"], child["a"], child.maps[0], x * chain["b"]
        """,
        breaks=None,
    )


class Subclasses(ProgramCase):
    row = "L15"

    built_in_tuple_subclass_kept = Program(
        """
        log = []
        class Pair(tuple):
            def __new__(cls, a, b): return tuple.__new__(cls, (b, a))
        def fn(x):
            log.append(x.shape)
            log.append([x.reshape(2, 2).shape, Pair(x.shape, 1)])
            return x, x.shape
        """,
        expect="type(log[0]) is torch.Size",
    )
    list_subclass_with_override = Program(
        """
        class Logged(list):
            log = []
            def append(self, item):
                self.log.append(item)
                super().append(item * 2)
        items = Logged([1])
        items.note = "n"
        def fn(x):
            items.append(3)
            items.extend([4])
            items.note = len(items)
            return x * len(items), type(items[:]) is list
        """,
        expect="items == [1, 6, 4, 6, 4, 6, 4] and len(Logged.log) == 3",
    )
    dict_subclass_with_overrides = Program(
        """
        class Lower(dict):
            def __setitem__(self, key, value): super().__setitem__(key.lower(), value)
            def __getitem__(self, key): return super().__getitem__(key.lower())
            def __missing__(self, key): return "missing " + key
        d = Lower()
        def fn(x):
            d["A"] = d["N"] if "n" in d else 1
            d.update(B=2)
            d["n"] = len(d)
            return d["a"], d["zz"], d.get("zz"), x + d["N"]
        """
    )
    missing_stores = Program(
        """
        class Squares(dict):
            def __missing__(self, n):
                value = self[n] = n * n
                return value
        s = Squares()
        def fn(x): return x * s[3] + s[3], list(s)
        """
    )
    set_subclass_keeps_its_type = Program(
        """
        class Tags(set):
            def add(self, tag):
                super().add(tag.upper())
        t = Tags()
        t.n = 0
        same = t
        def fn(x):
            global t
            t.add("a")
            t |= {"b"}
            t.n += len(t)
            return type(t | {"c"}), type(t.copy()), x + len(t)
        """,
        expect="t is same and type(t) is Tags",
    )
    tuple_subclass = Program(
        """
        class Pair(tuple):
            def __new__(cls, a, b): return super().__new__(cls, (a, b))
            @property
            def sum(self): return self[0] + self[1]
        def fn(x):
            p = Pair(1, 2)
            p.extra = x
            return p, p.sum, p + (3,), type(p[:]), x * p.sum
        """
    )
    deque_subclass = Program(
        """
        from collections import deque
        class Window(deque):
            dropped = 0
            def append(self, item):
                if len(self) == self.maxlen:
                    self.dropped += 1
                super().append(item)
        w = Window(maxlen=2)
        def fn(x):
            w.append(x * len(w))
            return w.dropped, w[0]
        """,
        steps=4,
        expect="w.dropped == 2",
    )
    new_subclass_instances_escape = Program(
        """
        class L(list): pass
        class D(dict): pass
        class S(set): pass
        def fn(x):
            l, d, s = L([1]), D(a=1), S([1])
            l.append(d)
            l.tag = s
            d["l"] = l
            s.add(2)
            return l, d, s, x + 1
        """
    )
    mutable_mapping = Program(
        """
        from collections.abc import MutableMapping
        class Store(MutableMapping):
            def __init__(self): self.data, self.ops = {}, []
            def __getitem__(self, key): return self.data[key]
            def __setitem__(self, key, value):
                self.ops.append(key)
                self.data[key] = value
            def __delitem__(self, key): del self.data[key]
            def __iter__(self): return iter(self.data)
            def __len__(self): return len(self.data)
        s = Store()
        def fn(x):
            s["a"] = 1
            s.update(b=2)
            s.setdefault("c", []).append(1)
            popped = s.pop("a")
            return popped, "b" in s, list(s.items()), x * len(s)
        """
    )
    user_dict_and_user_list = Program(
        """
        from collections import UserDict, UserList
        d, l = UserDict(a=1), UserList([1])
        def fn(x):
            global l
            d["b"] = len(d)
            l.append(d["b"])
            l += [2]
            return x * len(l), "a" in d
        """,
        breaks=None,
    )
    namedtuple = Program(
        """
        from collections import namedtuple
        Point = namedtuple("Point", "a b", defaults=(5,))
        p = Point(1, 2)
        def fn(x):
            q = p._replace(a=x)
            r = Point(p.a + 1)
            first, second = r
            return q, r, r._asdict(), Point._fields, first + second, r == (2, 5), x * q.b
        """,
        breaks=None,
    )
    typed_named_tuple_with_methods = Program(
        """
        from typing import NamedTuple
        class Size(NamedTuple):
            w: int
            h: int = 2
            def area(self): return self.w * self.h
        sizes = []
        def fn(x):
            s = Size(len(sizes) + 1)
            sizes.append(s)
            return x * s.area(), s
        """
    )
    override_that_refuses = Program(
        """
        class Sealed(list):
            def append(self, item): raise TypeError("sealed")
        s = Sealed([1])
        def fn(x):
            s.insert(0, 5)
            try:
                s.append(2)
            except TypeError as error:
                s.extend([str(error)])
            return x + len(s)
        """
    )
    user_iteration_and_length = Program(
        """
        class Odd(list):
            def __iter__(self): return (n for n in list.__iter__(self) if n % 2)
            def __len__(self): return 100
        o = Odd([1, 2, 3])
        def fn(x):
            o.append(5)
            return list(o), len(o), [n for n in o], x * len(o), bool(o)
        """
    )


if __name__ == "__main__":
    unittest.main()
