"""Printing is a ledger entry: the text appears in order, with the values of that moment."""

import torch


@torch.compile
def noisy(x, name):
    print("in", name)
    y = x + 1
    print("out", y)
    return y


noisy(torch.zeros(2), "first")
noisy(torch.ones(2), "second")
