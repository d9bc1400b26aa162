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


if __name__ == "__main__":
    unittest.main()
