"""State on the class and on a function: both are objects like any other."""

import torch


class Shared:
    instances = []
    total = 0

    def __init__(self, name):
        self.name = name

    def record(self, x):
        Shared.total += 1
        self.instances.append(self.name)
        return x * Shared.total


@torch.compile
def use(shared, x):
    use_count.calls += 1
    return shared.record(x)


def use_count():
    return use_count.calls


use_count.calls = 0
a, b = Shared("a"), Shared("b")
x = torch.ones(2)
print(use(a, x).tolist(), use(b, x).tolist(), use(a, x).tolist())
print(Shared.total, Shared.instances, use_count())
