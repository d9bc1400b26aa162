import torch


@torch.compile
def f(x):
    try:
        return x + torch.ones(3)  # breaks here: CPython raises
    except RuntimeError as error:
        print(type(error).__name__)
        return x


print(f(torch.ones(2)).tolist())
