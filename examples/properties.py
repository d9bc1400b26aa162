"""A property with logic: its setter is traced once, and replay does not run it a second time."""

import torch


class Dial:
    def __init__(self):
        self._level = 0.0
        self.changes = []

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self.changes.append((self._level, value))
        self._level = min(value, 1.0)


@torch.compile
def turn(dial, x):
    dial.level = dial.level + 0.75
    return x * dial.level


dial = Dial()
x = torch.tensor([2.0])
print(turn(dial, x).item(), dial.level)
print(turn(dial, x).item(), dial.level)
print(dial.changes)
