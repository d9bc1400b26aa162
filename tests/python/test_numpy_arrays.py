"""NumPy's arrays in compiled functions: what plain NumPy gives, without graph breaks where docs/numpy.md promises none.

Compared are values (floats to five or eight digits), types (array or scalar), dtypes, strides, who owns the memory, sharing of memory, in-place writes,
errors, warnings. Skipped where NumPy is not installed.
"""

import inspect
import linecache
import unittest
import warnings

import thirdbook
from harness import Program, ProgramCase
from snapshot import Snapshot, first_difference

try:
    import numpy as np
except ImportError:
    np = None

numbers = iter(range(1 << 30))


def function_of(body, names):
    """A function of these names, with a body of one expression or of lines."""
    lines = body.strip().splitlines()
    try:
        compile(lines[-1], "", "eval")
    except SyntaxError:
        pass
    else:
        lines[-1] = "return " + lines[-1]
    source = f"def fn({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    file = f"numpy_case_{next(numbers)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["fn"]


def operands():
    """Arrays and numbers of every kind, by name."""
    steps = np.arange(12)
    return {
        "f": (steps.reshape(3, 4) - 5).astype(np.float32) / 4,
        "g": (steps.reshape(3, 4) + 1).astype(np.float32) / 3,
        "d": steps[:4] * 0.75 + 0.25,
        "e": (steps * 1.5 - 4).reshape(4, 3),
        "i": steps.reshape(3, 4) - 3,
        "k": steps.reshape(3, 4) + 1,
        "j": (steps[:4] * 3 + 1).astype(np.int32),
        "u": (steps.reshape(3, 4) * 11).astype(np.uint8),
        "b": steps.reshape(3, 4) % 3 == 0,
        "z": np.array(2.5),
        "s": np.float64(1.25),
        "t": np.float32(0.5),
        "m": np.int64(3),
        "n": 3,
        "h": 0.5,
    }


def run(function, make, calls=2):
    """What the calls give, and what they leave of their operands."""
    left = []
    for _ in range(calls):
        arguments = make()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                outcome = function(**arguments)
            except Exception as error:
                outcome = (type(error).__name__, str(error))
        left.append((Snapshot({"result": outcome, **arguments}), [(w.category.__name__, str(w.message)) for w in warned]))
    return left


def difference(body, make=None):
    """None where eager and compiled agree; the counters are the compiled run's. `make` makes the operands."""
    make = make or operands
    function = function_of(body, make())
    expected = run(function, make)
    thirdbook.reset()
    actual = run(thirdbook.compile(function), make)
    for (left, left_warned), (right, right_warned) in zip(expected, actual, strict=True):
        if left_warned != right_warned:
            return f"warnings: eager {left_warned}, compiled {right_warned}"
        found = first_difference(left, right)
        if found is not None:
            return found
    return None


def breaks():
    return [found["reason"] for one in thirdbook.report()["compilations"] for found in one["breaks"]]


@unittest.skipIf(np is None, "NumPy is not installed")
class ArrayCase(unittest.TestCase):
    def same(self, bodies, broken=None):
        """Each body gives what NumPy gives; `broken`: a text that the reason of its break contains; None: no break."""
        for body in bodies:
            with self.subTest(inspect.cleandoc(body)):
                self.assertIsNone(difference(inspect.cleandoc(body)))
                if broken is None:
                    self.assertEqual(breaks(), [])
                    self.assertEqual(thirdbook.counters["compilations"], 1)
                else:
                    self.assertIn(broken, "; ".join(breaks()))


class Elementwise(ArrayCase):
    def test_operators_promote_as_numpy_does(self):
        pairs = ("f g", "f d", "d j", "i j", "i u", "b i", "b u", "f n", "f h", "i h", "u n", "j n", "b h", "d s", "f s", "f t", "j t", "i m", "z f",
                 "z h", "s t", "s h", "m h", "n i", "h u", "t f", "s m")
        self.same(f"{left} {operator} {right}" for left, right in map(str.split, pairs) for operator in ("+", "-", "*", "<", ">=", "==", "!=")
                  if (left + right, operator) != ("bb", "-"))

    def test_division(self):
        self.same(("f / g", "i / k", "i // k", "i % k", "f // g", "f % g", "i / 2", "i // 3", "i % 3", "-i // 3", "-i % 4", "f % 0.75", "u / 3", "j % 2",
                   "-f % 0.75", "e % -2.0", "s / h", "m / 2", "d // 0.5", "np.fmod(f, g)", "np.divide(i, k)"))

    def test_powers(self):
        self.same(("f ** 2", "d ** 0.5", "d ** -1", "d ** 3", "i ** 2", "np.power(d, d)", "k ** 3", "2.0 ** f", "s ** 2"))

    def test_bits_and_logic(self):
        self.same(("b & (f > 0)", "b | (i > 2)", "b ^ True", "~b", "i & 3", "i | k", "u ^ 5", "~i", "i << 2", "u >> 1", "np.logical_and(f, i)",
                   "np.logical_or(b, i)", "np.logical_not(f)", "np.logical_xor(b, i)", "b + b", "b * b"))

    def test_functions_of_one_operand(self):
        positive = ("sqrt", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "arcsinh",
                    "abs", "square", "floor", "ceil", "trunc", "rint", "sign", "negative", "positive", "isnan", "isfinite", "isinf", "reciprocal")
        self.same(f"np.{name}({x})" for name in positive for x in ("g", "d", "s"))
        self.same(("np.floor(i)", "np.sqrt(k)", "np.exp(j)", "np.abs(i)", "np.sign(i)", "-f", "+d", "abs(f)", "np.arcsin(f / 2)", "np.arccos(f / 2)",
                   "np.arctanh(f / 2)", "np.arccosh(g + 1)", "np.sqrt(2.0)", "np.exp(n)", "np.sign(e)", "np.tanh(f)"))

    def test_functions_of_two_and_three(self):
        self.same(("np.maximum(f, g)", "np.minimum(f, 0)", "np.maximum(i, 2)", "np.where(b, f, g)", "np.where(f > 0, f, 0.0)", "np.where(b, i, h)",
                   "np.where(i, 1, 0)", "np.clip(f, -0.5, 0.5)", "f.clip(0, 1)", "np.clip(i, 1, 5)", "np.clip(f, None, 0.25)", "np.arctan2(f, g)",
                   "np.round(f, 2)", "f.round()", "np.round(i)", "np.clip(d, d.min(), d.mean())"))

    def test_chains_stay_one_graph(self):
        self.same(("np.tanh(f * 0.5 + g) * f + np.maximum(f - 0.25, 0)", "(np.sin(d) ** 2 + np.cos(d) ** 2).sum()",
                   "x = f - f.mean(axis=0)\nreturn x / np.sqrt((x * x).mean(axis=0) + 1e-5)",
                   "a = np.exp(f - f.max(axis=1, keepdims=True))\nreturn a / a.sum(axis=1, keepdims=True)"))

    def test_memory_order_follows_the_operands(self):
        self.same(("f.T + 1", "f.T * g.T", "f.T + np.ones((4, 3))", "np.exp(f.T)", "e + f.T", "np.where(b.T, f.T, 0)", "f[:, ::2] * 2", "f[::2].T - 1",
                   "f.T + d[:, None]", "(f.T > 0)", "f.T.sum(axis=0)", "f.T.copy()", "np.copy(f.T)", "f.T.astype(np.float64)"))


class Reductions(ArrayCase):
    def test_of_everything_and_along_axes(self):
        names = ("sum", "prod", "mean", "min", "max", "std", "var", "any", "all")
        self.same(f"{x}.{name}({options})" for name in names for x in ("f", "i") for options in ("", "axis=0", "-1", "axis=1, keepdims=True", "axis=(0, 1)"))

    def test_dtypes_of_results(self):
        self.same(("j.sum()", "b.sum()", "b.mean()", "j.mean()", "u.max(axis=0)", "u.mean()", "b.any(axis=1)", "b.max()", "j.max()", "f.sum(dtype=np.float64)",
                   "i.sum(dtype=float)", "np.mean(f, axis=0, dtype='float64')", "z.sum()", "s.sum()", "f.sum(keepdims=True)", "b.var()"))

    def test_as_functions(self):
        self.same(("np.sum(f)", "np.mean(f, axis=1)", "np.max(i, 0)", "np.amin(f)", "np.prod(g, axis=1)", "np.std(f, ddof=1)", "np.var(f, axis=0, ddof=1)",
                   "np.any(b)", "np.all(f, axis=0)", "np.linalg.norm(f)", "np.linalg.norm(e, axis=1)"))

    def test_positions_and_running_sums(self):
        self.same(("f.argmax()", "np.argmin(f, axis=1)", "i.argmax(axis=0, keepdims=True)", "b.argmax()", "f.cumsum()", "np.cumsum(i, axis=1)",
                   "f.cumprod(axis=0)", "b.cumsum()", "j.cumsum()"))

    def test_products(self):
        self.same(("f @ g.T", "f @ e", "e @ d[:3]", "d @ d", "np.dot(f, e)", "f.dot(d)", "i @ k.T", "np.matmul(d, e)", "f @ f.T", "np.outer(d, d)",
                   "np.stack([f, g]) @ e", "i @ e"))


class Items(ArrayCase):
    def test_basic_keys_give_views_and_scalars(self):
        self.same(("f[0]", "f[1, 2]", "f[-1]", "f[:, 1]", "f[1:, ::2]", "f[None]", "f[..., 0]", "f[0, ...]", "d[1:3]", "d[n - 1]", "z[()]", "f[0][1]",
                   "(f + 1)[1:]", "(f + 1)[0, 0]", "(f * 2).T", "i[1, 1]", "b[0, 0]"))

    def test_keys_of_arrays_and_lists(self):
        self.same(("d[j % 4]", "f[[0, 2]]", "f[np.argmax(f, axis=1) % 3]", "f[[0, 1], [2, 3]]", "f[[0, 1], 2]", "f[:, [0, 2]]", "d[np.argmax(d)]",
                   "f[i % 3, k % 4]", "d[u % 4]"))

    def test_writes(self):
        self.same(("f[0] = 1", "f[:, 1] = d[:3]", "f[1:, 2:] += 1", "f[b] = 0", "f[[0, 2]] = 5", "f[[0, 1], [1, 2]] = d[:2]", "i[0, 0] = 7", "f[...] = g",
                   "d[j % 4] = 0.5", "i[:] = f * 4", "f[f > 0] = -1.5", "f[0, 0] = d[1]"))

    def test_in_place_operators(self):
        self.same(("f += g\nreturn f", "f *= 2\nreturn None", "d -= d.mean()", "i //= 2", "i += j", "b |= f > 0", "f **= 2", "f /= 3", "u += 1",
                   "np.add(f, g, out=f)", "np.multiply(f, 2, f)", "x = f[0]\nx += 1\nreturn x", "x = f * 1\nx += g\nx[0] = 0\nreturn x", "s += 1\nreturn s",
                   "x = f.T\nx *= 2\nreturn f"))


class Shapes(ArrayCase):
    def test_views(self):
        self.same(("f.T", "f.reshape(2, 6)", "f.reshape((4, -1))", "np.reshape(f, (12,))", "f.ravel()", "np.transpose(f)", "f.transpose(1, 0)",
                   "f.swapaxes(0, 1)", "f[None].squeeze()", "np.expand_dims(d, 0)", "f[:, None].squeeze(axis=1)", "f.T.ravel()", "f.T.reshape(12)",
                   "(f + 1).reshape(-1)", "f.flatten()"))

    def test_views_of_operands_share_their_memory(self):
        for body in ("f[1:]", "f.T", "f.reshape(2, 6)", "f[:, 1]", "f.ravel()", "f[...]"):
            with self.subTest(body):
                function = thirdbook.compile(function_of(body, ["f"]))
                x = operands()["f"]
                for _ in range(2):
                    view = function(x)
                    self.assertTrue(np.shares_memory(view, x))
                    self.assertIs(view.base, x)

    def test_joining(self):
        self.same(("np.concatenate([f, g])", "np.concatenate((f, i), axis=1)", "np.stack([d, d * 2])", "np.stack([f, g], axis=-1)", "np.vstack([d, d])",
                   "np.hstack([d, j])", "np.concatenate([d, d[1:]])", "(np.broadcast_to(d, (3, 4)) + f)"))

    def test_making_and_converting(self):
        self.same(("np.zeros((2, 3)) + 1", "np.ones(4, dtype=np.float32) * d", "np.full((2, 2), 7)", "np.full(3, 0.5)", "np.arange(5)", "np.arange(2, 9, 3)",
                   "np.zeros_like(f)", "np.ones_like(i, dtype=float)", "np.full_like(f, 2)", "f.astype(np.float64)", "f.astype('int32')", "i.astype(bool)",
                   "f.astype(int)", "np.asarray(f) is f", "np.asarray(f, dtype=float)", "np.array(f)", "f.copy()", "np.float32(s)", "np.float64(h)", "np.int64(n)",
                   "np.zeros(f.shape, f.dtype)", "np.zeros(3)"))

    def test_what_is_known_of_an_array(self):
        self.same(("f.shape", "f.ndim", "f.size", "f.dtype", "len(f)", "f.itemsize", "f.nbytes", "f.strides", "np.shape(f)", "np.ndim(f)", "f.dtype == np.float32",
                   "isinstance(f, np.ndarray)", "isinstance(f.sum(), float)", "isinstance(d.sum(), float)", "type(f)", "type(f.sum())", "type(f + 1)",
                   "f is None", "[row.sum() for row in f]", "[x for x in d]", "a, b2, c, e2 = d\nreturn a + e2"))

    def test_numbers_of_python(self):
        self.same(("f.sum().item()", "float(f.mean())", "int(i.sum())", "bool(b.any())", "d[0].item()", "f.max().item()", "f'{f.sum():.2f} {s}'"))


class LeftToNumpy(ArrayCase):
    """What has no exact counterpart is a break with a reason, and right."""

    def test_other_dtypes_layouts_and_functions(self):
        self.same(("f.astype(np.float16) + 1", "f.astype(complex)", "np.sqrt(b)", "u.sum()"), "which graphs do not know")
        self.same(("f[::-1]",), "negative step")
        self.same(("np.interp(0.5, d, d)", "np.fft.fft(d)", "np.random.default_rng(0).random(3)"), "")
        self.same(("np.interp(d, d, d)",), "numpy.interp() is called")

    def test_unreadable_operands(self):
        def world():
            return operands() | {"c": np.arange(4) * 1j, "r": np.arange(8.0)[::-2], "half": np.ones(4, np.float16)}

        for body, reason in (("c + 1", "complex128"), ("r * 2", "numpy.ndarray"), ("half + d", "float16"), ("np.abs(c)", "complex128")):
            with self.subTest(body):
                self.assertIsNone(difference(body, world))
                self.assertIn(reason, "; ".join(breaks()))

    def test_options(self):
        self.same(("np.add(f, g, where=b, out=f)", "np.add(f, g, dtype=np.float64)"), "where=, casting=, order= or dtype=")
        self.same(("np.sum(f, where=b)", "np.max(f, initial=0)"), "out=, initial= or where=")
        self.same(("f[b]", "np.nonzero(f)"), "")
        self.same(("f[0, :, None][:, [0]]",), None)
        self.same(("np.stack([f, g])[0, :, [0, 1]]",), "arrays as an index together with")

    def test_values_that_decide(self):
        self.same(("if f.sum() > 100:\n    return 1\nreturn 2",), "")
        self.same(("if f.any():\n    return f\nreturn g",), "")

    def test_errors_are_numpys(self):
        self.same(("f + np.ones(3)", "f[5]", "f.reshape(5)", "np.concatenate([f, d])", "i /= 2", "f.sum(axis=3)", "u + 300", "u[0, 0] = -1", "i ** -1",
                   "f.nothing", "bool(f)", "np.stack([f, d])", "f @ f", "np.zeros((2, -1))", "len(z)", "float(f)", "d[7] = 1", "hash(f)"), "")
        self.same(("d[j]", "d[[0, 9]]"))  # found out by the kernel, handed back

    def test_mixed_with_other_objects(self):
        self.same(("f + [1, 2, 3, 4]", "f == None", "f == 'a'", "d * (1, 2, 3, 4)"), "is used where an array is expected")


class Values(ArrayCase):
    def test_floats_that_are_not_finite(self):
        def special():
            return {"v": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1.0])}

        for body in ("v + 1", "v * v", "1 / v", "np.sqrt(v)", "np.maximum(v, 0)", "v.sum()", "v.max()", "np.log(v)", "v % 2", "np.sign(v)", "v.argmax()",
                     "v == v", "np.where(v > 0, v, -v)", "np.clip(v, -1, 1)", "v // 2", "np.isnan(v)", "np.exp(v)", "v.mean()", "v.astype(int)", "-v"):
            with self.subTest(body):
                self.assertIsNone(difference(body, special))
                self.assertEqual(breaks(), [])

    def test_without_float_flags_they_are_computed_in_the_graph(self):
        from thirdbook._numpy import arrays
        flags, arrays.FLOAT_FLAGS = arrays.FLOAT_FLAGS, False
        def special():
            return {"v": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1.0])}

        try:
            with np.errstate(all="ignore"):
                for body in ("v + 1", "v * v", "1 / v", "np.sqrt(v)", "np.maximum(v, -2)", "v.max()", "np.log(v)", "v % 2", "np.sign(v)", "v.argmax()",
                             "np.clip(v, -1, 1)", "v // 2", "np.exp(v)", "v % -2.0", "np.minimum(v, v.min())", "v.argmin()"):
                    with self.subTest(body):
                        self.assertIsNone(difference(body, special))
                        self.assertEqual(thirdbook.counters["fallbacks"], 0)
        finally:
            arrays.FLOAT_FLAGS = flags

    def test_integers_wrap_in_arrays_and_warn_in_scalars(self):
        def big():
            return {"x": np.array([2**62, -(2**62)]), "s": np.int64(2**62), "q": np.int32(2**30), "y": np.array([200, 100], np.uint8)}

        for body in ("x + x + x", "x * 4", "s + s", "s * 2", "q * q", "q + q", "-s", "y + y", "y * 3", "x.sum()", "x // 0", "y % 0"):
            with self.subTest(body):
                self.assertIsNone(difference(body, big))

    def test_empty_arrays(self):
        def world():
            return {"v": np.zeros((0, 3)), "w": np.zeros(0, np.int64)}

        for body in ("v + 1", "v.sum()", "v.sum(axis=0)", "v.mean()", "v.max()", "w.prod()", "v.T @ v", "w.any()", "np.concatenate([v, v])", "v.argmax()"):
            with self.subTest(body):
                self.assertIsNone(difference(body, world))


class Guards(ArrayCase):
    def test_another_layout_dtype_or_flag_is_compiled_anew(self):
        function = function_of("x * 2 + 1", ["x"])
        compiled = thirdbook.compile(function)
        limit, thirdbook.config.recompile_limit = thirdbook.config.recompile_limit, 64
        self.addCleanup(setattr, thirdbook.config, "recompile_limit", limit)
        base = np.arange(24.0).reshape(4, 6)
        locked = base.copy()
        locked.flags.writeable = False
        odd = np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float64)
        for x in (base, base.astype(np.float32), base.T, base[:, ::2], base[0], locked, np.float64(3), 3.0, base > 2, base.astype(">f8"), odd,
                  base.view(np.matrix), np.ma.array(base), base[::-1]):
            for _ in range(2):
                left, right = function(x), compiled(x)
                self.assertIsNone(first_difference(Snapshot({"": left}), Snapshot({"": right})))

    def test_read_only_arrays_are_not_written(self):
        def locked():
            return {"x": np.frombuffer(bytes(24), np.float64)}

        for body in ("x += 1", "x[0] = 1", "np.add(x, 1, out=x)"):
            with self.subTest(body):
                self.assertIsNone(difference(body, locked))
                self.assertIn("a read-only array is written", breaks())

    def test_overlapping_arguments(self):
        whole = np.arange(10.0)
        for body in ("x += y", "x[:] = y * 2\nreturn y + 0", "y = y + 0\nx -= 1\nreturn y"):
            function = function_of(body, ["x", "y"])
            for first, second in ((whole[:6], whole[4:]), (whole[:5], whole[5:]), (whole, whole), (whole[1:], whole[:-1])):
                with self.subTest(body):
                    outcomes = []
                    for call in (function, thirdbook.compile(function)):
                        whole[:] = np.arange(10.0)
                        results = []
                        for _ in range(2):
                            try:
                                results.append(call(first, second))
                            except ValueError as error:
                                results.append(str(error))
                        outcomes.append(Snapshot({"whole": whole.copy(), "results": results}))
                    self.assertIsNone(first_difference(*outcomes))

    def test_intrinsics_run_only_while_tracing(self):
        with self.assertRaisesRegex(RuntimeError, "array models run only while a function is traced"):
            thirdbook._core._array_memory(np.zeros(3))


@unittest.skipIf(np is None, "NumPy is not installed")
class Ledger(ProgramCase):
    """Arrays together with the ledger."""

    running_mean = Program(
        """
        import numpy as np
        class Stats:
            def __init__(self):
                self.mean, self.count, self.history = np.zeros(4), 0, []
            def update(self, x):
                self.count += 1
                self.mean = self.mean + (x - self.mean) / self.count
                self.history.append(self.mean)
                return self.mean.sum()
        stats = Stats()
        def fn(x):
            return stats.update(x)
        """,
        call="fn(np.arange(4.0) * i)", steps=(5,), expect="len(stats.history) == 5",
    )
    total_is_a_scalar = Program(
        """
        import numpy as np
        total = np.float64(0)
        best = {}
        def fn(x, name):
            global total
            total += x.sum()
            best[name] = x.max()
            return total
        """,
        call="fn(np.arange(4.0) + i, str(i))", steps=(4,),
    )
    written_buffer = Program(
        """
        import numpy as np
        class Buffer:
            def __init__(self):
                self.data, self.log = np.zeros((3, 4), np.float32), []
        buffer = Buffer()
        def fn(x):
            buffer.data[1] += x
            buffer.log.append(buffer.data[1].copy())
            buffer.data *= 0.5
            return buffer.data
        """,
        call="fn(np.ones(4, np.float32) * i)", steps=(4,), expect="fn is not None",
    )
    same_array_stored_twice = Program(
        """
        import numpy as np
        store = {}
        def fn(x):
            y = x * 2
            store['a'] = store['b'] = y
            store['view'] = y[1:]
            store['x'] = x
            y += 1
            return y
        """,
        call="fn(np.arange(3.0))", steps=(3,), expect="store['a'] is store['b'] and np.shares_memory(store['a'], store['view'])",
    )
    printed = Program(
        """
        import numpy as np
        def fn(x):
            y = x.sum()
            print("sum", y, x * 2)
            print(f"{y:.3f} {x.mean()!r}")
            return y
        """,
        call="fn(np.arange(4.0) + i)", steps=(3,),
    )
    exception_after_a_write = Program(
        """
        import numpy as np
        data = np.zeros(3)
        seen = []
        def fn(x):
            seen.append(x)
            data[0] += 1
            raise ValueError("stop")
        """,
        call="fn(np.arange(3.0))", steps=(3,), raises=ValueError, breaks=None,
    )
    break_between_writes = Program(
        """
        import numpy as np
        data = np.zeros(4)
        order = []
        def fn(x):
            data[0] += x.sum()
            order.append(data.copy())
            torch.graph_break()
            data[1:] = x[1:] * 2
            return data
        """,
        call="fn(np.arange(4.0) + i)", steps=(3,), breaks=None,
    )
    methods_of_classes = Program(
        """
        import numpy as np
        class Layer:
            def __init__(self, n, m):
                self.w = np.linspace(-1, 1, n * m).reshape(n, m).astype(np.float32)
                self.calls = 0
            def __call__(self, x):
                self.calls += 1
                self.last = np.maximum(x @ self.w, 0)
                return self.last
        layers = [Layer(4, 8), Layer(8, 2)]
        def fn(x):
            for layer in layers:
                x = layer(x)
            return x.argmax(axis=-1)
        """,
        call="fn(np.ones((5, 4), np.float32) * (i + 1))", steps=(3,),
    )


if __name__ == "__main__":
    unittest.main()
