"""What random and real programs have found, a program a kind: results are those of plain Python, breaks are allowed."""

import unittest

from harness import Program, ProgramCase


def same(source, **options):
    return Program(source, breaks=None, **options)


class Operators(ProgramCase):
    built_in_operators_come_before_those_of_a_class_that_is_no_subclass = same(
        """
        import enum
        class Flag(enum.IntFlag):
            A = 1
            B = 2
        class Number(int):
            def __radd__(self, other): return "reflected"
            def __rsub__(self, other): return "reflected"
            def __eq__(self, other): return "equal"
            def __lt__(self, other): return "less"
            def __gt__(self, other): return "greater"
            __hash__ = int.__hash__
        class Bag(set):
            def __ror__(self, other): return "reflected"
            def __eq__(self, other): return "equal"
            __hash__ = None
        class Words(dict):
            def __ror__(self, other): return "reflected"
        class Items(list):
            def __eq__(self, other): return "equal"
        class Others(list): pass
        number, bag, words, items, flag = Number(3), Bag({3}), Words(a=1), Items([1]), Flag.B
        def fn(x):
            found = [True + number, 1.5 - number, 1 + number, True == number, 1.5 < number, 1 > number, True | flag, 2.5 + flag, True == flag]
            found += [frozenset({1}) | bag, {1} | bag, frozenset({3}) == bag, {"b": 2} | words, Others([1]) == items, [1] == items]
            found += [True in (flag | True, 0), x]
            return [type(one).__name__ for one in found], found
        """
    )
    operand_that_is_refused_by_a_class_and_by_a_sequence = same(
        """
        class Adder:
            def __mul__(self, other): return NotImplemented
            def __rmul__(self, other): return NotImplemented
            def __add__(self, other): return NotImplemented
            def __radd__(self, other): return NotImplemented
        class Index(Adder):
            def __index__(self): return 2
        adder, index = Adder(), Index()
        def tried(action):
            try:
                return action()
            except TypeError as error:
                return str(error)
        def fn(x):
            found = [tried(lambda: adder * "x"), tried(lambda: "x" * adder), tried(lambda: "x" + adder), tried(lambda: adder + "x"), tried(lambda: adder * 2)]
            found += [tried(lambda: index * "ab"), tried(lambda: "ab" * index), tried(lambda: (1,) * index), tried(lambda: (1,) + adder), tried(lambda: [1] * index)]
            return found, x
        """
    )


class Attributes(ProgramCase):
    attribute_stored_and_deleted_where_another_call_has_it = same(
        """
        class A: pass
        class Slot: __slots__ = ("q",)
        a, s = A(), Slot()
        def fn(x):
            a.q = 1
            del a.q
            s.q = 2
            del s.q
            A.r = 3
            del A.r
            a.again = 1
            del a.again
            a.again = 2
            a.last = 3
            return x
        """,
        steps=(2, "a.q = 5; s.q = 6; A.r = 7", 2, "del a.again; a.q = 4", 1),
    )
    empty_slot_is_named_with_its_module = same(
        """
        class Slot:
            __slots__ = ("q", "r")
        kept = Slot()
        def fn(x):
            found = []
            for one in (kept, Slot()):
                try:
                    one.q
                except AttributeError as error:
                    found.append((str(error), error.name, error.obj is one))
            return found, hasattr(kept, "r"), x
        """
    )
    facts_of_a_function_that_change = same(
        """
        def g(a, b=2): return a
        def fn(x):
            return g.__name__ + g.__qualname__, g.__code__.co_name, g.__defaults__, g.__doc__, g.__module__, x
        """,
        steps=(2, "g.__name__ = 'other'", 1, "g.__code__ = (lambda a: a).__code__; g.__doc__ = 'doc'", 2, "g.__defaults__ = ([1],); g.__qualname__ = 'q'", 2),
    )


class Closures(ProgramCase):
    cell_that_is_filled_and_emptied_after_a_break = same(
        """
        log = []
        def fn(x):
            torch.graph_break()
            n = 5
            def inner(): return n
            del n
            try:
                inner()
            except NameError as error:
                log.append((str(error), error.__traceback__.tb_next.tb_lineno))
            torch.graph_break()
            n = 6
            log.append(inner())
            del n
            return inner()
        """,
        raises=NameError,
    )


class Lifetimes(ProgramCase):
    object_dies_in_time_though_a_traceback_keeps_an_earlier_part_of_the_function = same(
        """
        log = []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def fails(): raise ValueError(1)
        def fn(x):
            kept, dropped = Loud("kept"), Loud("dropped")
            try:
                torch.graph_break()
                fails()
            except ValueError as found:
                torch.graph_break()
                log.append(found.args)
                dropped = None
                log.append("in the handler")
                torch.graph_break()
            kept = 4
            log.append("after it")
            try:
                raise ExceptionGroup("g", [ValueError(2)])
            except* ValueError as group:
                kept = Loud("in a group")
            kept = 5
            log.append("end")
            return x
        """
    )
    object_dies_with_the_closure_that_holds_it = same(
        """
        log = []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def make(name):
            held = Loud(name)
            def get(v=1): return held.name + str(v)
            return get
        def fn(x):
            log.append(make("called")())
            f = make("named")
            found = f(v=2)
            f = None
            log.append(found)
            log.append(max([1], key=make("key")))
            return [make("in a list")() for _ in range(2)]
        """
    )
    suspended_generator_dies_in_time_though_a_traceback_keeps_an_earlier_part_of_the_function = same(
        """
        log = []
        def steps(n):
            try:
                for i in range(n): yield i
            finally:
                log.append(("end of", n))
        def fn(x):
            g = steps(3)
            next(g)
            try:
                raise ExceptionGroup("g", [ValueError(1)])
            except* ValueError as found:
                log.append(len(found.exceptions))
            g = steps(2)
            log.append("another")
            return x
        """
    )


class WhatNobodyReads(ProgramCase):
    number_that_cannot_be_made_in_a_later_call = same(
        """
        log = []
        def whole(text):
            try:
                int(text)
            except ValueError:
                return False
            return True
        def fn(x, n, text):
            log.append(whole(text))
            try:
                2.5 * 10 ** (400 * (n == 1))
                7 // n
                log.append("divided")
            except (ZeroDivisionError, OverflowError) as error:
                log.append(type(error).__name__)
            7.5 % (n + 1)
            return x + 1
        """,
        call="fn(x, 2 - i, ['5', 'x', '7', ''][i])",
        steps=4,
        raises=ZeroDivisionError,
    )
    number_of_a_tensor_that_cannot_be_made = same(
        """
        log = []
        def fn(x):
            n = int(x[0])
            log.append(1)
            for action in (lambda: 7 // n, lambda: x[0].item() % n, lambda: n / n, lambda: x[1].item() ** -1, lambda: int(x[2] / x[1])):
                try:
                    action()
                except (ZeroDivisionError, OverflowError, ValueError) as error:
                    log.append((type(error).__name__, str(error)))
            7 // n
            return x
        """,
        call="fn(x - i)",
        raises=ZeroDivisionError,
    )
    tensor_that_cannot_be_made = same(
        """
        log = []
        def fn(x, i):
            for action in (lambda: x[i], lambda: x.gather(0, i), lambda: x.index_select(0, i), lambda: (x.to(torch.int64) // i), lambda: x.to(torch.int64) % i):
                try:
                    action()
                except (IndexError, RuntimeError) as error:
                    log.append((type(error).__name__, str(error)))
            return x + 1
        """,
        call="fn(x, torch.tensor([3 * i]))",
    )


    item_that_is_gone_in_a_later_call = same(
        """
        log, items, table = [], [1, 2, 3], (4, 5, 6)
        def fn(x, n, pair):
            for action in (lambda: items[2], lambda: items[-3], lambda: table[n], lambda: (7, 8, 9)[n], lambda: pair[1]):
                try:
                    action()
                except IndexError as error:
                    log.append(str(error))
            return x
        """,
        call="fn(x, i, (1, 2)[:3 - i])",
        steps=(2, "items.pop()", 2),
    )
    attribute_of_a_class_that_is_gone_in_a_later_call = same(
        """
        log = []
        class C: a = 1
        class D(C): a = 2
        c = D()
        def fn(x):
            for action in (lambda: c.a, lambda: D.a, lambda: C.a, lambda: super(D, c).a):
                try:
                    action()
                except AttributeError as error:
                    log.append(str(error))
            return x
        """,
        steps=(2, "del C.a", 2, "del D.a", 2, "C.a = property(lambda self: log.append('read'))", 1),
    )


class Restarts(ProgramCase):
    built_in_function_that_gave_up_leaves_nothing_to_the_next_attempt = same(
        """
        log, items = [], [3, 1, 2]
        class Key:
            def __init__(self, v): self.v = v
            def __eq__(self, other): return self.v == other.v
            def __hash__(self): return self.v % 3
        def inner():
            try:
                log.append([i * v for i, v in enumerate(items)])
            except Exception as error:
                log.append(repr(error))
            return len({Key(1): 1, Key(1): 2, Key(4): 3})
        def fn(x):
            return inner(), x
        """,
        steps=(2, "items.append(5); Key.__hash__ = lambda self: 1", 2),
    )


class Identity(ProgramCase):
    frozenset_of_a_later_call_is_no_equal_one = same(
        """
        log, kept = [], frozenset({1, 2})
        def fn(x, s):
            if len(s) > 1 and 1 in s:
                log.append(s)
            made = frozenset([])
            torch.graph_break()
            return s, made, made & s, frozenset(kept) is kept, kept | {1}, [s]
        """,
        call="fn(x, frozenset([1, 2]))",
        expect="log[0] is not log[1]",
    )
    tuple_of_a_later_call_is_appended_not_an_equal_one = same(
        """
        log = []
        def fn(pair):
            log.append(pair)
            if len(log) < 60:
                log.append(2)
            return pair
        """,
        call="fn(tuple(['a', i > 9]))",
        expect="log[0] is not log[2]",
    )
    parts_of_a_text_of_a_subclass_are_that_object = same(
        """
        class Text(str): pass
        class Raw(bytes): pass
        text, raw = Text("a7"), Raw(b"a7")
        def fn(x):
            made = Text("b8")
            found = [text.partition("z"), text.rpartition("z"), raw.partition(b"z"), "xa7x".partition(text), made.partition("z"), text.partition("7")]
            return [[type(part).__name__ for part in one] for one in found], found[0][0] is text, x
        """
    )


class HeldFrames(ProgramCase):
    """What a traceback keeps of a function that went on after a break is what CPython's frame would hold."""

    locals_live_as_long_as_the_exception_that_is_kept = same(
        """
        log, raised = [], []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        @compiled
        def work(x):
            kept, changed = Loud("kept"), Loud("changed")
            try:
                raise ValueError("one")
            except ValueError as error:
                torch.graph_break()
                log.append("after the break")
                raised.append(error)
            changed = 3
            log.append("end")
        def run(x):
            work(x)
            error = raised.pop()
            log.append("returned")
            log.append(error.__traceback__.tb_frame.f_locals["kept"].name)
            error = None
            log.append("dropped")
        """,
        call="run(x)",
    )
    locals_live_as_long_as_the_exception_that_leaves = same(
        """
        log = []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        @compiled
        def work(x, again):
            kept = Loud("kept")
            try:
                inner = Loud("inner")
                {}["missing"]
            except KeyError as error:
                torch.graph_break()
                log.append("after the break")
                if again: raise
                raise ValueError("two") from error
            finally:
                torch.graph_break()
                log.append("finally")
        def run(x, again):
            try:
                work(x, again)
            except Exception as error:
                log.append("caught " + type(error).__name__)
                del error
                log.append("handled")
            log.append("after it")
        """,
        call="run(x, i % 2)",
    )
    locals_of_an_inlined_function_live_as_long_as_its_exception = same(
        """
        log = []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        def inner(x):
            kept = Loud("kept")
            captured = Loud("captured")
            def read(): return captured
            try:
                raise ValueError("one")
            except ValueError as error:
                torch.graph_break()
                log.append("after the break")
                return error
        def fn(x):
            mine = Loud("mine")
            error = inner(x)
            log.append("returned")
            error = None
            log.append("dropped")
        """,
    )
    frame_of_a_dropped_exception_does_not_outlive_the_call = same(
        """
        log = []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        t = torch.ones(4)
        def fn(x, n=0):
            u = Loud("first")
            u = Loud("second")
            log.append(u.name)
            try:
                log.append("trying")
                t.view(3, 5)
            except Exception as error:
                log.append(str(error)[:30])
            if n == 0: return 1
            u = Loud("u")
            del u
            return 2
        """,
    )


class Premises(ProgramCase):
    """What a trace took for granted and a program may change."""

    attribute_of_a_class_gives_way_to_a_descriptor = same(
        """
        log = []
        class Field:
            def __init__(self, start): self.start = start
            def __get__(self, obj, owner=None): return self if obj is None else self.start
            def __set__(self, obj, value): log.append(("set", value))
        class Host:
            b = Field(2)
            c = 7
        class Sub(Host):
            b = 5
        host = Sub()
        host.c = 1
        def fn(x):
            log.append(host.b)
            log.append(host.c)
            log.append(Sub.b)
            host.c = host.c
        """,
        steps=(2, "del Sub.b", 2, "Host.c = Field(3)", 2, "Sub.c = 8", 2, "Sub.c = property(lambda self: 9)", 2, "Sub.b = 6", 2),
        may_raise=True,
    )  # fmt: skip
    defaults_given_after_a_refused_call = same(
        """
        log = []
        def plain(a, b, *, d): return a, b, d
        def given(a, b=2, /, *args, d, e=5): return a, b, args, d, e
        def fn(x):
            for call in (lambda: plain(1, 2), lambda: plain(1, d=3), lambda: given(1, 1), lambda: given(d=4)):
                try:
                    log.append(call())
                except TypeError as error:
                    log.append(str(error))
        """,
        steps=(2, "plain.__kwdefaults__ = {'d': 9}", 2, "plain.__defaults__ = (7,)", 2, "given.__kwdefaults__ = {'d': 8, 'e': 6}", 2,
               "given.__kwdefaults__ = None", 2, "given.__defaults__ = (1, 2)", 2),
    )  # fmt: skip


class Contents(ProgramCase):
    """What containers and objects hold after the call, in which order, and what goes through them."""

    different_elements_of_one_hash = same(
        """
        rest = [3, -2, -1]
        def fn(x):
            s = {0}
            s.update([3, -2, -1])
            s.add(-4)
            return s, {0, *rest, -4}, {0, *rest, -4} | {5}, frozenset([0, *rest, -4]), {v: 1 for v in {0, *rest, -4}}
        """,
    )
    slots_are_no_entries_of_the_dict = same(
        """
        class Plain: pass
        class Slot(Plain):
            __slots__ = ("n", "items")
        o = Slot()
        def fn(x):
            o.n = 3
            o.other = 4
            o.items = [o.n]
            made = Slot()
            made.n, made.kept = 1, 2
            return vars(o).get("n"), dict(vars(o)), list(made.__dict__), "n" in vars(made), len(vars(o))
        """,
    )
    entry_with_the_name_of_a_slot = same(
        """
        class Slot:
            __slots__ = ("n", "__dict__")
        o = Slot()
        def fn(x):
            o.n = 1
            vars(o)["n"] = 2
            vars(o).update(n=vars(o)["n"] + 1)
            return o.n, vars(o)["n"]
        """,
    )
    container_of_a_subclass_given_to_its_own_methods = same(
        """
        from collections import deque, OrderedDict
        class Stack(list): pass
        class Queue(deque): pass
        class Table(dict): pass
        class Bag(set): pass
        stack, queue, table, bag = Stack([1, 2]), Queue([1, 2]), Table(a=1), Bag([1])
        def fn(x):
            stack.extend(stack)
            stack[1:1] = stack
            stack[::-1] = stack
            queue.extend(queue)
            queue.extendleft(queue)
            table.update(table)
            bag.update(bag)
            bag.symmetric_difference_update(bag)
            del stack[4:], table["a"]
            table["a"] = len(queue)
            while len(queue) > 3: queue.pop()
            bag.add(1)
            return stack == stack, stack.count(stack), len(stack)
        """,
    )
    container_of_a_subclass_that_holds_itself = same(
        """
        from collections import deque
        class Stack(list): pass
        class Queue(deque): pass
        class Table(dict): pass
        stack, table = Stack([1]), Table()
        def fn(x):
            queue, made = Queue("ab"), Stack("ab")
            queue.append(queue)
            queue.appendleft(queue)
            made.append(made)
            made.insert(0, made)
            stack.append(stack)
            table.setdefault("me", table)
            return queue, made, queue[-1] is queue, made[0] is made, made.index(made), stack.count(stack), table["me"] is table
        """,
    )
    iterator_of_a_subclass_goes_on_in_the_object = same(
        """
        class Stack(list): pass
        class Loud(list):
            def __iter__(self):
                log.append("iterated")
                return super().__iter__()
        log, stack, loud, it, other = [], Stack([1, 2]), Loud([1, 2]), None, None
        def fn(x):
            global it, other
            it, other = iter(stack), iter(loud)
            next(it), next(other)
            return reversed(stack)
        """,
        steps=(1, "stack.append(7); loud.append(8); log += [*it, *other]", 2),
    )


if __name__ == "__main__":
    unittest.main()
