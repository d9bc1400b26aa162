// What a run left behind, as the page says it: markers at lines, the first difference between two runs, the verdict of verify mode.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { differenceOf, markersOf, verdictOf } from "../../../web/app/findings.js";
import type { ProgramResult } from "../../../web/lib/session.js";
import type { Report } from "../../../web/report/types.js";

const result = (fields: Partial<ProgramResult>): ProgramResult => ({
  status: 0,
  stdout: "",
  stderr: "",
  milliseconds: 1,
  report: null,
  trouble: null,
  files: [],
  exported: null,
  ...fields,
});

test("an error is marked at the program's own last line of the traceback", () => {
  const stderr = `Traceback (most recent call last):
  File "/home/pyodide/mine.py", line 9, in <module>
    f()
  File "/home/pyodide/mine.py", line 4, in f
    json.loads("")
  File "/lib/python314.zip/json/__init__.py", line 352, in loads
    raise JSONDecodeError
ValueError: no
`;
  const marker = { line: 4, severity: "error", message: "ValueError: no" };
  expect(markersOf("mine.py", result({ status: 1, stderr }))).toEqual([marker]);
  expect(markersOf("mine.py", result({ stderr }))).toEqual([]);
  expect(markersOf("other.py", result({ status: 1, stderr }))).toEqual([]);
});

test("a syntax error is marked where it is", () => {
  const stderr =
    "  File \"/home/pyodide/mine.py\", line 2\n    def f(x:\n         ^\nSyntaxError: '(' was never closed\n";
  expect(markersOf("mine.py", result({ status: 1, stderr }))).toMatchObject([{ line: 2, severity: "error" }]);
});

test("a break of the program is marked with its reason and hint, one of another file is not", () => {
  const report = JSON.parse(readFileSync("tests/web/fixtures/day16.report.json", "utf8")) as Report;
  const item = {
    reason: "R",
    code: "no-model",
    explanation: "E",
    hint: "H",
    file: "/x/mine.py",
    line: 3,
    stack: [],
  };
  report.compilations[0]?.breaks.push(item, { ...item, file: "/x/other.py" });
  expect(markersOf("mine.py", result({ report }))).toEqual([
    { line: 3, severity: "warning", message: "Graph break, R: E\nH" },
  ]);
});

test("the first line that differs is named, and so is another exit status", () => {
  const eager = result({ stdout: "a\nb\n" });
  expect(differenceOf(eager, eager)).toBe("Plain Python and compiled print the same.");
  expect(differenceOf(eager, result({ stdout: "a\nc\n" }))).toBe(
    "Different at output line 2: plain Python printed “b”, compiled “c”.",
  );
  expect(differenceOf(eager, result({ stdout: "a\nb\n", status: 1 }))).toMatch(
    /^Different at output line 3: .*exit status 1/,
  );
});

test("verify mode's first difference is said", () => {
  expect(verdictOf(result({}))).toMatch(/^Verify mode found the same/);
  const stderr = "Traceback…\nthirdbook._errors.VerifyError: G['log'][0]: 1 is not 2\n";
  expect(verdictOf(result({ status: 1, stderr }))).toBe(
    "Verify mode found a difference: G['log'][0]: 1 is not 2",
  );
});
