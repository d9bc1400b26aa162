import torch


async def later(x):
    return x + 1


@torch.compile
def f(x):
    work = later(x * 2)  # breaks here
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value


print(f(torch.ones(2)).tolist())
