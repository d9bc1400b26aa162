import torch


@torch.compile
def f(x):
    return x[x > 1].sum()  # breaks here; torch.where(x > 1, x, 0).sum() does not


print(f(torch.arange(4.0)).item())
