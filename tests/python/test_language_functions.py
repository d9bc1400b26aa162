"""Calls, parameters, closures, decorators, lambdas, recursion, generics; generators and coroutines beside them."""

import unittest

from harness import Program, ProgramCase


class Parameters(ProgramCase):
    every_kind_of_parameter = Program(
        """
        def f(a, b=2, /, c=3, *rest, d, e=5, **more): return a, b, c, rest, d, e, more
        def fn(x, n):
            args, kwargs = [n, 20], {"d": 4, "z": 26}
            return (f(1, d=4), f(1, 2, 3, 4, 5, d=6, q=7), f(*args, **kwargs), f(0, *args, *(7, 8), e=1, **kwargs), f(1, c=9, d=0),
                    x * len(args))
        """,
        call="fn(x, i)",
    )
    root_parameters = Program(
        """
        def fn(x, a=1, *rest, k=2, **more):
            rest = rest + (a,)
            more["added"] = k
            return x * k, rest, more
        given = {"p": 5}
        """,
        call="fn(*((x,), (x, 3, 4, 5), (x,), (x,), ())[i], **({}, {}, {'k': 7, 'q': 1}, given, {'a': 9, 'x': x})[i])",
        steps=5,
    )
    star_arguments_are_fresh_objects = Program(
        """
        items, table = [1], {"a": 1}
        def keep(*args, **kwargs): return args, kwargs
        def fn(x):
            args, kwargs = keep(*items, **table)
            kwargs["new"] = 2
            again, more = keep(*args, **kwargs)
            return again is args, more is kwargs, table, x + len(more)
        """
    )
    defaults_are_evaluated_once = Program(
        """
        log = []
        def note(v):
            log.append(v)
            return v
        def fn(x):
            def inner(a=note(1), *, b=note([])):
                b.append(a)
                return len(b)
            return inner(), inner(2), inner(b=[]), inner(), x + len(log)
        """
    )
    evaluation_order_of_arguments = Program(
        """
        log = []
        def v(n):
            log.append(n)
            return n
        def f(*args, **kwargs): return args, kwargs
        def fn(x): return v(f)(v(1), *[v(2), v(3)], v(4), k=v(5), **{"m": v(6)}), x + len(log)
        """
    )
    parameters_rebound_and_deleted = Program(
        """
        def fn(x, items=None, n=3):
            if items is None:
                items = []
            x = x + n
            n = [n]
            n[0] += 1
            items.append(n)
            del n
            return x, items
        """
    )


class Closures(ProgramCase):
    lambdas_everywhere = Program(
        """
        def fn(x, k):
            fs = [lambda v, m=m: v * m + k for m in range(3)]
            compose = lambda *gs: lambda v: compose(*gs[1:])(gs[0](v)) if gs else v
            return [f(2) for f in fs], compose(*fs)(x), (lambda: (yield))().__class__.__name__, sorted("bca", key=lambda c: -ord(c))
        """,
        call="fn(x, i)",
    )
    functions_made_anew_for_each_call = Program(
        """
        seen = []
        def outer(k, scale=2):
            def inner(v, n=1):
                nonlocal k
                k += 1
                return v * k + n * scale
            return inner
        def away(k): return lambda v: v - k
        def fn(x, f, g, k):
            seen.append(f)
            return f(x), g(x), f(x), (lambda v: v + k)(x), f
        """,
        call="fn(x, outer(i), away(i), i)",
        steps=6,
        compiles=1,
    )
    functions_told_apart_by_identity_after_a_call = Program(
        """
        def make(k): return lambda v: v + k
        p, q = make(1), make(2)
        def fn(x, f, g):
            f.calls = getattr(f, "calls", 0) + 1
            return f(x), g(x), f is g, f == g, {f: 1}.get(g), f.calls, g.__name__, [f, g].index(g)
        """,
        call="fn(x, [p, q, make(3)][i % 3], [p, p, q, q][i % 4])",
        steps=(6, "p, q = q, p", 6, "p.__code__ = (lambda k: lambda v: v - k)(0).__code__", 6),
        breaks=None,
    )
    functions_returned_and_called_outside = Program(
        """
        def fn(x):
            total = [0]
            def add(v):
                total[0] += v
                return total[0]
            def both(f, g): return lambda v: f(g(v))
            return add, both(add, lambda v: v * 2), x + add(1)
        """,
        call="[p(5) if callable(p) else p for p in fn(x)]",
    )
    decorators_with_and_without_arguments = Program(
        """
        import functools
        log = []
        def traced(f):
            @functools.wraps(f)
            def wrapper(*args, **kwargs):
                log.append(f.__name__)
                return f(*args, **kwargs)
            return wrapper
        def scaled(k):
            def decorate(f):
                return lambda v: f(v) * k
            return decorate
        class Registry:
            def __init__(self): self.table = {}
            def __call__(self, f):
                self.table[f.__name__] = f
                return f
        register = Registry()
        @traced
        @scaled(3)
        def helper(v): return v + 1
        @register
        @traced
        def other(v, *, k=1): return v * k
        def fn(x):
            @scaled(2)
            def local(v): return v - 1
            return helper(x), other(x, k=2), register.table["other"](1), local(x), other.__name__, other.__wrapped__(1)
        """
    )
    recursion_of_all_kinds = Program(
        """
        def factorial(n): return 1 if n < 2 else n * factorial(n - 1)
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != 0 and even(n - 1)
        def flatten(t): return [p for q in t for p in (flatten(q) if isinstance(q, list) else [q])]
        def power(x, n): return x if n == 1 else power(x, n // 2) * power(x, n - n // 2)
        def fn(x):
            def fib(n, memo={}):
                if n in memo:
                    return memo[n]
                memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
                return memo[n]
            return factorial(6), even(7), flatten([1, [2, [3]]]), power(x + 1, 5), fib(12)
        """
    )
    partial_and_operator_functions = Program(
        """
        import functools, operator
        def f(a, b, *rest, k=0): return a, b, rest, k
        p = functools.partial(f, 1, k=2)
        class Box:
            half = functools.partialmethod(lambda self, n, m: n / m, m=2)
        def fn(x):
            q = functools.partial(p, 5, k=9)
            return (p(2), q(), q(7, k=1), functools.reduce(operator.add, [1, 2, 3], 10), operator.itemgetter(1, 0)("ab"),
                    operator.attrgetter("shape")(x), operator.methodcaller("upper")("s"), Box().half(4), functools.partial(torch.add, x)(1),
                    q.func is f, q.keywords, operator.mul(x, 2))
        """
    )
    single_dispatch_and_total_ordering = Program(
        """
        import functools
        @functools.singledispatch
        def kind(v): return "other"
        @kind.register
        def _(v: int): return "int"
        @kind.register(list)
        def _(v): return "list"
        @functools.total_ordering
        class V:
            def __init__(self, n): self.n = n
            def __eq__(self, o): return self.n == o.n
            def __lt__(self, o): return self.n < o.n
        def fn(x): return kind(1), kind([]), kind("s"), kind(True), V(1) >= V(2), V(1) <= V(1), max(V(1), V(3)).n, x + 1
        """,
        breaks=None,
    )
    type_parameters = Program(
        """
        def first[T](items: list[T]) -> T: return items[0]
        class Stack[T]:
            def __init__(self): self.items: list[T] = []
            def push(self, item: T) -> "Stack[T]":
                self.items.append(item)
                return self
        s = Stack[int]()
        def fn(x):
            def local[K: int, *Ts](k: K, *rest: *Ts): return k, rest
            s.push(len(s.items)).push(2)
            return first([x, 1]), local(1, 2), Stack[str]().push("a").items, len(s.items)
        """,
        breaks=None,
    )
    attributes_of_functions = Program(
        """
        def helper(a, b=1):
            "doc"
        def fn(x):
            def local(v): "inner doc"
            local.tag = helper.__name__
            return (helper.__doc__, helper.__defaults__, helper.__code__.co_varnames, local.__qualname__, local.__doc__, local.tag,
                    helper.__module__, callable(local), x + len(local.__name__))
        """
    )
    shadowed_builtins_and_names = Program(
        """
        def helper(list): return list(1)
        def fn(x, print=len):
            sum = lambda items: "mine"
            id = print([1, 2])
            return sum([1]), id, helper(str), x * id
        """
    )


class GeneratorsAndCoroutines(ProgramCase):
    generator_methods_and_state_inside = Program(
        """
        def gen():
            total = 0
            while True:
                try:
                    total += yield total
                except ValueError:
                    total = -1
        def fn(x):
            g = gen()
            out = [next(g), g.send(5), g.throw(ValueError), g.send(2)]
            g.close()
            return out, list(g), x * out[1]
        """
    )
    delegation_with_exceptions = Program(
        """
        log = []
        def inner():
            try:
                yield 1
                yield 2
            except KeyError as error:
                log.append("inner caught")
                yield "recovered"
            finally:
                log.append("inner finally")
            return "result"
        def outer():
            result = yield from inner()
            yield result
        def fn(x):
            g = outer()
            out = [next(g), g.throw(KeyError("k")), next(g)]
            h = outer()
            next(h)
            h.close()
            return out, x + len(log)
        """
    )
    compiled_generator_function_as_root = Program(
        """
        log = []
        def fn(x):
            log.append("start")
            for n in range(3):
                yield x * n
            log.append("end")
        """,
        call="list(fn(x))",
        breaks=None,
    )
    coroutines_as_roots_and_called = Program(
        """
        log = []
        class Wait:
            def __await__(self):
                got = yield "waiting"
                return got
        async def helper(x):
            log.append("helper")
            return x * await Wait()
        async def fn(x):
            async with Scope() as s:
                y = await helper(x)
            async for n in numbers():
                y = y + n
            return y, [n async for n in numbers()]
        class Scope:
            async def __aenter__(self): log.append("enter")
            async def __aexit__(self, *exc): log.append("exit")
        async def numbers():
            for n in (1, 2):
                yield n
        def drive(c):
            out = [c.send(None)]
            try:
                c.send(3)
            except StopIteration as stop:
                out.append(stop.value)
            return out
        """,
        call="drive(fn(x))",
        breaks=None,
    )
    coroutine_made_by_a_traced_function = Program(
        """
        async def work(x): return x + 1
        def fn(x): return work(x * 2), x
        def finish(c):
            try:
                c.send(None)
            except StopIteration as stop:
                return stop.value
        """,
        call="finish(fn(x)[0])",
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
