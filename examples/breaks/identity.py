import torch


@torch.compile
def f(x, seen):
    y = x * 2
    seen.add(id(y))  # breaks here
    return x + len(seen)


print(f(torch.ones(2), set()).tolist())
