import torch


@torch.compile
def f(x):
    total = 0
    for number in range(200_000):  # breaks here; the loop runs as plain Python
        total += number
    return x + total


print(f(torch.ones(2)).tolist())
