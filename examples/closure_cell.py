"""A closure cell: the compiled function and its neighbour share one variable."""

import torch


def make_counter():
    total = 0

    @torch.compile
    def add(x):
        nonlocal total
        total += x.shape[0]
        return x + 1

    def read():
        return total

    return add, read


add, read = make_counter()
print(add(torch.zeros(3)).tolist(), read())
print(add(torch.zeros(3)).tolist(), read())
