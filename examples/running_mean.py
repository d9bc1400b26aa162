"""Growing state: buffers and a counter change on every one of a hundred calls, compiled once."""

import torch


class RunningMean(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.count = 0

    def forward(self, x):
        self.count += 1
        self.mean += (x - self.mean) / self.count
        return x - self.mean


norm = RunningMean(2)
compiled = torch.compile(norm)
for i in range(100):
    y = compiled(torch.tensor([float(i), float(2 * i)]))
print(norm.count, [round(v, 3) for v in norm.mean.tolist()], [round(v, 3) for v in y.tolist()])
