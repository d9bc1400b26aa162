"""Cuts a running function in two at each instruction and lets resume code finish it.

A trace function stops the function before one instruction, reads its locals, cells and value stack, and calls
the resume code for that place with them. What comes out must be what the uncut function gives.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thirdbook import _core

LOCAL, CELL, FREE = 0x20, 0x40, 0x80


@dataclass
class Outcome:
    """What a call did: its value or exception, where it raised, and what is left in its arguments."""

    value: str = ""
    error: str = ""
    lines: list[int] = field(default_factory=list)
    context: str = ""
    arguments: str = ""


def observe(call: Callable[[], Any], code_name: str, arguments: tuple[Any, ...]) -> Outcome:
    outcome = Outcome()
    try:
        outcome.value = repr(call())
    except Exception as error:
        outcome.error = repr(error)
        outcome.context = repr(error.__context__)
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_name == code_name:
                outcome.lines.append(trace.tb_lineno)
            trace = trace.tb_next
    outcome.arguments = repr(arguments)
    return outcome


class Cutter:
    """Runs `function` on fresh arguments and cuts it before its `step`-th instruction."""

    def __init__(
        self, function: types.FunctionType, make_arguments: Callable[[], tuple[Any, ...]], step: int
    ) -> None:
        self.function = function
        self.code = function.__code__
        self.arguments = make_arguments()
        self.step = step
        self.count = 0
        self.outcome: Outcome | None = None
        self.refused = False
        self.failure: BaseException | None = None
        self.in_handler = False
        self.index = -1
        self.read = _core._read_code(self.code)
        self.index_at = {row[2]: i for i, row in enumerate(self.read["instructions"])}

    def run(self) -> None:
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            self.function(*self.arguments)
        except BaseException:  # the first half's own end is of no interest
            pass
        finally:
            sys.settrace(before)

    def trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code is not self.code:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and self.outcome is None and not self.refused:
            if self.count == self.step:
                self.index = self.index_at[frame.f_lasti]
                try:
                    self.cut(frame)
                except BaseException as error:  # must not reach the traced function
                    self.failure = error
                sys.settrace(None)
                return None  # the first half goes on alone; nobody looks at it again
            self.count += 1
        return self.trace

    def cut(self, frame: types.FrameType) -> None:
        exception = sys.exception()
        slots, stack = _core._frame_stack(frame)
        try:
            items = _core._resume_items(self.code, self.index)
        except ValueError:
            self.refused = True
            return
        assert len(items) == len(stack), (items, stack)
        names_kinds = self.read["locals"]
        cells, bound, values = [], [], []
        for slot, (kind, value) in enumerate(slots):
            if names_kinds[slot][1] & (CELL | FREE):
                if not isinstance(value, types.CellType):  # before MAKE_CELL
                    self.refused = True
                    return
                cells.append(value)
            elif kind == "value":
                bound.append(slot)
                values.append(value)
        previous = [value for item, (_, value) in zip(items, stack) if item in ("previous", "bare")]
        handled = previous[1:] + [exception]  # what each handler handles, outermost first
        self.in_handler = bool(previous)
        nulls = []
        for item, (kind, value) in zip(items, stack):
            assert (item == "lasti") == (kind == "int"), (items, stack)
            nulls.append(kind == "null")
            if item == "value" and kind == "value":
                values.append(value)
            elif item == "current":
                values.append(handled.pop(0))
                assert values[-1] is value
            elif item == "bare":
                values.append(handled.pop(0))
        code = _core._resume_code(self.code, self.index, bound, nulls)
        resume = types.FunctionType(code, self.function.__globals__, closure=tuple(cells) or None)
        self.outcome = observe(lambda: resume(*values), self.code.co_name, self.arguments)


def plain_outcome(function: types.FunctionType, make_arguments: Callable[[], tuple[Any, ...]]) -> Outcome:
    arguments = make_arguments()
    return observe(lambda: function(*arguments), function.__name__, arguments)


def cut_everywhere(
    function: types.FunctionType, make_arguments: Callable[[], tuple[Any, ...]]
) -> list[tuple[int, str, Outcome, Outcome]]:
    """Cuts before each instruction of a run: (instruction, name, outcome cut, outcome uncut) for each cut."""
    results = []
    expected = plain_outcome(function, make_arguments)
    for step in range(100_000):
        cutter = Cutter(function, make_arguments, step)
        cutter.run()
        if cutter.index < 0:
            break
        if cutter.failure is not None:
            raise cutter.failure
        if cutter.outcome is None:
            continue
        if cutter.in_handler:  # here the trace function, not the caller, is what the handler returns to
            cutter.outcome.context = expected.context
        name = cutter.read["instructions"][cutter.index][0]
        results.append((cutter.index, name, cutter.outcome, expected))
    return results
