"""Whether a graph whose inputs are in memory is worth the GPU, for backend="auto".

In: what a graph computes and moves (core/graph/work.h). Out: yes, no, or not at this moment. The costs of both sides are measured once, when the first
graph comes that is large enough to gain.
Invariant: never yes where Python cannot wait, where another task could run while it waits, or on an adapter that is a program on the CPU.
"""

from __future__ import annotations

import struct
import time
from typing import NamedTuple

from . import _core, _gpu
from ._creation import zeros

MARGIN = 1.2  # the GPU must promise this much: a wrong guess costs more than a missed one
SIDE = 256
COUNT = 1 << 20
FLOAT32 = 4
RUNS = 3


class Costs(NamedTuple):
    """Seconds."""

    cpu_product: float
    cpu_element: float
    gpu_start: float
    gpu_byte: float
    gpu_product: float
    gpu_element: float


NEVER = Costs(0, 0, float("inf"), 0, 0, 0)

costs: Costs | None = None


def gains(products: float, elements: float, moved: float) -> bool | None:
    """Whether the GPU does it in less time; None: it cannot be asked at this moment."""
    global costs
    if not _may_wait():
        return None
    if costs is None:
        costs = _measure()
    return faster(costs, products, elements, moved)


def faster(costs: Costs, products: float, elements: float, moved: float) -> bool:
    cpu = products * costs.cpu_product + elements * costs.cpu_element
    gpu = costs.gpu_start + moved * costs.gpu_byte + products * costs.gpu_product + elements * costs.gpu_element
    return gpu * MARGIN < cpu


def _may_wait() -> bool:
    """Whether waiting is possible and nobody else runs meanwhile: plain Python would not have let anyone in."""
    import asyncio

    from pyodide.ffi import can_run_sync

    if not can_run_sync():
        return False
    try:
        return len(asyncio.all_tasks(asyncio.get_running_loop())) <= 1
    except RuntimeError:
        return True


def _measure() -> Costs:
    try:
        if _gpu.is_software():
            return NEVER
        one, wide, side = (1, 1), (1, COUNT), (SIDE, SIDE)
        small, copied, chain, product = (_graph(one, "neg"), _graph(wide, "neg"), _graph(wide, *["tanh", "neg"] * 4), _graph(side, "mm"))
        cpu_chain, cpu_product = _cpu_seconds(chain, wide), _cpu_seconds(product, side)
        start = _gpu_seconds(small, one)
        byte = max(0.0, _gpu_seconds(copied, wide) - start) / (8 * COUNT)
        element = max(0.0, _gpu_seconds(chain, wide) - start - 8 * COUNT * byte) / (8 * COUNT)
        terms = max(0.0, _gpu_seconds(product, side) - start - 8 * SIDE**2 * byte) / SIDE**3
        return Costs(cpu_product / SIDE**3, cpu_chain / (8 * COUNT), start, byte, terms, element)
    except Exception:  # no adapter, a lost device, whatever: the CPU has always been there
        return NEVER


def _graph(shape, *ops) -> bytes:
    """A graph of one input (core/graph/serialize.h): each operation takes the one before; a product takes it twice."""

    def text(name):
        return struct.pack("<I", len(name)) + name.encode()

    rows, columns = shape
    meta = struct.pack("<BI5qB", FLOAT32, 2, rows, columns, columns, 1, 0, 0)
    nodes = [text("input") + struct.pack("<II", 0, 0) + text("x") + meta]
    for place, op in enumerate(ops):
        operands = 2 if op == "mm" else 1
        nodes.append(text(op) + struct.pack("<I", operands) + struct.pack("<ii", place, 0) * operands + struct.pack("<I", 0))
    return b"TBGRAPH\0" + struct.pack("<II", 1, len(nodes)) + b"".join(nodes) + struct.pack("<Iii", 1, len(ops), 0)


def _best(run) -> float:
    def once():
        begun = time.perf_counter()
        run()
        return time.perf_counter() - begun

    run()  # plans and compiles
    return min(once() for _ in range(RUNS))


def _cpu_seconds(graph, shape) -> float:
    compiled, x = _core._load_graph(graph), zeros(shape)
    return _best(lambda: compiled(x))


def _gpu_seconds(graph, shape) -> float:
    program, x = _gpu.compile(graph), memoryview(bytearray(4 * shape[0] * shape[1]))
    target = memoryview(bytearray(len(x)))

    def run():
        outputs = _gpu.run(program, [(x, {"shape": shape})])
        if outputs is None:
            raise RuntimeError(_gpu.last_fault())
        number = outputs[0][0]
        _gpu.read(number, target)
        _gpu.release(number)

    return _best(run)
