"""verify=True: every compiled call beside plain Python, from the same world.

   world ──keep──▶ plain Python (output recorded) ──describe──▶ put back ──▶ compiled call (the real one) ──describe──▶ compare

In: a callable, its compiled form, the arguments of a call. Out: the compiled call's result; or VerifyError with the first difference: its source, the line
that wrote it, both values. Results, exceptions, every reachable object, printed text, warnings, log records and their order are
compared; floating-point tensors with the tolerance of torch.testing. Invariant: the world has the effects of one call afterwards, the compiled one. A call that
can reach an object whose state cannot be put back (a lock, a file, an iterator) is not verified; a VerifyWarning names the object, once.

The plain run works on the objects themselves, which get their contents back, rather than on copies of them: identity, classes and closures are those of the
real call.
"""

from __future__ import annotations

import functools
import io
import logging
import random
import sys
import threading
import types
import warnings

from . import _core
from ._contents import module_is_outside
from ._errors import VerifyError
from ._picture import plain, same
from ._world import Reach


class VerifyWarning(UserWarning):
    """A call was compiled and run, but could not be verified."""


_active = threading.local()


class _Recorded(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr in both runs: notes what is written, and passes it on in the real one."""

    def __init__(self, name):
        self._name = name
        self._target = None
        self._events = None
        self._silent = False

    def aim(self, target, events, silent):
        self._target, self._events, self._silent = target, events, silent

    def write(self, text):
        if self._events and self._events[-1][0] == self._name:
            self._events[-1] = (self._name, self._events[-1][1] + text)
        else:
            self._events.append((self._name, text))
        return len(text) if self._silent else self._target.write(text)

    def flush(self):
        if not self._silent:
            self._target.flush()

    def isatty(self):
        return self._target.isatty()

    def fileno(self):
        return self._target.fileno()

    def writable(self):
        return True

    @property
    def encoding(self):
        return getattr(self._target, "encoding", None)

    @property
    def errors(self):
        return getattr(self._target, "errors", None)


_STREAMS = {name: _Recorded(name) for name in ("stdout", "stderr")}


class _Outputs:
    """Records what a run says; `silent`: and keeps it from the world."""

    def __init__(self, silent):
        self.events = []
        self._silent = silent

    def __enter__(self):
        self._before = {name: getattr(sys, name) for name in _STREAMS}
        for name, stream in _STREAMS.items():
            stream.aim(self._before[name], self.events, self._silent)
            setattr(sys, name, stream)
        self._show, self._handle = warnings._showwarnmsg, logging.Logger.callHandlers
        warnings._showwarnmsg = self._warned
        logging.Logger.callHandlers = lambda logger, record: self._logged(logger, record)
        return self

    def __exit__(self, *exc):
        for name, stream in _STREAMS.items():
            if getattr(sys, name) is stream or self._silent:   # else the program has put another stream there
                setattr(sys, name, self._before[name])
        warnings._showwarnmsg = self._show
        logging.Logger.callHandlers = self._handle

    def _warned(self, message):
        self.events.append(("warning", f"{message.category.__name__}: {message.message} ({message.filename}:{message.lineno})"))
        if not self._silent:
            self._show(message)

    def _logged(self, logger, record):
        self.events.append(("log", f"{record.name} {record.levelname}: {record.getMessage()} (line {record.lineno})"))
        if not self._silent:
            self._handle(logger, record)


class _ProcessState:
    """Generators and modes, which belong to no object that a function reaches."""

    def __init__(self):
        self._random = random.getstate()
        self._tensor_random = _torch("get_rng_state")()
        self._grad = _torch("is_grad_enabled")()
        self._dtype = _torch("get_default_dtype")()
        self._modules = set(sys.modules)

    def put_back(self):
        random.setstate(self._random)
        _torch("set_rng_state")(self._tensor_random)
        _core._set_grad_enabled(self._grad)
        _torch("set_default_dtype")(self._dtype)
        for name in sys.modules.keys() - self._modules:   # imported by the plain run; the compiled one imports them again
            if not module_is_outside(name):
                del sys.modules[name]

    def rows(self):
        return [
            ("the state of random", hash(self._random)),
            ("the state of the tensors' generator", bytes(self._tensor_random.tolist())),
            ("is_grad_enabled()", self._grad),
            ("the default dtype", str(self._dtype)),
        ]


def _torch(name):
    from . import _torch as library

    return library.names()[name]


class _Run:
    """What one run came to: `rows` describe it, `error` or `value` is its outcome."""

    def __init__(self, function, args, kwargs, reach, silent):
        self.error = self.value = None
        with _Outputs(silent) as outputs:
            try:
                self.value = function(*args, **kwargs)
            except BaseException as error:
                self.error = error
            state = _ProcessState()
            self.rows = reach.describe(("raised", self.error) if self.error is not None else ("returned", self.value))
            self.rows += state.rows()
            if silent:   # what dies now must not speak in the real run
                if self.error is not None and not isinstance(self.error, Exception):
                    self.interrupt = type(self.error)
                self.error = self.value = None
                reach.put_back()
                reach.put_back()   # finalizers of what the first round dropped may have written
        self.events = outputs.events


def _ledger_line(path):
    """Where the compiled function wrote this, after its ledger: "file:line", or ""."""
    best = ""
    longest = 0
    for record in _core._records():
        for row in record["ledger"]:
            source = row["source"]
            if path.startswith(source) and len(source) > longest and row["sites"]:
                longest = len(source)
                site = row["sites"][-1]
                best = f"{site['file']}:{site['line']}"
    return best


def _difference(eager, compiled):
    """(path, plain Python's text, compiled text) of the first difference, or None."""
    for (left_path, left), (right_path, right) in zip(eager.rows, compiled.rows):
        if left_path != right_path:
            return left_path, str(left), f"{right} at {right_path}"
        if not same(left, right) and plain(str(left)) != plain(str(right)) or type(left) is not type(right):
            return left_path, plain(str(left)), plain(str(right))
    if len(eager.rows) != len(compiled.rows):
        longer = max(eager.rows, compiled.rows, key=len)
        path, data = longer[min(len(eager.rows), len(compiled.rows))]
        there, missing = plain(str(data)), "nothing"
        return (path, there, missing) if longer is eager.rows else (path, missing, there)
    for index in range(max(len(eager.events), len(compiled.events))):
        left = eager.events[index] if index < len(eager.events) else ("output", "nothing")
        right = compiled.events[index] if index < len(compiled.events) else ("output", "nothing")
        if (left[0], plain(left[1])) != (right[0], plain(right[1])):
            return f"output {index + 1}", f"{left[0]} {plain(left[1])!r}", f"{right[0]} {plain(right[1])!r}"
    return None


def _place_of(function):
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "no Python source"


def _name_of(function):
    return getattr(function, "__qualname__", None) or type(function).__qualname__


class _Verifier:
    def __init__(self, model, compiled):
        self._model = model
        self._plain = _core.disable(model)
        self._compiled = compiled
        self._named: set[str] = set()

    def call(self, args, kwargs):
        if getattr(_active, "on", False):   # a verified call inside of another: the outer one compares
            return self._compiled(*args, **kwargs)
        _active.on = True
        try:
            return self._verified(args, kwargs)
        finally:
            _active.on = False

    def _verified(self, args, kwargs):
        reach = Reach(self._model, args, kwargs)
        if reach.unrepeatable:
            self._warn(reach.unrepeatable)
            return self._compiled(*args, **kwargs)
        process = _ProcessState()
        eager = _Run(self._plain, args, kwargs, reach, silent=True)
        process.put_back()
        interrupt = getattr(eager, "interrupt", None)
        if interrupt is KeyboardInterrupt:
            raise KeyboardInterrupt
        compiled = _Run(self._compiled, args, kwargs, reach, silent=False)
        found = _difference(eager, compiled)
        if found is not None:
            path, left, right = found
            place = _ledger_line(path) or _place_of(self._model)
            raise VerifyError(
                f"{_name_of(self._model)}: the compiled call differs from plain Python at {path} ({place}):\n"
                f"  plain Python: {left}\n  compiled:     {right}"
            ) from compiled.error
        if compiled.error is not None:
            error = compiled.error
            del compiled
            try:
                raise error
            finally:
                del error
        return compiled.value

    def _warn(self, unrepeatable):
        new = [(path, kind) for path, kind in unrepeatable if path not in self._named]
        if not new:
            return
        self._named.update(path for path, _ in new)
        text = "; ".join(f"{path} is {'' if kind.startswith('a ') else 'a '}{kind}" for path, kind in new)
        warnings.warn(
            f"{_name_of(self._model)} ({_place_of(self._model)}) is compiled but not verified: it can reach objects whose state cannot be put back: {text}",
            VerifyWarning,
            stacklevel=5,
        )


def verified(model, compiled):
    """A callable like `model` that runs `compiled` and checks each call against plain `model`."""
    verifier = _Verifier(model, compiled)

    def call(*args, **kwargs):
        return verifier.call(args, kwargs)

    if isinstance(model, (types.FunctionType, types.MethodType)):
        functools.update_wrapper(call, model)
    else:
        call.__wrapped__ = model
    call._verifies = compiled
    return call
