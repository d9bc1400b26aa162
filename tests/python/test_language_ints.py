"""Ints that operations on tensors take: on the second value seen they are free, and a new one compiles nothing."""

import textwrap

from harness import Program, ProgramCase

SETUP = """class Box: pass
s = Box()
s.buf, s.rows, s.pos = torch.arange(10.), torch.arange(40.).reshape(10, 4), 1
"""


def counted(body, *, compiles=2, call="fn(x, i + 1)", steps=8, **options):
    return Program(SETUP + textwrap.dedent(body), call=call, steps=steps, compiles=compiles, **options)


class FreeInts(ProgramCase):
    index_of_a_row = counted(
        """
        def fn(x, i): return s.rows[i] * 2, s.rows[i], s.buf[i]
        """
    )
    ring_buffer = counted(
        """
        def fn(x, i):
            s.rows[s.pos] = x + i
            s.pos = (s.pos + 1) % 10
            return s.rows.mean(0)
        """,
        steps=30,
    )
    slices = counted(
        """
        def fn(x, i): return s.buf[i:i + 2] * 2, s.buf[:i].sum(), s.rows[i:, 1], s.buf[2 * i:]
        """,
        steps=4,
    )
    slices_from_the_end = counted(
        """
        def fn(x, i): return s.buf[-i:].sum(), s.rows[:-i].sum()
        """,
        compiles=None,
    )
    written_view_goes_on_living = counted(
        """
        def fn(x, i):
            row = s.rows[i]
            row += 1
            s.kept = row
            return row * 2, s.rows.sum()
        """,
        steps=(4, "s.kept += 1", 4),  # it shares the rows' memory
    )
    write_into_a_slice = counted(
        """
        def fn(x, i):
            s.buf[i:i + 2] = i
            s.rows[i, 2] += 1
            return s.buf.sum() + s.rows.sum()
        """,
        compiles=None,
    )
    sizes_of_what_is_made = counted(
        """
        def fn(x, i): return torch.zeros(i, 2), torch.arange(i), torch.full((2,), i), torch.ones(i, 3).sum(0)
        """
    )
    shifts_and_narrow = counted(
        """
        def fn(x, i): return torch.roll(s.buf, i), torch.roll(s.rows, (i, 1), (0, 1)), s.rows.narrow(0, i, 2)
        """
    )
    size_of_a_slice_is_an_expression = counted(
        """
        def fn(x, i):
            y = s.buf[i:]
            return len(y), y.shape, y / len(y), y.numel() * i
        """
    )
    two_ints_are_told_apart = counted(
        """
        def fn(x, i, j): return s.buf[i:i + 1] + s.buf[j:j + 1], s.rows[i].sum() - s.rows[j].sum()
        """,
        call="fn(x, 1 + i, 7 - i)",
        steps=6,
    )
    a_cache_that_grows = counted(
        """
        class Cache:
            def __init__(self): self.k, self.n = None, 0
            def update(self, k):
                self.k = k if self.k is None else torch.cat([self.k, k])
                self.n += len(k)
                return self.k
        cache, table = Cache(), torch.arange(128.).reshape(64, 2)
        def fn(x):
            start = cache.n
            k = x.reshape(2, 2) + table[start:start + 2]
            return cache.update(k).sum(0)
        """,
        call="fn(x)",
        steps=20,
        compiles=3,  # no cache, the first, all others
    )
    at_once_with_dynamic = counted(
        """
        def fn(x, i): return s.buf[i] + s.buf[:i].sum()
        """,
        options={"dynamic": True},
        compiles=1,
    )
    one_that_also_decides = counted(
        """
        def fn(x, i):
            y = s.buf[:i]
            return y * 2 if i > 4 else y
        """,
        compiles=3,
    )
    dimension_and_number_of_parts = counted(
        """
        def fn(x, i): return s.rows.unsqueeze(i).shape, s.buf.chunk(i), s.buf.split(i), s.rows.sum(i % 2)
        """,
        call="fn(x, i % 3)",
        raises=RuntimeError,
        breaks=None,
        compiles=None,
    )


class Ends(ProgramCase):
    """A free int that leaves the tensor, turns zero or negative means what it means to plain Python."""

    def _program(body, **options):
        return counted(body, call="fn(x, (1, 2, 3, 9, 0, -1, -2, -10, 12, 30, 4)[i])", steps=11, compiles=None, breaks=None, **options)

    index = _program("def fn(x, i): return s.rows[i] * 2", raises=IndexError)
    element = _program("def fn(x, i): return s.rows[i, 1] + s.rows[1, i % 4]", raises=IndexError)
    slices = _program("def fn(x, i): return s.buf[i:].sum(), s.buf[:i], s.buf[-i:], s.buf[i:-1], s.rows[i - 1:i + 1]")
    write = _program(
        """
        def fn(x, i):
            s.buf[i:i + 3] = 5
            s.rows[i] = x
            return s.rows.sum()
        """,
        raises=IndexError,
    )
    sizes = _program("def fn(x, i): return torch.zeros(i).shape, torch.arange(i, 12).sum()", raises=RuntimeError)
    expand = _program("def fn(x, i): return x.expand(i, 4).sum(), x.repeat(i)", raises=RuntimeError)
