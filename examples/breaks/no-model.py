import re

import torch


@torch.compile
def f(x, text):
    found = re.compile("[0-9]+").search(text)  # breaks here
    return x * int(found.group())


print(f(torch.ones(2), "page 3").tolist())
