"""A set and a Counter remember what was seen: identity is kept, growth does not compile again."""

from collections import Counter

import torch

seen = set()
counts = Counter()


@torch.compile
def visit(x, label):
    seen.add(label)
    counts[label] += 1
    return x + counts[label]


x = torch.zeros(2)
for label in ["red", "blue", "red"]:
    print(label, visit(x, label).tolist())
print(sorted(seen), dict(counts))
