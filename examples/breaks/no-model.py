import torch


@torch.compile
def f(x, text):
    letters = bytearray(text)  # breaks here
    letters.reverse()
    return x * letters[0]


print(f(torch.ones(2), b"abc").tolist())
