"""L10–L13: every mutating operation of list, dict, set and deque, on objects that live outside the function."""

import unittest

from harness import Program, ProgramCase


class Lists(ProgramCase):
    row = "L10"

    items_and_slices = Program(
        """
        items = [0, 1, 2, 3, 4, 5]
        same = items
        def fn(x):
            items[0] = x
            items[-1] = "last"
            items[1:3] = ["a", "b", "c"]
            items[::2] = [10] * len(items[::2])
            items[2:2] = [7]
            return x * len(items), items[1:4], items[-2]
        """,
        steps=2,
        expect="items is same",
    )
    growing_and_shrinking = Program(
        """
        items = [3, 1, 2]
        def fn(x):
            items.append(4)
            items.extend(n for n in (5, 6))
            items.insert(0, -1)
            items.insert(-1, 99)
            popped = items.pop(), items.pop(0)
            items.remove(99)
            return popped, x + len(items)
        """
    )
    sorted_and_reversed = Program(
        """
        items = [3, 1, 2]
        words = ["bb", "a", "ccc"]
        def fn(x):
            items.append(len(items) % 3)
            items.sort()
            words.sort(key=len, reverse=True)
            words.sort(key=lambda w: w[-1])
            items.reverse()
            return x * items[0], words[0]
        """
    )
    sort_is_stable_and_keys_run_once = Program(
        """
        seen = []
        items = [(2, "a"), (1, "b"), (2, "c"), (1, "d")]
        def key(item):
            seen.append(item[1])
            return item[0]
        def fn(x):
            items.sort(key=key)
            return x + len(seen)
        """,
        steps=2,
    )
    in_place_operators = Program(
        """
        items = [1]
        same = items
        class Box: pass
        b = Box()
        b.items = items
        table = {"items": items}
        def fn(x):
            global items
            items += [2]
            b.items += (3,)
            table["items"] *= 2
            local = items
            local += "z"
            return local is same, x + len(items)
        """,
        steps=2,
        expect="items is same and b.items is same and table['items'] is same",
    )
    deletes_and_clear = Program(
        """
        items, other = [0, 1, 2, 3, 4, 5, 6], [1, 2]
        def fn(x):
            del items[0]
            del items[-1]
            del items[1:3]
            other.clear()
            other.append(len(items))
            return x * len(items)
        """,
        steps=1,
        expect="items == [1, 4, 5] and other == [3]",
    )
    searches = Program(
        """
        items = [1, "a", 2.0, None, 1, True]
        def fn(x):
            items.append(2)
            return items.index(2), items.count(1), "a" in items, 7 in items, items.index(1, 2), x + len(items)
        """
    )
    refused_operations = Program(
        """
        items = []
        def fn(x):
            out = []
            for action in (lambda: items.pop(), lambda: items.remove(1), lambda: items[3], lambda: items.index(0),
                           lambda: items.__setitem__(5, 1)):
                try:
                    action()
                except (IndexError, ValueError) as error:
                    out.append((type(error), str(error)))
            items.append(1)
            return out, x + 1
        """,
        steps=1,
    )
    copies_are_new = Program(
        """
        items = [[1], [2]]
        def fn(x):
            shallow, sliced, added, doubled = items.copy(), items[:], items + [3], items * 2
            shallow.append(0)
            sliced[0].append(9)
            return shallow, sliced, added, doubled, x * len(items[0])
        """
    )
    compared_and_unpacked = Program(
        """
        items = [1, 2, 3]
        def fn(x):
            items.append(4)
            a, *rest = items
            return items == [1, 2, 3, 4], items < [2], rest, [*items, *rest], x + a
        """
    )
    of_tensors = Program(
        """
        history = []
        def fn(x):
            y = x * (len(history) + 1)
            history.append(y)
            history.insert(0, x)
            if len(history) > 3:
                history.pop()
            return y, history[0] is x
        """
    )


class Dicts(ProgramCase):
    row = "L11"

    items = Program(
        """
        table = {"a": 1, "b": 2}
        def fn(x):
            table["c"] = 3
            table["a"] = table["a"] + 1
            del table["b"]
            table["b"] = 5
            return x * table["a"], list(table), list(table.values()), list(table.items())
        """,
        expect="list(table) == ['a', 'c', 'b']",
    )
    presence_of_what_was_stored_unread = Program(
        """
        table, other, box, start = {"b": 2}, {"q": 7}, [1, 2], 9
        def fn(x, given):
            table["a"] = other["q"]
            table["c"] = given
            table["d"] = start
            table["e"] = box[0]
            known = ["a" in table, "c" in table, "d" in table, "e" in table, "b" in table, "z" in table]
            return x, known, table.__contains__("a"), table.__contains__("q")
        """,
        call="fn(x, i)",
        steps=(2, "table.clear()", 2, "other['q'] = 'x'; table['q'] = 1", 2),
        breaks=None,
    )
    update_in_every_form = Program(
        """
        table = {}
        def fn(x):
            table.update({"a": 1})
            table.update([("b", 2), ("c", x)])
            table.update(d=4, a=5)
            table.update({"e": 1}, f=2)
            return x + len(table)
        """
    )
    pop_and_setdefault = Program(
        """
        table = {"a": 1, "b": 2, "c": 3}
        def fn(x):
            out = [table.pop("a", None), table.pop("missing", "d"), table.popitem()]
            out.append(table.setdefault("n", []))
            table["n"].append(len(table))
            out.append(table.setdefault("n", "unused"))
            table["a"] = 0
            return out, x + 1
        """
    )
    evicted_by_changing_keys = Program(
        """
        seen, counts = {n: str(n) for n in range(20)}, dict.fromkeys("abcdef", 0)
        def fn(x, n):
            gone = seen.pop(n)
            del seen[n + 10]
            counts["a"] += 1
            del counts["b"]
            counts["b"] = n
            return gone, n in seen, seen.pop(n, "none"), seen.get(n + 10), list(counts), x + 1
        """,
        call="fn(x, i)",
        steps=4,
        compiles=None,
    )
    missing_key_is_deleted = Program(
        """
        table = {"a": 1}
        def fn(x):
            out = []
            for key in ("a", "b", "a"):
                try:
                    del table[key]
                    out.append(key)
                except KeyError as error:
                    out.append(error.args)
            table["z"] = len(table)
            return out, table.pop("q", None), x + 1
        """
    )
    cleared_and_filled = Program(
        """
        table = {"a": 1, "b": 2}
        view = table.keys()
        def fn(x):
            table.clear()
            table["z"] = 1
            table["a"] = 2
            return len(view), list(view), x + 1
        """,
        expect="list(table) == ['z', 'a']",
    )
    in_place_or = Program(
        """
        table, other = {"a": 1}, {"b": 2, "a": 3}
        same = table
        def fn(x):
            global table
            table |= other
            merged = table | {"c": 4}
            table |= [("d", len(merged))]
            return merged, x + 1
        """,
        expect="table is same and list(table) == ['a', 'b', 'd']",
    )
    live_views = Program(
        """
        table = {"a": 1}
        keys, values, items = table.keys(), table.values(), table.items()
        def fn(x):
            before = len(keys)
            table["n" + str(before)] = before
            inner = table.values()
            table["last"] = 0
            return before, len(keys), list(values), ("a", 1) in items, list(inner), sorted(keys & {"a", "z"}), x + 1
        """
    )
    keys_of_all_kinds = Program(
        """
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self): return hash(self.n)
            def __eq__(self, other): return isinstance(other, Key) and self.n == other.n
        k, table = Key(1), {}
        def fn(x):
            table[k] = "k"
            table[Key(1)] = "same"
            table[1] = "int"
            table[True] = "true"
            table[1.0] = "float"
            table[(1, "a")] = x
            table[None] = table[frozenset({1})] = 0
            return len(table), x + 1
        """
    )
    first_key_object_stays = Program(
        """
        table = {1: "int"}
        def fn(x):
            table[True] = "bool"
            table[1.0] = "float"
            return list(table), x + len(table)
        """,
        expect="type(next(iter(table))) is int",
    )
    refused_operations = Program(
        """
        table = {}
        def fn(x):
            out = []
            try:
                table["missing"]
            except KeyError as error:
                out.append(error.args)
            try:
                del table["gone"]
            except KeyError as error:
                out.append(error.args)
            try:
                table.popitem()
            except KeyError as error:
                out.append(error.args)
            try:
                table[[]] = 1
            except TypeError as error:
                out.append(str(error))
            table["ok"] = 1
            table.pop("ok")
            return out, x + 1
        """
    )
    made_from_others = Program(
        """
        table = {"a": 1, "b": 2}
        def fn(x):
            copied, made = table.copy(), dict(table, c=3)
            keyed = dict.fromkeys(table, 0)
            comprehended = {k: v * 2 for k, v in table.items() if v > 1}
            zipped = dict(zip("xy", (1, 2)))
            copied["z"] = 1
            return copied, made, keyed, comprehended, zipped, {**table, "a": 9}, x + 1
        """
    )
    changed_while_iterated = Program(
        """
        table = {"a": 1, "b": 2}
        def fn(x):
            for key in table:
                table[key + "!"] = 0
            return x
        """,
        raises=RuntimeError,
        breaks=None,
    )
    operators_on_views_that_were_there = Program(
        """
        table = {"a": 1, "b": 2}
        keys, items = table.keys(), table.items()
        def fn(x, name):
            table[name] = len(table)
            return (sorted(keys & {"a", name}), sorted(keys | ["z"]), sorted(keys - {"a"}), sorted(keys ^ table.keys()),
                    sorted({"a", "q"} & keys), sorted(items & {("a", 1)}), keys == {"a", "b"}, keys <= set(table), x)
        """,
        call="fn(x, 'n' + str(i))",
        steps=(3,),
        breaks=None,
    )


class Sets(ProgramCase):
    row = "L12"

    methods = Program(
        """
        seen = {1, 2, 3}
        def fn(x):
            seen.add(len(seen) + 10)
            seen.discard(2)
            seen.discard(77)
            if 1 in seen:
                seen.remove(1)
            seen.update([4, 5], (6,))
            return x * len(seen), sorted(seen), 4 in seen
        """
    )
    in_place_operators = Program(
        """
        a, b = {1, 2, 3, 4}, {3, 4, 5}
        same = a
        def fn(x):
            global a
            a |= {9}
            a -= {1}
            a &= {2, 3, 9, 10}
            a ^= {3, 11}
            b.difference_update({5})
            b.intersection_update({3, 4, 7})
            b.symmetric_difference_update({4, 8})
            return x + len(a), sorted(b)
        """,
        expect="a is same",
    )
    order_is_that_of_the_table = Program(
        """
        grown = set(range(40))
        for n in range(2, 39):
            grown.discard(n)
        grown |= {"a", "b", "c"}
        taken = []
        def fn(x):
            made = set(range(30))
            made -= set(range(3, 29))
            grown.symmetric_difference_update({100, 8, 16, 24})
            other = grown & {100, 8, 1, 0, "a", "b"}
            taken.append(grown.pop())
            grown.add(64)
            made.add(8)
            return list(grown), made, list(made), other, list(other), made.pop(), frozenset(grown), x + 1
        """,
        steps=(4, "grown = set(list(grown)); taken.clear()", 3),
    )
    new_sets = Program(
        """
        a = {1, 2, 3}
        def fn(x):
            a.add(4)
            f = frozenset(a)
            return a | {9}, a & f, a - {1}, a ^ {1, 7}, f <= a, a.isdisjoint({8}), f, a.union([5]), x + len(f)
        """
    )
    frozenset_in_place_makes_a_new_one = Program(
        """
        f = frozenset({1})
        first = f
        def fn(x):
            global f
            f |= {len(f) + 1}
            return f is first, x + len(f)
        """
    )
    pop_and_clear = Program(
        """
        one, many = {5}, {1, 2}
        def fn(x):
            out = one.pop()
            many.clear()
            one.add(out + 1)
            try:
                many.pop()
            except KeyError as error:
                return out, str(error), x + 1
        """
    )
    of_strings_and_objects = Program(
        """
        class Thing: pass
        t = Thing()
        seen = set()
        def fn(x):
            seen.add("word")
            seen.add(t)
            seen.add((1, "a"))
            other = Thing()
            return t in seen, other in seen, len(seen), x + 1
        """
    )
    user_hash_and_eq_run_as_in_eager = Program(
        """
        log = []
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self):
                log.append(("hash", self.n))
                return 1
            def __eq__(self, other):
                log.append(("eq", self.n, other.n))
                return self.n == other.n
        seen, keys = set(), [Key(1), Key(2), Key(1)]
        def fn(x):
            for key in keys:
                seen.add(key)
            return x * len(seen)
        """,
        breaks=None,
    )


class Deques(ProgramCase):
    row = "L13"

    methods = Program(
        """
        from collections import deque
        d = deque([1, 2, 3])
        def fn(x):
            d.append(4)
            d.appendleft(0)
            d.extend([5, 6])
            d.extendleft([-1, -2])
            out = d.pop(), d.popleft()
            d.rotate(2)
            d.insert(1, 99)
            d.remove(99)
            d.reverse()
            return out, x * len(d), d[0], d.count(4), d.index(4)
        """
    )
    bounded = Program(
        """
        from collections import deque
        window = deque(maxlen=3)
        def fn(x):
            window.append(len(window))
            window.extend([7, 8])
            window.appendleft("left")
            return x * len(window), window.maxlen, list(window)
        """,
        steps=4,
    )
    bounded_deque_of_tensors = Program(
        """
        from collections import deque
        window = deque(maxlen=2)
        def fn(x):
            window.append(x * (len(window) + 1))
            return sum(window)
        """,
        steps=4,
    )
    rotate_both_ways = Program(
        """
        from collections import deque
        d = deque("abcde")
        def fn(x):
            d.rotate()
            d.rotate(-3)
            d.rotate(7)
            return "".join(d), x + 1
        """
    )
    items_and_deletes = Program(
        """
        from collections import deque
        d = deque([1, 2, 3, 4])
        def fn(x):
            d[0] = x
            d[-1] = "last"
            del d[1]
            d.append(5)
            copied = d.copy()
            copied.clear()
            return len(copied), x + len(d)
        """
    )
    in_place_and_new = Program(
        """
        from collections import deque
        d = deque([1], maxlen=4)
        same = d
        def fn(x):
            global d
            d += [2, 3]
            made = d + deque([9])
            doubled = d * 2
            return made, doubled, d is same, x + 1
        """
    )
    full_insert_is_refused = Program(
        """
        from collections import deque
        d = deque([1, 2], maxlen=2)
        def fn(x):
            try:
                d.insert(0, 5)
            except IndexError as error:
                return str(error), x + len(d)
        """
    )
    iterated_and_reversed = Program(
        """
        from collections import deque
        d = deque([1, 2, 3])
        def fn(x):
            d.appendleft(d[-1] + 1)
            total = 0
            for n in d:
                total += n
            return [n for n in reversed(d)], total, 2 in d, x * total
        """
    )


if __name__ == "__main__":
    unittest.main()
