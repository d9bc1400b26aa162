"""A generator feeds the function: it is advanced inside and stands where plain Python would leave it."""

import torch


def scales():
    factor = 1.0
    while True:
        yield factor
        factor *= 2


@torch.compile
def scale(x, factors):
    return x * next(factors) + next(factors)


factors = scales()
x = torch.tensor([1.0, 10.0])
print(scale(x, factors).tolist())
print(scale(x, factors).tolist())
print(next(factors))
