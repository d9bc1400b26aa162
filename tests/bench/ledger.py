"""What the ledger costs: calls that make 1 to 10,000 changes, compiled and as plain Python, side by side.

In: ``measure(seconds, samples)``. Out: rows ``{"case", "changes", "plain", "compiled", "spread"}`` of seconds a call (medians, and half
the distance of the quartiles of their quotient), and rows of the first and later calls of an append to lists of different lengths. Invariant: both
functions leave the same state, which is compared before anything is timed; their samples alternate.
"""

from __future__ import annotations

import statistics
import time

import thirdbook

COUNTS = (1, 10, 100, 10_000)


class Cell:
    def __init__(self):
        self.value = 0


class State:
    """What the functions change; small enough again after ``trim``."""

    def __init__(self, count):
        self.log, self.table, self.seen = [], {}, set()
        self.cells = [Cell() for _ in range(count)]
        self.total = 0

    def trim(self):
        del self.log[:]
        self.table.clear()
        self.seen.clear()

    def look(self):
        return list(self.log), dict(self.table), sorted(self.seen), [cell.value for cell in self.cells], self.total


def appends(state, count):
    log = state.log
    for n in range(count):
        log.append(n)


def items(state, count):
    table = state.table
    for n in range(count):
        table[n] = n


def elements(state, count):
    seen = state.seen
    for n in range(count):
        seen.add(n)


def attributes(state, count):
    n = 0
    for cell in state.cells:
        cell.value = n
        n += 1


def mixed(state, count):
    log, table = state.log, state.table
    n = 0
    for cell in state.cells:
        if n % 3 == 0:
            log.append(n)
        elif n % 3 == 1:
            table[n] = state.total
        else:
            cell.value = n
        n += 1
    state.total += 1


CASES = {"append to one list": appends, "items of one dict": items, "elements of one set": elements, "attributes of as many objects": attributes,
         "appends, items and attributes in turn": mixed}


def _timed(function, state, count, repeats):
    total = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        function(state, count)
        total += time.perf_counter() - start
        state.trim()
    return total / repeats


def _row(case, function, count, seconds, samples):
    plain_state, state = State(count), State(count)
    compiled = thirdbook.compile(function)
    for _ in range(3):
        function(plain_state, count)
        compiled(state, count)
        if plain_state.look() != state.look():
            raise AssertionError(f"{case}, {count}: the states differ")
        plain_state.trim()
        state.trim()
    once = _timed(function, plain_state, count, 3)
    repeats = max(1, min(2000, int(seconds / samples / 2 / max(once, 1e-7))))
    plain, own = [], []
    for _ in range(samples):
        plain.append(_timed(function, plain_state, count, repeats))
        own.append(_timed(compiled, state, count, repeats))
    quotients = sorted(b / a for a, b in zip(plain, own))
    quarter = len(quotients) // 4
    return {"case": case, "changes": count, "plain": statistics.median(plain), "compiled": statistics.median(own),
            "ratio": statistics.median(quotients), "spread": (quotients[-1 - quarter] - quotients[quarter]) / 2}


def _long_list(length):
    items = list(range(length))

    def fn(value):
        items.append(value)

    compiled = thirdbook.compile(fn)
    start = time.perf_counter()
    compiled(1)
    first = time.perf_counter() - start
    compiled(2)
    later = []
    for _ in range(30):
        start = time.perf_counter()
        for n in range(100):
            compiled(n)
        later.append((time.perf_counter() - start) / 100)
    return {"length": length, "first": first, "later": statistics.median(later)}


def measure(seconds=0.6, samples=15):
    rows = [_row(case, function, count, seconds, samples) for case, function in CASES.items() for count in COUNTS]
    _long_list(0)  # whatever is made once
    return {"rows": rows, "lists": [_long_list(0), _long_list(1_000_000)]}
