"""300 random programs of fixed seeds, eager and compiled. `npm run fuzz` runs more of them."""

import os
import sys
import unittest

FUZZ = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz")
COUNT = 300


class FuzzTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, FUZZ)
        cls.addClassCleanup(sys.path.remove, FUZZ)

    def check_seed(self, seed):
        import fuzz
        failure = fuzz.check(seed, shrinking=False)
        if failure is not None:
            self.fail(f"{failure.what}\nshrink it: npm run fuzz -- --seed {seed} --count 1")

    def test_a_planted_fault_is_found_and_shrunk(self):
        """The fuzzer itself: a difference planted in one statement is reduced to few lines that still show it."""
        import fuzz
        from generate import program
        from shrink import shrink
        found = program(7)
        lines = found.source.count("\n")

        def shows(candidate):
            return fuzz.Failure("planted", "planted", candidate) if "items.append" in candidate.source else None

        planted = fuzz.Failure("planted", "planted", fuzz.Program(
            found.source + "\nitems.append(1)\n", call=found.call, steps=found.steps, may_raise=True))
        small = shrink(planted, shows)
        self.assertLess(small.program.source.count("\n"), 5)
        self.assertGreater(lines, 60)

    def test_a_seed_always_gives_the_same_program(self):
        from generate import program
        self.assertEqual(program(11).listing(), program(11).listing())
        self.assertNotEqual(program(11).listing(), program(12).listing())


def _add_seeds():
    for seed in range(COUNT):
        def test(self, seed=seed):
            self.check_seed(seed)
        setattr(FuzzTest, f"test_seed_{seed:03d}", test)


_add_seeds()

if __name__ == "__main__":
    unittest.main()
