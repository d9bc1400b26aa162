"""Eager equals compiled: programs, the two worlds they run in, and the comparison of all that can be observed.

In: a `Program` (source text of a small module, a call, steps). Out: test methods. Each program runs twice from fresh
modules, once as plain Python and once through `thirdbook.compile`; after every step results, exceptions with their
traceback, every object reachable from the module, output, warnings, log records and the generators' states must be
the same. Invariant: a program that raises although it does not say so (`raises=`) is an error of the test.

THIRDBOOK_TEST_EAGER=1 runs both worlds without `compile`: then the tests are checked against plain CPython alone.
THIRDBOOK_TEST_VERIFY=1 compiles with `verify=True`.
"""

import contextlib
import gc
import io
import linecache
import logging
import marshal
import os
import random
import sys
import textwrap
import traceback
import types
import unittest
import warnings

import thirdbook
from snapshot import Snapshot, first_difference, plain

thirdbook.install_torch_alias()

EAGER_ONLY = os.environ.get("THIRDBOOK_TEST_EAGER") == "1"
MANY_CALLS = 50
VERIFY = os.environ.get("THIRDBOOK_TEST_VERIFY") == "1"


class Program:
    """A module's source and what is done with it.

    `source` defines `fn` (or decorates with `compiled`); it finds `torch` (the library), `x` (arange(4.)) and `compiled`.
    `call` is an expression, evaluated in the module with `fn` compiled and `i` counting the calls.
    `steps`: an int calls that often (from 50 on the world is looked at after the last call only), a text is executed in
    the module as it is (a premise changes).
    `modules`: {name: source} of helper modules that can be imported. `raises`: exception types that calls may raise, at
    least one does; `may_raise`: calls may raise anything or nothing. `expect`: an expression that must be true at the end in both worlds.
    `breaks`, `compiles`, `recompiles`: what the counters must say in the end; None: not asserted. `options` go to `compile`.
    `threads`: it starts threads, which Pyodide cannot.
    """

    def __init__(self, source, *, call="fn(x)", steps=(3,), modules=None, raises=(), expect=None, breaks=0, compiles=None,
                 recompiles=None, options=None, may_raise=False, threads=False):
        self.name = ""
        self.source = textwrap.dedent(source).strip("\n") + "\n"
        self.call = call
        self.steps = (steps,) if isinstance(steps, (int, str)) else tuple(steps)
        self.modules = {name: textwrap.dedent(text).strip("\n") + "\n" for name, text in (modules or {}).items()}
        self.raises = raises if isinstance(raises, tuple) else (raises,)
        self.expect = expect
        self.may_raise = may_raise
        self.threads = threads
        self.breaks, self.compiles, self.recompiles = breaks, compiles, recompiles
        self.options = options or {}

    def __set_name__(self, owner, name):
        self.name = name

    def listing(self):
        """The program as a person reads it in a failure."""
        lines = [f"{number:4} {line}" for number, line in enumerate(self.source.splitlines(), 1)]
        return "\n".join(lines) + f"\n  call  {self.call}\n  steps {self.steps}"


class Step:
    """What one step left: a snapshot of the world and the texts that it wrote."""

    def __init__(self, what, snapshot, texts):
        self.what, self.snapshot, self.texts = what, snapshot, texts


class World:
    """One run of a program in fresh modules with the given `compile`."""

    def __init__(self, program, compile_function):
        self._program = program
        self._compile = compile_function
        self._originals = {}
        self._kept = []
        self._results = []
        self._raised = []
        self._calls = 0

    def compiled(self, target=None, **options):
        """`thirdbook.compile`, noting what was compiled so that snapshots show the original."""
        if target is None:
            return lambda function: self.compiled(function, **options)
        made = self._compile(target, **{**self._program.options, **options})
        self._originals[id(made)] = target
        self._kept.append(made)
        return made

    def run(self):
        """All steps; returns their list. Process-wide state is put back afterwards."""
        with _fresh_process_state(self._program), _captured() as texts:
            try:
                return self._steps(texts)
            finally:
                self._tear_down()

    def _steps(self, texts):
        self._module = self._load("program", self._program.source)
        self._fn = self.compiled(self._module.fn) if "fn" in vars(self._module) else None
        steps = [self._step("after the module", texts)]
        for step in self._program.steps:
            if isinstance(step, str):
                exec(compile(step, "<change>", "exec"), vars(self._module))
                steps.append(self._step(f"after {step!r}", texts))
                continue
            for index in range(step):
                self._one_call()
                if step < MANY_CALLS or index == step - 1:
                    steps.append(self._step(f"after call {self._calls}", texts))
        self.expectation = self._program.expect is None or bool(eval(self._program.expect, vars(self._module)))
        return steps

    def _tear_down(self):
        """Finalizers of this world must not speak in the next one."""
        if "__del__" not in self._program.source:
            return
        for error in self._raised:
            traceback.clear_frames(error.__traceback__)
            error.__traceback__ = None
        self._results.clear()
        self._kept.clear()
        self._fn = None
        vars(self._module).clear()
        gc.collect()

    @property
    def raised(self):
        return self._raised

    def _load(self, name, source):
        module = types.ModuleType(name)
        module.torch = thirdbook
        module.compiled = self.compiled
        module.x = thirdbook.arange(4.0)
        module.__file__ = f"{name}.py"
        sys.modules[name] = module
        linecache.cache[f"{name}.py"] = (len(source), None, source.splitlines(True), f"{name}.py")
        exec(_fresh_code(source, f"{name}.py"), vars(module))
        return module

    def _one_call(self):
        names = {"i": self._calls}
        if self._fn is not None:
            names["fn"] = self._fn
        self._calls += 1
        try:
            result = eval(self._program.call, vars(self._module), names)
        except BaseException as error:
            self._raised.append(error)
            self._results.append(error)
        else:
            self._results.append(result)

    def _step(self, what, texts):
        hidden = ("torch", "compiled")
        roots = {f"result {index + 1}": result for index, result in enumerate(self._results)}
        for name in ("program", *self._program.modules):
            if name in sys.modules:
                prefix = "" if name == "program" else f"{name}."
                roots |= {prefix + key: value for key, value in vars(sys.modules[name]).items()
                          if not (key.startswith("__") and key.endswith("__")) and key not in hidden}
        roots["<random>"] = hash(random.getstate())
        roots["<tensor generator>"] = hash(thirdbook._core._generator_state())
        roots["<grad mode>"] = thirdbook.is_grad_enabled()
        roots["<default dtype>"] = repr(thirdbook.get_default_dtype())
        roots["<handled exception>"] = sys.exception()
        return Step(what, Snapshot(roots, unwrap=self._originals), texts.read())


_marshalled = {}  # the last texts, since each program runs several times


def _fresh_code(source, path):
    """A code object that no other world has run."""
    found = _marshalled.get((source, path))
    if found is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            found = marshal.dumps(compile(source, path, "exec"))
        if len(_marshalled) >= 8:
            _marshalled.clear()
        _marshalled[source, path] = found
    return marshal.loads(found)


@contextlib.contextmanager
def _fresh_process_state(program):
    """Both worlds start from the same generators, modules and modes, and leave none of theirs behind."""
    state, dtype, grad = random.getstate(), thirdbook.get_default_dtype(), thirdbook.is_grad_enabled()
    names = ["program", *program.modules]
    kept = {name: sys.modules.pop(name, None) for name in names}
    random.seed(1)
    thirdbook.manual_seed(1)
    thirdbook.nn.module.RemovableHandle._next_id = 0
    finder = _SourceFinder(program.modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        random.setstate(state)
        thirdbook.set_default_dtype(dtype)
        thirdbook.set_grad_enabled(grad)
        for name in names:
            sys.modules.pop(name, None)
            if kept[name] is not None:
                sys.modules[name] = kept[name]


class _SourceFinder:
    """Imports a program's helper modules."""

    def __init__(self, sources):
        self._sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self._sources:
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self, origin=f"program_{name}.py")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        source, path = self._sources[module.__name__], f"program_{module.__name__}.py"
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)
        vars(module)["torch"] = thirdbook
        exec(compile(source, path, "exec"), vars(module))


class _Texts(logging.Handler):
    """Output, warnings and log records since the last look."""

    def __init__(self, warned):
        super().__init__()
        self._out, self._err, self._warned, self._records = io.StringIO(), io.StringIO(), warned, []

    def emit(self, record):
        self._records.append((record.name, record.levelname, record.getMessage(), record.lineno, record.funcName))

    def streams(self):
        return self._out, self._err

    def read(self):
        found = {
            "stdout": plain(self._out.getvalue()),
            "stderr": plain(self._err.getvalue()),
            "warnings": [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in self._warned if not _is_ours(w)],
            "log": [tuple(plain(str(part)) for part in record) for record in self._records],
        }
        for stream in (self._out, self._err):
            stream.seek(0)
            stream.truncate()
        self._warned.clear()
        self._records.clear()
        return found


def _is_ours(warning):
    """The compiler's word that it gives up compiling a function, which plain Python has no reason to say."""
    return issubclass(warning.category, RuntimeWarning) and "config.recompile_limit" in str(warning.message)


@contextlib.contextmanager
def _captured():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        texts = _Texts(warned)
        root = logging.getLogger()
        root.addHandler(texts)
        out, err = texts.streams()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield texts
        finally:
            root.removeHandler(texts)


def _as_it_is(target, **_options):
    return target


def _through_thirdbook(target, **options):
    if VERIFY:
        options.setdefault("verify", True)
    return thirdbook.compile(target, **options)


def compile_for_test(target, **options):
    """`thirdbook.compile`, or nothing where the tests are checked against plain CPython."""
    return target if EAGER_ONLY else _through_thirdbook(target, **options)


def run_eager(program):
    """(steps, world) of the program as plain Python; ValueError when it is not a sound program."""
    world = World(program, _as_it_is)
    steps = world.run()
    for error in world.raised:
        if not program.may_raise and not isinstance(error, program.raises or ()):
            text = "".join(traceback.format_exception(error))
            raise ValueError(f"the program itself raised {error!r}\n{program.listing()}\n{text}")
    if program.raises and not world.raised:
        raise ValueError(f"the program never raised {program.raises}\n{program.listing()}")
    if not world.expectation:
        raise ValueError(f"not true in plain Python: {program.expect}\n{program.listing()}")
    return steps, world


def compare(program, expected=None):
    """None when eager and compiled agree, else a sentence. `expected` are the steps of an eager run that was made
    already. `thirdbook.counters` are the compiled world's afterwards."""
    if expected is None:
        expected, _ = run_eager(program)
    if not EAGER_ONLY:
        thirdbook.reset()
    world = World(program, _as_it_is if EAGER_ONLY else _through_thirdbook)
    actual = world.run()
    for left, right in zip(expected, actual, strict=True):
        for stream in left.texts:
            if left.texts[stream] != right.texts[stream]:
                return f"{left.what}, {stream}: eager {left.texts[stream]!r}\n    compiled {right.texts[stream]!r}"
        difference = first_difference(left.snapshot, right.snapshot)
        if difference is not None:
            return f"{left.what}, {difference}" + _trace_of(world)
    return None


def _trace_of(world):
    if not world.raised:
        return ""
    return "\n" + textwrap.indent("".join(traceback.format_exception(world.raised[-1])), "    ")


class ProgramCase(unittest.TestCase):
    """Each class attribute that is a Program becomes `test_ROW_NAME` (the same) and `test_ROW_NAME_quality` (counters)."""

    row = ""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, program in list(vars(cls).items()):
            if isinstance(program, Program):
                stem = "_".join(filter(None, ("test", cls.row, name)))
                _add_test(cls, stem, program, check_same)
                if (program.breaks, program.compiles, program.recompiles) != (None, None, None):
                    _add_test(cls, f"{stem}_quality", program, check_quality)


def _add_test(cls, name, program, check):
    def test(self):
        if program.threads and sys.platform == "emscripten":
            self.skipTest("Pyodide starts no threads")
        check(self, program)

    test.__name__ = name
    test.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, test)


def check_same(test, program):
    """Fails with the first difference between eager and compiled, and the program."""
    difference = compare(program)
    if difference is not None:
        test.fail(f"{difference}\n{program.listing()}")


def check_quality(test, program):
    """Fails when the compiled run broke or compiled more often than the program says, or was in vain and left to CPython."""
    if EAGER_ONLY:
        test.skipTest("counters need compile")
    thirdbook.reset()
    World(program, _through_thirdbook).run()
    counters = dict(thirdbook.counters)
    fallbacks = None if program.raises or program.may_raise else 0
    for name, wanted in (
        ("breaks", program.breaks), ("compilations", program.compiles), ("recompiles", program.recompiles), ("fallbacks", fallbacks),
    ):  # fmt: skip
        if wanted is not None:
            why = f"{name}; all counters {counters}\n{_reasons()}{program.listing()}"
            test.assertEqual(counters[name], wanted, why)
    test.assertGreater(counters["compilations"], 0, f"nothing was compiled\n{program.listing()}")


def _reasons():
    """Why the compiler broke and compiled again, a line each."""
    lines = []
    for one in thirdbook.report()["compilations"]:
        lines.append(f"compiled {one['function']} ({one['status']}): {one['trigger']}\n")
        lines += [f"broke at line {found['line']} ({found['reason']}): {found['explanation']}\n" for found in one["breaks"]]
    return "".join(lines)


def assert_same(test, make, calls=2, *, compiles=None, breaks=None, fullgraph=False):
    """For worlds that are easier to build than to write as text. `make()` returns an object with `fn`, `args(i)` and
    `observe()` (a dict of roots); it is made twice, `fn` of the second is compiled, and after every call results,
    exceptions and what `observe` returns are compared."""
    reports = []
    for kind in ("eager", "compiled"):
        with _fresh_process_state(Program("")), _captured() as texts:
            if kind == "compiled" and not EAGER_ONLY:
                thirdbook.reset()
            world = make()
            function = world.fn if kind == "eager" else compile_for_test(world.fn, fullgraph=fullgraph)
            unwrap = {id(function): world.fn}
            results, steps = [], []
            for index in range(calls):
                try:
                    results.append(function(*world.args(index)))
                except Exception as error:
                    results.append(error)
                steps.append((Snapshot({"results": results, **world.observe()}, unwrap=unwrap), texts.read()))
            reports.append(steps)
    for index, ((left, left_texts), (right, right_texts)) in enumerate(zip(*reports, strict=True), 1):
        test.assertEqual(left_texts, right_texts, f"after call {index}")
        difference = first_difference(left, right)
        if difference is not None:
            test.fail(f"after call {index}, {difference}")
    if not EAGER_ONLY:
        for name, wanted in (("compilations", compiles), ("breaks", breaks)):
            if wanted is not None:
                test.assertEqual(thirdbook.counters[name], wanted, name)
