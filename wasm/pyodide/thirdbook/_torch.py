"""The names of the `torch` namespace in one place: what `import torch` gives when Thirdbook's alias is installed.

In: the modules of this package. Out: `names()`, a dict from name to object. Invariant: importing this module attaches Tensor's methods.
"""

from __future__ import annotations

import math

from . import _core, _creation, _functions, _grad_mode, _limits, _printing, _reductions, _return_types, _shapes, _tensor
from . import linalg, nn, random
from ._core import ops
from ._layout import channels_last, contiguous_format, layout, memory_format, preserve_format, strided
from .nn import functional

_tensor.attach()

# Ops that are no functions of the torch namespace.
_INTERNAL_OPS = {
    "alias", "copy", "copy_", "index", "max_dim", "min_dim", "normal", "slice", "sort", "std", "to", "topk", "uniform", "unique",
    "var", "linalg_solve", "linalg_inv", "linalg_cholesky", "linalg_det", "one_hot", "linalg_vector_norm", "nonzero", "where", "softmax",
    "log_softmax", "linear", "upsample_nearest2d", "upsample_bilinear2d", "avg_pool2d", "adaptive_avg_pool2d", "embedding",
    "layer_norm", "conv1d", "conv2d", "max_pool2d", "bernoulli", "arange", "randint",
}  # fmt: skip
_FROM_NN = (
    "alpha_dropout", "batch_norm", "celu", "conv1d", "conv2d", "cosine_similarity", "dropout", "group_norm", "instance_norm", "layer_norm",
    "max_pool1d", "max_pool2d", "pairwise_distance", "pixel_shuffle", "prelu", "rms_norm", "selu", "threshold",
)  # fmt: skip
_FUNCTION_ALIASES = {
    **{name: original for name, original in _functions.METHOD_ALIASES.items() if not original.endswith("_")},
    "concat": "cat",
    "concatenate": "cat",
}


# The version whose behaviour the library follows.
TORCH_VERSION = "2.13.0"


def get_default_device():
    """device(type='cpu')."""
    return _core.device("cpu")


def set_default_device(device):
    """Accepts "cpu" and None; NotImplementedError for others."""
    if device is not None and _core.device(device).type != "cpu":
        raise NotImplementedError(f"set_default_device: new tensors are on the CPU unless device= says otherwise, not on {device}")


def set_num_threads(n):
    """Accepted and ignored: one thread computes."""


def get_num_threads() -> int:
    """1."""
    return 1


def _from_core() -> dict:
    names = (
        "Size", "Tensor", "bool", "can_cast", "device", "dtype", "float32", "float64", "from_numpy", "frombuffer", "get_default_dtype",
        "int32", "int64", "promote_types", "result_type", "set_default_dtype", "tensor", "uint8",
    )  # fmt: skip
    return {name: getattr(_core, name) for name in names}


def names() -> dict:
    """Every name of the torch namespace that the tensor library has."""
    found = {name: value for name, value in vars(ops).items() if name not in _INTERNAL_OPS and not name.startswith("__")}
    found.update(_from_core())
    for module in (_functions, _reductions, _shapes):
        found.update({name: getattr(module, name) for name in module.FUNCTIONS})
    for module in (_creation, _grad_mode, random):
        found.update({name: getattr(module, name) for name in module.__all__})
    found.update({name: getattr(functional, name) for name in _FROM_NN})
    found.update({name: found[original] for name, original in _FUNCTION_ALIASES.items() if original in found})
    found.update(
        {
            "finfo": _limits.finfo, "iinfo": _limits.iinfo, "set_printoptions": _printing.set_printoptions,
            "return_types": _return_types, "float": _core.float32, "double": _core.float64, "int": _core.int32, "long": _core.int64,
            "pi": math.pi, "inf": math.inf, "nan": math.nan, "e": math.e, "newaxis": None, "strided": strided, "layout": layout,
            "memory_format": memory_format, "contiguous_format": contiguous_format, "preserve_format": preserve_format,
            "channels_last": channels_last, "get_default_device": get_default_device, "set_default_device": set_default_device,
            "set_num_threads": set_num_threads, "get_num_threads": get_num_threads, "inverse": ops.linalg_inv, "det": ops.linalg_det,
            "embedding": _embedding, "FloatTensor": _core.Tensor, "nn": nn, "linalg": linalg, "random": random,
        }
    )  # fmt: skip
    return found


def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of weight."""
    return ops.embedding(weight, indices)
