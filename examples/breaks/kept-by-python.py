import itertools

import torch

numbers = itertools.count(1)


@torch.compile
def f(x):
    return x * next(numbers)  # breaks here: only the iterator knows its position


print(f(torch.ones(2)).tolist(), next(numbers))
