import torch

names = {"a", "b", "c"}


@torch.compile
def f(x):
    first = names.pop()  # breaks here
    return x + len(first)


print(f(torch.ones(2)).tolist(), len(names))
