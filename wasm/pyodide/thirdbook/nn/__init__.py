"""torch.nn: modules, parameters, layers, losses, initialisation, functions."""

from __future__ import annotations

from . import functional, init, parameter
from .activations import *  # noqa: F403
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .module import Module
from .parameter import Buffer, Parameter

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
