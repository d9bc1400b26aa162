"""Text of tensors, as PyTorch prints them.

In: a tensor. Out: its repr. Invariant: the text depends on the elements, dtype, requires_grad and the print options only.
"""

from __future__ import annotations

import math

from . import _core

__all__ = ["set_printoptions", "tensor_text"]


class _Options:
    """What set_printoptions changes."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets digits, the size from which tensors are summarised, items at each edge, columns, a profile's four, notation."""
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"unknown profile {profile!r}; known: default, short, full")
        _options.precision, _options.threshold, _options.edgeitems, _options.linewidth = _PROFILES[profile]
    if precision is not None:
        _options.precision = precision
    if threshold is not None:
        _options.threshold = threshold
    if edgeitems is not None:
        _options.edgeitems = edgeitems
    if linewidth is not None:
        _options.linewidth = linewidth
    _options.sci_mode = sci_mode


class _Numbers:
    """How the numbers of one tensor are written: decided once, from the elements that will be shown."""

    def __init__(self, values: list, floating: bool):
        self.floating = floating
        self.whole = True
        self.scientific = False
        self.width = 1
        if floating:
            self._choose([v for v in values if v != 0 and math.isfinite(v)])
        else:
            self.width = max((len(str(v)) for v in values), default=1)

    def _choose(self, counted: list) -> None:
        if not counted:
            return
        largest = max(abs(v) for v in counted)
        smallest = min(abs(v) for v in counted)
        self.whole = all(v == math.floor(v) for v in counted)
        wide = largest / smallest > 1000.0 or largest > 1.0e8
        self.scientific = wide or smallest < 1.0e-4 if _options.sci_mode is None else _options.sci_mode
        digits = _options.precision
        if self.scientific:
            self.width = max(len(f"{v:.{digits}e}") for v in counted)
        elif self.whole:
            self.width = max(len(f"{v:.0f}") + 1 for v in counted)
        else:
            self.width = max(len(f"{v:.{digits}f}") for v in counted)

    def text(self, value) -> str:
        if not self.floating:
            return str(value).rjust(self.width)
        if self.scientific:
            return f"{value:{self.width}.{_options.precision}e}"
        if not self.whole:
            return f"{value:.{_options.precision}f}".rjust(self.width)
        dot = "." if math.isfinite(value) else ""
        return (f"{value:.0f}" + dot).rjust(self.width)


def _shown(tensor, summarised: bool):
    """The elements to show as nested lists; Ellipsis stands for what a summary leaves out."""
    if not summarised or tensor.dim() == 0:
        return tensor.tolist()
    edge, length = _options.edgeitems, tensor.size(0)
    if length <= 2 * edge:
        places = list(range(length))
    else:
        places = [*range(edge), ..., *range(length - edge, length)]
    return [... if place is ... else _shown(tensor[place], True) for place in places]


def _flat(shown, out: list) -> list:
    if isinstance(shown, list):
        for part in shown:
            _flat(part, out)
    elif shown is not ...:
        out.append(shown)
    return out


def _row(items: list, indent: int, numbers: _Numbers) -> str:
    per_line = max(1, (_options.linewidth - indent) // (numbers.width + 2))
    texts = [" ..." if item is ... else numbers.text(item) for item in items]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(shown, dims: int, indent: int, numbers: _Numbers) -> str:
    if dims == 0:
        return numbers.text(shown)
    if dims == 1:
        return _row(shown, indent, numbers)
    parts = ["..." if part is ... else _block(part, dims - 1, indent + 1, numbers) for part in shown]
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"


def _with_suffixes(text: str, suffixes: list, indent: int) -> str:
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def tensor_text(tensor, prefix: str = "tensor(") -> str:
    """The repr of a tensor of any shape: numbers aligned, long ones summarised, dtype where it is not a default one."""
    indent = len(prefix)
    suffixes = []
    default = _core.get_default_dtype()
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if tensor.numel() == 0:
        body = "[]"
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        shows_dtype = tensor.dtype is not default
    else:
        shown = _shown(tensor, tensor.numel() > _options.threshold)
        numbers = _Numbers(_flat(shown, []), tensor.dtype.is_floating_point)
        body = _block(shown, tensor.dim(), indent, numbers)
        shows_dtype = tensor.dtype not in (default, _core.int64, _core.bool)
    if shows_dtype:
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + body, suffixes, indent)
