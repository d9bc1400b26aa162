import torch


@torch.compile
def f(whole, part):
    part.add_(1)
    return whole * 2  # breaks here: `part` is a view of `whole`


x = torch.zeros(2)
print(f(x, x[:1]).tolist())
