"""In-place work on an input is graph, not ledger: computed purely, written back."""

import torch


@torch.compile
def f(x):
    x.mul_(2)
    x[0] = 7
    return x.sum()


x = torch.ones(3)
assert float(f(x)) == 11.0 and x.tolist() == [7.0, 2.0, 2.0]
