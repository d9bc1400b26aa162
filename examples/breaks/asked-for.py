import torch


@torch.compile
def f(x):
    y = x * 2
    torch._dynamo.graph_break()  # breaks here
    return y + 1


print(f(torch.ones(2)).tolist())
