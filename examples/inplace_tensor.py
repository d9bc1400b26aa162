"""In-place tensor writes, through a view as well: pure in the graph, written back when it has succeeded."""

import torch


@torch.compile
def clear_first_row(x):
    first = x[0]
    first.zero_()
    x += 1
    x[1, 1:] = 7
    return x.sum()


x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
row = x[0]
total = clear_first_row(x)
print(x.tolist(), row.tolist(), total.item())
