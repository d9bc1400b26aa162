"""Thirdbook: mutating Python, compiled in the browser. Tensors and modules have PyTorch's names and behaviour."""

from __future__ import annotations

from . import _core, _torch, linalg, nn, random
from ._api import (
    SideEffectError,
    Unsupported,
    VerifyError,
    compile,
    config,
    counters,
    disable,
    explain,
    graph_break,
    is_compiling,
    report,
    reset,
)
from ._core import Tensor
from ._export import export
from ._higher_order import cond
from ._torch_alias import install_torch_alias

__version__ = _core.version

globals().update(_torch.names())

__all__ = [
    "SideEffectError",
    "Tensor",
    "Unsupported",
    "VerifyError",
    "compile",
    "cond",
    "config",
    "counters",
    "disable",
    "explain",
    "export",
    "graph_break",
    "install_torch_alias",
    "is_compiling",
    "linalg",
    "nn",
    "random",
    "report",
    "reset",
]
