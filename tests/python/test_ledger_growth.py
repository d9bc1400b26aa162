"""B01: state that grows over many calls is compiled once."""

import unittest

from harness import Program, ProgramCase


class GrowingState(ProgramCase):
    row = "B01"

    counter_on_an_object = Program(
        """
        class Model:
            def __init__(self): self.calls = 0
            def __call__(self, x):
                self.calls += 1
                return x * 2
        m = Model()
        def fn(x): return m(x)
        """,
        steps=1000,
        compiles=1,
        expect="m.calls == 1000",
    )
    powers_of_a_step = Program(
        """
        class Optimiser:
            def __init__(self): self.t, self.m = 0, torch.zeros(4)
            def step(self, g):
                self.t += 1
                self.m = 0.9 * self.m + 0.1 * g
                return self.m / (1 - 0.9 ** self.t) * (0.5 ** (self.t // 3)) + 2 ** self.t % 7
        o = Optimiser()
        def fn(x): return o.step(x), self_power(o.t), o.t ** 2
        def self_power(t): return (t + 0.5) ** t if t < 4000 else 0
        """,
        steps=60,
        compiles=1,
    )
    power_with_an_exponent_that_turns_negative = Program(
        """
        def fn(x, n): return x, 3 ** n, (n + 0.5) ** n, 2.0 ** n, n ** -1, True ** n
        """,
        call="fn(x, 3 - i)",
        steps=(3, 2, 3),
        raises=ZeroDivisionError,
        breaks=None,
    )
    global_and_cell_counters = Program(
        """
        n = 0
        def make():
            k = 0
            def step():
                nonlocal k
                k += 3
                return k
            return step
        step = make()
        def fn(x):
            global n
            n += 1
            return x + step() * n
        """,
        steps=1000,
        compiles=1,
        expect="n == 1000",
    )
    append_to_a_log = Program(
        """
        log = []
        def fn(x):
            log.append("entry")
            return x + 1
        """,
        steps=1000,
        compiles=1,
        expect="len(log) == 1000",
    )
    append_to_a_list_of_any_length = Program(
        """
        short, long = [], list(range(200_000))
        def fn(x, items):
            items.append(len(items) if items is None else 1)
            items.append(x)
            return x + 1
        def look(items): return len(items), items[0], items[-2:]
        """,
        call="(fn(x, (short, long)[i % 2]), look(short if i < 1 else long))",
        steps=(60,),
        compiles=1,
    )
    counter_appended_to_a_log = Program(
        """
        log = []
        class Model: calls = 0
        m = Model()
        def fn(x):
            m.calls += 1
            log.append(m.calls)
            log.extend([m.calls * 2, "s"])
            return x * m.calls
        """,
        steps=1000,
        compiles=1,
        expect="log[-2] == 2000",
    )
    new_keys_in_a_dict = Program(
        """
        seen = {}
        def fn(x, k, v):
            seen[k] = v
            return x + 1
        """,
        call="fn(x, i, i * 2)",
        steps=1000,
        compiles=1,
        expect="seen[999] == 1998",
    )
    string_keys_and_a_set = Program(
        """
        names, seen = {}, set()
        def fn(x, name):
            names[name] = x
            seen.add(name)
            return x + 1
        """,
        call="fn(x, f'name{i % 300}')",
        steps=400,
        compiles=1,
    )
    running_sum_of_floats = Program(
        """
        total, count, history = 0.0, 0, []
        def fn(x, v):
            global total, count
            total += v
            count += 1
            history.append(total / count)
            return x * v
        """,
        call="fn(x, i * 0.5)",
        steps=1000,
        compiles=1,
    )
    running_mean_of_tensors = Program(
        """
        class Running:
            def __init__(self): self.n, self.mean = 0, torch.zeros(4)
            def update(self, x):
                self.n += 1
                self.mean = self.mean + (x - self.mean) / self.n
                return self.mean
        r = Running()
        def fn(x): return r.update(x)
        """,
        call="fn(x + i)",
        steps=1000,
        compiles=1,
    )
    bounded_window = Program(
        """
        from collections import deque
        window = deque(maxlen=8)
        def fn(x, v):
            window.append(v)
            return x * 2
        """,
        call="fn(x, i)",
        steps=1000,
        compiles=1,
        expect="list(window) == list(range(992, 1000))",
    )
    learning_rate_by_step = Program(
        """
        class Optimizer:
            def __init__(self): self.step_count, self.lr = 0, 0.0
            def step(self, p, g):
                self.step_count += 1
                self.lr = 0.5 / self.step_count
                p.sub_(g * self.lr)
        o, p = Optimizer(), torch.zeros(4)
        def fn(x):
            o.step(p, x)
            return p + 0
        """,
        steps=1000,
        compiles=1,
    )
    cache_keyed_by_an_argument = Program(
        """
        cache = {}
        def fn(x, k):
            cache[k] = cache.get(k, 0) + 1
            return x + 1
        """,
        call="fn(x, i % 7)",
        steps=200,
    )
    loss_history_with_deferred_reads = Program(
        """
        losses = []
        def fn(x):
            loss = (x * x).sum()
            losses.append(float(loss))
            losses.append(loss.item())
            return loss
        """,
        call="fn(x + i)",
        steps=1000,
        compiles=1,
    )
    messages_with_counters = Program(
        """
        messages = []
        n = 0
        def fn(x):
            global n
            n += 1
            messages.append(f"step {n}: {n * 2:>5}")
            return x + n
        """,
        steps=1000,
        compiles=1,
        expect="messages[-1] == 'step 1000:  2000'",
    )
    histogram_of_an_argument = Program(
        """
        from collections import Counter, defaultdict
        hits, groups = Counter(), defaultdict(list)
        def fn(x, k):
            hits[k] += 1
            groups[k].append(k)
            return x + 1
        """,
        call="fn(x, i % 5)",
        steps=100,
    )
    append_and_trim = Program(
        """
        items = []
        def fn(x):
            items.append(x)
            if len(items) > 3:
                del items[0]
            return x + len(items)
        """,
        steps=30,
    )


if __name__ == "__main__":
    unittest.main()
