import sys

import torch

sys.modules.pop("colorsys", None)  # as in a fresh interpreter


@torch.compile
def f(x):
    import colorsys  # breaks here, on the first call

    return x * colorsys.ONE_THIRD


print(f(torch.zeros(2)).tolist())
