import time

import torch


@torch.compile
def f(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        time.perf_counter()  # breaks here
        return x + len(str(error))


print(f(torch.ones(2)).tolist())
