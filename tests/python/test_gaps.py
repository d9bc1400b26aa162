"""The mechanism of known gaps: what counts as what, and that known_gaps.txt itself is sound."""

import contextlib
import importlib.util
import io
import os
import unittest

import gaps
import run

PHRASE = "nothing of it is there"


class Sample(unittest.TestCase):
    def passes(self):
        pass

    def fails(self):
        self.fail("as planned")

    def fails_in_part(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)


def outcome(name, listed=True, strict=True):
    """(counts, output) of one test of Sample in a run of its own."""
    test = Sample(name)
    tally = run.Tally({test.id(): PHRASE} if listed else {}, strict)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        test.run(tally)
        counts = tally.finish()
    return tuple(counts[key] for key in run.COUNTS), out.getvalue()


class GapsTest(unittest.TestCase):
    def test_a_listed_test_that_fails_is_skipped_aloud(self):
        for name in ("fails", "fails_in_part"):
            counts, output = outcome(name)
            self.assertEqual(counts, (0, 0, 1))
            self.assertEqual(output, f"KNOWN GAP {Sample(name).id()}: {PHRASE}\n")

    def test_a_listed_test_that_passes_fails_where_it_is_strict(self):
        counts, output = outcome("passes")
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("the gap is closed: take it out of known_gaps.txt", output)
        self.assertEqual(outcome("passes", strict=False)[0], (1, 0, 0))

    def test_other_tests_count_as_ever(self):
        self.assertEqual(outcome("passes", listed=False)[0], (1, 0, 0))
        for name in ("fails", "fails_in_part"):
            counts, output = outcome(name, listed=False)
            self.assertEqual(counts, (0, 1, 0))
            self.assertIn(f"FAIL {Sample(name).id()}", output)

    def test_lines(self):
        text = "# a comment\n\ntest_a.B.test_c — one\ntest_a.B.test_d [twin, pyodide] — two\ntest_a.B.test_e [pyodide] — three\n"
        self.assertEqual(gaps.parse(text, "twin"), {"test_a.B.test_c": "one", "test_a.B.test_d": "two"})
        self.assertEqual(gaps.parse(text, "twin-asan"), {"test_a.B.test_c": "one"})
        self.assertEqual(sorted(gaps.parse(text, "pyodide").values()), ["one", "three", "two"])

    def test_unsound_lines_are_refused(self):
        for text in ("test_a.B.test_c", "test_a.B.test_c — ", "test_a.B — what", "test_a.B.test_c [node] — what",
                     "test_a.B.test_c — one\ntest_a.B.test_c [twin] — two"):
            with self.subTest(text), self.assertRaises(ValueError):
                gaps.parse(text, "twin")

    def test_every_listed_test_is_there(self):
        folder = os.path.dirname(gaps.PATH)
        loader = unittest.TestLoader()
        known = {}
        for test in sorted({test for target in gaps.TARGETS for test in gaps.load(target)}):
            file, case, method = test.split(".")
            with self.subTest(test):
                if file not in known:
                    spec = importlib.util.spec_from_file_location(file, os.path.join(folder, f"{file}.py"))
                    known[file] = importlib.util.module_from_spec(spec)
                    spec.loader.exec_module(known[file])
                self.assertIn(method, loader.getTestCaseNames(getattr(known[file], case)))


if __name__ == "__main__":
    unittest.main()
