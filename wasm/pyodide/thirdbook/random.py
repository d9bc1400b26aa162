"""The generator: one Mersenne Twister with PyTorch's streams, and objects with a state of their own.

In: seeds and states. Out: Generator objects, states as uint8 tensors. Invariant: after manual_seed(s), uniform, integer and permuted draws equal those of
PyTorch on a CPU; normal ones equal within rounding.
"""

from __future__ import annotations

import contextlib
import time

from . import _core
from ._core import ops

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "normal", "bernoulli", "seed",
    "set_rng_state",
]  # fmt: skip


class Generator:
    """A stream of random numbers of its own: `torch.rand(2, generator=g)`."""

    def __init__(self, device="cpu"):
        self.device = _core.device(device)
        self._state = _core._seeded_state(67280421310721)
        self._seed = 67280421310721

    def manual_seed(self, seed):
        """Restarts the stream; returns the generator."""
        self._seed = _checked_seed(seed)
        self._state = _core._seeded_state(self._seed)
        return self

    def initial_seed(self):
        """The seed that the stream began with."""
        return self._seed

    def seed(self):
        """Restarts the stream with a seed of the moment, which it returns."""
        self.manual_seed(_fresh_seed())
        return self._seed

    def get_state(self):
        """The state, a uint8 tensor."""
        return _core.tensor(list(self._state), dtype=_core.uint8)

    def set_state(self, new_state):
        """Continues from a state that get_state gave."""
        self._state = bytes(new_state.tolist())
        return self

    def clone_state(self):
        """Another generator in the same state."""
        other = Generator()
        other._state, other._seed = self._state, self._seed
        return other


class _DefaultGenerator(Generator):
    """The generator that draws when none is named; its state is the extension's."""

    def __init__(self):
        self.device = _core.device("cpu")

    @property
    def _state(self):
        return _core._generator_state()

    @_state.setter
    def _state(self, value):
        _core._set_generator_state(value)

    @property
    def _seed(self):
        return _core._initial_seed()

    def manual_seed(self, seed):
        """Restarts the stream; returns the generator."""
        _core._seed_generator(_checked_seed(seed))
        return self


def _checked_seed(seed) -> int:
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise RuntimeError("Overflow when unpacking unsigned long long")
    return seed % 2**64


def _fresh_seed() -> int:
    return (time.time_ns() * 2862933555777941757 + 3037000493) % 2**64


default_generator = _DefaultGenerator()


def manual_seed(seed):
    """Restarts the default stream; returns its generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Restarts the default stream with a seed of the moment, which it returns."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default stream began with."""
    return _core._initial_seed()


def get_rng_state():
    """The default stream's state, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continues the default stream from a state that get_rng_state gave."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True):
    """What is drawn inside leaves the default stream as it was."""
    state = _core._generator_state()
    try:
        yield
    finally:
        if enabled:
            _core._set_generator_state(state)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, out=None, device=None, layout=None, requires_grad=False):
    """Normal numbers: normal(mean, std, size), or with tensors for mean, std or both."""
    if size is not None:
        return ops.normal(size, mean, std, dtype=dtype, generator=generator)
    shape = mean.shape if isinstance(mean, _core.Tensor) else std.shape
    drawn = ops.randn(shape, dtype=dtype, generator=generator)
    return ops.add(ops.mul(drawn, std), mean)


def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability that each element (or p) says, else 0."""
    drawn = ops.bernoulli(input, p, generator=generator)
    return drawn if out is None else ops.copy_(out, drawn)
