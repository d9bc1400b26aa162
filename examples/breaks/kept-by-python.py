import torch

numbers = iter([1, 2, 3])


@torch.compile
def f(x):
    return x * next(numbers)  # breaks here: only the iterator knows its position


print(f(torch.ones(2)).tolist(), list(numbers))
