"""A chain of elementwise operations becomes one kernel; on a page with a GPU it may run there."""

import torch

sizes = []


@torch.compile
def gelu(x):
    sizes.append(x.numel())
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + torch.tanh(inner))


x = torch.linspace(-3, 3, 100_000)
y = gelu(x)
y = gelu(x)
print(round(y[0].item(), 4), round(y[50_000].item(), 4), round(y[-1].item(), 4), sizes)
