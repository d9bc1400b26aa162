"""no_grad and its relatives: they keep the state that programs read; gradients themselves are not part of this version."""

from __future__ import annotations

import functools

from ._core import _set_grad_enabled, is_grad_enabled

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled"]

_inference = [False]


class _GradScope:
    """A context manager that is a decorator too."""

    def __call__(self, function):
        scope = self

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with scope.clone():
                return function(*args, **kwargs)

        return wrapper

    def clone(self):
        return type(self)()


class no_grad(_GradScope):
    """Gradients are off inside. `@torch.no_grad` and `@torch.no_grad()` both decorate."""

    def __new__(cls, function=None):
        if function is None:
            return object.__new__(cls)
        return object.__new__(cls)(function)

    def __init__(self, function=None):
        self.prev = False

    def __enter__(self):
        self.prev = is_grad_enabled()
        _set_grad_enabled(False)

    def __exit__(self, exc_type, exc_value, traceback):
        _set_grad_enabled(self.prev)


class enable_grad(_GradScope):
    """Gradients are on inside."""

    def __new__(cls, function=None):
        if function is None:
            return object.__new__(cls)
        return object.__new__(cls)(function)

    def __init__(self, function=None):
        self.prev = False

    def __enter__(self):
        self.prev = is_grad_enabled()
        _set_grad_enabled(True)

    def __exit__(self, exc_type, exc_value, traceback):
        _set_grad_enabled(self.prev)


class set_grad_enabled(_GradScope):
    """Switches at once; as a context manager it switches back at the end."""

    def __init__(self, mode: bool):
        self.prev = is_grad_enabled()
        self.mode = mode
        _set_grad_enabled(mode)

    def __call__(self, function):
        _set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self):
        _set_grad_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _set_grad_enabled(self.prev)

    def clone(self):
        return set_grad_enabled(self.mode)


class inference_mode(_GradScope):
    """As no_grad, and is_inference_mode_enabled() says so."""

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return object.__new__(cls)
        made = object.__new__(cls)
        made.__init__(True)
        return made(mode)

    def __init__(self, mode=True):
        self.mode = mode
        self.prev = (True, False)

    def __enter__(self):
        self.prev = (is_grad_enabled(), _inference[0])
        _set_grad_enabled(not self.mode)
        _inference[0] = self.mode

    def __exit__(self, exc_type, exc_value, traceback):
        _set_grad_enabled(self.prev[0])
        _inference[0] = self.prev[1]

    def clone(self):
        return inference_mode(self.mode)


def is_inference_mode_enabled() -> bool:
    """Whether inference_mode() is on."""
    return _inference[0]
