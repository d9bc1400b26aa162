"""What a call does beside its objects: what it says, and the state of the process that belongs to no object.

In: a stretch of code under `Outputs`, or two moments for `ProcessState`. Out: the printed, warned and logged lines in order; generators and modes as
rows, and put back. Invariant: `Outputs(silent=True)` lets nothing out.
"""

from __future__ import annotations

import io
import logging
import random
import sys
import warnings

from . import _core
from . import random as tensor_generator
from ._contents import module_is_outside


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
        if self._target is not None and not self._silent:  # it is also called when the interpreter ends
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


class Outputs:
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


class ProcessState:
    """Generators and modes, which belong to no object that a function reaches."""

    def __init__(self):
        self._random = random.getstate()
        self._tensor_random = tensor_generator.get_rng_state()
        self._grad = _core.is_grad_enabled()
        self._dtype = _core.get_default_dtype()
        self._modules = set(sys.modules)

    def put_back(self):
        random.setstate(self._random)
        tensor_generator.set_rng_state(self._tensor_random)
        _core._set_grad_enabled(self._grad)
        _core.set_default_dtype(self._dtype)
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
