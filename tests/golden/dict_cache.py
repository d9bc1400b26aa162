"""A cache in a dict: the first call misses, the second hits, two compilations."""

import torch

cache = {}


@torch.compile
def f(x, key):
    if key not in cache:
        cache[key] = x.exp()
    return cache[key] + 1


first = f(torch.zeros(2), "k")
assert f(torch.ones(2), "k").tolist() == first.tolist() == [2.0, 2.0]
