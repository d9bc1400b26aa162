"""One file of CPython's own test suite, plain or with each test method passed through `thirdbook.compile`.

In: the folder that holds the `test` package, the module's name (`test_list`), and how. Out: lines `@@ {"begin": ID}`,
`@@ {"test": ID, "outcome": "passed" | "failed" | "skipped"}` and, at the end, `@@ {"done": …}` with breaks by reason.
Invariant: what a test compares is CPython's own assertion; we only choose how its methods run.
"""

import argparse
import collections
import faulthandler
import functools
import importlib
import json
import os
import sys
import types
import unittest
import warnings


def say(**note):
    sys.__stdout__.write("\n@@ " + json.dumps(note) + "\n")
    sys.__stdout__.flush()


class Result(unittest.TestResult):
    """Reports each test once, with the last line of what it raised."""

    def __init__(self, leave_out):
        super().__init__()
        self._leave_out = leave_out
        self._outcomes = {}
        self._why = {}

    def startTest(self, test):
        super().startTest(test)
        say(begin=test.id())

    def _note(self, test, outcome, error=None):
        name = getattr(test, "test_case", test).id()
        if self._outcomes.get(name) != "failed":
            self._outcomes[name] = outcome
        if error is not None and name not in self._why:
            self._why[name] = f"{error[0].__name__}: {error[1]}"[:300]

    def addSuccess(self, test):
        self._note(test, "passed")

    def addFailure(self, test, err):
        self._note(test, "failed", err)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._note(test, "failed", err)

    def addSkip(self, test, reason):
        self._note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self._note(test, "passed")

    def addUnexpectedSuccess(self, test):
        self._note(test, "failed")

    def stopTest(self, test):
        super().stopTest(test)
        name = test.id()
        if name in self._outcomes:
            say(test=name, outcome=self._outcomes[name], **({"why": self._why[name]} if name in self._why else {}))


def compiled_method(function):
    """A method that runs `function` through compile; looks like the original to decorators that marked it."""
    import thirdbook
    made = thirdbook.compile(function)

    @functools.wraps(function)
    def run(*args, **kwargs):
        return made(*args, **kwargs)

    return run


def compile_tests(suite):
    """Replaces each test method (of classes, inherited ones too) by its compiled form, once per class."""
    seen = set()
    for test in flatten(suite):
        cls, name = type(test), test._testMethodName
        if (cls, name) in seen:
            continue
        seen.add((cls, name))
        function = getattr(cls, name, None)
        if isinstance(function, types.FunctionType) and not function.__code__.co_flags & 0x2A0:  # generators, coroutines
            setattr(cls, name, compiled_method(function))


def flatten(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from flatten(one)
        else:
            yield one


def leave_out(suite, names):
    kept = unittest.TestSuite()
    for test in flatten(suite):
        if test.id() not in names and test.id().rpartition(".")[2] not in names:
            kept.addTest(test)
    return kept


def break_reasons():
    import thirdbook
    reasons = collections.Counter()
    for one in thirdbook.report()["compilations"]:
        for found in one["breaks"]:
            reasons[found["reason"]] += 1
    return dict(reasons.most_common(20)), dict(thirdbook.counters)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--leave-out", nargs="*", default=[], help="tests that are not run: ids, or names of methods")
    parser.add_argument("--only", nargs="*", default=[], help="ids or names of methods; nothing else is run")
    options = parser.parse_args()
    sys.path.insert(0, os.path.abspath(options.folder))
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    warnings.simplefilter("default")
    faulthandler.enable()
    module = importlib.import_module(f"test.{options.name}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    suite = leave_out(suite, set(options.leave_out))
    if options.only:
        suite = unittest.TestSuite(
            test for test in flatten(suite)
            if test.id() in options.only or test.id().rpartition(".")[2] in options.only)
    if options.compiled:
        compile_tests(suite)
    suite.run(Result(options.leave_out))
    reasons, counters = break_reasons() if options.compiled else ({}, {})
    say(done=options.name, reasons=reasons, counters=counters)
    return 0


if __name__ == "__main__":
    sys.exit(main())
