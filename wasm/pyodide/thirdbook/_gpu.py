"""Graphs and tensors on the page's WebGPU, through JavaScript (web/lib/webgpu/bridge.ts).

In: bytes of graphs and elements, from the core. Out: numbers that name what is on the device; elements when they are asked for. `install()` of the
npm package registers how to connect; the bridge is connected when the first graph wants the device. Whatever waits for the device waits
synchronously, which takes JSPI and a program that was started with runPythonAsync().
Invariant: run() and upload() never raise for a fault of the device: they say why once, in the log, and the caller uses the CPU.
"""

from __future__ import annotations

import json
import logging

from . import _core

logger = logging.getLogger("thirdbook")

CANNOT_WAIT = (
    "the elements are on the GPU and Python cannot wait for them here: use `await tensor.cpu_async()`, or start the program with "
    "runPythonAsync() in an engine that has JSPI"
)
NOT_INSTALLED = "WebGPU needs install() of the npm package thirdbook, which connects it"

_connect = None
_bridge = None
_refusal = None
_fetched = {}  # elements that cpu_async() has waited for, by number
_last_fault = None


def register(connect) -> None:
    """Tells how to connect: a JavaScript function that gives a promise of the bridge."""
    global _connect, _bridge, _refusal
    _connect, _bridge, _refusal = connect, None, None


def _wait(start, *args):
    """What the promise of start(*args) gives; nothing is started where it could not be waited for."""
    from pyodide.ffi import can_run_sync, run_sync

    if not can_run_sync():
        raise RuntimeError(CANNOT_WAIT)
    return run_sync(start(*args))


def _connected():
    global _bridge, _refusal
    if _bridge is None:
        if _connect is None or _refusal is not None:
            raise RuntimeError(_refusal or NOT_INSTALLED)
        from pyodide.ffi import JsException

        try:
            _bridge = _wait(_connect)
        except JsException as error:  # asked once: a page gets no adapter later
            _refusal = str(error)
            raise
    return _bridge


def _array(view):
    from js import Uint8Array

    array = Uint8Array.new(len(view))
    if len(view):
        array.assign(view)
    return array


def _fault(error) -> None:
    global _last_fault
    text = str(error)
    if text != _last_fault:
        _last_fault = text
        logger.warning("WebGPU: the CPU runs it instead: %s", text)


def is_software() -> bool:
    """Whether the adapter is a program on the CPU. Raises where there is none."""
    return bool(_connected().software)


def last_fault() -> str | None:
    """Why the last graph that wanted the GPU ran on the CPU."""
    return _last_fault


def counters() -> dict:
    """Dispatches, submits, bytesWritten, bytesRead so far, and how many tensors are on the device; empty before the first graph."""
    return json.loads(_bridge.counters()) if _bridge is not None else {}


def add_shaders(compilations) -> None:
    """Writes into a report what its graphs became on the device."""
    if _bridge is None:
        return
    for graph in (graph for one in compilations for graph in one["graphs"]):
        shaders = json.loads(_bridge.shaders(graph["text"]))
        if shaders:
            graph["shaders"] = shaders


class Program:
    """A graph on the device; forgotten there when it is forgotten here."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __del__(self):
        if _bridge is not None:
            _bridge.forget(self.number)


def compile(graph: bytes):
    """The program of a graph's bytes; None where there is no device."""
    from ._api import config

    try:
        return Program(_connected().compile(_array(graph), config.gpu_storage == "float16"))
    except Exception as error:
        _fault(error)
        return None


def run(program, inputs):
    """A list of (id, elements, shape, strides, offset), one for each output; None when the device has a fault.

    An input is (view, None) for a number, else (view or None, {"id", "shape", "strides", "offset", "elements"}): a view of bytes, or an id.
    """
    from js import Array

    try:
        described = json.dumps([layout for _, layout in inputs])
        elements = Array.of(*[None if view is None else _array(view) for view, _ in inputs])
        bridge = _connected()
        outputs = json.loads(_wait(bridge.run, program.number, described, elements))
    except Exception as error:
        _fault(error)
        return None
    return [(o["id"], o["elements"], tuple(o["shape"]), tuple(o["strides"]), o["offset"]) for o in outputs]


def upload(view, dtype: str):
    """The number of a tensor with these elements on the device; None when that fails."""
    try:
        return _wait(_connected().upload, _array(view), dtype)
    except Exception as error:
        _fault(error)
        return None


def duplicate(number: int):
    try:
        return _bridge.duplicate(number)
    except Exception as error:
        _fault(error)
        return None


def read(number: int, target) -> None:
    """Writes the elements into `target`. RuntimeError where Python cannot wait, or the device has lost them."""
    array = _fetched.pop(number, None)
    if array is None:
        try:
            array = _wait(_bridge.read, number)
        except RuntimeError:
            raise
        except Exception as error:
            raise RuntimeError(f"the elements of a tensor on the GPU are lost: {error}") from None
    array.assign_to(target)


def release(number: int) -> None:
    _fetched.pop(number, None)
    if _bridge is not None:
        _bridge.release(number)


async def fetch(tensor) -> None:
    """Waits for a tensor's elements, so that they can be read where Python cannot wait."""
    number = _core._device_id(tensor)
    if number >= 0:
        _fetched[number] = await _bridge.read(number)
