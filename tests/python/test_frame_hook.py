"""The frame hook: cache, guards, arguments, fallback and trampoline."""

from __future__ import annotations

import contextlib
import types
import unittest
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from hooking import (
    CONFIG,
    TRIES,
    Config,
    Referenced,
    as_replacement,
    compile,
    counters,
    counts_and_gives_up,
    gives_up,
    plain,
    replaced,
    resets,
    tracing,
)
from thirdbook import _core
from thirdbook._core import _fallback, _resume


class CacheTest(unittest.TestCase):
    def test_runs_the_replacement_instead_of_the_frame(self) -> None:
        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            f = compile(plain)
            self.assertEqual(f(1, 2), ("replaced", 1, 2))
            self.assertEqual(f(3, b=4), ("replaced", 3, 4))
            self.assertEqual(f(5, 6), ("replaced", 5, 6))
            self.assertEqual(tracer.asked, ["plain"])
            self.assertEqual(
                counters(), {"frames": 3, "compilations": 1, "recompiles": 0, "cacheHits": 2, "fallbacks": 0}
            )
        self.assertEqual(plain(1, 2), ("plain", 1, 2))

    def test_guards_choose_the_entry(self) -> None:
        with tracing() as tracer:
            def one(a: int, b: int) -> tuple:
                return "one", a, b

            def two(a: int, b: int) -> tuple:
                return "two", a, b

            made = {1: as_replacement(one, plain.__code__), 2: as_replacement(two, plain.__code__)}
            tracer.rules[plain.__code__] = lambda code, values, config, earlier: (
                made[values[0]], lambda now, wanted=values[0]: now[0] == wanted or f"a is {now[0]}")
            f = compile(plain)
            for call in range(3):
                for a, name in ((1, "one"), (2, "two"), (2, "two")):
                    for result in (f(a, call), f(a, b=call)):  # without and with a frame
                        self.assertEqual(result, (name, a, call))
            self.assertEqual(tracer.asked, ["plain"] * 2)
            self.assertEqual(counters()["recompiles"], 1)

    def test_recompile_limit_warns_once_and_keeps_what_there_is(self) -> None:
        with tracing() as tracer:
            made = as_replacement(replaced, plain.__code__)
            tracer.rules[plain.__code__] = lambda code, values, *_: (
                made, lambda now, wanted=values[0]: now[0] == wanted or f"L['a'] == {wanted}")
            f = compile(plain)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kinds = [f(a, 0)[0] for a in range(12)]
            self.assertEqual(kinds, ["replaced"] * 8 + ["plain"] * 4)
            self.assertEqual(len(caught), 1)
            self.assertIn("plain", str(caught[0].message))
            self.assertIn("8 times", str(caught[0].message))
            self.assertIn("L['a'] == 7", str(caught[0].message))
            self.assertEqual(f(3, 0)[0], "replaced")
            self.assertEqual(counters()["compilations"], 8)

    def test_recompile_limit_with_warnings_as_errors_changes_nothing(self) -> None:
        with tracing() as tracer:
            made = as_replacement(replaced, plain.__code__)
            tracer.rules[plain.__code__] = lambda code, values, *_: (
                made, lambda now, wanted=values[0]: now[0] == wanted)
            f = compile(plain)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual([f(a, 0)[0] for a in range(9)], ["replaced"] * 8 + ["plain"])

    def test_entries_belong_to_the_options_object(self) -> None:
        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            self.assertEqual(compile(plain)(1, 2)[0], "replaced")
            other = Config()
            tracer.rules[plain.__code__] = lambda code, values, config, earlier: (
                self.assertIs(config, other), self.assertEqual(earlier, 0), as_replacement(gives_up, code))[2]
            self.assertEqual(compile(plain, other)(1, 2)[0], "plain")
            self.assertEqual(compile(plain)(1, 2)[0], "replaced")

    def test_skipped_code_is_not_asked_about_again_until_reset(self) -> None:
        with tracing() as tracer:
            f = compile(plain)
            for _ in range(3):
                self.assertEqual(f(1, 2), ("plain", 1, 2))
            self.assertEqual(tracer.asked, ["plain"])
            _core.reset()
            f(1, 2)
            self.assertEqual(tracer.asked, ["plain"] * 2)

    def test_an_error_of_the_tracer_reaches_the_caller_and_is_not_remembered(self) -> None:
        with tracing() as tracer:
            def refuse(*_: Any) -> None:
                raise RuntimeError("cannot")

            tracer.rules[plain.__code__] = refuse
            f = compile(plain)
            for _ in range(2):
                with self.assertRaisesRegex(RuntimeError, "cannot"):
                    f(1, 2)
            self.assertEqual(len(tracer.asked), 2)
            self.assertEqual(_core._region_depth(), 0)

    def test_reset_inside_tracer_and_replacement(self) -> None:
        with tracing() as tracer:
            made = as_replacement(resets, plain.__code__)
            tracer.rules[plain.__code__] = lambda *_: (_core.reset(), made)[1]
            f = compile(plain)
            for _ in range(3):
                self.assertEqual(f(1, 2), ("replaced", 1, 2))
                self.assertEqual(f(1, b=2), ("replaced", 1, 2))

    def test_a_replacement_that_does_not_fit_is_an_error(self) -> None:
        with tracing() as tracer:
            tracer.rules[plain.__code__] = lambda *_: (lambda only: only).__code__
            with self.assertRaises(SystemError):
                compile(plain)(1, 2)


class ArgumentsTest(unittest.TestCase):
    def test_every_kind_of_parameter_reaches_the_replacement(self) -> None:
        def f(a: int, /, b: int, c: int = 3, *rest: int, d: int, e: int = 5, **more: int) -> tuple:
            return a, b, c, rest, d, e, more

        def g(a: int, b: int, c: int, d: int, e: int, rest: tuple, more: dict) -> tuple:
            return a, b, c, rest, d, e, more, "replaced"

        with tracing() as tracer:
            tracer.replace(f, by=g)
            compiled = compile(f)
            calls = [((1, 2), {"d": 4}), ((1, 2, 3, 4, 5), {"d": 1, "e": 2, "z": 9}), ((1,), {"b": 1, "d": 2})]
            for args, kwargs in calls:
                self.assertEqual(compiled(*args, **kwargs), f(*args, **kwargs) + ("replaced",))
            with self.assertRaisesRegex(TypeError, "missing 1 required keyword-only argument: 'd'"):
                compiled(1, 2)
            with self.assertRaisesRegex(TypeError, "positional"):
                compiled()

    def test_closures_and_captured_parameters(self) -> None:
        def outer(step: int) -> Callable[[int], Any]:
            def inner(x: int) -> Any:
                def innermost() -> int:
                    return x + step
                return innermost()
            return inner

        def outer_replacement(step: int) -> Callable[[int], Any]:
            def inner(x: int) -> Any:
                return "replaced", x, step
            return inner

        with tracing() as tracer:
            tracer.replace(outer(0), by=outer_replacement(0))
            first, second = compile(outer(10)), compile(outer(20))
            for _ in range(2):
                self.assertEqual(first(1), ("replaced", 1, 10))
                self.assertEqual(second(1), ("replaced", 1, 20))
                self.assertEqual(first(x=1), ("replaced", 1, 10))
            self.assertEqual(tracer.asked.count("inner"), 1)

    def test_inner_frames_are_candidates_too(self) -> None:
        def outside(a: int) -> tuple:
            return plain(a, a)

        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            self.assertEqual(compile(outside)(7), ("replaced", 7, 7))
            self.assertEqual(tracer.asked, ["outside", "plain"])
            self.assertEqual(outside(7), ("plain", 7, 7))

    def test_methods_bind(self) -> None:
        class Thing:
            def method(self, a: int) -> tuple:
                return "plain", self, a

            def method_replacement(self, a: int) -> tuple:
                return "replaced", self, a

            compiled = _core.compile(method, CONFIG)
            static = staticmethod(compiled)

        with tracing() as tracer:
            tracer.replace(Thing.method, by=Thing.method_replacement)
            thing = Thing()
            self.assertEqual(thing.compiled(1), ("replaced", thing, 1))
            self.assertEqual(Thing.compiled(thing, 1), ("replaced", thing, 1))
            self.assertEqual(thing.static(thing, 2), ("replaced", thing, 2))
            bound = compile(thing.method)
            self.assertEqual(bound(3), ("replaced", thing, 3))

    def test_describes_itself_like_the_function(self) -> None:
        def documented(a: int) -> int:
            """Says what it does."""
            return a

        documented.attribute = 5
        f = compile(documented)
        self.assertEqual((f.__name__, f.__doc__), ("documented", "Says what it does."))
        self.assertEqual(f.__module__, __name__)
        self.assertEqual(f.__qualname__, documented.__qualname__)
        self.assertIs(f.__wrapped__, documented)
        self.assertEqual(f.attribute, 5)
        self.assertIn("documented", repr(f))
        import inspect
        self.assertEqual(str(inspect.signature(f)), str(inspect.signature(documented)))
        with self.assertRaises(TypeError):
            compile(3)

    def test_any_callable_can_be_wrapped(self) -> None:
        self.assertEqual(compile(len)([1, 2]), 2)
        self.assertEqual(compile(int)("7", base=8), 7)


class FallbackTest(unittest.TestCase):
    def test_the_untouched_frame_runs_once(self) -> None:
        runs = []

        def effect(a: list, *rest: int) -> tuple:
            runs.append(len(a))
            a.append(1)
            return a, rest

        def fall(a: list, rest: tuple) -> Any:
            return _fallback

        with tracing() as tracer:
            tracer.replace(effect, by=fall)
            f = compile(effect)
            values: list = []
            self.assertEqual(f(values, 2), (values, (2,)))
            self.assertEqual(f(values), (values, ()))
            self.assertEqual(runs, [0, 1])
            self.assertEqual(counters()["fallbacks"], 2)

    def test_the_fast_path_falls_back_without_trying_twice(self) -> None:
        TRIES.clear()
        with tracing() as tracer:
            tracer.replace(plain, by=counts_and_gives_up)
            f = compile(plain)
            for i in range(4):
                self.assertEqual(f(i, 0), ("plain", i, 0))
            self.assertEqual(TRIES, [0, 1, 2, 3])
            self.assertEqual(counters()["fallbacks"], 4)


def count_down(n: int) -> str:
    return "not traced"


def count_down_replacement(n: int) -> Any:
    if n == 0:
        return "end"
    return _resume(count_down, n - 1)


def drops_its_argument(thing: Any, look: Callable[[], Any]) -> tuple:
    del thing
    return "done", look()


class TrampolineTest(unittest.TestCase):
    def test_a_long_chain_of_breaks_runs_in_a_loop(self) -> None:
        with tracing() as tracer:
            tracer.replace(count_down, by=count_down_replacement)
            f = compile(count_down)
            self.assertEqual(f(100_000), "end")
            self.assertEqual(f(n=10), "end")
            self.assertEqual(tracer.asked, ["count_down"])

    def test_goes_on_in_the_middle_of_the_function(self) -> None:
        log: list = []

        def f(log: list, n: int) -> list:
            out = []
            for i in range(n):
                log.append(i)
                out.append(i * i)
            return out

        def first_part(log: list, n: int) -> Any:
            iterator = iter(range(n))
            next(iterator)
            log.append(0)
            return _resume(go_on, log, n, [], 0, iterator, None)  # noqa: F821

        code = f.__code__
        rows = _core._read_code(code)["instructions"]
        first_pop = next(i for i, row in enumerate(rows) if row[0] == "POP_TOP")
        self.assertEqual(_core._resume_items(code, first_pop), ["value", "value"])
        names = list(code.co_varnames)
        bound = [names.index(name) for name in ("log", "n", "out", "i")]
        resume_code = _core._resume_code(code, first_pop, bound, [False, False])
        globals()["go_on"] = types.FunctionType(resume_code, globals())
        with tracing() as tracer:
            tracer.replace(f, by=first_part)
            compiled = compile(f)
            self.assertEqual(compiled(log, 4), [0, 1, 4, 9])
            self.assertEqual(log, [0, 1, 2, 3])
            self.assertEqual(tracer.asked, ["f", "f"])  # the rest is a fresh candidate
            tracer.replace(resume_code, by=lambda log, n, out, i, iterator, top: _fallback)
            _core.reset()
            self.assertEqual(compiled(log, 4), [0, 1, 4, 9])
            self.assertEqual(counters()["fallbacks"], 1)

    def test_requests_inside_inner_calls_stay_there(self) -> None:
        def outside(n: int) -> list:
            return [count_down(n), count_down(n + 1)]

        with tracing() as tracer:
            tracer.replace(count_down, by=count_down_replacement)
            self.assertEqual(compile(outside)(5), ["end", "end"])

    def test_arguments_die_when_the_resumed_function_drops_them(self) -> None:
        def start(n: int) -> str:
            return "plain"

        def start_replacement(n: int) -> Any:
            thing = Referenced()
            return _resume(drops_its_argument, thing, weakref.ref(thing))

        with tracing() as tracer:
            tracer.replace(start, by=start_replacement)
            f = compile(start)
            self.assertEqual([f(1), f(1)], [("done", None)] * 2)

    def test_only_functions_can_be_resumed(self) -> None:
        with self.assertRaises(TypeError):
            _resume(len, [])
        with self.assertRaises(TypeError):
            _resume()


if __name__ == "__main__":
    unittest.main()
