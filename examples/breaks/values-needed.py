import torch


@torch.compile
def f(x):
    values = (x * 2).tolist()  # breaks here
    return x + len(values)


print(f(torch.ones(300)).sum().item())
