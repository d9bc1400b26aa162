"""A graph break between two mutations: the first is settled before the break, the second after it."""

import torch

log = []


@torch.compile
def step(x):
    y = x + 1
    log.append("before")
    torch._dynamo.graph_break()
    log.append("after")
    return y * 2


print(step(torch.tensor([1.0, 2.0])).tolist(), log)
print(step(torch.tensor([3.0, 4.0])).tolist(), log)
