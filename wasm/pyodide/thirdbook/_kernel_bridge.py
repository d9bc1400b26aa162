"""Connects the core to the engine that compiles generated kernels.

In Pyodide the JavaScript of ``_kernel_bridge.mjs`` is evaluated unless the host has connected it already. Anywhere else there
is nothing to connect: kernels run through the loop interpreter.
"""

from __future__ import annotations

import sys

from . import _core


def register(instantiate: int, relaxed: bool) -> None:
    """Tells the core the table index of the instantiating function; called by hosts that connect from JavaScript."""
    _core._register_engine(instantiate, relaxed)


def connect() -> bool:
    """True when generated kernels can run. Never raises: without an engine the library kernels do the work."""
    if _core._engine_registered():
        return True
    if sys.platform != "emscripten":
        return False
    try:
        from importlib.resources import files

        import pyodide_js
        from pyodide.code import run_js

        source = files(__package__).joinpath("_kernel_bridge.mjs").read_text()
        source = source.replace("export function", "function")
        connected = run_js("(() => {" + source + "\nreturn connectKernels; })()")(pyodide_js)
        register(int(connected.instantiate), bool(connected.relaxed))
    except Exception:  # a content security policy without eval, a Pyodide without these internals
        return False
    return True
