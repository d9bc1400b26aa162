"""Printed text is an entry like the others; the number in it is read when it is printed."""

import torch


@torch.compile
def f(x):
    y = x.sum()
    print("sum", float(y))
    return y


f(torch.ones(3))
