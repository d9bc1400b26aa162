import torch


@torch.compile
def f(x):
    weight = torch.ones(2, requires_grad=True)  # breaks here
    return x * weight.detach()


print(f(torch.ones(2)).tolist())
