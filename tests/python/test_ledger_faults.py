"""L38 and B04: whatever fails at run time, nothing has been replayed, and the call gives what plain Python gives.

`_core.inject_fault(kind, nth)` lets the nth allocation, kernel or dispatch of compiled graphs fail once, as it would in
nature, and returns how many there were since the last arming.
"""

import contextlib
import gc
import io
import os
import random
import sys
import unittest

import thirdbook
from harness import EAGER_ONLY, MANY_CALLS, Program, World, run_eager
from snapshot import first_difference

FUZZ = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz")
KINDS = ("allocation", "kernel", "dispatch")


class FaultCase(unittest.TestCase):
    def setUp(self):
        if EAGER_ONLY:
            self.skipTest("faults need compile")

    def _run_with_fault(self, program, kind, nth):
        thirdbook.reset()
        thirdbook._core.inject_fault(kind, nth)
        try:
            return World(program, thirdbook.compile).run()
        finally:
            self.counted = thirdbook._core.inject_fault(kind, -1)


class GraphFailures(FaultCase):
    """Every allocation, kernel and dispatch fails in turn."""

    PROGRAM = Program(
        """
        items, n = [], 0
        class Box: pass
        b, t = Box(), torch.zeros(4)
        def fn(x):
            global n
            n += 1
            b.v = (x * 2 + 1).relu()
            items.append(b.v.sum())
            t.add_(x)
            items.append(n)
            return b.v @ torch.ones(4, 4), t
        """,
        steps=2,
    )

    def _every_fault(self, kind):
        expected, _ = run_eager(self.PROGRAM)
        nth = 0
        while True:
            actual = self._run_with_fault(self.PROGRAM, kind, nth)
            for left, right in zip(expected, actual, strict=True):
                difference = first_difference(left.snapshot, right.snapshot)
                self.assertIsNone(difference, f"{kind} {nth} {left.what}")
            if nth >= self.counted:
                break
            nth += 1
        self.assertGreater(nth, 0, f"no {kind} was ever counted")

    def test_L38_every_allocation_fails_in_turn(self):
        self._every_fault("allocation")

    def test_L38_every_kernel_fails_in_turn(self):
        self._every_fault("kernel")

    def test_L38_every_dispatch_fails_in_turn(self):
        self._every_fault("dispatch")

    def test_L38_a_fault_is_counted_as_a_fallback_and_the_next_call_is_compiled_again(self):
        self._run_with_fault(self.PROGRAM, "dispatch", 0)
        self.assertGreaterEqual(thirdbook.counters["fallbacks"], 1)
        self.assertGreaterEqual(thirdbook.counters["replays"], 1)

    def test_L38_faults_leak_nothing(self):
        program = Program(self.PROGRAM.source, steps=MANY_CALLS)
        for _ in range(3):
            self._run_with_fault(program, "dispatch", 5)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(5):
            self._run_with_fault(program, "dispatch", 5)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 60)


class FaultsInExamples(FaultCase):
    """The examples as they are run by hand, with every fault in turn."""

    FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")
    MOST = 150  # events of a kind in one example; where there are more, evenly spread ones fail

    def _run(self, path, compiled):
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        thirdbook.reset()
        thirdbook.manual_seed(1)
        out, kept = io.StringIO(), thirdbook.compile
        thirdbook.compile = kept if compiled else lambda target=None, **options: target or (lambda function: function)
        try:
            with contextlib.redirect_stdout(out):
                exec(code, {"__name__": "__main__"})
        finally:
            thirdbook.compile = kept
        return out.getvalue()

    def check_example(self, name):
        path = os.path.join(self.FOLDER, name)
        expected = self._run(path, compiled=False)
        for kind in KINDS:
            thirdbook._core.inject_fault(kind, 1 << 30)
            self.assertEqual(self._run(path, compiled=True), expected)
            total = thirdbook._core.inject_fault(kind, -1)
            for nth in range(0, total, -(-total // self.MOST) or 1):
                with self.subTest(kind=kind, nth=nth):
                    thirdbook._core.inject_fault(kind, nth)
                    try:
                        self.assertEqual(self._run(path, compiled=True), expected)
                    finally:
                        thirdbook._core.inject_fault(kind, -1)


def _add_examples():
    for name in sorted(os.listdir(FaultsInExamples.FOLDER)):
        if not name.endswith(".py") or name == "export_graph.py":  # an export needs the graph and says so
            continue

        def test(self, name=name):
            self.check_example(name)
        setattr(FaultsInExamples, f"test_B04_{name[:-3]}", test)


_add_examples()


class FaultsInRandomPrograms(FaultCase):
    """200 programs of the fuzzer, each with a fault of every kind at a random place."""

    COUNT, BATCH = 200, 40

    def check_batch(self, first):
        sys.path.insert(0, FUZZ)
        self.addCleanup(sys.path.remove, FUZZ)
        from generate import program
        for seed in range(first, first + self.BATCH):
            found = program(seed)
            expected, _ = run_eager(found)
            for kind in KINDS:
                nth = random.Random(seed).randrange(12)
                with self.subTest(seed=seed, kind=kind, nth=nth):
                    actual = self._run_with_fault(found, kind, nth)
                    for left, right in zip(expected, actual, strict=True):
                        self.assertEqual(left.texts, right.texts, left.what)
                        self.assertIsNone(first_difference(left.snapshot, right.snapshot), left.what)


    def test_B04_faults_in_random_programs_leak_nothing(self):
        """No more is left than by the same compilations without a fault: code objects stay decoded."""
        sys.path.insert(0, FUZZ)
        self.addCleanup(sys.path.remove, FUZZ)
        from generate import program
        programs = [program(seed) for seed in range(8)]

        def left(first):
            before = len(gc.get_objects())
            for seed, found in enumerate(programs):
                for kind in KINDS:
                    self._run_with_fault(found, kind, first + seed)
            thirdbook.reset()
            gc.collect()
            return len(gc.get_objects()) - before
        never = 1 << 30
        left(0), left(never)
        self.assertLessEqual(left(0) + left(3), 2 * left(never) + 20)


def _add_batches():
    for first in range(0, FaultsInRandomPrograms.COUNT, FaultsInRandomPrograms.BATCH):
        def test(self, first=first):
            self.check_batch(first)
        setattr(FaultsInRandomPrograms, f"test_B04_random_programs_from_{first:03d}", test)


_add_batches()

if __name__ == "__main__":
    unittest.main()
