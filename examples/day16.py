"""A module that counts its calls and keeps a log: two mutations, one pure graph."""

import torch

log = []


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        log.append(self.calls)
        return x * 2


m = torch.compile(Model())
m(torch.randn(4))
m(torch.randn(4))
print(m.calls, log)
