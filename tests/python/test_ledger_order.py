"""L33–L36: replay order, aliasing, mutation around graph breaks, cycles."""

import unittest

from harness import Program, ProgramCase


class ReplayOrder(ProgramCase):
    row = "L33"

    across_objects = Program(
        """
        order = []
        class Spy:
            def __init__(self, name): self.__dict__["name"] = name
            def __setattr__(self, key, value):
                order.append((self.name, key, value))
                self.__dict__[key] = value
        a, b = Spy("a"), Spy("b")
        def fn(x):
            a.p = 1
            b.p = 2
            a.q = 3
            b.p = 4
            a.p = 5
            return x * len(order)
        """,
        expect="[o[:2] for o in order[:5]] == [('a', 'p'), ('b', 'p'), ('a', 'q'), ('b', 'p'), ('a', 'p')]",
    )
    insertion_order_of_interleaved_dicts = Program(
        """
        first, second = {}, {}
        def fn(x):
            for key in ("a", "b", "c"):
                first[key] = len(second)
                second[key.upper()] = len(first)
            first["a"] = first.pop("a") + 1
            return x + len(first), list(first)
        """
    )
    properties_that_record = Program(
        """
        log = []
        class Box:
            @property
            def v(self): return self._v
            @v.setter
            def v(self, value):
                log.append(("set", value, len(items)))
                self._v = value
        b, items = Box(), []
        def fn(x):
            items.append(1)
            b.v = 1
            items.append(2)
            b.v = b.v + 1
            return x * b.v
        """
    )
    hash_and_eq_that_record = Program(
        """
        log = []
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self):
                log.append(("hash", self.n, len(table)))
                return 7
            def __eq__(self, other):
                log.append(("eq", self.n, other.n))
                return self.n == other.n
        table, one, two = {}, Key(1), Key(2)
        def fn(x):
            table[one] = len(log)
            table[two] = len(log)
            return one in table, x + len(table)
        """,
        breaks=None,
    )
    printed_between_mutations = Program(
        """
        items = []
        def fn(x):
            items.append(1)
            print("one", items)
            items.append(x.sum().item())
            print("two", items)
            return x + len(items)
        """,
        breaks=None,
    )
    finalizer_runs_in_its_place = Program(
        """
        log = []
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        holder = {"t": Thing("outer")}
        def fn(x):
            log.append("start")
            holder["t"] = Thing("new")
            log.append("replaced")
            t = Thing("local")
            log.append("made")
            del t
            log.append("end")
            return x + 1
        """,
        breaks=None,
    )
    finalizer_of_a_value_that_comes_later = Program(
        """
        log = []
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): log.append(("del", self.name, len(log)))
        class Box:
            item = None
        b, table, rows = Box(), {"t": None}, [None, 1]
        def fn(x):
            log.append("start")
            b.item = None
            log.append("attribute")
            table["t"] = None
            log.append("key")
            rows[0] = None
            log.append("row")
            return x + 1
        """,
        steps=(2, "b.item, table['t'], rows[0] = Thing('a'), Thing('k'), Thing('r')", 1,
               "b.item, table['t'], rows[0] = [Thing('a')], {'x': Thing('k')}, (Thing('r'),)", 2),
        breaks=None,
    )
    finalizer_of_a_local_that_is_dropped = Program(
        """
        log = []
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def inner(t, again):
            log.append("in")
            return t.name + again.name
        def fn(x):
            one, two = Thing("one"), Thing("two")
            log.append(inner(one, two))
            one, two = two, one
            log.append(Thing("three").name)
            one = two
            log.append("kept the first")
            pair = (one, 1)
            del one, two
            log.append("in a pair")
            pair = [pair]
            log.append("in a list")
            pair.pop()
            log.append("end")
            return x + 1
        """,
        breaks=None,
    )
    finalizer_of_a_temporary_argument = Program(
        """
        log = []
        class Thing:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def inner(t, again):
            log.append("in")
            name = t.name
            t = again
            log.append(name)
            del t, again
            log.append("out")
            return name
        def fn(x):
            inner(Thing("one"), Thing("two"))
            log.append(Thing("three").name)
            log.append("end")
            return x + 1
        """,
        breaks=None,
    )
    weak_reference_dies_in_its_place = Program(
        """
        import weakref
        class Thing: pass
        log = []
        box = {}
        def fn(x):
            log.append("start")
            box["t"] = None
            log.append("end")
            return x + 1
        """,
        steps=("box['t'] = Thing(); r = weakref.ref(box['t'], lambda _: log.append('gone'))", 1,
               "box['t'] = Thing(); r = weakref.ref(box['t'], lambda _: log.append('gone'))", 2),
        breaks=None,
    )
    last_write_wins_and_delete_after_write = Program(
        """
        class Box: pass
        b, table = Box(), {}
        def fn(x):
            b.a = 1
            table["a"] = b.a
            del b.a
            table["a"] = 2
            table["b"] = 3
            del table["a"]
            b.b = 1
            b.a = table
            return x + len(vars(b))
        """
    )


class Aliasing(ProgramCase):
    row = "L34"

    one_object_many_sources = Program(
        """
        items = [1]
        class Box: pass
        b, table = Box(), {}
        b.items = table["items"] = items
        def fn(x, given):
            given.append(2)
            b.items.append(3)
            table["items"].append(4)
            items.append(5)
            return x * len(given), b.items is given, given is items
        """,
        call="fn(x, items)",
        steps=2,
    )
    aliased_on_the_second_call_only = Program(
        """
        p, q = [1], [2]
        def fn(a, b):
            a.append(10)
            b.append(20)
            return len(a), a is b, torch.ones(2) * len(b)
        """,
        call="fn(*((p, q), (p, p), (p, q), (q, q))[i])",
        steps=4,
    )
    identity_of_user_objects = Program(
        """
        class Thing: pass
        a, b = Thing(), Thing()
        a.n = b.n = 0
        def fn(p, q, x):
            p.n += 1
            if p is q:
                return x * 2, q.n
            q.n += 10
            return x + q.n, p is not q
        """,
        call="fn(*((a, b), (a, a), (b, b), (a, b))[i], x)",
        steps=4,
    )
    dictionaries_and_sets_alias = Program(
        """
        d1, d2, s1 = {}, {}, {1}
        def fn(a, b, s, t):
            a["k"] = len(b)
            b["k"] = len(a) + 1
            s.add(2)
            t.discard(1)
            return a["k"], len(s), torch.ones(1) * a["k"]
        """,
        call="fn(*((d1, d2, s1, {1}), (d1, d1, s1, s1))[i])",
        steps=2,
    )
    tensors_alias = Program(
        """
        a, b = torch.zeros(4), torch.ones(4)
        def fn(p, q):
            r = p + q
            return r, p is q, [p] + ([q] if p is not q else [])
        """,
        call="fn(*((a, b), (a, a), (b, a))[i])",
    )
    object_reached_through_itself = Program(
        """
        class Node: pass
        n = Node()
        n.me, n.v = n, 0
        def fn(x, other):
            n.me.me.v += 1
            other.v += 10
            return x + n.v, n.me is other
        """,
        call="fn(x, n)",
    )
    function_and_bound_methods = Program(
        """
        class Box:
            def __init__(self): self.n = 0
            def bump(self):
                self.n += 1
                return self.n
        b = Box()
        bump = b.bump
        def fn(x, f):
            f()
            bump()
            return x * b.n, f == bump, f is bump
        """,
        call="fn(x, b.bump)",
    )
    default_argument_aliases_a_global = Program(
        """
        items = []
        def helper(v, into=items):
            into.append(v)
            return len(items)
        def fn(x): return x * helper(1), helper(2)
        """
    )
    aliases_made_inside = Program(
        """
        def fn(x):
            a = []
            b = c = a
            d = {"a": a, "b": b}
            d["a"].append(1)
            c.append(2)
            e = list(a)
            e.append(3)
            return a, b is a, d, e, x + len(b)
        """
    )


class AroundBreaks(ProgramCase):
    row = "L35"

    mutate_break_mutate = Program(
        """
        items, n = [], 0
        class Box: pass
        b = Box()
        def fn(x):
            global n
            items.append("before")
            n += 1
            b.v = x * n
            torch.graph_break()
            items.append(("after", len(items)))
            n += 10
            b.w = b.v + n
            return b.w
        """,
        breaks=1,
    )
    in_an_inlined_call = Program(
        """
        log = []
        def inner(x):
            log.append("in")
            torch.graph_break()
            log.append("in again")
            return x * 2
        def middle(x):
            log.append("middle")
            y = inner(x) + 1
            log.append("middle again")
            return y
        def fn(x):
            log.append("start")
            y = middle(x)
            log.append("end")
            return y
        """,
        breaks=None,
    )
    in_a_loop = Program(
        """
        log = []
        def fn(x):
            total = x
            for n in range(4):
                log.append(n)
                total = total + n
                if n % 2:
                    torch.graph_break()
                log.append(-n)
            return total
        """,
        breaks=None,
    )
    in_with_and_try = Program(
        """
        log = []
        class Scope:
            def __enter__(self): log.append("enter")
            def __exit__(self, *exc): log.append("exit")
        def fn(x):
            with Scope():
                log.append(1)
                torch.graph_break()
                log.append(2)
            try:
                log.append(3)
                torch.graph_break()
                {}["missing"]
            except KeyError:
                log.append(4)
                torch.graph_break()
                log.append(5)
            finally:
                torch.graph_break()
                log.append(6)
            return x * len(log)
        """,
        breaks=None,
    )
    untraceable_read_sees_the_settled_world = Program(
        """
        items = []
        class Box: pass
        b = Box()
        b.n = 0
        @torch.disable
        def look(): return len(items), b.n, dict(vars(b))
        def fn(x):
            items.append(1)
            b.n += 1
            seen = look()
            items.append(seen)
            b.n *= 10
            return x * b.n, look()
        """,
        breaks=None,
    )
    untraceable_write_is_seen_afterwards = Program(
        """
        items, n = [1], 0
        class Box: pass
        b = Box()
        b.v = 1
        @torch.disable
        def change():
            global n
            items.append(len(items))
            b.v += 100
            n += 5
        def fn(x):
            global n
            items.append("a")
            b.v += 1
            n += 1
            change()
            items.append(b.v)
            b.v += n
            return x * b.v, len(items), n
        """,
        breaks=None,
    )
    new_objects_live_across_a_break = Program(
        """
        class Node:
            def __init__(self, v): self.v = v
        def fn(x):
            n, items = Node(x * 2), [1]
            pair = (n, items)
            torch.graph_break()
            items.append(n.v + 1)
            pair[0].w = items
            return n, pair
        """,
        breaks=1,
    )
    cells_live_across_a_break = Program(
        """
        def fn(x):
            n = 1
            def bump():
                nonlocal n
                n += 1
                return n
            bump()
            torch.graph_break()
            bump()
            later = lambda: n
            torch.graph_break()
            return x * bump(), later(), bump
        """,
        breaks=None,
    )
    values_on_the_stack = Program(
        """
        log = []
        def side(v):
            log.append(v)
            torch.graph_break()
            return v
        def fn(x):
            return [side(1), side(2) + side(3), {side(4): side(5)}], x * side(6), f"{side(7)}-{side(8)}"
        """,
        breaks=None,
    )
    data_dependent_branch = Program(
        """
        log = []
        def fn(x):
            log.append("before")
            if x.sum() > 3:
                log.append("big")
                y = x * 2
            else:
                log.append("small")
                y = x - 1
            log.append("after")
            return y
        """,
        call="fn(x if i % 2 else x * 0)",
        steps=4,
        breaks=None,
    )


class Cycles(ProgramCase):
    row = "L36"

    list_in_itself = Program(
        """
        items = []
        def fn(x):
            items.append(items)
            items[-1].append(len(items))
            new = [1]
            new.append(new)
            return new, x + len(items)
        """
    )
    parent_and_child = Program(
        """
        class Node:
            def __init__(self, parent=None):
                self.parent, self.children = parent, []
                if parent is not None:
                    parent.children.append(self)
        root = Node()
        def fn(x):
            child = Node(root)
            grand = Node(child)
            grand.value = x * len(root.children)
            return grand.value
        """,
        expect="len(root.children) == 3 and root.children[2].children[0].parent is root.children[2]",
    )
    dictionary_cycle_through_new_objects = Program(
        """
        def fn(x):
            a, b, c = {}, [], set()
            a["b"], a["self"] = b, a
            b += [a, b]
            t = (a, b)
            a["t"] = t
            return t, x + len(b)
        """
    )
    cycle_through_a_cell = Program(
        """
        def fn(x):
            def walk(n): return n if n <= 0 else walk(n - 1)
            walk.me = walk
            return walk, x + walk(3)
        """
    )
    linked_list_grown_at_both_ends = Program(
        """
        class Node:
            def __init__(self, v): self.v, self.next, self.prev = v, None, None
        head = tail = Node(0)
        def fn(x):
            global tail, head
            new = Node(tail.v + 1)
            tail.next, new.prev, tail = new, tail, new
            first = Node(head.v - 1)
            first.next, head.prev = head, first
            head = first
            return x * tail.v
        """
    )
    self_referring_default_dict = Program(
        """
        from collections import defaultdict
        def tree(): return defaultdict(tree)
        t = tree()
        def fn(x):
            t["a"]["b"]["c"] = x
            t["up"] = t
            t["up"]["a"]["n"] = 1
            return x + len(t)
        """
    )


if __name__ == "__main__":
    unittest.main()
