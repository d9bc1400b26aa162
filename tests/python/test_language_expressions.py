"""Operators, comparisons, conditional and assignment expressions, unpacking, slices, formatting, comprehensions."""

import unittest

from harness import Program, ProgramCase


class Operators(ProgramCase):
    arithmetic_on_ints_floats_and_tensors = Program(
        """
        def fn(x, a, b):
            out = [a + b, a - b, a * b, a / b, a // b, a % b, a ** 2, -a, +a, abs(-b)]
            t = [x + a, a - x, x * b, x / b, b / (x + 1), x // b, x % b, x ** 2, -x, abs(x)]
            return out, t
        """,
        call="fn(x, (3, 4.5, -7)[i], (2, 1.5, 3)[i])",
    )
    bits_and_shifts = Program(
        """
        def fn(x, a, b):
            return a & b, a | b, a ^ b, ~a, a << 3, a >> 1, True & False, True | a, {1} | {2}, {1: 2} | {3: 4}, x + (a & b)
        """,
        call="fn(x, (6, -5, 1 << 70)[i], (3, 12, 255)[i])",
    )
    in_place_forms = Program(
        """
        class Box: pass
        b = Box()
        def fn(x, n):
            b.v, items, m = n, [1, 2], n
            b.v += 2; b.v -= 1; b.v *= 3; b.v //= 2; b.v %= 7; b.v **= 2
            items[0] += n; items[0] <<= 1; items[1] |= 8; items[1] &= 12; items[1] ^= 5; items[0] >>= 1
            m /= 2
            t = x.clone()
            u = t
            t += 1; t *= 2; t -= n; t /= 2
            s = "a"
            s += "b"
            s *= 2
            pair = (1,)
            pair += (2,)
            return b.v, items, m, t is u, t, s, pair
        """,
        call="fn(x, i + 1)",
    )
    augmented_assignment_evaluates_its_target_once = Program(
        """
        log = []
        class Box: v = 1
        b, items = Box(), [1, 2]
        def obj():
            log.append("obj")
            return b
        def index():
            log.append("index")
            return 1
        def value():
            log.append("value")
            return 10
        def fn(x):
            obj().v += value()
            items[index()] += value()
            items[index():] += [value()]
            return x + b.v
        """
    )
    user_operators = Program(
        """
        log = []
        class V:
            def __init__(self, n): self.n = n
            def __add__(self, o): return V(self.n + (o.n if isinstance(o, V) else o))
            def __radd__(self, o): return V(o + self.n + 1000)
            def __mul__(self, o): return NotImplemented if isinstance(o, str) else V(self.n * o)
            def __iadd__(self, o):
                log.append("iadd")
                self.n += o
                return self
            def __neg__(self): return V(-self.n)
            def __invert__(self): return "inverted"
            def __matmul__(self, o): return ("matmul", o)
            def __getitem__(self, key): return key
            def __contains__(self, item): return item == self.n
            def __len__(self): return 3
            def __bool__(self): return self.n != 0
            def __call__(self, *args, **kwargs): return args, kwargs
            def __index__(self): return self.n
            def __eq__(self, o): return isinstance(o, V) and self.n == o.n
            def __lt__(self, o): return self.n < o.n
            __hash__ = None
        v = V(2)
        def fn(x):
            global v
            v += 1
            try:
                v * "s"
            except TypeError as error:
                log.append(str(error))
            return (v + 1, 1 + v, v * 2, -v, ~v, v @ 5, v[1:2, ...], 3 in v, len(v), not v, v(1, k=2), [0, 1, 2, 3, 4, 5, 6][v],
                    v == V(3), v < V(9), v > V(1), x * v.n, hex(v))
        """
    )
    reflected_operator_of_a_subclass_goes_first = Program(
        """
        log = []
        class A:
            def __add__(self, o):
                log.append("A.add")
                return "A"
            def __sub__(self, o): return NotImplemented
        class B(A):
            def __radd__(self, o):
                log.append("B.radd")
                return "B"
            def __rsub__(self, o): return "B.rsub"
        def fn(x): return A() + B(), B() + A(), A() - B(), x + len(log)
        """
    )
    tensor_against_user_object = Program(
        """
        class Scale:
            def __init__(self, k): self.k = k
            def __rmul__(self, t): return t * self.k + 1
            def __mul__(self, t): return t * self.k
        s = Scale(3)
        def fn(x): return s * x, torch.ones(2) + 1
        """
    )
    comparison_chains_evaluate_once = Program(
        """
        log = []
        def v(n):
            log.append(n)
            return n
        def fn(x):
            return (v(1) < v(2) < v(3), v(1) < v(0) < v(5), 1 < 2 > 1 != 3 == 3, 3 in [1, 3] in [[1, 3]], v(2) is v(2) is not None,
                    x + len(log))
        """
    )
    boolean_short_cuts = Program(
        """
        log = []
        def v(n):
            log.append(n)
            return n
        def fn(x):
            return (v(0) or v([]) or v("a"), v(1) and v(0) and v(2), not v(0), v(0) and v(1) or v(2), (v(None) or x) + 1,
                    x if v(1) and not v(0) else None)
        """
    )
    conditional_expressions_and_walrus = Program(
        """
        def fn(x, n):
            a = "big" if n > 1 else "one" if n == 1 else "zero"
            if (m := n * 2) > 2:
                a += str(m)
            b = [last := k + m for k in range(3) if (double := k * 2) < 4]
            return a, b, last, double, (y := x + m), y * 2
        """,
        call="fn(x, i)",
    )
    identity_membership_and_types = Program(
        """
        a, b = [1], [1]
        def fn(x):
            return (a is b, a is not b, a == b, a != b, 1 in a, 2 not in a, "b" in "abc", None is None, type(a) is list,
                    isinstance(True, int), (1, 2) < (1, 3), [1] < [1, 0], "a" < "b", {1} <= {1, 2}, 1 == 1.0 == True, x is x)
        """
    )


class Unpacking(ProgramCase):
    targets_of_every_shape = Program(
        """
        class Box: pass
        b, items = Box(), [0, 0, 0, 0]
        def fn(x):
            a, (c, *d), [e] = 1, (2, 3, 4), [5]
            *first, last = "xyz"
            head, *middle, tail = range(5)
            b.v, items[1], items[2:] = 7, 8, [9, 9]
            p = q = r = [a]
            (a), c = c, a
            *empty, = ()
            s, t = {"k": 1, "l": 2}
            return a, c, d, e, first, last, head, middle, tail, p is q, empty, s, t, x + b.v
        """
    )
    swap_and_evaluation_order = Program(
        """
        log = []
        def v(n):
            log.append(n)
            return n
        items = [10, 20, 30]
        def fn(x):
            i = 0
            i, items[i] = 2, 99
            items[v(0)], items[v(1)] = v(2), v(3)
            a, b = 1, 2
            a, b = b, a + b
            return a, b, i, x + len(log)
        """
    )
    displays_with_stars = Program(
        """
        items, table = [1, 2], {"a": 1}
        def gen():
            yield 7
            yield 8
        def fn(x):
            return [*items, 0, *gen()], (*items, *"ab"), {*items, *(2, 3)}, {**table, "b": 2, **{"a": 9}}, [*table, *table.values()], x
        """
    )
    wrong_lengths_raise = Program(
        """
        def fn(x):
            out = []
            for value in ((1,), (1, 2, 3), 5, iter(()), {"a"}):
                try:
                    a, b = value
                except (ValueError, TypeError) as error:
                    out.append(str(error))
                try:
                    a, b, *c = value
                    out.append(c)
                except (ValueError, TypeError) as error:
                    out.append(str(error))
            return out, x + 1
        """
    )
    tensors_unpack = Program(
        """
        def fn(x):
            a, b, *rest = x
            (c, d), e = x.view(2, 2), x[0]
            return a + b, len(rest), c * d, e, [t for t in x]
        """
    )
    slices_of_everything = Program(
        """
        class Seq:
            def __getitem__(self, key): return key
        def fn(x, n):
            items, s = list(range(10)), slice(1, n, 2)
            return (items[s], items[-3:], items[::-1], items[n:n], "abcdef"[1:n:2], (1, 2, 3)[:2], Seq()[1:2, ::3, ...], s.indices(5),
                    x[1:n], x[:, None], x[::2], x[...], x[-1], range(20)[2:n:3], b"abc"[1], bytearray(b"abc")[:2])
        """,
        call="fn(x, i + 2)",
    )


class Formatting(ProgramCase):
    f_strings = Program(
        """
        class Box:
            def __format__(self, spec): return f"<{spec}>"
            def __repr__(self): return "Box()"
            def __str__(self): return "a box"
        b = Box()
        def fn(x, n):
            name, w = "ab", 6
            return (f"{n} {n + 1!r} {name!s:>5} {name!a}", f"{b} {b!r} {b!s} {b:spec}", f"{n:0{w}d} {n / 3:{w}.{2}f}", f"{{}} {n=} {n = :>3}",
                    f"{'nested ' + f'{n}'}", f"{[k for k in range(n)]}", f"{n:,} {n:e} {n:#x} {n:b} {n:%}", f"{x.shape} {x.dtype}")
        """,
        call="fn(x, i + 1000)",
    )
    format_and_percent = Program(
        """
        class Box: v = 5
        def fn(x, n):
            return ("{} {1}".replace("1", "").format(1, 2), "{0}-{1}-{0}".format(n, "b"), "{a[k]} {b.v}".format(a={"k": 1}, b=Box()),
                    "%s %r %5.2f %03d %%" % ("s", "r", n, n), "%(k)s" % {"k": n}, "{:>8}|{:^8}|{:<8}".format(n, "m", "l"),
                    format(n, "+d"), "{!r:>6}".format("q"), str(n), repr("é"), ascii("é"), x + n)
        """,
        call="fn(x, i)",
    )
    template_strings = Program(
        """
        def fn(x, n):
            t = t"a {n!r:>4} b {n + 1}"
            return t.strings, t.values, [(p.expression, p.conversion, p.format_spec) for p in t.interpolations], x + len(t.values)
        """,
        call="fn(x, i)",
        breaks=None,
    )
    string_methods = Program(
        """
        def fn(x, s):
            return (s.upper(), s.split(","), s.strip("a "), s.replace("a", "b", 1), s.find("c"), s.startswith(("a", "b")), s.title(),
                    "-".join(sorted(s)), s.partition(","), s.zfill(8), s.encode(), s.center(9, "*"), s.count("a"), s.isalpha(), s[::-1],
                    s.translate({97: "A"}), s.casefold(), s.splitlines(), s.expandtabs(2), s.rsplit(",", 1), s.removeprefix("a"),
                    s * 2, s + "!", s < "b", len(s), "a" in s, ord(s[0]), chr(98), x + len(s))
        """,
        call="fn(x, ('a,b', 'cab\\tc', ' a,c,')[i])",
    )
    bytes_and_numbers = Program(
        """
        def fn(x, n):
            return (bytes([n, 2]), bytearray(b"a") + b"b", int("12") + n, int("ff", 16), float("1.5"), hex(n), bin(n), oct(n), round(2.567, n % 3),
                    divmod(17, n + 1), pow(3, n, 5), (n + 0.5).is_integer(), n.bit_length(), complex(1, n) * 2j, int.from_bytes(b"ab"),
                    (5).to_bytes(2), float.hex(1.5), bool(n), sum([n, 1]), x + n)
        """,
        call="fn(x, i + 1)",
    )


class Comprehensions(ProgramCase):
    every_kind = Program(
        """
        def fn(x, n):
            a = [k * n for k in range(4) if k % 2]
            b = {k: [m for m in range(k)] for k in range(3)}
            c = {k % 2 for k in a}
            d = tuple(k + m for k in a for m in (10, 20) if k != m)
            e = [[r * c for c in range(2)] for r in range(2)]
            return a, b, c, d, e, x * len(d)
        """,
        call="fn(x, i + 1)",
    )
    scopes_and_shadowing = Program(
        """
        k = "global"
        class Body:
            n = 3
            squares = [m * m for m in range(n)]
        def fn(x):
            k = "local"
            inner = [k for k in range(3)]
            fs = [lambda: k for k in range(3)]
            gs = [lambda k=k: k for k in range(3)]
            return k, inner, [f() for f in fs], [g() for g in gs], Body().squares, x + len(inner)
        """
    )
    with_effects_and_tensors = Program(
        """
        log = []
        def note(v):
            log.append(v)
            return v
        def fn(x):
            parts = [x * note(n) for n in range(3) if note(-n) <= 0]
            table = {note(str(n)): part.sum() for n, part in enumerate(parts)}
            return parts, table
        """
    )
    exception_inside = Program(
        """
        log = []
        def fn(x):
            try:
                [log.append(10 // n) for n in (2, 1, 0, 5)]
            except ZeroDivisionError:
                log.append("caught")
            return x + len(log)
        """
    )
    generator_expression_arguments = Program(
        """
        def fn(x, items):
            return (sum(n * 2 for n in items), max((n for n in items), default=0), any(n > 2 for n in items), all(n for n in items),
                    sorted((n for n in items), reverse=True), dict((n, str(n)) for n in items), ",".join(str(n) for n in items),
                    set(n % 2 for n in items), min(items, key=lambda n: -n), x + sum(1 for _ in items))
        """,
        call="fn(x, [1, 3, 2])",
    )


if __name__ == "__main__":
    unittest.main()
