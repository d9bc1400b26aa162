"""Every stage of small programs as text: tests/golden/NAME.py is what comes in, NAME.txt what each stage makes of it.

Per compilation: decoded bytecode, graph, loop form of its kernels (their wasm text too where the program says `golden: wasm`),
guards, ledger, breaks, rewritten bytecode. Texts name sources and node numbers, never addresses, so they are the same in every
interpreter. THIRDBOOK_UPDATE_GOLDEN=1 writes them anew; read the difference before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import sys
import unittest

import thirdbook
import harness  # noqa: F401  (installs the torch alias)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden"
UPDATE = os.environ.get("THIRDBOOK_UPDATE_GOLDEN") == "1"


def instruction_line(instruction: dict) -> str:
    line = "" if instruction["line"] is None else str(instruction["line"])
    argument = instruction["argrepr"] or ("" if instruction["arg"] is None else str(instruction["arg"]))
    return f"{line:>4} {instruction['role'] or '':8} {instruction['op']:34} {argument}".rstrip()


def section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}", *("    " + line for line in lines)] if lines else []


def ledger_line(entry: dict) -> str:
    change = f"{entry['before']} → {entry['after']}" if entry.get("before") else entry["after"]
    places = ", ".join(f"{site['line']}:{site['col']}-{site['endCol']}" for site in entry["sites"])
    return f"{entry['order']}. {entry['kind']}  {entry['source']}  {entry['operation']}  {change}   ({places})".rstrip()


def stages(place: int, compilation: dict, wasm: bool) -> list[str]:
    kernels = [kernel for graph in compilation["graphs"] for kernel in graph["kernels"]]
    rewritten = compilation["bytecode"].get("rewritten")
    return [
        f"#{place} {compilation['function']} · {compilation['status']} · {compilation['trigger']}",
        *section("bytecode", [instruction_line(i) for i in compilation["bytecode"]["original"]["instructions"]]),
        *section("graph", [line for graph in compilation["graphs"] for line in graph["text"].splitlines()]),
        *section("loop form", [line for kernel in kernels for line in kernel["loops"].splitlines()]),
        *section("wasm", [line for kernel in kernels for line in kernel["text"].splitlines()] if wasm else []),
        *section("guards", [f"{g['text']}   (line {g['line']})" if g["line"] else g["text"] for g in compilation["guards"]]),
        *section("ledger", [ledger_line(entry) for entry in compilation["ledger"]]),
        *section("breaks", [f"{b['reason']} (line {b['line']})" for b in compilation["breaks"]]),
        *section("rewritten", [instruction_line(i) for i in rewritten["instructions"]] if rewritten else []),
        "",
    ]


def text_of(path: pathlib.Path) -> str:
    source = path.read_text(encoding="utf-8")
    thirdbook.reset()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, path.name, "exec"), {"__name__": "golden"})
    wasm = "golden: wasm" in source
    compilations = enumerate(thirdbook.report()["compilations"], start=1)
    lines = [line for place, compilation in compilations for line in stages(place, compilation, wasm)]
    if printed.getvalue():
        lines += section("printed", printed.getvalue().splitlines()) + [""]
    return "\n".join(lines)


class Golden(unittest.TestCase):
    maxDiff = None

    def tearDown(self):
        thirdbook.reset()

    def test_every_text_has_its_program(self):
        programs = {path.stem for path in FOLDER.glob("*.py")}
        self.assertTrue(programs)
        self.assertEqual(programs, {path.stem for path in FOLDER.glob("*.txt")})


def _add(path: pathlib.Path) -> None:
    def test(self):
        found = text_of(path)
        wanted = path.with_suffix(".txt")
        if UPDATE and sys.platform == "linux":
            wanted.write_text(found, encoding="utf-8")
        self.assertEqual(wanted.read_text(encoding="utf-8"), found)

    test.__doc__ = f"The stages of {path.name}"
    setattr(Golden, f"test_{path.stem}", test)


for _path in sorted(FOLDER.glob("*.py")):
    _add(_path)


if __name__ == "__main__":
    unittest.main()
