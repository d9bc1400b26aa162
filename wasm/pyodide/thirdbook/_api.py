"""The compiler's functions: compile, explain, disable, graph_break, is_compiling, reset, config, counters, report.

In: functions and modules of the user's. Out: callables that trace at the first call and run rewritten code afterwards. Invariant: with
`config.enabled = False` everything here is plain Python.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import weakref
from collections.abc import Mapping

from . import _core, _gpu, _higher_order
from ._errors import SideEffectError, Unsupported, VerifyError

__all__ = [
    "SideEffectError",
    "Unsupported",
    "VerifyError",
    "allow_in_graph",
    "compile",
    "config",
    "counters",
    "disable",
    "explain",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "report",
    "reset",
]

graph_break = _core.graph_break
is_compiling = _core.is_compiling
is_dynamo_compiling = _core.is_compiling

BACKENDS = ("auto", "wasm", "webgpu", "eager", "reference")
POLICIES = ("silent", "log", "warn", "error")


class Config:
    """Settings of the compiler; `config.patch(name=value)` changes some for a `with` block or a decorated function."""

    _defaults = {
        "enabled": True,
        "backend": "auto",
        "verify": False,
        "dynamic": None,
        "gpu_storage": "float32",
        "recompile_limit": 8,
        "side_effect_replay_policy": "silent",
        "replay_side_effects": True,
        "higher_order_effects": "allow",
    }

    def __init__(self):
        self.__dict__.update(self._defaults)

    def __setattr__(self, name, value):
        if name not in self._defaults:
            raise AttributeError(f"thirdbook.config has no setting {name!r}; it has {', '.join(self._defaults)}")
        if name == "backend" and value not in BACKENDS:
            raise ValueError(f"unknown backend {value!r}; there are {', '.join(BACKENDS)}")
        if name == "gpu_storage" and value not in ("float32", "float16"):
            raise ValueError(f"unknown storage {value!r}; there are float32, float16")
        if name == "side_effect_replay_policy" and value not in POLICIES:
            raise ValueError(f"unknown policy {value!r}; there are {', '.join(POLICIES)}")
        if name == "higher_order_effects":
            if value not in ("allow", "refuse"):
                raise ValueError(f"unknown value {value!r} of higher_order_effects; there are allow, refuse")
            _higher_order.refuse_effects(value == "refuse")
        self.__dict__[name] = value
        if name in ("side_effect_replay_policy", "replay_side_effects"):
            self._tell()

    def _tell(self):
        _core._set_policy(POLICIES.index(self.side_effect_replay_policy), bool(self.replay_side_effects))

    def patch(self, **changes):
        """A context manager (and decorator) under which the named settings have other values."""
        return _patched(self, changes)

    def reset(self):
        for name, value in self._defaults.items():
            setattr(self, name, value)


@contextlib.contextmanager
def _patched(settings, changes):
    before = {name: getattr(settings, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(settings, name, value)
        yield settings
    finally:
        for name, value in before.items():
            setattr(settings, name, value)


config = Config()


class _Options:
    """What one way of calling compile() asks for. Equal options are one object, so that they share compilations."""

    __slots__ = ("__weakref__", "backend", "dynamic", "fullgraph", "verify")

    def __init__(self, backend, fullgraph, dynamic, verify):
        self.backend = backend
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.verify = verify

    @property
    def recompile_limit(self):
        return config.recompile_limit


# Weak values: options that hold a backend function of the user's go with the last function compiled with them.
_interned: weakref.WeakValueDictionary[tuple, _Options] = weakref.WeakValueDictionary()


def _options(backend, fullgraph, dynamic, verify) -> _Options:
    key = (backend, fullgraph, dynamic, verify)
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = _Options(*key)
    return found


def _compiled(function, options):
    compiled = _core.compile(function, options)
    if not options.verify:
        return compiled
    from ._verify import verified

    return verified(function, compiled)


class OptimizedModule:
    """A module whose calls are compiled. Attributes are the module's own, read and written through."""

    def __init__(self, module, options):
        object.__setattr__(self, "_orig_mod", module)
        object.__setattr__(self, "_call", _compiled(type(module).__call__, options))
        object.__setattr__(self, "_forward", _compiled(type(module).forward, options))

    @property
    def __class__(self):
        return type(self._orig_mod)

    def __call__(self, *args, **kwargs):
        module = self._orig_mod
        state = module.__dict__
        if state["_forward_hooks"] or state["_forward_pre_hooks"] or "forward" in state:
            return self._call(module, *args, **kwargs)
        return self._forward(module, *args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __repr__(self):
        return f"OptimizedModule(\n  (_orig_mod): {self._orig_mod!r}\n)"


def compile(model=None, *, backend=None, fullgraph=False, dynamic=None, verify=None, mode=None, options=None, disable=False):
    """Makes a function or module run as compiled code.

    model: a function, method, other callable or nn.Module; without it, a decorator.
    backend: "auto", "wasm", "webgpu", "eager" or "reference" (node by node); default config.backend. Or a function (graph, example_inputs) that
        returns a callable of the graph's inputs, which gives a sequence of its outputs.
    fullgraph: raise Unsupported at a graph break. dynamic: True frees sizes, and ints that
        tensor operations take, at once, None at the second value, False never.
    verify: run plain Python on a copy beside it and raise VerifyError at the first difference.
    mode, options: accepted for PyTorch's sake, without effect.

    The result is called as `model` is. Errors: TypeError when model is not callable, ValueError for an unknown backend.
    """
    if model is None:
        return functools.partial(
            compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic, verify=verify, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise TypeError(f"compile() takes a function or a module, not {type(model).__name__}")
    if backend is None:
        backend = config.backend
    if backend == "inductor":
        backend = "auto"
    if backend == "aot_eager":
        backend = "eager"
    if not callable(backend) and backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; there are {', '.join(BACKENDS)}")
    if verify is None:
        verify = config.verify
    if disable or not config.enabled:
        return model
    chosen = _options(backend, bool(fullgraph), dynamic, bool(verify))
    from .nn import Module

    if isinstance(model, Module):
        if type(model) is OptimizedModule:
            return model
        return OptimizedModule(model, chosen)
    if isinstance(model, type):
        raise TypeError(f"compile() takes a function or a module; compile an instance of {model.__name__}, or its methods")
    return _compiled(model, chosen)


def disable(fn=None, recursive=True):
    """A function that is never traced, nor what it calls; as a decorator too. Inside a compiled function its call is a graph break."""
    if fn is None:
        return functools.partial(disable, recursive=recursive)
    return _core.disable(fn)


def allow_in_graph(fn):
    """Accepted for PyTorch's sake: functions are traced anyway."""
    return fn


def reset():
    """Forgets every compilation, report and counter."""
    _core.reset()
    _core._reset_counters()
    _core._reset_records()


class _Counters(Mapping):
    """frames, compilations, graphs, breaks, recompiles, cacheHits, replays, fallbacks since the last reset."""

    _names = ("frames", "compilations", "graphs", "breaks", "recompiles", "cacheHits", "replays", "fallbacks")

    def _now(self):
        values = {**_core._counters(), **_core._tracer_counters()}
        return {name: values.get(name, 0) for name in self._names}

    def __getitem__(self, name):
        return self._now()[name]

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return repr(self._now())

    def clear(self):
        reset()


counters = _Counters()


def report() -> dict:
    """Everything compiled since the last reset, after the report schema (version 1)."""
    compilations = _core._records()
    _gpu.add_shaders(compilations)
    return {"schema": 1, "version": _core.version, "compilations": compilations, "counters": dict(counters)}


class Explanation(dict):
    """What explain() gives: the report itself, and views of it: graphs, breaks, guards, ledger as lists of dicts over all compilations, and the
    call's `result` (None when it raised; then `exception`).
    """

    def __init__(self, whole, result=None, exception=None):
        super().__init__(whole)
        self.result = result
        self.exception = exception

    def _all(self, part):
        return [item for one in self["compilations"] for item in one[part]]

    @property
    def report(self) -> dict:
        return dict(self)

    @property
    def graphs(self) -> list[dict]:
        return self._all("graphs")

    @property
    def breaks(self) -> list[dict]:
        return self._all("breaks")

    @property
    def guards(self) -> list[dict]:
        return self._all("guards")

    @property
    def ledger(self) -> list[dict]:
        return self._all("ledger")

    @property
    def counters(self) -> dict:
        return self["counters"]

    break_reasons = breaks
    out_guards = guards

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        return sum(len(graph["nodes"]) - len(graph["inputs"]) for graph in self.graphs)

    def __str__(self):
        from ._report_text import render

        return render(self)

    __repr__ = __str__

    def _repr_html_(self):
        from ._report_text import render_html

        return render_html(self)


def explain(fn, *extra, **options):
    """explain(fn)(*args): calls the compiled fn once, as a real call with its effects, and tells what became of it.

    Options are those of compile(). What the call raises is kept in `exception` of the result, as CPython's own call would have raised it; Unsupported
    (fullgraph=True) and refusals of the policy are kept there too.
    """
    if extra:   # PyTorch's old form: explain(fn, *args)
        return explain(fn)(*extra, **options)

    def explained(*args, **kwargs):
        reset()
        compiled = compile(fn, **options)
        result = exception = None
        try:
            result = compiled(*args, **kwargs)
        except Exception as error:
            exception = error
        return Explanation(report(), result, exception)

    return explained


def _set_up():
    here = os.path.dirname(__file__)
    numpy = importlib.util.find_spec("numpy")  # what NumPy calls inside of itself is its own business
    skipped = [here, os.path.dirname(os.__file__), *(numpy.submodule_search_locations if numpy else ())]
    _core.set_skip_prefixes([folder + os.sep for folder in skipped])
    _core.set_trace_files([os.path.join(here, "nn", name) for name in ("module.py", "layers.py", "containers.py", "activations.py", "functional.py")])


_set_up()
