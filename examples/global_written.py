"""A global is written: every reader of the module sees the new value after the call."""

import torch

steps = 0
last_scale = None


@torch.compile
def step(x):
    global steps, last_scale
    steps += 1
    last_scale = 0.5
    return x * last_scale + steps


x = torch.tensor([2.0, 4.0])
for _ in range(3):
    y = step(x)
print(y.tolist(), steps, last_scale)
