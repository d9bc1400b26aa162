"""Data-dependent control flow, symbolic scalars and sizes: what a graph cannot know before it has run."""

import unittest

from harness import Program, ProgramCase


class DataDependent(ProgramCase):
    branch_on_a_tensor = Program(
        """
        log = []
        def fn(x):
            y = x * 2
            if y.sum() > 10:
                log.append("big")
                return y + 1
            elif (y == 0).all():
                log.append("zero")
                return y - 1
            log.append("small")
            return y
        """,
        call="fn(x * i)",
        steps=4,
        breaks=None,
    )
    boolean_operators_on_tensors = Program(
        """
        def fn(x):
            big, any_ = x.sum() > 3, x.any()
            return big and any_, not big, big or any_, "yes" if big else "no", bool(any_), [n for n in range(2) if big]
        """,
        call="fn(x * (i % 2))",
        breaks=None,
    )
    item_steers_python = Program(
        """
        log = []
        def fn(x):
            n = int(x.sum().item())
            log.append(n)
            items = [k for k in range(n)]
            for k in range(n % 3):
                x = x + k
            return x * n, items, f"{n:03}"
        """,
        call="fn(x + i)",
        breaks=None,
    )
    tolist_and_iteration = Program(
        """
        def fn(x):
            y = x * 2
            values = y.tolist()
            table = {v: k for k, v in enumerate(values)}
            return max(values), table, [v + 1 for v in values], y + values[1]
        """,
        breaks=None,
    )
    scalar_read_flows_into_tensor_arithmetic = Program(
        """
        def fn(x):
            scale = x.sum().item()
            total = float(x.max()) + 1
            return x * scale + total, scale * 2
        """,
        call="fn(x + i)",
        breaks=None,
    )
    while_on_a_tensor = Program(
        """
        def fn(x):
            steps = 0
            while bool((x < 20).any()):
                x = x * 2 + 1
                steps += 1
                if steps > 10:
                    break
            return x, steps
        """,
        breaks=None,
    )
    match_and_index_by_tensor_values = Program(
        """
        names = ["a", "b", "c", "d"]
        def fn(x):
            n = x.argmax().item()
            match n:
                case 3: word = "last"
                case _: word = "other"
            return names[n], names[int(x[1])], word, x[n], list(range(5))[x.argmax()]
        """,
        breaks=None,
    )
    assert_on_a_tensor = Program(
        """
        def fn(x):
            y = x + 1
            assert y.sum() > 5, f"sum is {y.sum().item()}"
            return y
        """,
        call="fn(x * (i % 2) - 1)",
        raises=AssertionError,
        breaks=None,
    )
    exception_with_a_tensor_value = Program(
        """
        log = []
        def fn(x):
            try:
                if x.sum() > 5:
                    raise ValueError(f"too big: {x.sum().item():.1f}")
                log.append("fine")
            except ValueError as error:
                log.append(str(error))
            return x * len(log)
        """,
        call="fn(x * (i % 2))",
        breaks=None,
    )
    comparison_of_tensors_in_python_containers = Program(
        """
        def fn(x):
            a, b = torch.tensor(2), torch.tensor(3)
            return sorted([b, a])[0] + 0, max(a, b) + 0, a in [a, b], x + int(a < b)
        """,
        breaks=None,
    )


class Scalars(ProgramCase):
    int_argument_in_arithmetic_compiles_once = Program(
        """
        def fn(x, n): return x * n + (n + 1), n * 2
        """,
        call="fn(x, i + 2)",
        steps=30,
        recompiles=None,
    )
    float_argument_in_arithmetic = Program(
        """
        def fn(x, v): return x * v, v / 2, v + 1
        """,
        call="fn(x, i * 0.25)",
        steps=30,
    )
    scalar_that_steers_is_specialised = Program(
        """
        def fn(x, n):
            if n > 2:
                return x * n
            return x - n, [n] * n
        """,
        call="fn(x, i % 5)",
        steps=10,
    )
    bool_and_string_arguments = Program(
        """
        def fn(x, flag, name):
            y = x * 2 if flag else x
            return y, name + "!", {name: flag}, len(name)
        """,
        call="fn(x, i % 2 == 0, 'abc'[:i])",
        steps=4,
    )
    none_and_mixed_types = Program(
        """
        def fn(x, v):
            if v is None:
                return x
            return x * v if not isinstance(v, str) else v
        """,
        call="fn(x, (None, 2, 2.5, 's', x, None, True)[i])",
        steps=7,
    )
    huge_and_negative_ints = Program(
        """
        def fn(x, n): return n + 1, n * n, -n, n // 7, x + n % 5
        """,
        call="fn(x, (1, -1, 2 ** 63, 2 ** 63 - 1, -2 ** 63, 2 ** 100)[i])",
        steps=6,
    )


def changing(expression, compiles=1):
    """`expression` of tensors x, y and of numbers k (a float) and i (an int) that differ in every call."""
    return Program(
        f"""
        y = torch.tensor([2.0, -1.0, 0.5, 3.0])
        def fn(x, k, i): return {expression}
        """,
        call="fn(x, 0.35 + 0.13 * i, i + 2)",
        steps=(6,),
        compiles=compiles,
    )


class NumbersOfOperations(ProgramCase):
    """Numbers that operations take as attributes are no premises, either: schedules, scales, values to fill in."""

    alpha_of_a_sum = changing("(torch.add(x, y, alpha=k), x.sub(y, alpha=k), x.add(y, alpha=i), torch.rsub(x, y, alpha=k))")
    alpha_in_place = changing("(x.clone().add_(y, alpha=-k), x.clone().sub_(y, alpha=k / i), x.add_(y, alpha=k))")
    alpha_of_other_dtypes = changing("(x.double().add(y.double(), alpha=k), x.long().add(y.long(), alpha=i))", compiles=None)
    alpha_of_mixed_dtypes = changing("(x.double().add(y, alpha=k), x.add(y.double(), alpha=k), x.add(2.0, alpha=k))", compiles=None)
    value_of_products = changing("(torch.addcmul(x, x, y, value=k), torch.addcdiv(x, y, x + 1, value=k), x.addcmul_(y, y, value=k))")
    scales_of_matrix_products = changing("torch.addmm(x, torch.outer(x, y), torch.eye(4), beta=k, alpha=k)", compiles=None)
    value_everywhere = changing("(torch.full((3,), k), torch.full_like(x, k), x.new_full((2,), k), torch.full((2,), i), x.clone().fill_(k))")
    value_of_integer_tensors = changing("(torch.full((2,), i, dtype=torch.uint8), torch.full((2,), k, dtype=torch.int64))", compiles=None)
    value_into_another = changing("torch.full((4,), k, out=torch.empty(4))", compiles=None)
    tensor_of_a_number = changing("(torch.tensor(k), torch.tensor(i) * x, torch.tensor(k, dtype=torch.float64), torch.scalar_tensor(k))")
    tensor_of_numbers = changing("(torch.tensor([k, 1, i]), torch.tensor([[i, 1], [2, i]]), torch.tensor((k, True)), torch.tensor([i > 3, False]))", compiles=None)
    tensor_of_ragged_rows = Program(
        """
        def fn(x, k):
            try:
                return torch.tensor([[k, 1.0], [k]])
            except ValueError as error:
                return str(error)
        """,
        call="fn(x, 0.5 + i)",
        breaks=None,
    )
    warmup_schedule = changing("x * min((i + 1) ** -0.5, (i + 1) * 10 ** -1.5)", compiles=None)
    powers = changing("(x * (i ** 0.5), x * (k ** 0.5), x * (k ** i), x * ((-k) ** 2))", compiles=None)
    power_of_a_negative_number = Program(
        "def fn(x, k): return k ** 0.5", call="fn(x, 2.0 - i)", steps=(5,), compiles=None, breaks=None,
    )  # fmt: skip


class Sizes(ProgramCase):
    every_size_is_right = Program(
        """
        def fn(t): return t * 2 + t.shape[0], t.sum(), len(t), t.reshape(-1), t.numel()
        """,
        call="fn(torch.arange(float(i + 1)))",
        steps=6,
    )
    second_size_makes_sizes_symbolic = Program(
        "def fn(t): return (t * 2 + 1).sum()",
        call="fn(torch.arange(float(i + 4)))",
        steps=30,
        compiles=2,
    )
    dynamic_from_the_start = Program(
        "def fn(t): return (t * 2 + 1).sum() * t.shape[0]",
        call="fn(torch.arange(float(i + 4)))",
        steps=30,
        compiles=1,
        options={"dynamic": True},
    )
    size_one_zero_and_scalars = Program(
        """
        def fn(t): return t + 1, t.shape, t * torch.ones(1)
        """,
        call="fn((torch.ones(3), torch.ones(1), torch.zeros(0), torch.tensor(2.0), torch.ones(2, 3), torch.ones(3))[i])",
        steps=6,
    )
    sizes_steer_python = Program(
        """
        log = []
        def fn(t):
            if t.shape[0] > 3:
                log.append("long")
            for k in range(t.shape[0]):
                log.append(k)
            return t[: t.shape[0] // 2], f"{t.shape[0]}"
        """,
        call="fn(torch.arange(float(i * 2)))",
        steps=4,
    )
    dtype_layout_and_rank_change = Program(
        """
        def fn(t): return t * 2, t.dtype, t.stride()
        base = torch.arange(6.0).view(2, 3)
        """,
        call="fn((base, base.t(), base[:, ::2], base.to(torch.float64), base.to(torch.int64), base[0], base)[i])",
        steps=7,
    )

    sizes_in_arithmetic_state_and_text = Program(
        """
        log = []
        def fn(t):
            n = t.shape[0]
            log.append((n, t.numel(), len(t), t.size(-1)))
            return t / n, n * 2 - 1, n // 2, f"{n} rows", tuple(t.shape), t.nbytes
        """,
        call="fn(torch.arange(float(i + 4)))",
        steps=20,
        compiles=2,
    )
    sizes_of_what_is_computed = Program(
        """
        def fn(t, u):
            a = torch.cat([t, u])
            b = t[1:] * 2
            c = (t.unsqueeze(1) * u).reshape(-1)
            return a.shape[0], b.shape[0], c.shape[0], a.sum() / a.numel(), c.numel() + 1
        """,
        call="fn(torch.arange(float(i + 4)), torch.ones(2 * i + 3))",
        steps=12,
        compiles=3,
    )
    views_that_escape = Program(
        """
        def fn(t):
            m = t.view(2, -1)
            y = t * 2
            return m, m.T, t[1:], t[: t.shape[0] // 2], y[::2], y.view(-1, 2), t.reshape(-1)
        """,
        call="fn(torch.arange(float(2 * i + 4)))",
        steps=10,
        compiles=2,
    )
    sizes_as_arguments_of_operations = Program(
        """
        def fn(t):
            b, n = t.shape
            heads = t.view(b, 2, n // 2).transpose(0, 1)
            z = torch.zeros(b, n) + torch.ones(t.shape)
            return heads * 1, z, t[b - 1], t[:, : n - 1], torch.arange(n), t.expand(3, b, n), torch.full((n,), 2.0)
        """,
        call="fn(torch.arange(float((i + 2) * (2 * i + 4))).view(i + 2, 2 * i + 4))",
        steps=8,
        compiles=2,
    )
    sizes_as_attributes_of_views_written_in_place = Program(
        """
        def fn(t):
            n = t.shape[0]
            t[n // 2 :] = 0
            t[: n // 2] += 1
            t.add_(1)
            y = torch.zeros(n)
            y[1:] = t[1:]
            y[n - 1] = 7
            return y, t + n
        """,
        call="fn(torch.arange(float(i + 4)))",
        steps=8,
    )
    equal_sizes_part_ways = Program(
        """
        def fn(t, u): return t.sum() + u.sum(), t.shape == u.shape, t.shape[0] + u.shape[0]
        """,
        call="fn(torch.ones(i + 2), torch.ones(i + 2 + i // 3))",
        steps=9,
        compiles=3,
    )
    sizes_that_must_agree = Program(
        """
        def fn(t, u): return t + u
        """,
        call="fn(torch.ones(i + 2), torch.ones((i + 2, 1, 3)[i % 3] if i > 3 else i + 2))",
        steps=7,
        raises=RuntimeError,
        breaks=1,
    )
    size_one_after_free_sizes = Program(
        """
        def fn(t, w): return (t * w).sum(0), (t + w).shape
        """,
        call="fn(torch.ones((4, 5, 6, 1, 7, 0, 8)[i], 3), torch.ones(3))",
        steps=7,
        compiles=4,
    )
    size_that_fits_a_constant_by_chance = Program(
        """
        w = torch.arange(6.0)
        def fn(t):
            a = t[:6]
            a += 1
            return a * 2, t[:4], t
        """,
        call="fn(torch.arange(float((8, 6, 7, 6, 9, 4, 10)[i])))",
        steps=7,
    )
    contiguous_by_chance = Program(
        """
        def fn(t):
            a = t[:, :4].contiguous()
            a += 1
            return a * 1, t * 1
        """,
        call="fn(torch.arange(float(3 * (5, 4, 6, 4, 7)[i])).view(3, -1))",
        steps=5,
    )
    loops_over_sizes = Program(
        """
        def fn(t):
            total = 0
            for k in range(t.shape[0]):
                total = total + t[k] * k
            for row in t:
                total = total - row
            return total, [r.sum() for r in t]
        """,
        call="fn(torch.arange(float(3 * i + 6)).view(i + 2, 3))",
        steps=5,
        compiles=5,
    )
    sizes_across_a_break = Program(
        """
        log = []
        def fn(t):
            y = t * t.shape[0]
            torch.graph_break()
            log.append(y.shape[0])
            return y[: y.shape[0] - 1].sum(), y.view(1, -1).shape
        """,
        call="fn(torch.arange(float(i + 3)))",
        steps=12,
        breaks=2,
        compiles=4,
    )
    module_with_free_batch = Program(
        """
        layer = torch.nn.Linear(4, 2)
        layer.weight.data = torch.arange(8.0).view(2, 4) - 3
        layer.bias.data = torch.ones(2)
        model = torch.nn.Sequential(layer, torch.nn.ReLU())
        def fn(t):
            y = model(t)
            return y, y.sum(0), t.flatten(), torch.relu(y)
        """,
        call="fn(torch.ones(i + 2, 4) * i)",
        steps=10,
        compiles=2,
    )
    never_dynamic = Program(
        "def fn(t): return t * t.shape[0]",
        call="fn(torch.arange(float(i + 4)))",
        steps=3,
        compiles=3,
        options={"dynamic": False},
    )
    objects_that_hold_tensors = Program(
        """
        class Bag:
            def __init__(self): self.seen, self.last = 0, None
            def add(self, t):
                self.seen += t.shape[0]
                self.last = t[1:]
                return self.last.sum() * self.seen
        bag = Bag()
        def fn(t): return bag.add(t)
        """,
        call="fn(torch.arange(float(i + 4)))",
        steps=12,
        compiles=2,
    )


if __name__ == "__main__":
    unittest.main()
