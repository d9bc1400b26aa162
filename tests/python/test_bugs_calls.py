"""More kinds of public faults: iterators, generators, random state, contexts, caches, aliases, output, numbers, calls."""

import unittest

from harness import Program, ProgramCase


class Iterators(ProgramCase):
    escaping_generator_keeps_its_protocol = Program(
        """
        log = []
        def gen(x):
            log.append("start")
            try:
                got = yield x * 2
                log.append(got)
                yield "second"
            except KeyError:
                log.append("thrown")
                yield "after throw"
            finally:
                log.append("finally")
            return "done"
        def fn(x): return gen(x), gen(x), gen(x), gen(x)
        def drive(g, h, k, unused):
            out = [next(g), g.send(1)]
            try:
                next(g)
            except StopIteration as stop:
                out.append(stop.value)
            out += [next(h), h.throw(KeyError("k"))]
            h.close()
            next(k)
            k.close()
            return out, type(unused).__name__
        """,
        call="drive(*fn(x))",
    )
    escaping_generator_is_lazy_about_later_mutations = Program(
        """
        items, log = [1, 2], []
        def gen():
            for n in items:
                log.append(n)
                yield n
        def fn(x):
            g = gen()
            first = next(g)
            items.append(first + 10)
            return g, x * first
        """,
        call="[list(part) if hasattr(part, 'send') else part for part in fn(x)]",
    )
    list_exhausts_the_iterators = Program(
        """
        def fn(x):
            it, back = iter([1, 2]), reversed([1, 2])
            out = [list(it), list(back), list(it), tuple(back)]
            for one in (it, back):
                try:
                    out.append(next(one))
                except StopIteration:
                    out.append("stop")
            return out, it, back, x + 1
        """
    )
    exhausted_iterator_handed_in = Program(
        """
        it = iter((1, 2, 3))
        def fn(x):
            total = sum(it)
            try:
                next(it)
            except StopIteration:
                total += 100
            return x * total, next(it, None)
        """,
        steps=2,
    )
    lazy_objects_keep_their_own_type_when_they_escape = Program(
        """
        log = []
        def f(n):
            log.append(n)
            return n + 1
        def fn(x):
            source = [1, 0, 2]
            return map(f, source), filter(f, source), zip(source, source), enumerate(source, 2), x * 2
        """,
        call="[(type(p).__name__, list(p) if i and not torch.is_tensor(p) else p) for p in fn(x)]",
    )
    lazy_objects_stored_and_continued = Program(
        """
        class Box: pass
        b = Box()
        def fn(x):
            if not hasattr(b, "m"):
                b.m, b.z = map(str, range(9)), zip("abcdefgh", range(8))
            return next(b.m), next(b.z), x + 1
        """
    )


class State(ProgramCase):
    seed_then_draw_on_every_call = Program(
        """
        import random
        def fn(x):
            random.seed(42)
            return x * random.random(), random.randint(0, 99)
        """,
        steps=4,
        breaks=None,
    )
    seeded_outside_then_drawn_inside = Program(
        """
        import random
        def fn(x): return x + random.random(), [random.choice("abc") for _ in range(3)]
        """,
        steps=(1, "random.seed(3)", 2, "random.seed(3)", 1),
        breaks=None,
    )
    random_instance_used_by_two_calls = Program(
        """
        import random
        class Sampler:
            def __init__(self): self.rng = random.Random(1)
            def pick(self): return self.rng.randrange(100)
        s = Sampler()
        def fn(x): return x * s.pick(), s.rng.random()
        """,
        steps=(2, "s.rng.seed(1)", 2),
        breaks=None,
    )
    context_variable_in_caller_and_callee = Program(
        """
        from contextvars import ContextVar
        level = ContextVar("level", default=0)
        def callee(x):
            token = level.set(level.get() + 1)
            try:
                return x * level.get()
            finally:
                level.reset(token)
        def fn(x):
            outer = level.set(10)
            y = callee(x)
            seen = level.get()
            level.reset(outer)
            return y, seen, level.get()
        """,
        steps=(2, "level.set(5)", 1),
    )
    context_token_used_twice_raises = Program(
        """
        from contextvars import ContextVar
        v = ContextVar("v", default=0)
        def fn(x):
            token = v.set(1)
            v.reset(token)
            try:
                v.reset(token)
            except RuntimeError as error:
                return type(error), token.var is v, v.get(), x + 1
        """
    )
    cache_hits_do_not_run_the_body = Program(
        """
        import functools
        runs = []
        @functools.cache
        def slow(n):
            runs.append(n)
            return n * 10
        def fn(x, n): return x * slow(n) + slow(n), slow.cache_info()
        """,
        call="fn(x, i // 2)",
        steps=4,
        expect="runs == [0, 1]",
    )
    bounded_cache_evicts = Program(
        """
        import functools
        runs = []
        @functools.lru_cache(maxsize=1)
        def slow(n):
            runs.append(n)
            return n
        def fn(x):
            slow(1); slow(2); slow(1)
            return x * slow(1), tuple(slow.cache_info())
        """
    )
    cached_function_that_raises_is_not_cached = Program(
        """
        import functools
        runs = []
        @functools.cache
        def bad(n):
            runs.append(n)
            if len(runs) < 3:
                raise ValueError(n)
            return "good"
        def fn(x):
            try:
                return bad(1), x
            except ValueError:
                return "raised", x + len(runs)
        """
    )


class Aliases(ProgramCase):
    user_objects_first_distinct_then_the_same = Program(
        """
        class Thing:
            def __init__(self): self.hits = 0
        a, b = Thing(), Thing()
        def fn(p, q):
            p.hits += 1
            q.hits += 10
            return torch.ones(2) * p.hits, p is q, p == q
        """,
        call="fn(*((a, b), (a, a), (a, b))[i])",
    )
    none_and_singletons_by_identity = Program(
        """
        missing = object()
        def fn(x, v=missing):
            if v is missing:
                return "missing", x
            if v is None:
                return "none", x
            return v, x * 2
        """,
        call="fn(x, *((), (None,), (5,), (missing,))[i])",
        steps=4,
    )
    lists_alias_on_the_second_call_only = Program(
        """
        p, q = [], []
        def fn(a, b):
            a.append(1)
            b.extend(a)
            return torch.ones(1) * len(b)
        """,
        call="fn(p, q) if i == 0 else fn(p, p)",
        steps=2,
    )
    attribute_and_argument_alias_on_the_second_call_only = Program(
        """
        class Box: pass
        b, other = Box(), {}
        b.table = {}
        def fn(x, table):
            table["a"] = 1
            b.table["a"] = table["a"] + 1
            return x * table["a"]
        """,
        call="fn(x, other if i == 0 else b.table)",
    )
    operation_that_returns_its_input_keeps_the_alias = Program(
        """
        drop = torch.nn.Dropout(0.5).eval()
        def fn(x):
            a, b, c = drop(x), x.contiguous(), x.to(torch.float32)
            a += 1
            b *= 2
            return a is x, b is x, c is x, a, c
        """
    )
    functional_dropout_in_eval_then_in_place = Program(
        """
        kept = []
        def fn(x):
            y = torch.nn.functional.dropout(x, 0.5, training=False)
            y.add_(1)
            kept.append(y)
            return y, x
        """
    )
    maybe_view_then_in_place = Program(
        """
        def fn(x):
            y = x.view(2, 2)
            z = y.t().contiguous()
            w = y.reshape(4)
            z += 100
            w += 1
            y[0, 0] = -5
            return x, y, z, w
        """
    )
    inputs_mutated_then_overlapping_views = Program(
        """
        base = torch.arange(8.0)
        def fn(a, b):
            a += b
            b.mul_(2)
            return a.sum(), b.sum(), a + b
        """,
        call="fn(*((base[:4].clone(), base[4:].clone()), (base[:4], base[4:]), (base[4:], base[:4]), (base, base))[i])",
        steps=4,
        breaks=None,
    )
    transposed_views_of_one_base = Program(
        """
        base = torch.zeros(2, 2)
        def fn(a, b):
            a[0, 1] = 5
            b[0, 0] += 1
            return a + b
        """,
        call="fn(*((base, torch.ones(2, 2)), (base, base.t()), (base.t(), base))[i])",
        breaks=None,
    )


class Output(ProgramCase):
    text_order_and_values_of_the_moment = Program(
        """
        import logging, warnings
        t = torch.zeros(2)
        def fn(x):
            print("one", t)
            warnings.warn(f"two {t.tolist()}")
            t.add_(1)
            logging.warning("three %s", t)
            print("four", t, x.sum().item())
            t.add_(1)
            return t + 0
        """
    )
    print_of_a_mutated_object = Program(
        """
        state = {"n": 0, "items": []}
        def fn(x):
            print(state)
            state["n"] += 1
            state["items"].append(state["n"])
            print(state, "%d items" % len(state["items"]), "{n}".format(**state))
            return x
        """
    )
    warning_once_per_place = Program(
        """
        import warnings
        def noisy(n): warnings.warn("noisy", DeprecationWarning)
        def fn(x):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                noisy(1)
            noisy(2)
            return x + 1
        """,
        breaks=None,
    )


class Numbers(ProgramCase):
    equal_arguments_of_other_types_are_not_mixed_up = Program(
        """
        def fn(x, v): return v, repr(v), type(v), x * v, v * 2, 1.0 / v if v else str(v)
        """,
        call="fn(x, (0.0, -0.0, 1, True, 1.0, 0, False, -0.0, 0.0)[i])",
        steps=9,
    )
    equal_globals_of_other_types_are_not_mixed_up = Program(
        """
        k = 1
        def fn(x): return [k, type(k).__name__, {k: "v"}, x * k]
        """,
        steps=(1, "k = True", 1, "k = 1.0", 1, "k = 0", 1, "k = -0.0", 1, "k = 0.0", 1),
    )
    equal_dict_keys_of_other_types = Program(
        """
        def fn(x, v):
            table = {v: "first"}
            return list(table), table.get(1), x + len(table)
        """,
        call="fn(x, (1, True, 1.0)[i])",
    )
    symbolic_numbers_format_as_text = Program(
        """
        n, v = 0, 0.5
        def fn(x, k):
            global n, v
            n += 1
            v *= 2
            texts = [f"{n}", f"{n!r}", f"{v}", f"{v!r:>8}", f"{n:03d}", f"{v:.2f}", str(n), repr(v), "%d|%s" % (n, v),
                     "{} {!r}".format(n, v), f"{k}-{k!r}-{k!s}", f"{n=}", format(n, "x"), f"{n:{k + 4}}"]
            return texts, x * n
        """,
        call="fn(x, i)",
        steps=4,
    )
    big_integers_and_wraparound = Program(
        """
        n = 2 ** 62
        def fn(x, k):
            global n
            n *= 2
            n += k
            return n, n // 3, n % 7, -n, n >> 2, n << 1, ~n, abs(-n), x + 1
        """,
        call="fn(x, i)",
        steps=4,
    )
    integer_division_and_remainder_of_negatives = Program(
        """
        def fn(x, a, b): return a // b, a % b, divmod(a, b), a ** 2, -a // b, round(a / b, 2), int(a / b), x + a
        """,
        call="fn(x, (-7, 7, -8)[i], (2, -2, 3)[i])",
    )
    float_corner_values = Program(
        """
        import math
        def fn(x, v):
            return v == v, v > 0, math.isnan(v), min(v, 1.0), max(v, 1.0), v * 0.0, -v, str(v), v in [v], x * v
        """,
        call="fn(x, (math.inf, math.nan, -0.0, 1e308 * 10, 5e-324)[i])",
        steps=5,
    )


class CallsAndErrors(ProgramCase):
    keyword_already_bound_by_star_arguments = Program(
        """
        log = []
        def helper(a, b=2, *rest, k=3): return a, b, rest, k
        def fn(x, args):
            try:
                return helper(*args, a=1), x
            except TypeError as error:
                log.append(str(error))
            try:
                return helper(*args, b=5), x
            except TypeError as error:
                log.append(str(error))
            try:
                helper(**{"a": 1}, **{"a": 2})
            except TypeError as error:
                log.append(str(error))
            return x + len(log)
        """,
        call="fn(x, [1, 2, 3])",
    )
    every_wrong_call_has_its_message = Program(
        """
        def f(a, /, b, *, c): return a, b, c
        class Box:
            def __init__(self, v): pass
            def m(self): pass
        attempts = [lambda: f(), lambda: f(1), lambda: f(1, 2), lambda: f(1, 2, 3, c=4), lambda: f(a=1, b=2, c=3),
                    lambda: f(1, 2, c=3, d=4), lambda: Box(), lambda: Box(1, 2), lambda: Box(1).m(2), lambda: f(1, 2, c=3, **{"c": 4})]
        def fn(x):
            out = []
            for attempt in attempts:
                try:
                    out.append(attempt())
                except TypeError as error:
                    out.append(str(error))
            return out, x + 1
        """
    )
    errors_of_python_itself_are_caught_inside = Program(
        """
        import contextlib, enum
        class Color(enum.Enum):
            RED = 1
        log = []
        def fn(x, d):
            with contextlib.suppress(ZeroDivisionError):
                log.append("div")
                1 // d
                log.append("fine")
            try:
                Color(d + 5)
            except ValueError as error:
                log.append(str(error))
            try:
                [][d]
            except IndexError as error:
                log.append(str(error))
            try:
                int("x" * d or "y")
            except ValueError as error:
                log.append(str(error))
            try:
                a, b = [1] * (d + 1)
            except ValueError as error:
                log.append(str(error))
            return x + len(log)
        """,
        call="fn(x, i)",
        breaks=None,
    )
    math_domain_errors_are_caught_inside = Program(
        """
        import math
        def fn(x, v):
            out = []
            for f in (math.sqrt, math.log, lambda n: 1 / n, lambda n: n ** -1, math.exp, lambda n: round(n / 0)):
                try:
                    out.append(f(v))
                except (ValueError, ZeroDivisionError, OverflowError) as error:
                    out.append((type(error).__name__, str(error)))
            return out, x + 1
        """,
        call="fn(x, (-1, 0, 1000)[i])",
    )
    keyword_given_twice_by_dicts = Program(
        """
        import math
        class Box:
            def __init__(self, **k): self.k = k
            def method(self, **k): return k
        def f(**k): return k
        box = Box()
        def fn(x):
            out = []
            local = lambda **k: k
            for call in (f, Box, box.method, print, sorted, local):
                try:
                    out.append(call(**{"a": 1}, **{"b": 1, "a": 2}))
                except TypeError as error:
                    out.append(str(error))
            return out, x
        """,
        steps=(3,),
        breaks=None,
    )
    attributes_of_numbers_and_texts_are_refused = Program(
        """
        def fn(x):
            out = []
            for target in (1, 1.5, "t", True, None, (1, 2), b"b"):
                for name in ("real", "new", "__class__", "__doc__"):
                    try:
                        setattr(target, name, 5)
                    except (AttributeError, TypeError) as error:
                        out.append((type(error), str(error)))
                try:
                    del target.gone
                except AttributeError as error:
                    out.append(str(error))
            return out, x
        """,
        steps=(2,),
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
