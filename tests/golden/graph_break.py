"""A break between two mutations: the first is settled before it, the second belongs to the resume function."""

import torch

log = []


@torch.compile
def f(x):
    log.append("before")
    y = x * 3
    torch._dynamo.graph_break()
    log.append("after")
    return y + 1


assert f(torch.ones(1)).tolist() == [4.0] and log == ["before", "after"]
