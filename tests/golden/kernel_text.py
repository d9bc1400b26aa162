"""One addition, down to the bytes of its kernel.

golden: wasm
"""

import torch


@torch.compile
def f(x):
    return x + 1


assert f(torch.zeros(2)).tolist() == [1.0, 1.0]
