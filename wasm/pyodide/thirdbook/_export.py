"""export(fn, *args): one compiled call as a file that runs without Python. docs/export-format.md describes the bytes.

In: a function or module, and arguments with which it is traced. Out: bytes: a header (JSON), the graph, the tensors that the function reached other than through its
arguments. Invariant: the call is made once to learn where its outputs go, silently, and the world is put back.
"""

from __future__ import annotations

import json
import struct

from . import _core
from ._contents import same_bits
from ._core import Tensor
from ._errors import Unsupported
from ._run_state import Outputs, ProcessState
from ._world import Reach

MAGIC = b"TBEXPORT"
VERSION = 1


class ExportError(RuntimeError):
    """A function that cannot be a file: no graph, more than one, or effects that cannot be taken back."""


class _Capture:
    """A backend that keeps the graph with the inputs and outputs of its run."""

    def __init__(self):
        self.calls = []

    def __call__(self, graph, example_inputs):
        def run(*inputs):
            outputs = graph(*inputs)
            self.calls.append((graph, inputs, outputs))
            return outputs

        return run


def export(fn, *args, **kwargs) -> bytes:
    """The bytes of one file with the graph of fn(*args, **kwargs), its constants, and the ledger's rows beside the outputs that they take.

    Tensors that fn reaches other than through its arguments (parameters, globals) are stored as they are now. Errors: Unsupported where fn has a graph
    break; ExportError where it has no tensor computation, or reaches an object whose state cannot be put back.
    """
    from ._api import compile, config

    reach = Reach(fn, args, kwargs)
    if reach.unrepeatable:
        names = ", ".join(f"{path} ({kind})" for path, kind in reach.unrepeatable)
        raise ExportError(f"export makes one call and takes its effects back, which these objects do not allow: {names}")
    process, capture = ProcessState(), _Capture()
    known = {record["id"] for record in _core._records()}
    before = [(value, value.detach().clone()) for value in reach.reached(Tensor)]
    with config.patch(enabled=True):  # the file has a graph even where programs run as plain Python
        compiled = compile(fn, fullgraph=True, backend=capture, verify=False)
    try:
        with Outputs(silent=True):
            result = compiled(*args, **kwargs)
        records = [record for record in _core._records() if record["id"] not in known and record["graphs"]]
        if len(capture.calls) != 1 or len(records) != 1:
            raise ExportError(f"a file holds one graph; {len(capture.calls)} ran")
        return _file(fn, records[0], capture.calls[0], result, Reach(fn, args, kwargs), before)
    finally:
        reach.put_back()
        process.put_back()


def _file(fn, record, call, result, after, before) -> bytes:
    graph, inputs, outputs = call
    described = record["graphs"][0]
    names = [described["nodes"][index]["name"] for index in described["inputs"]]
    data = bytearray()
    header = {
        "schema": VERSION,
        "thirdbook": _core.version,
        "function": record["function"],
        "inputs": [_input(name, value, data) for name, value in zip(names, inputs, strict=True)],
        "outputs": _outputs(outputs, after, before),
        "result": _Result(outputs, names, inputs).spec(result),
        "ledger": record["ledger"],
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    body = _core._save_graph(graph._compiled)
    return b"".join((MAGIC, struct.pack("<III", VERSION, len(text), len(body)), text, body, bytes(data)))


def _input(name, value, data) -> dict:
    argument = name.startswith("L['") and not name.startswith("L['self']")
    kind = "argument" if argument else "state"
    if not isinstance(value, Tensor):
        row = {"name": name, "kind": kind, "number": type(value).__name__}
        return row if argument else row | {"value": value}
    row = {"name": name, "kind": kind, "dtype": str(value.dtype).rpartition(".")[2], "shape": list(value.shape)}
    if not argument:
        elements = _elements(value)
        row |= {"offset": len(data), "bytes": len(elements)}
        data += elements
    return row


def _elements(tensor) -> bytes:
    return bytes(memoryview(tensor.detach().contiguous()).cast("B")) if tensor.numel() else b""


def _place(tensor):
    return tensor.untyped_storage().data_ptr()


def _outputs(outputs, after, before) -> list[dict]:
    """For each output the sources that hold it after the call; an input that is written in place holds a copy."""
    rows = []
    changed = [(value, old) for value, old in before if value.numel() and not same_bits(value.detach(), old)]
    for output in outputs:
        paths = [after.paths[id(value)] for value in after.reached(Tensor) if output.numel() and _place(value) == _place(output)]
        if not paths:
            paths = [
                after.paths.get(id(value), "?")
                for value, _ in changed
                if value.dtype == output.dtype and value.shape == output.shape and same_bits(value.detach(), output)
            ]
        rows.append({"dtype": str(output.dtype).rpartition(".")[2], "shape": list(output.shape), "sources": paths})
    return rows


class _Result:
    """The call's result as JSON: {"output": n} or {"input": name} for tensors, with shape, stride and offset where it is a view; plain data as it is."""

    def __init__(self, outputs, names, inputs):
        self._outputs = {_place(value): (index, value) for index, value in enumerate(outputs)}
        self._inputs = {_place(value): (name, value) for name, value in zip(names, inputs) if isinstance(value, Tensor)}

    def spec(self, value):
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return {"list" if isinstance(value, list) else "tuple": [self.spec(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.spec(key), self.spec(item)] for key, item in value.items()]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value if value == value and value not in (float("inf"), float("-inf")) else str(value)}
        raise ExportError(f"a result of type {type(value).__name__} cannot be stored; tensors, numbers, texts, lists, tuples, dicts can")

    def _tensor(self, tensor):
        for key, table in (("output", self._outputs), ("input", self._inputs)):
            found = table.get(_place(tensor))
            if found is None:
                continue
            index, whole = found
            row = {key: index}
            layout = (list(tensor.shape), list(tensor.stride()), tensor.storage_offset())
            if layout != (list(whole.shape), list(whole.stride()), whole.storage_offset()):
                row["view"] = dict(zip(("shape", "stride", "offset"), layout))
            return row
        raise ExportError("a tensor of the result is neither an output of the graph nor one of its inputs")


def read_header(data: bytes) -> dict:
    """The header of an exported file. ValueError when it is none."""
    return split(data)[0]


def split(data: bytes) -> tuple[dict, bytes, bytes]:
    """(header, graph, data of the state inputs). ValueError when the file is damaged or newer."""
    if len(data) < 20 or data[:8] != MAGIC:
        raise ValueError("not a file of thirdbook.export")
    version, header_size, graph_size = struct.unpack_from("<III", data, 8)
    if version > VERSION:
        raise ValueError(f"the file has format {version}; this version reads up to {VERSION}")
    if len(data) < 20 + header_size + graph_size:
        raise ValueError("the file is cut off")
    header = json.loads(data[20 : 20 + header_size])
    return header, data[20 + header_size : 20 + header_size + graph_size], data[20 + header_size + graph_size :]


def load(data: bytes):
    """A callable from exported bytes: the arguments' tensors and numbers in the order of the header's "argument" inputs → a tuple of the graph's outputs."""
    header, graph, state = split(data)
    run = _core._load_graph(graph)
    fixed = {}
    for index, row in enumerate(header["inputs"]):
        if row["kind"] == "state":
            fixed[index] = row["value"] if "number" in row else _state(row, state)

    def call(*args):
        given = iter(args)
        values = [fixed[index] if index in fixed else next(given) for index in range(len(header["inputs"]))]
        return run(*values)

    call.header = header
    return call


def _state(row, state):
    from . import _torch

    names = _torch.names()
    dtype = names[row["dtype"]]
    if row["bytes"] == 0:
        return names["zeros"](row["shape"], dtype=dtype)
    chunk = bytearray(state[row["offset"] : row["offset"] + row["bytes"]])
    return names["frombuffer"](chunk, dtype=dtype).reshape(row["shape"]).clone()


__all__ = ["ExportError", "Unsupported", "export", "load", "read_header", "split"]
