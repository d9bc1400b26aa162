"""`import torch` where no PyTorch is installed: modules that hold Thirdbook's names under PyTorch's.

In: the names of `_torch`, `nn`, `linalg`, and the compiler's functions of `_api`. Out: entries of sys.modules. Invariant: a real torch is never
replaced; a name that is missing raises an AttributeError that says whose module this is and what comes nearest.
"""

from __future__ import annotations

import difflib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec

from . import _core, _higher_order, _torch, linalg, nn, random
from .nn import functional, init, parameter

__all__ = ["install_torch_alias"]


def _missing(module: types.ModuleType):
    """The module's __getattr__: an error with the nearest names."""

    def getattribute(name: str):
        if name.startswith("__"):
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
        known = [known for known in vars(module) if not known.startswith("__")]
        close = difflib.get_close_matches(name, known, 3, 0.6)
        nearest = "; nearest: " + ", ".join(close) if close else ""
        raise AttributeError(
            f"module '{module.__name__}' is Thirdbook's torch alias and has no '{name}'{nearest}", name=name, obj=module
        )

    return getattribute


def _module(name: str, contents: dict, doc: str) -> types.ModuleType:
    module = types.ModuleType(name, doc)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    module.__thirdbook__ = True
    vars(module).update(contents)
    module.__getattr__ = _missing(module)
    return module


def _public(module: types.ModuleType) -> dict:
    return {name: value for name, value in vars(module).items() if not name.startswith("_") and name != "annotations"}


def _compiler_names() -> dict:
    """The compiler's entry points, from the part of the package that has them."""
    from . import _api

    return _public(_api)


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with some of its parameters and buffers replaced, and puts the old ones back."""
    if isinstance(parameter_and_buffer_dicts, (list, tuple)):
        replaced = {}
        for each in parameter_and_buffer_dicts:
            replaced.update(each)
    else:
        replaced = parameter_and_buffer_dicts
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    kwargs = {} if kwargs is None else kwargs
    places = []
    for name in replaced:
        path, _, last = name.rpartition(".")
        owner = module.get_submodule(path)
        registry = owner._parameters if last in owner._parameters else owner._buffers
        if last not in registry:
            raise KeyError(f"{name} is not a parameter or buffer of the module")
        places.append((registry, last, name))
    saved = [(registry, last, registry[last]) for registry, last, _ in places]
    try:
        for registry, last, name in places:
            registry[last] = replaced[name]
        return module(*args, **kwargs)
    finally:
        for registry, last, value in saved:
            registry[last] = value


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """The functions, one after another."""
    for function in functions.children() if isinstance(functions, nn.Module) else functions:
        input = function(input)
    return input


def _real_torch() -> bool:
    loaded = sys.modules.get("torch")
    if loaded is not None:
        return not hasattr(loaded, "__thirdbook__")
    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def _build() -> dict:
    api = _compiler_names()

    def pick(*names):
        return {name: api[name] for name in names if name in api}

    modules = {
        "torch.nn.functional": _module("torch.nn.functional", _public(functional), functional.__doc__),
        "torch.nn.init": _module("torch.nn.init", _public(init), init.__doc__),
        "torch.nn.parameter": _module("torch.nn.parameter", _public(parameter), parameter.__doc__),
        "torch.nn.modules": _module("torch.nn.modules", _public(nn), nn.__doc__),
        "torch.linalg": _module("torch.linalg", {n: getattr(linalg, n) for n in linalg.__all__}, linalg.__doc__),
        "torch.random": _module("torch.random", {n: getattr(random, n) for n in random.__all__}, random.__doc__),
        "torch.compiler": _module(
            "torch.compiler",
            pick("compile", "disable", "is_compiling", "reset", "allow_in_graph", "is_dynamo_compiling", "cudagraph_mark_step_begin"),
            "The compiler's switches.",
        ),
        "torch._dynamo.utils": _module("torch._dynamo.utils", pick("counters"), "Counters of the compiler."),
        "torch.func": _module("torch.func", {"functional_call": functional_call}, "Modules as functions."),
        "torch.nn.utils.stateless": _module("torch.nn.utils.stateless", {"functional_call": functional_call}, "Modules as functions."),
        "torch.utils.checkpoint": _module(
            "torch.utils.checkpoint",
            {"checkpoint": _higher_order.checkpoint, "checkpoint_sequential": checkpoint_sequential},
            "Checkpointing, which has nothing to do without gradients.",
        ),
    }
    modules["torch._higher_order_ops"] = _module(
        "torch._higher_order_ops",
        {name: getattr(_higher_order, name) for name in ("cond", "while_loop", "scan", "map")},
        "Control flow as calls.",
    )
    modules["torch._dynamo"] = _module(
        "torch._dynamo",
        {
            **pick("graph_break", "disable", "reset", "explain", "config", "is_compiling", "allow_in_graph"),
            "utils": modules["torch._dynamo.utils"],
            "optimize": api.get("compile"),
        },
        "The compiler under TorchDynamo's names.",
    )
    if "config" in api:
        modules["torch._dynamo.config"] = api["config"]
    modules["torch.nn.utils"] = _module("torch.nn.utils", {"stateless": modules["torch.nn.utils.stateless"]}, "Utilities of modules.")
    modules["torch.utils"] = _module("torch.utils", {"checkpoint": modules["torch.utils.checkpoint"]}, "Utilities.")
    modules["torch.nn"] = _module(
        "torch.nn",
        {
            **_public(nn),
            "functional": modules["torch.nn.functional"],
            "init": modules["torch.nn.init"],
            "parameter": modules["torch.nn.parameter"],
            "modules": modules["torch.nn.modules"],
            "utils": modules["torch.nn.utils"],
        },
        nn.__doc__,
    )
    children = {name: modules[f"torch.{name}"] for name in ("nn", "linalg", "random", "compiler", "_dynamo", "_higher_order_ops", "func", "utils")}
    names = {**_torch.names(), **children, **pick("compile"), "cond": _higher_order.cond, "__version__": _torch.TORCH_VERSION}
    modules["torch"] = _module("torch", names, "Thirdbook's stand-in for PyTorch.")
    return modules


def install_torch_alias() -> bool:
    """Makes `import torch` give Thirdbook, unless a real torch can be imported. Returns whether the alias is in place."""
    if _real_torch():
        return False
    if "torch" not in sys.modules:
        sys.modules.update(_build())
        for kind in (_core.Tensor, _core.Size, _core.dtype, _core.device):
            kind.__module__ = "torch"
    return True
