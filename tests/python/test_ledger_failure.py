"""L37–L40: exceptions that leave, graphs and replays that fail, re-entrancy."""

import unittest

import thirdbook
from harness import EAGER_ONLY, Program, ProgramCase


class ExceptionsThatLeave(ProgramCase):
    row = "L37"

    effects_before_are_visible_after_are_not = Program(
        """
        items, n = [], 0
        class Box: pass
        b = Box()
        def fn(x, bad):
            global n
            items.append("before")
            b.v = x * 2
            n += 1
            if bad:
                raise ValueError("bad", n)
            items.append("after")
            return x
        """,
        call="fn(x, i != 1)",
        raises=ValueError,
        breaks=None,
    )
    through_inlined_frames = Program(
        """
        log = []
        def inner(n):
            log.append(n)
            return 10 // n
        def middle(n):
            log.append("middle")
            return [inner(m) for m in (2, 1, n)]
        def fn(x):
            log.append("start")
            y = x * 2
            return (y,
                    middle(0))
        """,
        raises=ZeroDivisionError,
        breaks=None,
    )
    raised_by_a_tensor_operation = Program(
        """
        items = []
        def fn(x):
            items.append(1)
            y = x + 1
            items.append(2)
            z = y @ torch.ones(3, 3)
            items.append(3)
            return z
        """,
        raises=(RuntimeError, ValueError),
        breaks=None,
    )
    through_finally_and_with = Program(
        """
        log = []
        class Scope:
            def __enter__(self): log.append("enter")
            def __exit__(self, *exc): log.append(exc[0].__name__)
        def fn(x):
            try:
                with Scope():
                    log.append("body")
                    [][5]
            finally:
                log.append("finally")
        """,
        raises=IndexError,
        breaks=None,
    )
    reraised_and_chained = Program(
        """
        log = []
        def inner():
            try:
                int("x")
            except ValueError as error:
                log.append("inner")
                raise RuntimeError("wrapped") from error
        def fn(x):
            try:
                inner()
            except RuntimeError:
                log.append("outer")
                raise
        """,
        raises=RuntimeError,
        breaks=None,
    )
    builtin_errors_of_all_kinds = Program(
        """
        class Box: pass
        b, log = Box(), []
        actions = [lambda: {}["k"], lambda: [][0], lambda: b.missing, lambda: undefined, lambda: None + 1, lambda: (1, 2, 3)[5],
                   lambda: int("z"), lambda: next(iter([])), lambda: len(5), lambda: Box(1), lambda: "a" + 1,
                   lambda: [1].remove(2), lambda: 1 / 0, lambda: (lambda a: a)(), lambda: (lambda: 0)(1), lambda: {[]: 1},
                   lambda: None(), lambda: "{}".format(), lambda: 5[0], lambda: 2 ** -1 % 0]
        def fn(x, action):
            log.append(1)
            y = x + 1
            return action()
        """,
        call="fn(x, actions[i])",
        steps=20,
        raises=Exception,
        breaks=None,
    )
    assertion = Program(
        """
        log = []
        def fn(x):
            log.append(1)
            assert len(log) < 2, ("too many", len(log))
            return x + 1
        """,
        raises=AssertionError,
        breaks=None,
    )
    after_a_graph_break = Program(
        """
        log = []
        def inner(x):
            log.append("in")
            torch.graph_break()
            log.append("again")
            raise KeyError("k")
        def fn(x):
            y = x * 2
            try:
                inner(y)
            finally:
                log.append("finally")
        """,
        raises=KeyError,
        breaks=None,
    )
    wrong_arguments_for_the_function_itself = Program(
        """
        def fn(x, a, *, k=1): return x * a + k
        """,
        call="(lambda: fn(x), lambda: fn(x, 1, 2), lambda: fn(x, 1, z=2), lambda: fn(x, a=1, k=2), lambda: fn(x, 1, x=3))[i]()",
        steps=5,
        raises=TypeError,
        breaks=None,
    )


class ReplayThatRaises(ProgramCase):
    row = "L39"

    setter_raises = Program(
        """
        items = []
        class Box:
            @property
            def v(self): return 1
            @v.setter
            def v(self, value):
                items.append(("set", value))
                if value > 1:
                    raise ValueError("too big")
        b = Box()
        def fn(x):
            items.append("before")
            b.v = 1
            b.v = len(items)
            items.append("never")
            return x
        """,
        raises=ValueError,
        breaks=None,
    )
    hash_raises = Program(
        """
        log = []
        class Key:
            def __init__(self, bad): self.bad = bad
            def __hash__(self):
                log.append(self.bad)
                if self.bad:
                    raise TypeError("no hash")
                return 1
        table, good, bad = {}, Key(False), Key(True)
        def fn(x):
            table[good] = 1
            log.append("between")
            table[bad] = 2
            log.append("never")
            return x
        """,
        raises=TypeError,
        breaks=None,
    )
    hash_raises_on_later_calls_only = Program(
        """
        class Key:
            bad = False
            def __hash__(self):
                if Key.bad:
                    raise TypeError("no hash")
                return 1
        seen, k, log = set(), Key(), []
        def fn(x):
            log.append("before")
            seen.add(k)
            log.append("after")
            return x + len(seen)
        """,
        steps=(2, "Key.bad = True", 2, "Key.bad = False", 1),
        raises=TypeError,
        breaks=None,
    )
    eq_raises = Program(
        """
        log = []
        class Key:
            def __hash__(self): return 1
            def __eq__(self, other): raise ValueError("eq")
        table = {Key(): 0}
        def fn(x):
            log.append("before")
            table[Key()] = 1
            log.append("never")
        """,
        raises=ValueError,
        breaks=None,
    )
    descriptor_delete_raises = Program(
        """
        log = []
        class Guarded:
            def __get__(self, obj, cls): return 1
            def __set__(self, obj, value): log.append(value)
            def __delete__(self, obj): raise AttributeError("kept")
        class Box:
            g = Guarded()
        b = Box()
        def fn(x):
            b.g = 5
            try:
                del b.g
            except AttributeError as error:
                log.append(str(error))
            b.h = 6
            del b.g
            log.append("never")
        """,
        raises=AttributeError,
        breaks=None,
    )
    refused_assignments_are_caught_in_place = Program(
        """
        class Slots:
            __slots__ = ("a",)
        class Box: pass
        s, b, log = Slots(), Box(), []
        def attempt(action):
            try:
                action()
            except (AttributeError, TypeError) as error:
                log.append((type(error), str(error)))
            else:
                log.append("accepted")
        def set_weakref(): b.__weakref__ = 1
        def set_slot(): s.zzz = 1
        def set_class(): b.__class__ = int
        def set_dict(): b.__dict__ = 5
        def set_builtin(): int.new = 1
        def set_function_code(): attempt.__code__ = 3
        def del_missing(): del s.a
        def fn(x):
            for action in (set_weakref, set_slot, set_class, set_dict, set_builtin, set_function_code, del_missing):
                attempt(action)
            return x + len(log)
        """,
        breaks=None,
    )


class Reentrancy(ProgramCase):
    row = "L40"

    recursion = Program(
        """
        log = []
        def fn(x, n=4):
            log.append(n)
            if n == 0:
                return x
            y = fn(x + 1, n - 1) * 2
            log.append(-n)
            return y
        """
    )
    compiled_function_calls_itself = Program(
        """
        log = []
        @compiled
        def down(x, n):
            log.append(n)
            return x if n == 0 else down(x * 2, n - 1) + n
        """,
        call="down(x, 3)",
    )
    two_compiled_functions_call_each_other = Program(
        """
        log = []
        @compiled
        def even(x, n):
            log.append(("even", n))
            return x if n == 0 else odd(x + 1, n - 1)
        @compiled
        def odd(x, n):
            log.append(("odd", n))
            return -x if n == 0 else even(x * 2, n - 1)
        """,
        call="even(x, 3)",
    )
    called_from_a_finalizer = Program(
        """
        log = []
        @compiled
        def note(v):
            log.append(v)
            return torch.ones(2) * len(log)
        class Thing:
            def __del__(self): note("del")
        holder = []
        def fn(x):
            holder.append(Thing())
            note("made")
            holder.pop()
            note("after")
            return x + len(log)
        """,
        breaks=None,
    )
    called_from_callbacks = Program(
        """
        log = []
        @compiled
        def key(n):
            log.append(n)
            return -n
        def fn(x):
            items = sorted([3, 1, 2], key=key)
            biggest = max(items, key=key)
            return items, biggest, list(map(key, items)), x * biggest
        """,
        breaks=None,
    )
    called_from_a_property_and_a_generator = Program(
        """
        log = []
        @compiled
        def work(v):
            log.append(v)
            return v + 1
        class Box:
            @property
            def v(self): return work(10)
        def numbers():
            for n in range(2):
                yield work(n)
        b = Box()
        def fn(x): return x * b.v, list(numbers())
        """,
        breaks=None,
    )
    changes_its_own_premises = Program(
        """
        k = 1
        class Box:
            factor = 2
        b = Box()
        def fn(x):
            global k, helper
            k += 1
            Box.factor += 1
            y = x * k * b.factor
            helper = lambda v: v + k
            return helper(y)
        """
    )
    compiled_inside_a_compiled_function = Program(
        """
        log = []
        def fn(x):
            def inner(v):
                log.append("inner")
                return v * 2
            return compiled(inner)(x) + 1
        """,
        breaks=None,
    )
    from_threads = Program(
        """
        import threading
        results = {}
        @compiled
        def work(x, n):
            results[n] = n * 10
            return x * n
        def drive(x):
            out = []
            for n in range(4):
                t = threading.Thread(target=lambda: out.append(work(x, n)))
                t.start()
                t.join()
            return out
        """,
        call="drive(x)",
        breaks=None,
        threads=True,
    )
    coroutines_interleaved = Program(
        """
        log = []
        @compiled
        def step(x, n):
            log.append(n)
            return x + n
        class Turn:
            def __await__(self): yield
        async def worker(x, n):
            x = step(x, n)
            await Turn()
            return step(x, n * 10)
        def drive(x):
            tasks, out = [worker(x, 1), worker(x, 2)], []
            while tasks:
                task = tasks.pop(0)
                try:
                    task.send(None)
                    tasks.append(task)
                except StopIteration as stop:
                    out.append(stop.value)
            return out
        """,
        call="drive(x)",
        breaks=None,
    )

    locals_of_a_frame_that_a_kept_exception_holds = Program(
        """
        log, kept = [], []
        class Loud:
            def __init__(self, name): self.name = name
            def __del__(self): log.append("del " + self.name)
        class Swallow:
            def __enter__(self): return self
            def __exit__(self, kind, value, trace): return True
        def work(x, keep):
            try:
                raise ValueError("first")
            except ValueError as error:
                if keep:
                    kept.append(error)
            with Swallow():
                inside = Loud("inside")
                raise KeyError("second")
            again = Loud("again")
            again = Loud("replaced")
            del again
            last = Loud("last")
            log.append("end")
            return x + 1
        def fn(x, keep):
            y = work(x, keep)
            log.append("returned")
            kept.clear()
            log.append("dropped")
            return y
        """,
        call="fn(x, i % 2 == 0)",
        steps=(4,),
        breaks=None,
    )

    def test_L40_deep_recursion_is_a_recursion_error(self):
        namespace = {}
        exec("def down(n):\n    return 0 if n == 0 else down(n - 1) + 1\n", namespace)
        down = namespace["down"] if EAGER_ONLY else thirdbook.compile(namespace["down"])
        namespace["down"] = down
        self.assertEqual(down(20), 20)
        with self.assertRaises(RecursionError):
            down(1_000_000)
        self.assertEqual(down(20), 20)


if __name__ == "__main__":
    unittest.main()
