"""Named results of functions that give several tensors, e.g. torch.return_types.max(values=…, indices=…)."""

from __future__ import annotations

from collections import namedtuple


class _Result:
    __slots__ = ()

    def __repr__(self):
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"


def _make(name: str, fields: str):
    return type(name, (_Result, namedtuple(name, fields)), {"__slots__": (), "__module__": __name__, "__qualname__": name})


max = _make("max", "values indices")
min = _make("min", "values indices")
sort = _make("sort", "values indices")
topk = _make("topk", "values indices")
median = _make("median", "values indices")
kthvalue = _make("kthvalue", "values indices")
aminmax = _make("aminmax", "min max")
mode = _make("mode", "values indices")
cummax = _make("cummax", "values indices")
cummin = _make("cummin", "values indices")
