import torch


class Lines:
    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)


lines = Lines()


@torch.compile
def f(x):
    print("called", file=lines)  # breaks here
    return x + 1


print(f(torch.ones(2)).tolist(), lines.texts)
