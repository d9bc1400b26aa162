"""An attribute that counts: the ledger keeps an expression over the live value, so no value is guarded."""

import torch


class Meter:
    def __init__(self):
        self.calls = 0


meter = Meter()


@torch.compile
def f(x):
    meter.calls += 1
    return x * 2


for _ in range(3):
    f(torch.ones(4))
assert meter.calls == 3
