"""A cell that two functions share, written in an inlined call."""

import torch


def make():
    total = 0

    def add(n):
        nonlocal total
        total += n

    @torch.compile
    def f(x):
        add(x.shape[0])
        return x - total

    return f, lambda: total


f, total = make()
f(torch.zeros(3))
assert f(torch.zeros(3)).tolist() == [-6.0, -6.0, -6.0] and total() == 6
