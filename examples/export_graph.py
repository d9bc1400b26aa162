"""A graph for a page without Python: export writes one file, which thirdbook/runtime runs."""

import thirdbook
import torch

weights = torch.linspace(-1, 1, 12).reshape(3, 4)
calls = []


def model(x):
    calls.append("model")
    return torch.relu(x @ weights)


x = torch.tensor([[-1.0, 0.5, 2.0]])
data = thirdbook.export(model, x)
with open("model.tbexport", "wb") as file:
    file.write(data)
print(len(data) > 100, calls)  # export takes the effects of its call back

compiled = torch.compile(model)
print([round(value, 3) for value in compiled(x)[0].tolist()], calls)
