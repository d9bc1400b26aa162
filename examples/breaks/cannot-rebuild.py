import torch


def counted():
    yield 1
    yield 2


@torch.compile
def f(x):
    numbers = counted()  # breaks here: the generator is returned after it has been started
    return x + next(numbers), numbers


y, numbers = f(torch.ones(2))
print(y.tolist(), list(numbers))
