"""Parameter: a tensor that a Module registers when it is assigned as an attribute; Buffer likewise for state that is not trained."""

from __future__ import annotations

from .. import _core
from .._core import Tensor, ops
from .._printing import tensor_text

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """`Parameter(data=None, requires_grad=True)` shares data's memory."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = ops.empty((0,))
        return _core._make_subclass(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + tensor_text(self)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(ops.clone(self), self.requires_grad)
        memo[id(self)] = copied
        return copied


class Buffer(Tensor):
    """`Buffer(data=None, *, persistent=True)` shares data's memory; persistent buffers are in the state_dict."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = ops.empty((0,))
        made = _core._make_subclass(cls, data, data.requires_grad)
        made.persistent = persistent
        return made
