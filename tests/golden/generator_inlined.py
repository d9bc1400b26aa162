"""A generator that is consumed inside is inlined; its body's mutations come where eager Python makes them."""

import torch

log = []


def halves(n):
    while n > 1:
        log.append(n)
        n //= 2
        yield n


@torch.compile
def f(x):
    for n in halves(8):
        x = x + n
    return x


assert f(torch.zeros(1)).tolist() == [7.0] and log == [8, 4, 2]
