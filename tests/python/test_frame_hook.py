"""The frame hook: cache, guards, fallback, trampoline, regions, with a tracer written in Python.

`replace(f, by=g)` makes the hook run g's code in place of f's frames; f itself says what plain Python would do.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import traceback
import types
import unittest
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from thirdbook import _core
from thirdbook._core import _fallback, _resume

ROUNDS = 3000


class Config:
    """Stands for the options object of thirdbook.compile."""

    recompile_limit = 8


CONFIG = Config()


def as_replacement(template: types.FunctionType, original: types.CodeType) -> types.CodeType:
    """The template's code under the original's name, all parameters positional."""
    code = template.__code__
    arguments = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.replace(
        co_name=original.co_name, co_qualname=original.co_qualname, co_filename=original.co_filename,
        co_argcount=arguments, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=code.co_flags & ~12,
    )


class Tracing:
    """A tracer that knows for which code what is to run; everything else is skipped."""

    def __init__(self) -> None:
        self.rules: dict[types.CodeType, Callable[..., Any]] = {}
        self.asked: list[str] = []

    def replace(self, original: Any, by: types.FunctionType, guard: Callable[[tuple], Any] | None = None) -> None:
        code = original.__code__ if hasattr(original, "__code__") else original
        made = as_replacement(by, code)
        self.rules[code] = lambda *_: made if guard is None else (made, guard)

    def __call__(self, code: types.CodeType, values: tuple, config: Any, earlier: int) -> Any:
        self.asked.append(code.co_name)
        rule = self.rules.get(code)
        return rule(code, values, config, earlier) if rule is not None else None


@contextlib.contextmanager
def tracing() -> Iterator[Tracing]:
    tracer = Tracing()
    _core.reset()
    _core._reset_counters()
    _core._set_test_tracer(tracer)
    try:
        yield tracer
    finally:
        _core._set_test_tracer(None)
        _core.reset()


def compile(function: Callable[..., Any], config: Any = CONFIG) -> Any:
    return _core.compile(function, config)


def counters() -> dict[str, int]:
    return _core._counters()


def plain(a: int, b: int) -> tuple:
    return "plain", a, b


def replaced(a: int, b: int) -> tuple:
    return "replaced", a, b


def gives_up(a: int, b: int) -> Any:
    return _fallback


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
            tracer.rules[plain.__code__] = lambda code, values, *_: (made, lambda now, wanted=values[0]: now[0] == wanted)
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
        def resets(a: int, b: int) -> tuple:
            _core.reset()
            gc.collect()
            return "replaced", a, b

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
            for args, kwargs in (((1, 2), {"d": 4}), ((1, 2, 3, 4, 5), {"d": 1, "e": 2, "z": 9}), ((1,), {"b": 1, "d": 2})):
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
        self.assertEqual((f.__name__, f.__doc__, f.__module__), ("documented", "Says what it does.", __name__))
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
        tries: list = []
        with tracing() as tracer:
            def template(a: int, b: int) -> Any:
                tries_list.append(a)  # noqa: F821
                return _fallback

            globals()["tries_list"] = tries
            tracer.replace(plain, by=template)
            f = compile(plain)
            for i in range(4):
                self.assertEqual(f(i, 0), ("plain", i, 0))
            self.assertEqual(tries, [0, 1, 2, 3])
            self.assertEqual(counters()["fallbacks"], 4)


def count_down(n: int) -> str:
    return "not traced"


def count_down_replacement(n: int) -> Any:
    if n == 0:
        return "end"
    return _resume(count_down, n - 1)


class Referenced:
    pass


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


def fails(a: int, b: int) -> None:
    raise ValueError("plain")


def fails_replaced(a: int, b: int) -> None:
    raise ValueError(a)


class ExceptionsTest(unittest.TestCase):
    def test_a_traceback_shows_the_function_once(self) -> None:
        with tracing() as tracer:
            tracer.replace(fails, by=fails_replaced)
            f = compile(fails)
            for call in (lambda: f(7, 0), lambda: f(7, b=0), lambda: f(7, 0)):
                try:
                    call()
                except ValueError as error:
                    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                    self.assertEqual(error.args, (7,))
                    self.assertEqual(names[-1], "fails")
                    self.assertEqual(names.count("fails"), 1)
                else:
                    self.fail("no exception")
            self.assertEqual(_core._region_depth(), 0)

    def test_the_handled_exception_is_the_callers(self) -> None:
        def looks(a: int) -> Any:
            return "plain"

        def looks_replaced(a: int) -> Any:
            return sys.exception()

        with tracing() as tracer:
            tracer.replace(looks, by=looks_replaced)
            f = compile(looks)
            try:
                raise KeyError
            except KeyError as error:
                self.assertIs(f(1), error)
            self.assertIsNone(f(1))

    def test_endless_recursion_is_a_recursion_error(self) -> None:
        def forever(n: int) -> int:
            return compiled(n + 1) + 1

        def forever_by_keyword(n: int) -> int:
            return compiled_by_keyword(n=n + 1) + 1

        with tracing() as tracer:
            for function in (forever, forever_by_keyword):
                tracer.replace(function, by=function)
            compiled, compiled_by_keyword = compile(forever), compile(forever_by_keyword)
            for call in (lambda: compiled(0), lambda: compiled_by_keyword(n=0)):
                with self.assertRaises(RecursionError):
                    call()
                self.assertEqual(_core._region_depth(), 0)
            self.assertEqual(compile(plain)(1, 2), ("plain", 1, 2))

    def test_plain_recursion_inside_a_compiled_call_goes_as_deep_as_outside(self) -> None:
        def depth(n: int) -> int:
            return 0 if n == 0 else 1 + depth(n - 1)

        def start(n: int) -> int:
            return depth(n)

        with tracing() as tracer:
            wanted = sys.getrecursionlimit() - 200
            self.assertEqual(compile(start)(wanted), depth(wanted))
            tracer.replace(depth, by=depth)
            _core.reset()
            self.assertEqual(compile(start)(wanted), wanted)
            with self.assertRaises(RecursionError):
                compile(start)(10 * wanted)
            self.assertEqual(_core._region_depth(), 0)

    def test_below_the_soft_limit_frames_run_with_the_hook_off(self) -> None:
        def depth(n: int) -> list:
            return ["plain"] if n == 0 else depth(n - 1) + ["plain"]

        def replacement(n: int) -> list:
            return ["replaced"] if n == 0 else depth(n - 1) + ["replaced"]

        with tracing() as tracer:
            tracer.replace(depth, by=replacement)
            _core._set_nesting_limits(10, 20)
            try:
                kinds = compile(depth)(30)
                self.assertEqual(kinds, sorted(kinds))  # plain ones are the inner ones
                self.assertIn("plain", kinds)
                self.assertIn("replaced", kinds)
                recursive = compile(lambda n: recursive(n + 1))
                with self.assertRaises(RecursionError):
                    recursive(0)
            finally:
                _core._set_nesting_limits(*((64, 150) if sys.platform == "emscripten" else (1 << 30, 1 << 30)))

    def test_a_function_that_calls_itself(self) -> None:
        def factorial(n: int) -> int:
            return 1 if n == 0 else n * compiled(n - 1)

        def replacement(n: int) -> int:
            return 1 if n == 0 else n * compiled(n - 1)

        with tracing() as tracer:
            tracer.replace(factorial, by=replacement)
            compiled = compile(factorial)
            self.assertEqual(compiled(20), 2432902008176640000)
            self.assertEqual(tracer.asked, ["factorial"])


class ObservedTest(unittest.TestCase):
    def check_plain(self) -> None:
        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            f = compile(plain)
            self.assertEqual(f(1, 2)[0], "replaced")
            with self.observed():
                self.assertEqual(f(1, 2)[0], "plain")
                self.assertEqual(f(1, b=2)[0], "plain")
            self.assertEqual(f(1, 2)[0], "replaced")

    def test_settrace(self) -> None:
        @contextlib.contextmanager
        def observed() -> Iterator[None]:
            before = sys.gettrace()
            sys.settrace(lambda *_: None)
            yield
            sys.settrace(before)

        self.observed = observed
        self.check_plain()

    def test_setprofile(self) -> None:
        @contextlib.contextmanager
        def observed() -> Iterator[None]:
            sys.setprofile(lambda *_: None)
            yield
            sys.setprofile(None)

        self.observed = observed
        self.check_plain()

    def test_monitoring_of_everything(self) -> None:
        @contextlib.contextmanager
        def observed() -> Iterator[None]:
            sys.monitoring.use_tool_id(3, "test")
            sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
            yield
            sys.monitoring.set_events(3, 0)
            sys.monitoring.free_tool_id(3)

        self.observed = observed
        self.check_plain()

    def test_monitoring_of_one_function(self) -> None:
        @contextlib.contextmanager
        def observed() -> Iterator[None]:
            sys.monitoring.use_tool_id(3, "test")
            sys.monitoring.set_local_events(3, plain.__code__, sys.monitoring.events.LINE)
            yield
            sys.monitoring.set_local_events(3, plain.__code__, 0)
            sys.monitoring.free_tool_id(3)

        self.observed = observed
        self.check_plain()


class RegionTest(unittest.TestCase):
    def test_outside_of_compiled_calls_the_hook_sees_nothing(self) -> None:
        with tracing() as tracer:
            compile(plain)(1, 2)
            asked = list(tracer.asked)
            straight = lambda: plain(1, 2)  # noqa: E731
            straight()
            self.assertEqual(tracer.asked, asked)
            self.assertEqual(_core._region_depth(), 0)

    def test_disable_holds_for_all_that_is_called(self) -> None:
        def inner(a: int) -> tuple:
            return plain(a, a), compiled_plain(a, a)

        def outside(a: int) -> tuple:
            return disabled(a), plain(a, a)

        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            compiled_plain, disabled = compile(plain), _core.disable(inner)
            self.assertEqual(
                compile(outside)(1), ((("plain", 1, 1), ("plain", 1, 1)), ("replaced", 1, 1))
            )
            self.assertNotIn("inner", tracer.asked)
            self.assertEqual(disabled(1), (("plain", 1, 1),) * 2)
            self.assertEqual(disabled.__name__, "inner")

    def test_the_tracer_itself_is_not_traced(self) -> None:
        with tracing() as tracer:
            def rule(*_: Any) -> None:
                self.assertEqual(plain(1, 2)[0], "plain")
                self.assertEqual(compile(plain)(1, 2)[0], "plain")

            def outside(a: int) -> int:
                return a

            tracer.rules[outside.__code__] = rule
            tracer.replace(plain, by=replaced)
            self.assertEqual(compile(outside)(1), 1)
            self.assertEqual(tracer.asked, ["outside"])

    def test_skip_prefixes_and_exceptions_from_them(self) -> None:
        try:
            with tracing() as tracer:
                tracer.replace(plain, by=replaced)
                f = compile(plain)
                self.assertEqual(f(1, 2)[0], "replaced")
                _core.set_skip_prefixes([__file__[:-5]])
                self.assertEqual(f(1, 2)[0], "plain")
                _core.set_trace_files([__file__])
                self.assertEqual(f(1, 2)[0], "replaced")
            with self.assertRaises(TypeError):
                _core.set_skip_prefixes([1])
        finally:
            _core.set_skip_prefixes([])
            _core.set_trace_files([])

    def test_generators_coroutines_and_class_bodies_are_never_asked_about(self) -> None:
        def outside(n: int) -> list:
            def generator() -> Iterator[int]:
                yield from range(n)

            async def coroutine() -> int:
                return n

            class Body:
                value = n

            pending = coroutine()
            with contextlib.suppress(StopIteration):
                pending.send(None)
            return [*generator(), *(x for x in range(n)), Body.value, eval("n + 1", {"n": n})]

        with tracing() as tracer:
            self.assertEqual(compile(outside)(2), [0, 1, 0, 1, 2, 3])
            self.assertEqual(tracer.asked, ["outside"] + [name for name in tracer.asked if "supp" in name or "__" in name])

    def test_other_threads_are_left_alone(self) -> None:
        go, done = threading.Event(), threading.Event()
        results: list = []

        def outside(a: int) -> tuple:
            go.set()
            done.wait(5)
            return plain(a, a)

        def other() -> None:
            go.wait(5)
            results.append(plain(2, 2))
            done.set()

        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            thread = threading.Thread(target=other)
            try:
                thread.start()
            except RuntimeError:
                self.skipTest("no threads here")
            self.assertEqual(compile(outside)(1), ("replaced", 1, 1))
            thread.join()
            self.assertEqual(results, [("plain", 2, 2)])
            self.assertEqual(_core._region_depth(), 0)


class LeakTest(unittest.TestCase):
    """Many calls on each path leave as many objects as there were."""

    def check(self, function: Any, replacement: Any, call: Callable[[Any], Any], guard: Any = None) -> None:
        with tracing() as tracer:
            tracer.replace(function, by=replacement, guard=guard)
            f = compile(function)
            value = Referenced()
            for _ in range(20):
                call(f)(value)
            gc.collect()
            references, blocks = sys.getrefcount(value), sys.getallocatedblocks()
            for _ in range(ROUNDS):
                call(f)(value)
            gc.collect()
            self.assertEqual(sys.getrefcount(value), references)
            self.assertLess(sys.getallocatedblocks() - blocks, 100)

    def test_value(self) -> None:
        self.check(plain, replaced, lambda f: lambda x: f(x, x))
        self.check(plain, replaced, lambda f: lambda x: f(x, b=x))

    def test_fallback(self) -> None:
        self.check(plain, gives_up, lambda f: lambda x: f(x, x))
        self.check(plain, gives_up, lambda f: lambda x: f(x, b=x))

    def test_exception(self) -> None:
        def call(f: Any) -> Callable[[Any], None]:
            def swallow(x: Any) -> None:
                with contextlib.suppress(ValueError):
                    f(x, b=x)
                with contextlib.suppress(ValueError):
                    f(x, x)
            return swallow

        self.check(fails, fails_replaced, call)

    def test_resume(self) -> None:
        def request(a: Any, b: Any) -> Any:
            return _resume(replaced, a, b)

        self.check(plain, request, lambda f: lambda x: f(x, x))
        self.check(plain, request, lambda f: lambda x: f(x, b=x))

    def test_new_closures(self) -> None:
        def outer(x: Any) -> Any:
            def inner(y: Any) -> Any:
                return "plain", x, y
            return inner

        def outer_replacement(x: Any) -> Any:
            def inner(y: Any) -> Any:
                return "replaced", x, y
            return inner

        self.check(outer(0), outer_replacement(0), lambda _: lambda x: compile(outer(x))(x))

    def test_reset_and_compile_again(self) -> None:
        with tracing() as tracer:
            tracer.replace(plain, by=replaced)
            f = compile(plain)
            for _ in range(50):
                f(1, 2)
                _core.reset()
            gc.collect()
            blocks = sys.getallocatedblocks()
            for _ in range(300):
                f(1, 2)
                _core.reset()
            tracer.asked.clear()
            gc.collect()
            self.assertLess(sys.getallocatedblocks() - blocks, 100)

    def test_entries_keep_no_module_alive(self) -> None:
        with tracing() as tracer:
            namespace: dict[str, Any] = {"compile": compile}
            exec("def f(a, b):\n    return 'plain', a, b\ng = compile(f)\n", namespace)
            tracer.replace(namespace["f"], by=replaced)
            for _ in range(2):
                self.assertEqual(namespace["g"](1, 2), ("replaced", 1, 2))
                self.assertEqual(namespace["g"](1, b=2), ("replaced", 1, 2))
            reference = weakref.ref(namespace["f"])
            tracer.rules.clear()
            namespace = {}
            gc.collect()
            self.assertIsNone(reference())

    def test_captured_objects_die_with_their_closure(self) -> None:
        def outer(thing: Any) -> Any:
            def inner() -> Any:
                return thing
            return inner

        with tracing() as tracer:
            tracer.replace(outer(0), by=outer(0))
            thing = Referenced()
            reference = weakref.ref(thing)
            f = compile(outer(thing))
            self.assertIs(f(), thing)
            self.assertIs(f(), thing)

            def call_through(g: Any) -> Any:
                return g()

            self.assertIs(compile(call_through)(outer(thing)), thing)
            del thing, f
            gc.collect()
            self.assertIsNone(reference())

    def test_wrappers_and_entries_are_collected(self) -> None:
        def make() -> weakref.ref:
            def local(a: int, b: int) -> tuple:
                return local, a

            f = compile(local)
            local.me = f
            with tracing() as tracer:
                tracer.replace(local, by=replaced)
                f(1, 2)
            return weakref.ref(f)

        reference = make()
        gc.collect()
        self.assertIsNone(reference())


if __name__ == "__main__":
    unittest.main()
