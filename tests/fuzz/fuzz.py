"""Runs random programs eager and compiled; shrinks what differs.

In: seeds. Out: for each one line `@@ {"begin": SEED}` and, when the programs differ, `@@ {"failed": SEED, "what": …, "program": …}`;
a last line `@@ {"done": …}`. Importable: `check(seed)` gives a Failure or None.
Invariant: a crash of the interpreter is attributed by whoever reads the lines: the last seed that began.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import traceback
import warnings

FOLDER = os.path.dirname(os.path.abspath(__file__))
for path in (os.path.join(os.path.dirname(FOLDER), "python"), FOLDER):
    if path not in sys.path:
        sys.path.insert(0, path)

import harness  # noqa: E402
from generate import program  # noqa: E402
from harness import Program  # noqa: E402
from shrink import shrink  # noqa: E402

SECONDS = 30
warnings.filterwarnings("ignore", category=SyntaxWarning)


class TooLong(BaseException):
    """A program ran longer than any program of the generator should."""


class Failure:
    """What differed (`what`), its kind (stable under shrinking) and the program that shows it."""

    def __init__(self, what, kind, program):
        self.what, self.kind, self.program = what, kind, program

    def text(self):
        """The program as a test could hold it."""
        return f"{self.program.source}\n# call: {self.program.call}\n# steps: {self.program.steps!r}\n# {self.what}\n".replace("\n    compiled", "\n# compiled")


def _alarm(_number, _frame):
    raise TooLong


def _limited(seconds, action):
    if not hasattr(signal, "SIGALRM") or sys.platform == "emscripten":
        return action()
    old = signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(seconds)
    try:
        return action()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


class Unsound(Exception):
    """The program does not even run as plain Python."""


def examine(candidate):
    """A Failure of `candidate`, or None when eager and compiled agree; Unsound when there is nothing to compare."""
    try:
        expected, _ = _limited(SECONDS, lambda: harness.run_eager(candidate))
    except (Exception, TooLong) as error:
        raise Unsound(repr(error)) from error
    try:
        difference = _limited(2 * SECONDS, lambda: harness.compare(candidate, expected))
    except TooLong:
        return Failure("the compiled run does not end", "hang", candidate)
    except BaseException as error:
        text = traceback.format_exc()
        return Failure(f"the compiled run itself fails: {text[-600:]}", f"internal {type(error).__name__}", candidate)
    if difference is None:
        return None
    return Failure(difference, _kind(difference), candidate)


def _kind(difference):
    """What differs and how, without numbers and places, so that shrinking keeps to one fault."""
    for mark in ("stdout", "stderr", "warnings", "log:", "traceback"):
        if f", {mark}" in difference.split("\n")[0]:
            return mark
    lines = difference.split("\n")
    values = re.sub(r"[0-9]+", "#", " ".join(line.split("eager", 1)[-1].strip() for line in lines[:2]))
    raised = [line.strip().split(" ")[0] for line in lines if "compiled" in line and ("Error" in line or "Exception" in line)]
    return " ".join(["difference", values[:100], *raised[:1]])


def check(seed, shrinking=True):
    """Runs the program of `seed`; its Failure, shrunk, or None."""
    try:
        failure = examine(program(seed))
    except Unsound as error:
        return Failure(f"the program does not run as plain Python: {error}", "unsound", program(seed))
    if failure is None or not shrinking:
        return failure

    def still_fails(candidate):
        try:
            found = examine(candidate)
        except Unsound:
            return None
        return found if found is not None and found.kind == failure.kind else None

    return shrink(failure, still_fails)


def check_crash(seed, python):
    """Shrinks a program that ends the interpreter: every candidate runs in a process of its own."""
    def dies(candidate):
        text = json.dumps({"source": candidate.source, "call": candidate.call, "steps": candidate.steps})
        try:
            found = subprocess.run([*python, __file__, "--one"], input=text, text=True, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return Failure("the process does not end", "hang", candidate)
        if found.returncode >= 0 and found.returncode not in (134, 139, 136, 132, 1):
            return None
        return Failure(f"the interpreter ends with {found.returncode}: {found.stderr[-800:]}", "crash", candidate)

    failure = dies(program(seed))
    return failure and shrink(failure, dies, budget=150)


def _say(**note):
    print("@@ " + json.dumps(note), flush=True)


def _one():
    found = json.loads(sys.stdin.read())
    candidate = Program(found["source"], call=found["call"], steps=found["steps"], may_raise=True, breaks=None)
    harness.compare(candidate)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--crash", type=int, help="shrink the program of this seed, which ends the interpreter")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="how to start this Python, for --crash")
    parser.add_argument("--show", type=int, help="print the program of this seed")
    parser.add_argument("--one", action="store_true", help="run one program, given as JSON on standard input")
    options = parser.parse_args()
    if options.one:
        return _one()
    if options.show is not None:
        print(program(options.show).listing())
        return 0
    if options.crash is not None:
        failure = check_crash(options.crash, options.python)
        _say(failed=options.crash, what=failure.what if failure else "did not crash again", kind="crash",
             program=failure.text() if failure else "")
        return 0
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        _say(begin=seed)
        failure = check(seed, not options.no_shrink)
        if failure is not None:
            failed += 1
            _say(failed=seed, what=failure.what, kind=failure.kind, program=failure.text())
    counters = {} if harness.EAGER_ONLY else dict(harness.thirdbook.counters)
    _say(done=options.count, failures=failed, counters=counters)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
