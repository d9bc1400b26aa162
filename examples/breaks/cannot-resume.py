import time

import torch


@torch.compile
def f(x):
    try:
        raise ExceptionGroup("two", [ValueError("no"), KeyError("key")])
    except* ValueError as group:
        x = x + len(group.exceptions)
        time.perf_counter()  # breaks here
    except* KeyError:
        x = x * 2
    return x


print(f(torch.ones(2)).tolist())
