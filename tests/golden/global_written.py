"""A global that is written and read again: the read sees the ledger, the module sees the replay."""

import torch

step = 0


@torch.compile
def f(x):
    global step
    step += 1
    return x * step


f(torch.ones(2))
assert f(torch.ones(2)).tolist() == [2.0, 2.0] and step == 2
