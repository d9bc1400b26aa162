import torch


@torch.compile
def f(x, names):
    keys = iter(names)  # breaks here: the dict is changed under this iterator, which is returned
    names["late"] = next(keys)
    return x + len(names), keys


y, keys = f(torch.ones(2), {"first": 1, "second": 2})
try:
    print(y.tolist(), list(keys))
except RuntimeError as error:
    print(y.tolist(), error)
