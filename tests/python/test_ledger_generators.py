"""L22: generators, consumed inside, handed in, escaping, suspended."""

import unittest

from harness import Program, ProgramCase


class Generators(ProgramCase):
    row = "L22"

    consumed_inside = Program(
        """
        log = []
        def numbers(n):
            for k in range(n):
                log.append(k)
                yield k
            log.append("end")
        def fn(x):
            total = 0
            for k in numbers(3):
                total += k
                log.append("use")
            return x * total, sum(numbers(2))
        """
    )
    partly_consumed_inside = Program(
        """
        log = []
        def numbers():
            try:
                yield 1
                yield 2
            finally:
                log.append("closed")
        def fn(x):
            g = numbers()
            first = next(g)
            g.close()
            log.append("after")
            return x * first
        """
    )
    handed_in = Program(
        """
        def numbers():
            n = 0
            while True:
                got = yield n
                n += got or 1
        g = numbers()
        def fn(x):
            a = next(g)
            return x * a, next(g)
        """,
        expect="next(g) == 6",
    )
    handed_in_and_sent_to = Program(
        """
        def averager():
            total, count = 0.0, 0
            while True:
                value = yield total / count if count else 0.0
                total, count = total + value, count + 1
        g = averager()
        next(g)
        def fn(x): return x * g.send(4.0) + g.send(8.0)
        """
    )
    escaping_stays_a_generator = Program(
        """
        log = []
        def numbers(x):
            log.append("started")
            got = yield x
            log.append(got)
            try:
                yield x * 2
            except KeyError:
                yield "caught"
            return "value"
        def fn(x): return numbers(x), x + 1
        """,
        expect="log == []",
    )
    escaping_protocol = Program(
        """
        log = []
        def numbers(x):
            log.append("started")
            got = yield x
            log.append(got)
            try:
                yield x * 2
            except KeyError:
                yield "caught"
            return "value"
        def fn(x): return numbers(x)
        def drive(g):
            out = [next(g), g.send("sent"), g.throw(KeyError("k"))]
            try:
                next(g)
            except StopIteration as stop:
                out.append(stop.value)
            return out
        """,
        call="drive(fn(x))",
    )
    expression_consumed_and_escaping = Program(
        """
        calls = []
        def f(n):
            calls.append(n)
            return n * n
        def fn(x):
            total = sum(f(n) for n in range(3))
            lazy = (f(n) for n in (7, 8))
            return lazy, any(f(n) > 0 for n in range(5)), x * total
        """,
        expect="7 not in calls",
    )
    yield_from_and_return_values = Program(
        """
        def inner():
            got = yield 1
            return got
        def outer():
            a = yield from inner()
            b = yield from [10, 20]
            return a, b
        def fn(x):
            g = outer()
            out = [next(g), g.send("s"), next(g)]
            try:
                next(g)
            except StopIteration as stop:
                out.append(stop.value)
            return out, x * 2
        """
    )
    exception_inside_a_consumed_generator = Program(
        """
        log = []
        def bad():
            yield 1
            raise ValueError("v")
        def fn(x):
            try:
                for n in bad():
                    log.append(n)
            except ValueError as error:
                log.append(str(error))
            g = bad()
            return next(g), x + len(log)
        """
    )
    stop_iteration_becomes_runtime_error = Program(
        """
        def bad():
            yield 1
            raise StopIteration
        def fn(x):
            try:
                return list(bad())
            except RuntimeError as error:
                return str(error), type(error.__cause__), x + 1
        """
    )
    mutates_while_interleaved = Program(
        """
        shared = []
        def left():
            for n in range(3):
                shared.append(("left", n, len(shared)))
                yield n
        def right():
            for n in range(3):
                shared.append(("right", n, len(shared)))
                yield n * 10
        def fn(x):
            for a, b in zip(left(), right()):
                shared.append(a + b)
            return x * len(shared)
        """,
        steps=2,
    )
    stored_on_an_object_and_continued = Program(
        """
        class Source:
            def __init__(self): self.gen = None
            def numbers(self):
                n = 0
                while n < 4:
                    yield n
                    n += 1
            def read(self):
                if self.gen is None:
                    self.gen = self.numbers()
                return next(self.gen)
        s = Source()
        def fn(x): return x * s.read() + s.read()
        """,
        steps=2,
    )
    recursive_generator = Program(
        """
        def walk(tree):
            if isinstance(tree, list):
                for part in tree:
                    yield from walk(part)
            else:
                yield tree
        tree = [1, [2, [3, 4]], [], 5]
        def fn(x): return x * sum(walk(tree)), list(walk(tree))
        """
    )
    generator_of_tensors = Program(
        """
        def scales(x):
            for n in (1, 2, 3):
                yield x * n
        def fn(x):
            total = torch.zeros(4)
            for part in scales(x):
                total = total + part
            first, *rest = scales(total)
            return first, len(rest)
        """
    )
    generator_left_in_the_middle_dies = Program(
        """
        log = []
        def numbers():
            try:
                yield 1
                yield 2
            finally:
                log.append("closed")
        def fn(x):
            for n in numbers():
                break
            log.append("after the loop")
            return x * n
        """,
        breaks=None,
    )


COUNTDOWN = """
        log = []
        class Box: pass
        box = Box()
        def countdown(n):
            try:
                while n:
                    got = yield n
                    if got is not None: n = got
                    n -= 1
            except ValueError as error:
                log.append(str(error))
                yield "caught"
            finally:
                log.append("finally")
            return "done"
        def drained(g):
            out = []
            while True:
                try: out.append(next(g))
                except StopIteration as stop:
                    out.append(stop.value)
                    return out
"""


class SuspendedGenerators(ProgramCase):
    """Started in the call, and alive after it: such a generator goes on where it was, and nothing runs twice."""

    goes_on_after_the_call = Program(
        COUNTDOWN + """
        @compiled
        def work(x, k):
            g = countdown(k)
            return g, next(g), x * g.send(5)
        def run(x, k):
            g, first, y = work(x, k)
            return drained(g), first, y, list(log), log.clear()
        """,
        call="run(x, i + 2)",
    )
    is_thrown_into_and_closed_after_the_call = Program(
        COUNTDOWN + """
        @compiled
        def work(x, k):
            g = countdown(k)
            next(g)
            box.g = g
            return x
        def run(x, k):
            work(x, k)
            out = [box.g.throw(ValueError("thrown")), list(log)] if k % 2 else [box.g.close(), list(log)]
            return out, list(box.g), list(log), log.clear()
        """,
        call="run(x, i + 1)",
        steps=4,
    )
    state_locals_and_line_are_those_of_plain_python = Program(
        COUNTDOWN + """
        import inspect
        def outer(n, *rest, key=3, **more):
            label = n * key
            yield from countdown(n)
        @compiled
        def work(x, k):
            g = outer(k, 1, 2, z=x)
            next(g)
            return g
        def run(x, k):
            g = work(x, k)
            inner = g.gi_yieldfrom
            held = inspect.getgeneratorlocals(g)
            return (inspect.getgeneratorstate(g), g.__name__, g.__qualname__, g.gi_frame.f_lineno, held["label"], held["rest"], sorted(held),
                    inspect.getgeneratorlocals(inner), inner.gi_frame.f_lineno, drained(g), inspect.getgeneratorstate(g))
        """,
        call="run(x, i + 2)",
    )
    error_raised_later_has_the_lines_of_the_generator = Program(
        """
        def parts(n):
            yield n
            yield 1 // (n - n)
        def fn(x, k):
            g = parts(k)
            next(g)
            return g
        """,
        call="list(fn(x, i))",
        raises=ZeroDivisionError,
    )
    ended_one_stays_ended = Program(
        COUNTDOWN + """
        def fn(x, k):
            g = countdown(k)
            return g, list(g), x
        """,
        call="[list(part) if hasattr(part, 'send') else part for part in fn(x, i)]",
    )
    cells_are_shared_with_closures = Program(
        """
        def totals(n):
            total = [n]
            def add(v):
                nonlocal n
                n += v
                total.append(n)
                return add
            yield add
            yield total, n
        @compiled
        def work(x, k):
            g = totals(k)
            add = next(g)
            add(1)
            return g, add
        def run(x, k):
            g, add = work(x, k)
            add(10)
            return next(g)
        """,
        call="run(x, i)",
    )
    several_in_a_list_and_nested = Program(
        """
        class Node:
            def __init__(self, value, *kids): self.value, self.kids = value, kids
            def __iter__(self):
                yield self.value
                for kid in self.kids: yield from kid
        tree = Node(1, Node(2, Node(3)), Node(4))
        def fn(x, k):
            each = [(a * b for b in range(4)) for a in range(k)]
            walk = iter(tree)
            heads = [next(g) for g in each] + [next(g) for g in each] + [next(walk), next(walk)]
            return each, walk, heads, x * len(heads)
        """,
        call="[[list(g) for g in part] if isinstance(part, list) and part and hasattr(part[0], 'send') else list(part) for part in fn(x, i + 1)]",
    )
    holds_itself = Program(
        """
        @compiled
        def work(x):
            held = []
            def parts():
                yield held
                yield len(held)
            g = parts()
            next(g)
            held.append(g)
            return held, x
        def run(x):
            held, y = work(x)
            return next(held[0]), held[0].gi_frame.f_locals["held"] is held, y
        """,
        call="run(x)",
    )
    tensors_of_its_locals_are_those_of_the_moment = Program(
        """
        def fn(x):
            def parts():
                t = x * 2
                yield t
                t += 1
                yield t.sum().item()
            g = parts()
            first = next(g)
            first.add_(1)
            return g, first
        """,
        call="[list(part) if hasattr(part, 'send') else part for part in fn(x)]",
    )
    in_a_loop_with_breaks = Program(
        COUNTDOWN + """
        @compiled
        def work(x, k):
            out = []
            for a, b in zip(countdown(k), (n * n for n in range(10))):
                out.append((a, b))
                torch.graph_break()
                out.append(x.sum().item() + a)
            return out
        def run(x, k):
            return work(x, k), list(log), log.clear()
        """,
        call="run(x, i + 1)",
        breaks=None,
    )
    dropped_while_it_is_in_a_try = Program(
        COUNTDOWN + """
        @compiled
        def work(x, k):
            g = countdown(k)
            next(g)
            log.append("before")
            g = None
            log.append("after")
            h = countdown(k)
            next(h)
            return x
        def run(x, k):
            work(x, k)
            return list(log), log.clear()
        """,
        call="run(x, i + 2)",
        breaks=None,
    )
    suspended_in_a_handler = Program(
        """
        def parts(n):
            try:
                1 // (n - n)
            except ZeroDivisionError as error:
                yield str(error)
                yield type(error)
                raise
        @compiled
        def work(x, k):
            g = parts(k)
            return g, next(g)
        def run(x, k):
            g, first = work(x, k)
            return first, next(g), list(g)
        """,
        call="run(x, i)",
        raises=ZeroDivisionError,
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
