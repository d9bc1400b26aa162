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
import threading
import types
import warnings

from . import _core
from ._errors import VerifyError
from ._picture import plain, same
from ._run_state import Outputs, ProcessState
from ._world import Reach


class VerifyWarning(UserWarning):
    """A call was compiled and run, but could not be verified."""


_active = threading.local()


class _Run:
    """What one run came to: `rows` describe it, `error` or `value` is its outcome."""

    def __init__(self, function, args, kwargs, reach, silent):
        self.error = self.value = None
        with Outputs(silent) as outputs:
            try:
                self.value = function(*args, **kwargs)
            except BaseException as error:
                self.error = error
            state = ProcessState()
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
        process = ProcessState()
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
