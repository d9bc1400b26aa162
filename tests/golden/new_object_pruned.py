"""New objects that do not escape leave no construction behind; the one that escapes is made once, after the graph."""

import torch


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


@torch.compile
def f(x):
    scratch = Pair(x + 1, x - 1)
    kept = Pair(scratch.left * scratch.right, None)
    return kept


assert f(torch.full((2,), 3.0)).left.tolist() == [8.0, 8.0]
