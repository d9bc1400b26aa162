"""Objects that name layouts and memory formats: torch.strided, torch.contiguous_format…"""

from __future__ import annotations


class memory_format:
    """A memory format; only its name matters, every tensor is laid out row-major."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"


class layout(memory_format):
    """How elements are stored: strided."""


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
