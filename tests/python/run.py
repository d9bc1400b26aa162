"""Runs the unittest files of this folder, in the native twin or in Pyodide.

In: names of files (`test_frame.py`, `test_frame`, a path), none for all; `-k PATTERN` picks tests as unittest does.
Out: failures as they happen, and for each file one line `@@ {"file": …, "passed": …, "failed": …, "skipped": …}`;
after several files a last line `@@ {"total": true, …}`, with THIRDBOOK_TEST_BACKEND=webgpu how often the GPU was used. Exit status 1 when something failed.
Invariant: `@@ {"begin": …}` precedes a file, so that whoever started us knows which file a crash belongs to. Where
processes can be started, each of several files has one of its own. A test of known_gaps.txt that fails counts as
skipped (`KNOWN GAP …`), one that passes as GAP CLOSED (failed under THIRDBOOK_STRICT_GAPS=1).
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import traceback
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gaps

FOLDER = os.path.dirname(os.path.abspath(__file__))
COUNTS = ("passed", "failed", "skipped")


class Tally(unittest.TestResult):
    """Counts each test once, whatever number of its subtests failed, and prints failures at once."""

    def __init__(self, known_gaps: dict[str, str], strict: bool) -> None:
        super().__init__()
        self.counts = dict.fromkeys(COUNTS, 0)
        self._gaps, self._strict = known_gaps, strict
        self._outcome: dict[str, str] = {}

    def _note(self, test: unittest.TestCase, outcome: str) -> None:
        if self._outcome.get(test.id()) not in ("failed", "gap"):
            self._outcome[test.id()] = outcome

    def _fail(self, test: unittest.TestCase, error) -> None:
        owner = getattr(test, "test_case", test)
        if owner.id() in self._gaps:
            if self._outcome.get(owner.id()) != "gap":
                print(f"KNOWN GAP {owner.id()}: {self._gaps[owner.id()]}", flush=True)
            self._outcome[owner.id()] = "gap"
            return
        self._note(owner, "failed")
        print(f"FAIL {test.id()}", flush=True)
        print(self._exc_info_to_string(error, owner).rstrip(), flush=True)

    def addSuccess(self, test):
        self._note(test, "passed")

    def addFailure(self, test, err):
        self._fail(test, err)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._fail(subtest, err)

    def addSkip(self, test, reason):
        self._note(getattr(test, "test_case", test), "skipped")
        print(f"skip {test.id()}: {reason}", flush=True)

    def addExpectedFailure(self, test, err):
        self._note(test, "passed")

    def addUnexpectedSuccess(self, test):
        self._note(test, "failed")
        print(f"FAIL {test.id()}: expected to fail, but passed", flush=True)

    def finish(self) -> dict[str, int]:
        for test, outcome in self._outcome.items():
            if outcome == "passed" and test in self._gaps:
                word = "FAIL" if self._strict else "GAP CLOSED"
                print(f"{word} {test}: the gap is closed: take it out of known_gaps.txt", flush=True)
                outcome = "failed" if self._strict else "passed"
            self.counts["skipped" if outcome == "gap" else outcome] += 1
        return self.counts


def report(**fields) -> None:
    sys.stdout.flush()
    print("@@ " + json.dumps(fields), flush=True)


def load(path: str):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run_here(path: str, patterns: list[str]) -> dict[str, int]:
    """Runs one file in this process."""
    name = os.path.basename(path)
    report(begin=name)
    started = time.monotonic()
    tally = Tally({}, False)
    try:
        tally = Tally(gaps.load(), gaps.is_strict())
        loader = unittest.TestLoader()
        loader.testNamePatterns = [p if "*" in p else f"*{p}*" for p in patterns] or None
        loader.loadTestsFromModule(load(path)).run(tally)
        counts = tally.finish()
    except unittest.SkipTest as reason:
        print(f"skip {name}: {reason}")
        counts = {**tally.finish(), "skipped": 1}
    except Exception:
        print(f"FAIL {name}: the file cannot be loaded\n{traceback.format_exc()}")
        counts = {**tally.finish(), "failed": 1}
    report(file=name, **counts, seconds=round(time.monotonic() - started, 2))
    return counts


def run_apart(path: str, patterns: list[str]) -> dict[str, int]:
    """Runs one file in a process of its own; a process that dies is one failure."""
    words = [sys.executable, os.path.abspath(__file__), path]
    for pattern in patterns:
        words += ["-k", pattern]
    counts = None
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            if '@@ {"file"' in line:
                counts = json.loads(line[line.index("@@ ") + 3 :])
    if counts is None:
        name = os.path.basename(path)
        print(f"FAIL {name}: the interpreter ended with status {child.returncode}")
        counts = {"passed": 0, "failed": 1, "skipped": 0}
        report(file=name, **counts)
    return counts


def find(names: list[str]) -> list[str]:
    if not names:
        return [os.path.join(FOLDER, n) for n in sorted(os.listdir(FOLDER)) if n.startswith("test_") and n.endswith(".py")]
    paths = []
    for name in names:
        candidates = [name, os.path.join(FOLDER, name), os.path.join(FOLDER, name + ".py")]
        path = next((c for c in candidates if os.path.isfile(c)), None)
        if path is None:
            sys.exit(f"run.py: no test file {name!r} here or in {FOLDER}")
        paths.append(os.path.abspath(path))
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(prog="run.py", description="Runs unittest files.")
    parser.add_argument("files", nargs="*")
    parser.add_argument("-k", dest="patterns", action="append", default=[], help="only tests whose name matches")
    options = parser.parse_args()
    sys.path.insert(0, FOLDER)
    paths = find(options.files)
    apart = len(paths) > 1 and sys.platform != "emscripten"
    total = dict.fromkeys(COUNTS, 0)
    for path in paths:
        counts = (run_apart if apart else run_here)(path, options.patterns)
        for key in COUNTS:
            total[key] += counts[key]
    if len(paths) != 1:
        report(total=True, **total)
    if os.environ.get("THIRDBOOK_TEST_BACKEND") == "webgpu":
        from thirdbook import _gpu

        report(dispatches=_gpu.counters().get("dispatches", 0))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
