"""The known gaps: tests that still fail, and what is missing.

In: `known_gaps.txt`, a line `FILE.CLASS.TEST [TARGET,…] — what is missing` each; without targets it is for all of them.
Out: for this interpreter a dict of test ids and phrases; a gap in Pyodide is one there with graphs on WebGPU too. Invariant: a listed test still runs. Where it fails it counts
as skipped, aloud; where it passes that is said (and fails under THIRDBOOK_STRICT_GAPS=1), so that no line outlives its gap. A crash is never a gap.
"""

import os
import re
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_gaps.txt")
TARGETS = ("twin", "twin-asan", "pyodide", "webgpu")
LINE = re.compile(r"(?P<test>test_\w+\.\w+\.\w+)(?: \[(?P<targets>[\w, -]+)\])? — (?P<phrase>\S.*)")


def current_target() -> str:
    """Which of TARGETS this process is."""
    if sys.platform == "emscripten":
        return os.environ.get("THIRDBOOK_TEST_BACKEND", "pyodide")
    return "twin-asan" if "ASAN_OPTIONS" in os.environ else "twin"


def parse(text: str, target: str) -> dict[str, str]:
    """Ids of tests and phrases that hold in `target`. ValueError for a line that is malformed or there twice."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"known_gaps.txt:{number}: not `FILE.CLASS.TEST [TARGET] — what is missing`: {line!r}")
        targets = [one.strip() for one in match["targets"].split(",")] if match["targets"] else list(TARGETS)
        for one in targets:
            if one not in TARGETS:
                raise ValueError(f"known_gaps.txt:{number}: no target {one!r}, only {', '.join(TARGETS)}")
            if (one, match["test"]) in seen:
                raise ValueError(f"known_gaps.txt:{number}: {match['test']} is listed twice")
            seen.add((one, match["test"]))
        if target in targets or (target == "webgpu" and "pyodide" in targets):
            found[match["test"]] = match["phrase"]
    return found


def load(target: str | None = None) -> dict[str, str]:
    """What `parse` says of known_gaps.txt for `target` (None: the current one); empty without the file."""
    if not os.path.exists(PATH):
        return {}
    with open(PATH, encoding="utf-8") as file:
        return parse(file.read(), target or current_target())


def is_strict() -> bool:
    """Whether a listed test that passes is a failure: where THIRDBOOK_STRICT_GAPS=1 asks for it; else it is only said."""
    return os.environ.get("THIRDBOOK_STRICT_GAPS") == "1"
