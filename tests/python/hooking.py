"""A tracer written in Python for tests of the frame hook, and functions to try it on.

`tracer.replace(f, by=g)` makes the hook run g's code in place of f's frames (with f's globals); f itself says
what plain Python would do.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

from thirdbook import _core
from thirdbook._core import _fallback, _resume


class Config:
    """Stands for the options object of thirdbook.compile."""

    recompile_limit = 8


CONFIG = Config()


def as_replacement(template: types.FunctionType, original: types.CodeType) -> types.CodeType:
    """The template's code under the original's name, all parameters positional."""
    code = template.__code__
    arguments = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.replace(
        co_name=original.co_name, co_qualname=original.co_qualname, co_filename=original.co_filename,
        co_argcount=arguments, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=code.co_flags & ~12,
    )


class Tracing:
    """A tracer that knows for which code what is to run; everything else is skipped."""

    def __init__(self) -> None:
        self.rules: dict[types.CodeType, Callable[..., Any]] = {}
        self.asked: list[str] = []

    def replace(
        self, original: Any, by: types.FunctionType, guard: Callable[[tuple], Any] | None = None
    ) -> None:
        code = original.__code__ if hasattr(original, "__code__") else original
        made = as_replacement(by, code)
        self.rules[code] = lambda *_: made if guard is None else (made, guard)

    def __call__(self, code: types.CodeType, values: tuple, config: Any, earlier: int) -> Any:
        self.asked.append(code.co_name)
        rule = self.rules.get(code)
        return rule(code, values, config, earlier) if rule is not None else None


@contextlib.contextmanager
def tracing() -> Iterator[Tracing]:
    tracer = Tracing()
    _core.reset()
    _core._reset_counters()
    _core._set_test_tracer(tracer)
    try:
        yield tracer
    finally:
        _core._set_test_tracer(None)
        _core.reset()


def compile(function: Callable[..., Any], config: Any = CONFIG) -> Any:
    return _core.compile(function, config)


def counters() -> dict[str, int]:
    return _core._counters()


def plain(a: int, b: int) -> tuple:
    return "plain", a, b


def replaced(a: int, b: int) -> tuple:
    return "replaced", a, b


def gives_up(a: int, b: int) -> Any:
    return _fallback


TRIES: list[int] = []


def counts_and_gives_up(a: int, b: int) -> Any:
    TRIES.append(a)
    return _fallback


def resets(a: int, b: int) -> tuple:
    _core.reset()
    gc.collect()
    return "replaced", a, b


def goes_on_in_replaced(a: int, b: int) -> Any:
    return _resume(replaced, a, b)


def fails(a: int, b: int) -> None:
    raise ValueError("plain")


def fails_replaced(a: int, b: int) -> None:
    raise ValueError(a)


class Referenced:
    """Something that can be referred to weakly."""
