"""An exception leaves the function: what was written before it stays, what comes after never happens."""

import torch

steps = []


@torch.compile
def checked(x, limit):
    steps.append("start")
    y = x * 2
    if limit < 0:
        raise ValueError("limit must not be negative")
    steps.append("end")
    return y + limit


print(checked(torch.ones(2), 1).tolist(), steps)
try:
    checked(torch.ones(2), -1)
except ValueError as error:
    print("ValueError:", error, steps)
