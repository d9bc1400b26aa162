"""A guard fails: a flag that was traced as a constant changes, so a second version is compiled."""

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.double = False

    def forward(self, x):
        if self.double:
            return x * 2
        return x + 1


layer = Layer()
compiled = torch.compile(layer)
x = torch.tensor([1.0, 2.0])
print(compiled(x).tolist())
layer.double = True
print(compiled(x).tolist())
layer.double = False
print(compiled(x).tolist())
