"""Thirdbook: mutating Python, compiled in the browser. Tensors and modules have PyTorch's names and behaviour."""

from __future__ import annotations

from . import _core, _torch, linalg, nn, random
from ._core import Tensor
from ._torch_alias import install_torch_alias

__version__ = _core.version

globals().update(_torch.names())

__all__ = ["Tensor", "install_torch_alias", "linalg", "nn", "random"]
