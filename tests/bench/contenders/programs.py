"""The benchmark's cases as the Python that a user writes, and the loops that time them.

In: ``prepare(case, inputs)`` with float32 bytes by name. Out: a task with ``run_many(n) -> seconds`` and ``result() -> bytes``.
"""

from __future__ import annotations

import inspect
import math
import struct
import time

import thirdbook as torch

F = torch.nn.functional
STEPS, WIDTH = 200, 64


def chain(x, a, b, c):
    return torch.tanh(x * a + b) * x + torch.relu(x - c)


def matmul(a, b):
    return a @ b


def total(x):
    return x.sum()


def softmax(x):
    return torch.softmax(x, -1)


def layernorm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def mlp(x, w0, b0, w1, b1, w2, b2):
    h = torch.relu(F.linear(x, w0, b0))
    h = torch.relu(F.linear(h, w1, b1))
    return F.linear(h, w2, b2)


def conv(x, w0, b0, w1, b1):
    h = torch.relu(F.conv2d(x, w0, b0, padding=1))
    return torch.relu(F.conv2d(h, w1, b1, padding=1))


def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, -1) @ v


class Tracker:
    """A running mean, a history and a cache: what a pure function may not touch."""

    def __init__(self):
        self.mean = torch.zeros(WIDTH)
        self.count = 0
        self.history = []
        self.cache = {}

    def step(self, x):
        y = torch.tanh(x - self.mean)
        self.count += 1
        self.mean = self.mean + (x - self.mean) / self.count
        energy = (y * y).sum()
        self.history.append(self.count)
        self.cache[self.count % 16] = energy
        return energy


class Task:
    def __init__(self, function, args):
        self.function = function
        self.args = args

    def run_many(self, n):
        function, args = self.function, self.args
        start = time.perf_counter()
        for _ in range(n):
            function(*args)
        return time.perf_counter() - start

    def result(self):
        return self.function(*self.args)


class StatefulTask:
    def __init__(self, step, x):
        self.step = step
        self.rows = [x[i * WIDTH : (i + 1) * WIDTH].clone() for i in range(STEPS)]

    def work(self):
        tracker = Tracker()
        step = self.step
        for row in self.rows:
            step(tracker, row)
        return tracker.mean

    def run_many(self, n):
        start = time.perf_counter()
        for _ in range(n):
            self.work()
        return time.perf_counter() - start

    def result(self):
        return self.work()


def tensor(data, *shape):
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)


def prepare(kind, n, inputs, compiled):
    """A task for the case; `inputs` maps names to bytes."""
    wrap = torch.compile if compiled else (lambda f: f)
    t = {name: torch.frombuffer(bytearray(data), dtype=torch.float32) for name, data in inputs.items()}
    if kind == "chain":
        return Task(wrap(chain), (t["x"], 1.1, 0.3, 0.2))
    if kind == "matmul":
        return Task(wrap(matmul), (t["a"].reshape(n, n), t["b"].reshape(n, n)))
    if kind == "sum":
        return Task(wrap(total), (t["x"],))
    if kind == "softmax":
        return Task(wrap(softmax), (t["x"].reshape(n, n),))
    if kind == "layernorm":
        return Task(wrap(layernorm), (t["x"].reshape(n, n), t["weight"], t["bias"]))
    if kind == "mlp":
        sizes = (784, 256, 256, 10)
        args = [t["x"].reshape(64, 784)]
        for i in range(3):
            # nn.Linear's layout: [out, in].
            args += [t[f"w{i}"].reshape(sizes[i], sizes[i + 1]).t().contiguous(), t[f"b{i}"]]
        return Task(wrap(mlp), tuple(args))
    if kind == "conv":
        return Task(
            wrap(conv),
            (t["x"].reshape(8, 1, 28, 28), t["w0"].reshape(16, 1, 3, 3), t["b0"], t["w1"].reshape(32, 16, 3, 3), t["b1"]),
        )
    if kind == "attention":
        return Task(wrap(attention), tuple(t[name].reshape(8, 128, 64) for name in "qkv"))
    if kind == "stateful":
        return StatefulTask(wrap(Tracker.step), t["x"])
    return None


def exported(kind, n, inputs):
    """(file, elements of the inputs in the graph's order) of the case as one graph; None where it is not one."""
    from thirdbook._export import read_header

    task = prepare(kind, n, inputs, compiled=False)
    if not isinstance(task, Task):
        return None
    file = torch.export(task.function, *task.args)
    given = dict(zip(inspect.signature(task.function).parameters, task.args))
    elements = []
    for row in read_header(file)["inputs"]:
        value = given[row["name"][3:-2]]
        elements.append(struct.pack("<d", value) if isinstance(value, float) else bytes(memoryview(value.contiguous()).cast("B")))
    return file, elements


def result_bytes(task):
    return bytes(memoryview(task.result().reshape(-1)).cast("B"))


def cold(n):
    """Seconds for the first call of a new compiled function, and for the first call with another size."""
    scope = {"torch": torch}
    exec("def fresh(x, a, b, c):\n    return torch.tanh(x * a + b) * x + torch.relu(x - c)\n", scope)
    f = torch.compile(scope["fresh"])
    x, y = torch.ones(n), torch.ones(n + 8)
    start = time.perf_counter()
    f(x, 1.1, 0.3, 0.2)
    first = time.perf_counter() - start
    f(x, 1.1, 0.3, 0.2)
    start = time.perf_counter()
    f(y, 1.1, 0.3, 0.2)
    other = time.perf_counter() - start
    z = torch.ones(n + 16)
    start = time.perf_counter()
    f(z, 1.1, 0.3, 0.2)
    third = time.perf_counter() - start
    return [first, other, third]
