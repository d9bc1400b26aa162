"""L23–L25: random generators, context managers, context variables, thread-locals, weak references, caches."""

import unittest

from harness import Program, ProgramCase


class RandomState(ProgramCase):
    row = "L23"

    module_functions = Program(
        """
        import random
        def fn(x):
            items = [1, 2, 3, 4]
            random.shuffle(items)
            return x * random.random(), random.randint(1, 6), random.choice("abc"), items, random.uniform(0, 1)
        """,
        breaks=None,
    )
    seeded_inside = Program(
        """
        import random
        def fn(x):
            random.seed(3)
            return x * random.random()
        """,
        expect="True",
        breaks=None,
    )
    seeded_by_an_argument = Program(
        """
        import random
        def fn(x, seed):
            random.seed(seed)
            a = random.random()
            return x + a, random.getrandbits(8)
        """,
        call="fn(x, i % 2)",
        steps=4,
        breaks=None,
    )
    instance_used_by_two_calls = Program(
        """
        import random
        dice = random.Random(5)
        def fn(x): return x * dice.random() + dice.randrange(10)
        """,
        steps=(2, "dice.seed(1)", 2, "dice = random.Random(9)", 1),
        breaks=None,
    )
    new_instance_escapes = Program(
        """
        import random
        def fn(x):
            local = random.Random(1)
            first = local.random()
            return local, x * first, local.sample(range(10), 3)
        """,
        breaks=None,
    )
    state_saved_and_restored = Program(
        """
        import random
        def fn(x):
            state = random.getstate()
            a = random.random()
            random.setstate(state)
            return a == random.random(), x + a
        """,
        breaks=None,
    )
    tensor_generator = Program(
        """
        def fn(x):
            noise = torch.rand(4)
            return x + noise, torch.randn(2)
        """
    )
    tensor_generator_seeded_inside = Program(
        """
        def fn(x):
            torch.manual_seed(7)
            return x + torch.rand(4)
        """,
        steps=2,
        breaks=None,
    )
    tensor_generator_seeded_between = Program(
        "def fn(x): return x * torch.rand(4)", steps=(1, "torch.manual_seed(3)", 2, "torch.manual_seed(3)", 1)
    )
    both_generators_in_order = Program(
        """
        import random
        def fn(x):
            a = random.random()
            t = torch.rand(2)
            b = random.random()
            return a < b, t, x + torch.rand(4)
        """,
        breaks=None,
    )


class ContextManagers(ProgramCase):
    row = "L24"

    user_class = Program(
        """
        log = []
        class Scope:
            def __init__(self, name): self.name, self.depth = name, 0
            def __enter__(self):
                self.depth += 1
                log.append(("enter", self.name))
                return self
            def __exit__(self, kind, value, trace):
                self.depth -= 1
                log.append(("exit", self.name, kind))
        s = Scope("outer")
        def fn(x):
            with s as one, Scope("inner") as two:
                log.append(one.depth + two.depth)
                y = x * one.depth
            log.append(s.depth)
            return y
        """
    )
    suppressing = Program(
        """
        log = []
        class Swallow:
            def __enter__(self): return self
            def __exit__(self, kind, value, trace):
                log.append((kind, str(value)))
                return kind is ZeroDivisionError
        def fn(x):
            with Swallow():
                log.append("before")
                1 // 0
                log.append("never")
            with Swallow():
                pass
            return x + len(log)
        """
    )
    not_suppressing = Program(
        """
        log = []
        class Watch:
            def __enter__(self): log.append("in")
            def __exit__(self, kind, value, trace): log.append(kind.__name__)
        def fn(x):
            with Watch():
                log.append(1)
                {}["missing"]
        """,
        raises=KeyError,
        breaks=None,
    )
    exit_raises = Program(
        """
        class Bad:
            def __enter__(self): pass
            def __exit__(self, *exc): raise ValueError("exit")
        log = []
        def fn(x):
            try:
                with Bad():
                    log.append(1)
                    raise KeyError("body")
            except ValueError as error:
                log.append(error.__context__)
            return x + len(log)
        """
    )
    contextmanager_function = Program(
        """
        from contextlib import contextmanager
        class Model: training = True
        m, log = Model(), []
        @contextmanager
        def mode(value):
            old, m.training = m.training, value
            log.append(("set", value))
            try:
                yield old
            finally:
                m.training = old
                log.append(("back", old))
        def fn(x):
            with mode(False) as old:
                inside = m.training
                y = x * 2
            return old, inside, y if m.training else x
        """
    )
    contextlib_tools = Program(
        """
        import contextlib
        log = []
        class Thing:
            def close(self): log.append("closed")
        def fn(x):
            with contextlib.suppress(KeyError, IndexError):
                log.append("s")
                [][1]
            with contextlib.nullcontext(5) as n, contextlib.closing(Thing()):
                log.append(n)
            with contextlib.ExitStack() as stack:
                stack.callback(log.append, "last")
                stack.enter_context(contextlib.suppress(ValueError))
                stack.push(lambda *exc: log.append(exc[0]))
                log.append("body")
            return x + len(log)
        """,
        breaks=None,
    )
    as_decorator = Program(
        """
        from contextlib import ContextDecorator
        class Count(ContextDecorator):
            n = 0
            def __enter__(self):
                type(self).n += 1
                return self
            def __exit__(self, *exc): type(self).n += 10
        @Count()
        def helper(x): return x * Count.n
        def fn(x): return helper(x) + Count.n
        """,
        breaks=None,
    )
    return_and_loops_inside = Program(
        """
        log = []
        class Scope:
            def __init__(self, n): self.n = n
            def __enter__(self): log.append(self.n)
            def __exit__(self, *exc): log.append(-self.n)
        def early(n):
            with Scope(n):
                if n > 1:
                    return "early"
            return "late"
        def fn(x):
            for n in (1, 2, 3):
                with Scope(n * 10):
                    if n == 1:
                        continue
                    log.append(early(n))
                    if n == 2:
                        break
            return x * len(log)
        """
    )
    redirected_output = Program(
        """
        import contextlib, io
        def fn(x):
            buffer = io.StringIO()
            with contextlib.redirect_stdout(buffer):
                print("hidden", 1)
            print("seen")
            return buffer.getvalue(), x + 1
        """,
        breaks=None,
    )


class ContextsAndCaches(ProgramCase):
    row = "L25"

    context_variable = Program(
        """
        from contextvars import ContextVar
        depth = ContextVar("depth", default=0)
        def helper(x):
            token = depth.set(depth.get() + 1)
            y = x * depth.get()
            depth.reset(token)
            return y
        def fn(x):
            kept = depth.set(depth.get() + 10)
            return helper(x), depth.get(), kept.old_value if depth.get() > 10 else None
        """,
        steps=(2, "depth.set(1)", 1),
    )
    context_variable_without_default = Program(
        """
        from contextvars import ContextVar
        v = ContextVar("v")
        def fn(x):
            try:
                now = v.get()
            except LookupError:
                now = v.get("given")
                v.set("set")
            return now, x + 1
        """,
        steps=2,
    )
    context_run = Program(
        """
        import contextvars
        v = contextvars.ContextVar("v", default=1)
        def work(n):
            v.set(v.get() + n)
            return v.get()
        def fn(x):
            inside = contextvars.copy_context().run(work, 5)
            return inside, v.get(), x * inside
        """,
        breaks=None,
    )
    thread_local = Program(
        """
        import threading
        local = threading.local()
        local.items = []
        def fn(x):
            local.n = getattr(local, "n", 0) + 1
            local.items.append(local.n)
            local.tensor = x * local.n
            return local.tensor + 1
        """,
        expect="local.items == [1, 2, 3]",
    )
    thread_local_subclass = Program(
        """
        import threading
        class Local(threading.local):
            def __init__(self): self.stack = [0]
        local = Local()
        def fn(x):
            local.stack.append(len(local.stack))
            del local.stack[0]
            return x * local.stack[-1]
        """
    )
    weak_reference = Program(
        """
        import weakref
        class Thing: pass
        t = Thing()
        t.n = 0
        r = weakref.ref(t)
        dead = weakref.ref(Thing())
        def fn(x):
            r().n += 1
            new = weakref.ref(t)
            return new is r, dead() is None, new, x * r().n
        """
    )
    weak_reference_to_a_new_object = Program(
        """
        import weakref
        class Thing: pass
        log = []
        def fn(x):
            t = Thing()
            r = weakref.ref(t, lambda ref: log.append("gone"))
            alive = r() is t
            del t
            log.append("after")
            return alive, r() is None, r, x + 1
        """,
        breaks=None,
    )
    weak_containers = Program(
        """
        import weakref
        class Thing: pass
        a, b = Thing(), Thing()
        values, keys, things = weakref.WeakValueDictionary(), weakref.WeakKeyDictionary(), weakref.WeakSet()
        def fn(x):
            values["a"], keys[a] = a, len(keys)
            things.add(a)
            things.add(b)
            values["temporary"] = Thing()
            return sorted(values), a in things, len(keys), x + len(things)
        """,
        breaks=None,
    )
    lru_cache = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(maxsize=2)
        def square(n):
            runs.append(n)
            return n * n
        def fn(x, n): return x * square(n) + square(1)
        """,
        call="fn(x, (1, 2, 3, 2)[i])",
        steps=(4, "square.cache_clear()", "fn(x, 1)", ),
    )
    cache_of_tensors = Program(
        """
        import functools
        @functools.cache
        def table(n): return torch.ones(4) * n
        def fn(x):
            first = table(2)
            return x + first, table(2) is first, table.cache_info()
        """
    )
    cached_method_and_keywords = Program(
        """
        import functools
        class Box:
            runs = 0
            @functools.lru_cache
            def get(self, k, *, scale=1):
                Box.runs += 1
                return k * scale
        b = Box()
        def fn(x): return x * b.get(2) + b.get(2, scale=3) + b.get(k=2)
        """,
        steps=(2, "Box.get.cache_clear()", 1),
    )
    unhashable_argument = Program(
        """
        import functools
        @functools.cache
        def f(v): return v
        def fn(x):
            try:
                f([])
            except TypeError as error:
                return str(error), f.cache_info(), x + 1
        """
    )
    typed_cache = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(typed=True)
        def typed(v):
            runs.append(v)
            return v
        @functools.lru_cache
        def loose(v):
            runs.append(("loose", v))
            return v
        def fn(x): return typed(1), typed(1.0), typed(True), loose(1), loose(1.0), loose(True), x + len(runs)
        """
    )
    bounded_cache_in_every_order = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(maxsize=3)
        def f(n):
            runs.append(n)
            return [n]
        def fn(x, keys):
            out = []
            for k in keys:
                out.append(f(k)[0])
            return out, tuple(f.cache_info()), x + 1
        """,
        call="fn(x, ((1, 2, 3, 4, 1), (2, 5, 2, 3), (4, 4, 9, 3, 2, 1), (1,), (1, 3, 8, 7, 3, 1, 6, 5, 8))[i % 5])",
        steps=(10, "f.cache_clear()", 5),
        breaks=None,
    )
    cache_that_is_cleared_inside = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(maxsize=2)
        def f(n):
            runs.append(n)
            return n + 1
        @functools.cache
        def g(n):
            runs.append(("g", n))
            return f(n) + f(n + 1)
        def fn(x, n):
            first = f(n), f.cache_info()
            f.cache_clear()
            second = f(n), f(n + 1), f(n + 2), f.cache_info(), g(n), g.cache_info()
            return first, second, f.cache_info(), x
        """,
        call="fn(x, i % 3)",
        steps=(6,),
        expect="fn(x, 0)[2].maxsize == 2 and type(fn(x, 1)[2]).__name__ == 'CacheInfo'",
    )
    cache_without_room = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(maxsize=0)
        def f(n, *, k=1):
            runs.append((n, k))
            if n == 3:
                raise ValueError(n)
            return n + k
        def fn(x, n):
            try:
                return f(n), f(n, k=2), f.cache_info(), x
            except ValueError as error:
                return str(error), f.cache_info()
        """,
        call="fn(x, i)",
        steps=(5,),
        breaks=None,
    )
    cache_asked_with_what_has_no_hash = Program(
        """
        import functools
        @functools.lru_cache
        def f(*args, **kwargs): return len(args)
        def fn(x):
            out = [f(1)]
            for args in ([[]], [1, {}], [{1}, []], [(1, [])]):
                try:
                    out.append(f(*args))
                except TypeError as error:
                    out.append(str(error))
            try:
                f(a={})
            except TypeError as error:
                out.append(str(error))
            return out, f.cache_info(), x
        """,
        steps=(3,),
        breaks=None,
    )
    token_of_before = Program(
        """
        from contextvars import ContextVar
        v = ContextVar("v")
        token = v.set("first")
        again = v.set("second")
        def fn(x):
            return token.var is v, again.old_value, token.old_value is token.MISSING, x + 1
        """,
        steps=(3,),
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
