import torch


@torch.compile
def f(x):
    if x.sum() > 0:  # breaks here; torch.where(x.sum() > 0, x * 2, x) does not
        return x * 2
    return x


print(f(torch.ones(2)).tolist())
