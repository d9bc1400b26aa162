"""The harness itself: it must see every kind of difference, or the other tests prove nothing.

Each test runs one program against a slightly different one and expects the harness to say so.
"""

import sys
import unittest

import harness
from harness import Program, World
from snapshot import first_difference


def difference(left, right, **kwargs):
    """The first difference between two programs that should be alike, as `compare` would find it."""
    expected = World(Program(left, **kwargs), lambda target, **options: target).run()
    actual = World(Program(right, **kwargs), lambda target, **options: target).run()
    for one, other in zip(expected, actual, strict=True):
        if one.texts != other.texts:
            return f"{one.texts} {other.texts}"
        found = first_difference(one.snapshot, other.snapshot)
        if found:
            return found
    return None


class HarnessTest(unittest.TestCase):
    PAIRS = {
        "result": ("fn = lambda x: 1", "fn = lambda x: 2"),
        "type of a number": ("fn = lambda x: 1", "fn = lambda x: True"),
        "minus zero": ("fn = lambda x: 0.0", "fn = lambda x: -0.0"),
        "tensor values": ("fn = lambda x: x + 1", "fn = lambda x: x + 2"),
        "tensor dtype": ("fn = lambda x: torch.ones(2)", "fn = lambda x: torch.ones(2, dtype=torch.float64)"),
        "tensor identity": ("fn = lambda x: x", "fn = lambda x: x.clone()"),
        "tensor storage": ("fn = lambda x: x[1:]", "fn = lambda x: x[1:].clone()"),
        "list identity": ("l = []\nfn = lambda x: l", "l = []\nfn = lambda x: []"),
        "aliasing": ("def fn(x):\n a = [1]\n return a, a", "def fn(x):\n a = [1]\n return a, [1]"),
        "cycle": ("def fn(x):\n a = []\n a.append(a)\n return a", "def fn(x):\n a = []\n a.append([a])\n return a"),
        "dict order": ("fn = lambda x: {1: 1, 2: 2}", "fn = lambda x: {2: 2, 1: 1}"),
        "ordered dict order": (
            "from collections import OrderedDict as O\ndef fn(x):\n d = O(a=1, b=2)\n d.move_to_end('a')\n return d",
            "from collections import OrderedDict as O\ndef fn(x):\n d = O(a=1, b=2)\n return d",
        ),
        "deque maxlen": (
            "from collections import deque\nfn = lambda x: deque([1], 3)", "from collections import deque\nfn = lambda x: deque([1])",
        ),
        "attribute": ("class A: pass\na = A()\ndef fn(x): a.b = 1", "class A: pass\na = A()\ndef fn(x): a.b = 2"),
        "slot": (
            "class A: __slots__ = ('b',)\na = A()\ndef fn(x): a.b = 1", "class A: __slots__ = ('b',)\na = A()\ndef fn(x): pass",
        ),
        "class attribute": ("class A: n = 0\ndef fn(x): A.n += 1", "class A: n = 0\ndef fn(x): A.n += 2"),
        "function attribute": ("def fn(x): g.n = 1\ndef g(): pass", "def fn(x): g.n = 2\ndef g(): pass"),
        "cell": (
            "def m():\n n = 0\n def f(x):\n  nonlocal n\n  n += 1\n return f\nfn = m()",
            "def m():\n n = 0\n def f(x):\n  nonlocal n\n  n += 2\n return f\nfn = m()",
        ),
        "list subclass": ("class L(list): pass\nfn = lambda x: L([1])", "class L(list): pass\nfn = lambda x: L([2])"),
        "iterator position": (
            "it = iter([1, 2, 3])\ndef fn(x): next(it)", "it = iter([1, 2, 3])\ndef fn(x): pass",
        ),
        "map position": (
            "it = map(abs, [1, 2, 3])\ndef fn(x): next(it)", "it = map(abs, [1, 2, 3])\ndef fn(x): pass",
        ),
        "generator position": (
            "def g():\n yield 1\n yield 2\n yield 3\nit = g()\ndef fn(x): next(it)",
            "def g():\n yield 1\n yield 2\n yield 3\nit = g()\ndef fn(x): 1",
        ),
        "exception type": ("def fn(x): raise ValueError(1)", "def fn(x): raise TypeError(1)"),
        "exception line": ("def fn(x):\n if 1: raise ValueError(1)\n", "def fn(x):\n\n if 1: raise ValueError(1)"),
        "exception cause": ("def fn(x): raise ValueError(1) from KeyError()", "def fn(x): raise ValueError(1)"),
        "exception note": (
            "def fn(x):\n e = ValueError(1)\n e.add_note('n')\n raise e", "def fn(x):\n e = ValueError(1)\n e.add_note('m')\n raise e",
        ),
        "printed text": ("def fn(x): print(1)", "def fn(x): print(2)"),
        "stderr": ("import sys\ndef fn(x): print(1, file=sys.stderr)", "import sys\ndef fn(x): pass"),
        "warning": ("import warnings\ndef fn(x): warnings.warn('a')", "import warnings\ndef fn(x): warnings.warn('b')"),
        "log record": ("import logging\ndef fn(x): logging.error('a')", "import logging\ndef fn(x): logging.error('b')"),
        "random state": ("import random\ndef fn(x): random.random()", "import random\ndef fn(x): pass"),
        "tensor generator": ("def fn(x): torch.rand(1)", "def fn(x): pass"),
        "context variable": (
            "from contextvars import ContextVar\nv = ContextVar('v')\ndef fn(x): v.set(1)",
            "from contextvars import ContextVar\nv = ContextVar('v')\ndef fn(x): v.set(2)",
        ),
        "cache hits": (
            "from functools import cache\n@cache\ndef g(n): return n\ndef fn(x): g(1)",
            "from functools import cache\n@cache\ndef g(n): return n\ndef fn(x): g(1); g(1)",
        ),
        "weak reference": (
            "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a)\ndef fn(x): global a; a = None",
            "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a)\nb = a\ndef fn(x): global a; a = None",
        ),
        "grad mode": ("def fn(x): torch.set_grad_enabled(False)", "def fn(x): pass"),
        "set order": ("fn = lambda x: {1, 9}", "def fn(x):\n s = {9, 2, 1}\n s.discard(2)\n return {1, 17}"),
    }

    def test_every_kind_of_difference_is_seen(self):
        for kind, (left, right) in self.PAIRS.items():
            with self.subTest(kind):
                self.assertIsNotNone(difference(left, right), kind)

    def test_equal_programs_are_equal(self):
        for kind, pair in self.PAIRS.items():
            for source in pair:
                with self.subTest(kind):
                    first = World(Program(source), lambda target, **options: target).run()
                    second = World(Program(source), lambda target, **options: target).run()
                    for one, other in zip(first, second, strict=True):
                        self.assertEqual(one.texts, other.texts)
                        self.assertIsNone(first_difference(one.snapshot, other.snapshot))

    def test_how_deep_endless_recursion_gets_does_not_count(self):
        source = "def fn(x): return fn(x)"
        limit = sys.getrecursionlimit()
        expected = World(Program(source), lambda target, **options: target).run()
        self.addCleanup(sys.setrecursionlimit, limit)
        sys.setrecursionlimit(limit - 100)
        actual = World(Program(source), lambda target, **options: target).run()
        self.assertIsNone(first_difference(expected[-1].snapshot, actual[-1].snapshot))

    def test_a_program_that_raises_must_say_so(self):
        with self.assertRaises(ValueError):
            harness.run_eager(Program("def fn(x): return undefined"))
        with self.assertRaises(ValueError):
            harness.run_eager(Program("def fn(x): return 1", raises=KeyError))

    def test_an_expectation_is_checked_in_plain_python(self):
        with self.assertRaises(ValueError):
            harness.run_eager(Program("n = 0\ndef fn(x): pass", expect="n == 1"))
