import torch


class Key:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name


table = {Key("a"): 2}


@torch.compile
def f(x, key):
    return x * table[key]  # breaks here


print(f(torch.ones(2), Key("a")).tolist())
