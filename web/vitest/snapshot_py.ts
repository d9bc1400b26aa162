// In: nothing. Out: the Python source that runs a program in a fresh namespace and describes what it left behind.
// Invariant: the description is plain data without addresses: two runs of the same program give equal descriptions; objects that are one
// object get one number, so that aliasing is compared as well.

export const kSnapshot = `
import contextlib
import io
import json
import sys
import traceback
import types

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


class _Describer:
    """Turns objects into plain data, each object once."""

    def __init__(self, tensor_type):
        self.numbers = {}
        self.kept = []
        self.tensor_type = tensor_type

    def describe(self, value):
        kind = type(value)
        if kind in _SCALARS:
            return {"kind": "scalar", "type": kind.__name__, "repr": repr(value)}
        value = _plain(value)
        kind = type(value)
        if isinstance(value, (types.ModuleType, types.BuiltinFunctionType, types.MethodType)):
            return {"kind": "code", "type": kind.__name__, "name": getattr(value, "__qualname__", None) or value.__name__}
        if id(value) in self.numbers:
            return {"kind": "same", "object": self.numbers[id(value)]}
        self.numbers[id(value)] = len(self.numbers)
        self.kept.append(value)
        return self.describe_object(value, kind)

    def describe_code(self, value, kind):
        """A function or class of the program: its own attributes and the variables it closes over; others by name."""
        parts = {"kind": "code", "type": kind.__name__, "name": value.__qualname__}
        if value.__module__ == "__main__":
            state = [(k, v) for k, v in sorted(vars(value).items()) if not k.startswith("__")]
            cells = getattr(value, "__closure__", None) or ()
            names = value.__code__.co_freevars if cells else ()
            state += [(f"cell {name}", _contents(cell)) for name, cell in zip(names, cells)]
            parts["state"] = [[k, self.describe(v)] for k, v in state]
        return parts

    def describe_object(self, value, kind):
        if isinstance(value, (type, types.FunctionType)):
            return self.describe_code(value, kind)
        if isinstance(value, self.tensor_type):
            plain = value.detach()
            return {"kind": "tensor", "dtype": str(value.dtype), "shape": list(value.shape), "values": _flat(plain.tolist())}
        parts = {"kind": "object", "type": kind.__qualname__}
        if isinstance(value, dict):
            parts["items"] = [[self.describe(k), self.describe(v)] for k, v in dict.items(value)]
        elif isinstance(value, (set, frozenset)):
            parts["items"] = sorted((self.describe(v) for v in value), key=json.dumps)
        elif isinstance(value, (list, tuple)) or kind.__name__ == "deque":
            parts["items"] = [self.describe(v) for v in value]
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict) and not isinstance(value, BaseException):
            parts["state"] = [[k, self.describe(v)] for k, v in sorted(state.items()) if not k.startswith("__")]
        if isinstance(value, BaseException):
            parts["state"] = [["args", self.describe(value.args)]]
        return parts


def _plain(value):
    """What compile() was given: the eager program has that in the same place."""
    if type(value).__name__ == "OptimizedModule":
        return object.__getattribute__(value, "_orig_mod")
    if type(value).__module__.partition(".")[0] == "thirdbook" and hasattr(value, "__wrapped__"):
        return value.__wrapped__
    return value


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return "(empty)"


def _flat(values):
    if not isinstance(values, list):
        return [_number(values)]
    flat = []
    for value in values:
        flat.extend(_flat(value))
    return flat


def _number(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    return value


def run_program(source, file, enabled, backend):
    """JSON of: stdout, error (type and text, or null), globals (descriptions), report."""
    import thirdbook
    thirdbook.reset()
    thirdbook.config.enabled = enabled
    thirdbook.config.backend = backend
    names = {"__name__": "__main__", "__file__": file}
    module = types.ModuleType("__main__")
    module.__dict__.update(names)
    before = sys.modules.get("__main__")
    sys.modules["__main__"] = module
    printed = io.StringIO()
    error = None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException as caught:
        error = {"type": type(caught).__qualname__, "text": str(caught), "trace": traceback.format_exc()}
    finally:
        if before is not None:
            sys.modules["__main__"] = before
    describer = _Describer(thirdbook.Tensor)
    ours = {k: v for k, v in module.__dict__.items() if not k.startswith("__")}
    described = [[name, describer.describe(value)] for name, value in sorted(ours.items())]
    report = thirdbook.report()
    thirdbook.config.enabled = True
    return json.dumps({"stdout": printed.getvalue(), "error": error, "globals": described, "report": report})
`;
