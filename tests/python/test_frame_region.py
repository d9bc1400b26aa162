"""Where the frame hook acts and where not: exceptions, recursion, observers, threads; and that nothing leaks."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import traceback
import unittest
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from hooking import (
    Referenced,
    compile,
    fails,
    fails_replaced,
    gives_up,
    goes_on_in_replaced,
    plain,
    replaced,
    tracing,
)
from thirdbook import _api, _core


ROUNDS = 3000


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
                in_browser = sys.platform == "emscripten"
                _core._set_nesting_limits(*((64, 150) if in_browser else (1 << 30, 1 << 30)))

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
                _core.set_skip_prefixes([plain.__code__.co_filename[:-5]])
                self.assertEqual(f(1, 2)[0], "plain")
                _core.set_trace_files([plain.__code__.co_filename])
                self.assertEqual(f(1, 2)[0], "replaced")
            with self.assertRaises(TypeError):
                _core.set_skip_prefixes([1])
        finally:
            _api._set_up()

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
            own = [name for name in tracer.asked if not name.startswith("__")]  # contextlib.suppress has some
            self.assertEqual(own, ["outside"])

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
        self.check(plain, goes_on_in_replaced, lambda f: lambda x: f(x, x))
        self.check(plain, goes_on_in_replaced, lambda f: lambda x: f(x, b=x))

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
