import torch


@torch.compile
def f(x):
    try:
        raise ExceptionGroup("two", [ValueError("no"), KeyError("key")])
    except* ValueError as group:  # breaks here
        x = x + len(group.exceptions)
    except* KeyError:
        x = x * 2
    return x


print(f(torch.ones(2)).tolist())
