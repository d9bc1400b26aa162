"""Backends given as functions: `compile(fn, backend=my_backend)`.

In: `my_backend(graph, example_inputs)` and a compiled graph. Out: a callable that rewritten code calls with the graph's inputs. `graph` is called
like the result, prints as the graph's text and has `forward`; example_inputs are those of the first call (tensors and numbers, in
the graph's order). The callable that my_backend returns takes as many and gives a sequence of tensors, one per output.
Invariant: outputs have the count of the graph's; whatever raises hands the call back to plain Python, and is logged once.
"""

from __future__ import annotations

import logging

from . import _core

logger = logging.getLogger("thirdbook")


class GraphModule:
    """A graph as a backend sees it."""

    def __init__(self, compiled):
        self._compiled = compiled

    def __call__(self, *inputs):
        return self._compiled(*inputs)

    forward = __call__

    @property
    def code(self) -> str:
        return repr(self._compiled)

    def __repr__(self):
        return repr(self._compiled)

    def print_readable(self) -> None:
        print(self.code)


class _FunctionBackend:
    """Asks the backend at the first call, when there are inputs to show it."""

    __slots__ = ("_backend", "_compiled", "_logged", "_run")

    def __init__(self, backend, compiled):
        self._backend = backend
        self._compiled = compiled
        self._run = None
        self._logged = False

    def __call__(self, *inputs):
        try:
            if self._run is None:
                run = self._backend(GraphModule(self._compiled), list(inputs))
                if not callable(run):
                    raise TypeError(f"a backend returns a callable, not {type(run).__name__}")
                self._run = run
            return self._checked(self._run(*inputs))
        except Exception as error:
            if not self._logged:
                self._logged = True
                logger.warning("backend %r failed, plain Python runs instead: %s: %s", self._backend, type(error).__name__, error)
            raise

    def _checked(self, outputs):
        if isinstance(outputs, _core.Tensor):
            outputs = (outputs,)
        outputs = tuple(outputs)
        wanted = self._compiled.output_count
        if len(outputs) != wanted:
            raise ValueError(f"the backend's callable gave {len(outputs)} outputs; the graph has {wanted}")
        for output in outputs:
            if not isinstance(output, _core.Tensor):
                raise TypeError(f"the backend's callable gave {type(output).__name__} as an output, not a tensor")
        return outputs


def graph_callable(backend, compiled):
    """What rewritten code calls instead of the graph. Nothing is compiled inside of it."""
    return _core.disable(_FunctionBackend(backend, compiled))
