"""What surrounds the values: tracebacks with columns, tracing tools, frames, finalizers, recursion, interrupts."""

import gc
import sys
import traceback
import types
import unittest
import weakref

import thirdbook
from harness import EAGER_ONLY, Program, ProgramCase, compile_for_test


def load(source):
    module = types.ModuleType("program")
    module.torch = thirdbook
    exec(compile(source, "program.py", "exec"), vars(module))
    return module


def positions(error):
    """(file, line, end line, column, end column, function) of each frame of the program."""
    summary = traceback.extract_tb(error.__traceback__)
    return [(f.filename, f.lineno, f.end_lineno, f.colno, f.end_colno, f.name) for f in summary if f.filename == "program.py"]


RAISING = {
    "in the function itself": "def fn(x):\n    y = x * 2\n    return (y,\n            [1, 2][5])\n",
    "in an inlined callee": "def inner(n):\n    return 1 // n\ndef fn(x):\n    y = x + 1\n    return y + inner(0)\n",
    "in a comprehension": "def fn(x):\n    return [10 // n for n in (1, 0)]\n",
    "in a method": "class A:\n    def m(self):\n        return self.gone\ndef fn(x):\n    return A().m()\n",
    "by a tensor operation": "def fn(x):\n    y = x + 1\n    return y @ torch.ones(7, 7)\n",
    "in a lambda": "def fn(x):\n    return sorted([1, 2], key=lambda n: n.zzz)\n",
    "after a break": "def fn(x):\n    torch.graph_break()\n    y = x + 1\n    return {}['k']\n",
    "in an inlined callee after a break": (
        "def inner(v):\n    torch.graph_break()\n    v = v + 1\n    raise KeyError('k')\ndef fn(x):\n    return inner(x) + 1\n"
    ),
    "in a with block": (
        "class S:\n    def __enter__(self): pass\n    def __exit__(self, *e): pass\n"
        "def fn(x):\n    with S():\n        x = x + 1\n        int('z')\n"
    ),
    "in a generator": "def gen():\n    yield 1\n    raise ValueError('g')\ndef fn(x):\n    return list(gen())\n",
    "in a property": "class A:\n    @property\n    def p(self): return 1 / 0\na = A()\ndef fn(x):\n    return x * a.p\n",
    "in a setter at replay": (
        "class A:\n    def __setattr__(self, n, v):\n        raise ValueError(n)\na = A()\ndef fn(x):\n    y = x + 1\n    a.v = y\n"
    ),
    "chained": (
        "def fn(x):\n    try:\n        [][0]\n    except IndexError as e:\n        raise ValueError('outer') from e\n"
    ),
    "by a wrong call": "def inner(a, b): pass\ndef fn(x):\n    return inner(x + 1)\n",
    "by an unbound name": "def fn(x):\n    y = x\n    return (y +\n        missing)\n",
    "by an assertion": "def fn(x):\n    assert len([1]) == 2, 'message'\n",
}


class Tracebacks(unittest.TestCase):
    def test_traceback_has_eagers_files_lines_columns_and_functions(self):
        for name, source in RAISING.items():
            with self.subTest(name):
                caught = []
                for compiled in (False, True):
                    fn = load(source).fn
                    fn = compile_for_test(fn) if compiled else fn
                    for _ in range(2):
                        try:
                            fn(thirdbook.arange(4.0))
                        except Exception as error:
                            chain = []
                            while error is not None:
                                chain.append((type(error).__name__, str(error), positions(error)))
                                error = error.__cause__ or error.__context__
                            caught.append(chain)
                self.assertEqual(len(caught), 4, "it raises on every call")
                self.assertEqual(caught[:2], caught[2:])

    def test_traceback_has_no_frames_of_ours(self):
        fn = compile_for_test(load(RAISING["in an inlined callee"]).fn)
        try:
            fn(thirdbook.arange(4.0))
        except ZeroDivisionError as error:
            files = [f.filename for f in traceback.extract_tb(error.__traceback__)]
        self.assertEqual([f for f in files if f not in (__file__, "program.py")], [])


class Tools(unittest.TestCase):
    SOURCE = "def inner(v):\n    w = v + 1\n    return w\ndef fn(x):\n    y = inner(x)\n    return y * 2\n"

    def compiled_fn(self):
        fn = compile_for_test(load(self.SOURCE).fn)
        fn(thirdbook.arange(4.0))
        fn(thirdbook.arange(4.0))
        return fn

    def test_settrace_sees_every_line(self):
        fn, lines = self.compiled_fn(), []

        def trace(frame, event, _arg):
            if frame.f_code.co_filename == "program.py" and event == "line":
                lines.append((frame.f_code.co_name, frame.f_lineno))
            return trace

        old = sys.gettrace()
        sys.settrace(trace)
        try:
            fn(thirdbook.arange(4.0))
        finally:
            sys.settrace(old)
        self.assertEqual(lines, [("fn", 5), ("inner", 2), ("inner", 3), ("fn", 6)])

    def test_setprofile_sees_every_call(self):
        fn, calls = self.compiled_fn(), []

        def profile(frame, event, _arg):
            if frame.f_code.co_filename == "program.py":
                calls.append((event, frame.f_code.co_name))

        sys.setprofile(profile)
        try:
            fn(thirdbook.arange(4.0))
        finally:
            sys.setprofile(None)
        calls = [c for c in calls if c[0] in ("call", "return")]
        self.assertEqual(calls, [("call", "fn"), ("call", "inner"), ("return", "inner"), ("return", "fn")])

    def test_monitoring_sees_every_line(self):
        fn, lines = self.compiled_fn(), []
        tool = sys.monitoring
        tool.use_tool_id(tool.DEBUGGER_ID, "test")
        try:
            tool.register_callback(
                tool.DEBUGGER_ID, tool.events.LINE,
                lambda code, line: lines.append((code.co_name, line)) if code.co_filename == "program.py" else None)
            tool.set_events(tool.DEBUGGER_ID, tool.events.LINE)
            fn(thirdbook.arange(4.0))
        finally:
            tool.set_events(tool.DEBUGGER_ID, 0)
            tool.register_callback(tool.DEBUGGER_ID, tool.events.LINE, None)
            tool.free_tool_id(tool.DEBUGGER_ID)
        self.assertEqual(lines, [("fn", 5), ("inner", 2), ("inner", 3), ("fn", 6)])

    def test_compiled_code_is_used_again_after_tracing(self):
        if EAGER_ONLY:
            self.skipTest("counters need compile")
        thirdbook.reset()
        fn = self.compiled_fn()
        sys.settrace(lambda *_: None)
        fn(thirdbook.arange(4.0))
        sys.settrace(None)
        before = dict(thirdbook.counters)
        fn(thirdbook.arange(4.0))
        self.assertEqual(thirdbook.counters["cacheHits"], before["cacheHits"] + 1)
        self.assertEqual(thirdbook.counters["compilations"], before["compilations"])


class Lifetimes(unittest.TestCase):
    def test_arguments_and_results_are_not_kept_alive(self):
        class Thing:
            pass
        fn = compile_for_test(load("def fn(x, o):\n    o.v = x * 2\n    return o.v\n").fn)
        for _ in range(3):
            thing, t = Thing(), thirdbook.arange(4.0)
            refs = weakref.ref(thing), weakref.ref(t), weakref.ref(fn(t, thing))
            del thing, t
            gc.collect()
            self.assertEqual([r() for r in refs], [None, None, None])

    def test_compiled_function_dies_with_its_cache(self):
        fn = compile_for_test(load("def fn(x):\n    return x + 1\n").fn)
        fn(thirdbook.arange(4.0))
        ref = weakref.ref(fn)
        del fn
        gc.collect()
        self.assertIsNone(ref())

    def test_a_thousand_calls_leak_nothing(self):
        source = (
            "class Box: pass\nb, log = Box(), []\n"
            "def fn(x, n):\n    b.v = [x * n]\n    log.append({'n': n})\n    if len(log) > 4:\n        log.clear()\n    return b.v[0], (n, [n])\n"
        )
        fn = compile_for_test(load(source).fn)
        for n in range(100):
            fn(thirdbook.arange(4.0), n % 5)
        gc.collect()
        before = len(gc.get_objects()), sys.getrefcount(None)
        for n in range(1000):
            fn(thirdbook.arange(4.0), n % 5)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before[0], 50)

    def test_reset_lets_go_of_a_program_that_refers_to_itself(self):
        source = (
            "class Shared:\n    seen = []\n    def record(self, x):\n        self.seen.append(1)\n        return x * 2\n"
            "s = Shared()\ndef fn(x):\n    return s.record(x)\n"
        )
        module = load(source)
        module.fn = compile_for_test(module.fn)
        for _ in range(3):  # the last ones on the fast path
            module.fn(thirdbook.arange(4.0))
        ref = weakref.ref(module.Shared)
        del module
        thirdbook.reset()
        gc.collect()
        self.assertIsNone(ref())

    def test_reference_counts_of_arguments_are_unchanged(self):
        fn = compile_for_test(load("def fn(x, items, table):\n    items.append(1)\n    table['k'] = items\n    return x + len(items)\n").fn)
        items, table, x = [], {}, thirdbook.arange(4.0)
        fn(x, items, table)
        before = sys.getrefcount(items), sys.getrefcount(table), sys.getrefcount(x)
        for _ in range(20):
            fn(x, items, table)
        self.assertEqual((sys.getrefcount(items), sys.getrefcount(table), sys.getrefcount(x)), before)


class Introspection(ProgramCase):
    frames_and_code_that_are_looked_at = Program(
        """
        import sys, inspect
        def who():
            frame = sys._getframe(1)
            return frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals)
        def fn(x):
            y = x + 1
            here = sys._getframe().f_lineno
            return who(), here, inspect.currentframe().f_code.co_name, y
        """,
        breaks=None,
    )
    stack_is_walked = Program(
        """
        import traceback
        def inner(): return [f.name for f in traceback.extract_stack() if f.filename == "program.py"]
        def middle(): return inner()
        def fn(x): return middle(), x + 1
        """,
        breaks=None,
    )
    signature_name_and_doc_of_the_compiled_function = Program(
        """
        import inspect
        def plain(x: "tensor", n: int = 1, *rest, k=2) -> "tensor":
            "The doc."
            return x * n
        made = compiled(plain)
        """,
        call="(str(inspect.signature(made)), made.__name__, made.__doc__, made.__qualname__, made.__module__, made.__defaults__, made(x))",
    )
    compiled_method_binds = Program(
        """
        class Box:
            def __init__(self, k): self.k = k
            @compiled
            def times(self, x): return x * self.k
            @classmethod
            @compiled
            def make(cls, k): return cls(k)
            @staticmethod
            @compiled
            def plus(x): return x + 1
            @property
            @compiled
            def double(self): return self.k * 2
        b = Box(2)
        """,
        call="(b.times(x), Box.times(b, x), Box.make(3).k, b.plus(x), b.double, b.times.__self__ is b)",
        breaks=None,
    )


if __name__ == "__main__":
    unittest.main()
