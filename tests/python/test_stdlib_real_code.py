"""Ten pure-Python modules of the standard library: their functions compiled give what they give as they are.

The accelerated C versions are left out on purpose: modules that have one are loaded without it.
"""

import calendar
import colorsys
import difflib
import fractions
import importlib.util
import json.encoder
import random
import statistics
import string
import sys
import textwrap
import unittest

import thirdbook
from harness import EAGER_ONLY, compile_for_test
from snapshot import Snapshot, first_difference


def without_accelerator(name, accelerator):
    """A fresh copy of a module in which `from ACCELERATOR import …` fails, so that its Python definitions stay."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    kept = sys.modules.get(accelerator)
    sys.modules[accelerator] = None
    try:
        spec.loader.exec_module(module)
    finally:
        if kept is None:
            del sys.modules[accelerator]
        else:
            sys.modules[accelerator] = kept
    return module


heapq = without_accelerator("heapq", "_heapq")
bisect = without_accelerator("bisect", "_bisect")


class RealCode(unittest.TestCase):
    def setUp(self):
        if not EAGER_ONLY:
            thirdbook.reset()

    def same(self, function, *calls):
        """`calls` are functions that make (args, kwargs) anew; arguments are compared after the call as well."""
        compiled = compile_for_test(function)
        for make in calls:
            for _ in range(2):
                outcomes = []
                for call in (function, compiled):
                    made = make()
                    args, kwargs = made if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], dict) else (made, {})
                    try:
                        result = call(*args, **kwargs)
                        result = list(result) if hasattr(result, "__next__") else result
                    except Exception as error:
                        error.__traceback__ = None
                        result = error
                    outcomes.append(Snapshot({"result": result, "args": args, "kwargs": kwargs}))
                self.assertIsNone(first_difference(*outcomes), f"{function.__qualname__}{make()!r}")


class HeapqTest(RealCode):
    def test_push_and_pop(self):
        self.same(heapq.heappush, lambda: ([1, 3, 2], 0), lambda: ([], 5), lambda: ([1, "a"], "b"))
        self.same(heapq.heappop, lambda: ([1, 3, 2],), lambda: ([4],), lambda: ([],))
        self.same(heapq.heapreplace, lambda: ([1, 3, 2], 9), lambda: ([], 1))
        self.same(heapq.heappushpop, lambda: ([1, 3, 2], 0), lambda: ([1, 3, 2], 7), lambda: ([], 1))

    def test_heapify(self):
        rng = random.Random(1)
        for size in (0, 1, 2, 7, 30):
            items = [rng.randrange(50) for _ in range(size)]
            self.same(heapq.heapify, lambda items=items: (list(items),))

    def test_merge_and_selection(self):
        self.same(heapq.merge, lambda: ([1, 4, 7], [2, 5], [3]), lambda: (([7, 4], [6, 1]), {"reverse": True}),
                  lambda: ((["b", "aaa"], ["cc"]), {"key": len}))
        self.same(heapq.nsmallest, lambda: (2, [5, 1, 4, 1]), lambda: (9, [3, 2]), lambda: (1, []), lambda: ((2, ["bb", "a"]), {"key": len}))
        self.same(heapq.nlargest, lambda: (2, [5, 1, 4, 1]), lambda: (0, [1]), lambda: (2, [1, "a"]))


class BisectTest(RealCode):
    def test_search(self):
        for function in (bisect.bisect_left, bisect.bisect_right):
            self.same(function, lambda: ([1, 3, 3, 5], 3), lambda: ([], 1), lambda: ([1, 2], 9), lambda: ([1, 2, 3], 2, 1, 2),
                      lambda: ([1], 1, -1), lambda: (([-3, -1], 1), {"key": abs}), lambda: ([1, 2], "a"))

    def test_insert(self):
        for function in (bisect.insort_left, bisect.insort_right):
            self.same(function, lambda: ([1, 3, 5], 3), lambda: ([], 1), lambda: (([5, 3], 4), {"key": lambda v: -v}))


class StatisticsTest(RealCode):
    def test_averages(self):
        data = [1, 2.5, 4, 4]
        for function in (statistics.mean, statistics.fmean, statistics.median, statistics.median_low, statistics.median_high, statistics.mode,
                         statistics.multimode, statistics.pvariance, statistics.variance, statistics.stdev, statistics.pstdev,
                         statistics.harmonic_mean, statistics.geometric_mean):
            with self.subTest(function.__name__):
                self.same(function, lambda: (list(data),), lambda: ([7],), lambda: ([],), lambda: ([3, 1, 2],))

    def test_fractions_and_pairs(self):
        self.same(statistics.mean, lambda: ([fractions.Fraction(1, 3), fractions.Fraction(1, 2)],))
        self.same(statistics.quantiles, lambda: ([1, 2, 3, 4, 5],), lambda: (([1, 2, 9],), {"n": 3, "method": "inclusive"}), lambda: ([1],))
        self.same(statistics.covariance, lambda: ([1, 2, 3], [4, 6, 9]), lambda: ([1], [2]))
        self.same(statistics.linear_regression, lambda: ([1, 2, 3], [2, 4, 7]), lambda: ([1, 1], [2, 3]))
        self.same(statistics.correlation, lambda: ([1, 2, 3], [3, 2, 1]))

    def test_normal_distribution(self):
        normal = statistics.NormalDist(10, 2)
        self.same(normal.pdf, lambda: (9.5,))
        self.same(normal.cdf, lambda: (9.5,))
        self.same(normal.zscore, lambda: (14,))


class TextwrapTest(RealCode):
    TEXT = "The quick brown fox, which was well-known,  jumped\tover the lazy dog.\nAnother line of text-with-hyphens follows here."

    def test_wrap_and_fill(self):
        self.same(textwrap.wrap, lambda: ((self.TEXT,), {"width": 20}), lambda: (("",), {}), lambda: ((self.TEXT,), {"width": 10, "initial_indent": "* "}),
                  lambda: (("averyveryverylongword",), {"width": 5}), lambda: (("a b",), {"width": 0}))
        self.same(textwrap.fill, lambda: ((self.TEXT,), {"width": 30, "subsequent_indent": "  "}))
        self.same(textwrap.shorten, lambda: (("hello  big world",), {"width": 12}), lambda: (("x" * 9,), {"width": 3}))

    def test_dedent_and_indent(self):
        self.same(textwrap.dedent, lambda: ("    a\n      b\n\n    c\n",), lambda: ("\ta\n  b",), lambda: (5,))
        self.same(textwrap.indent, lambda: ("a\n\nb\n", "> "), lambda: (("a\nb", "- "), {"predicate": lambda line: "b" in line}))


class DifflibTest(RealCode):
    LEFT, RIGHT = "one\ntwo\nthree\n".splitlines(True), "ore\ntree\nemu\nthree\n".splitlines(True)

    def test_matcher(self):
        matcher = difflib.SequenceMatcher(None, "qabxcd", "abycdf")
        for method in (matcher.get_matching_blocks, matcher.get_opcodes, matcher.ratio, matcher.quick_ratio):
            self.same(method, lambda: ())
        self.same(difflib.get_close_matches, lambda: ("appel", ["ape", "apple", "peach", "puppy"]), lambda: ("x", [], 0))

    def test_diffs(self):
        self.same(difflib.ndiff, lambda: (list(self.LEFT), list(self.RIGHT)))
        self.same(difflib.unified_diff, lambda: ((list(self.LEFT), list(self.RIGHT)), {"fromfile": "a", "n": 1}))
        self.same(difflib.context_diff, lambda: ((list(self.LEFT), list(self.RIGHT)), {"tofile": "b"}))
        self.same(lambda a, b: list(difflib.restore(difflib.ndiff(a, b), 2)), lambda: (list(self.LEFT), list(self.RIGHT)))


class JsonEncoderTest(RealCode):
    def encode(self, value, **options):
        encoder = json.encoder.JSONEncoder(**options)
        pieces = json.encoder._make_iterencode(
            {}, encoder.default, json.encoder.py_encode_basestring_ascii, encoder.indent, float.__repr__, encoder.key_separator,
            encoder.item_separator, encoder.sort_keys, encoder.skipkeys, True)
        return "".join(pieces(value, 0))

    def test_values(self):
        for value in ({"b": [1, 2.5, None, True], "a": {}}, [], "é\n", [1, [2, [3]]], {1: 2, None: 3, True: 4, 2.5: 5}, ((1, 2), "x")):
            self.same(self.encode, lambda value=value: (value,), lambda value=value: ((value,), {"indent": "  "}))
        self.same(self.encode, lambda: (({"b": 1, "a": 2},), {"sort_keys": True}), lambda: (({(1,): 1},), {"skipkeys": True}))

    def test_errors(self):
        cycle = []
        cycle.append(cycle)
        self.same(self.encode, lambda: (cycle,), lambda: ({(1,): 1},), lambda: ({1, 2},), lambda: (object,))

    def test_strings(self):
        self.same(json.encoder.py_encode_basestring, lambda: ("a\"b\\c\n\x01é",), lambda: ("",))
        self.same(json.encoder.py_encode_basestring_ascii, lambda: ("a\"b\\c\n\x01é\U0001f600",))


class FractionsTest(RealCode):
    def test_construction(self):
        self.same(lambda *args: fractions.Fraction(*args), lambda: (6, 4), lambda: ("3/7",), lambda: (" -1.5e2 ",), lambda: (0.25,), lambda: (1, 0), lambda: ("x",),
                  lambda: (), lambda: (True, 2))

    def test_arithmetic(self):
        a, b = fractions.Fraction(3, 4), fractions.Fraction(-5, 6)
        for other in (b, 2, 0.5, fractions.Fraction(0)):
            self.same(lambda p, q: (p + q, p - q, p * q, q - p, p < q, p == q, hash(p), str(p), repr(q)), lambda other=other: (a, other))
            self.same(lambda p, q: (p / q, p // q, p % q, divmod(p, q)), lambda other=other: (a, other))
        self.same(lambda p: (p ** 2, p ** -1, abs(-p), round(p, 1), int(p), float(p), bool(p), p.limit_denominator(3), f"{p:.2f}"), lambda: (a,), lambda: (b,))


class ColorsysTest(RealCode):
    def test_conversions(self):
        for function in (colorsys.rgb_to_hsv, colorsys.hsv_to_rgb, colorsys.rgb_to_hls, colorsys.hls_to_rgb, colorsys.rgb_to_yiq, colorsys.yiq_to_rgb):
            with self.subTest(function.__name__):
                self.same(function, lambda: (0.2, 0.4, 0.6), lambda: (0.0, 0.0, 0.0), lambda: (1.0, 1.0, 1.0), lambda: (0.9, 0.1, 0.5), lambda: (0, 1, 0))


class CalendarTest(RealCode):
    def test_calendars(self):
        text = calendar.TextCalendar()
        self.same(calendar.isleap, lambda: (2000,), lambda: (1900,), lambda: (2024,))
        self.same(calendar.monthrange, lambda: (2024, 2), lambda: (2023, 13))
        self.same(calendar.leapdays, lambda: (1999, 2025))
        self.same(text.formatmonth, lambda: (2026, 11), lambda: ((2026, 2), {"w": 3}))
        self.same(text.monthdayscalendar, lambda: (2026, 11))
        self.same(text.itermonthdates, lambda: (2026, 5))
        self.same(calendar.HTMLCalendar(6).formatmonth, lambda: (2026, 1))
        self.same(calendar.timegm, lambda: ((2026, 11, 29, 12, 0, 0),))


class StringTest(RealCode):
    def test_template(self):
        self.same(lambda t, d: string.Template(t).substitute(d), lambda: ("$a and ${b} $$", {"a": 1, "b": 2}), lambda: ("$a $c", {"a": 1}),
                  lambda: ("$ bad", {}))
        self.same(lambda t, **d: string.Template(t).safe_substitute(**d), lambda: (("$a $c",), {"a": 1}))
        self.same(lambda t: string.Template(t).get_identifiers(), lambda: ("$a ${b} $a",))

    def test_formatter(self):
        formatter = string.Formatter()
        self.same(formatter.format, lambda: (("{} {a!r:>5}", "x"), {"a": "y"}), lambda: ("{} {}", 1),
                  lambda: ("{0[1]} {1.real}", [1, 2], 3), lambda: ("{0} {}", 1))

    def test_capwords(self):
        self.same(string.capwords, lambda: ("hello big  world",), lambda: ("a-b c", "-"))


if __name__ == "__main__":
    unittest.main()
