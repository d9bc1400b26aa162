"""torch.nn: modules, parameters, layers, losses, initialisation, functions."""

from __future__ import annotations

from . import functional, init, parameter
from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .losses import *  # noqa: F403
from .module import Module
from .normalisation import *  # noqa: F403
from .parameter import Buffer, Parameter
from .pooling import *  # noqa: F403
from .reshaping import *  # noqa: F403

__all__ = [
    "Buffer",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "functional",
    "init",
    "parameter",
]
