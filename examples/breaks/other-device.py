import torch


@torch.compile
def f(x):
    bias = torch.ones(2, device="webgpu")  # breaks here
    return x * 2, bias.device


print(f(torch.ones(2)))
