import torch


class Handle:
    def __del__(self):
        print("closed")


@torch.compile
def f(x):
    Handle()  # breaks here
    return x + 1


print(f(torch.ones(2)).tolist())
