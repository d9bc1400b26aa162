"""Appends are deltas: neither the length nor the contents of the list are read."""

import torch

log = []


@torch.compile
def f(x, name):
    log.append(name)
    log.append((name, len(name)))
    return x + 1


f(torch.zeros(2), "a")
f(torch.zeros(2), "a")
assert log == ["a", ("a", 1), "a", ("a", 1)]
