import torch


class Box:
    pass


@torch.compile
def f(x):
    Box.size = property(lambda self: 2)  # breaks here
    return x * Box().size


print(f(torch.ones(2)).tolist())
