// In: what a run left behind. Out: markers for the editor, the first difference between two runs, what verify mode found.
// Invariant: only lines of the program itself are marked.

import type { ProgramResult } from "../lib/session.js";
import { baseName } from "../view/span.js";
import type { Marker } from "./editor.js";

export function markersOf(file: string, result: ProgramResult): Marker[] {
  const markers: Marker[] = [];
  for (const compilation of result.report?.compilations ?? []) {
    for (const item of compilation.breaks) {
      if (baseName(item.file) !== file) continue;
      const hint = item.hint ? `\n${item.hint}` : "";
      markers.push({
        line: item.line,
        severity: "warning",
        message: `Graph break, ${item.reason}: ${item.explanation}${hint}`,
      });
    }
  }
  const failure = result.status === 0 ? undefined : failureOf(file, result.stderr);
  if (failure) markers.push(failure);
  return markers;
}

/** The last line of the program in a traceback. */
function failureOf(file: string, stderr: string): Marker | undefined {
  const places = [...stderr.matchAll(/^ {2}File "([^"]+)", line (\d+)/gm)].filter(
    (match) => baseName(match[1] ?? "") === file,
  );
  const line = Number(places.at(-1)?.[2]);
  const message = stderr.trim().split("\n").at(-1) ?? "";
  return Number.isInteger(line) ? { line, severity: "error", message } : undefined;
}

/** What verify mode found. */
export function verdictOf(verified: ProgramResult): string {
  const found = /^(?:thirdbook\S*\.)?VerifyError: (.*)$/m.exec(verified.stderr);
  return found
    ? `Verify mode found a difference: ${found[1]}`
    : "Verify mode found the same values and effects in every call.";
}

export function differenceOf(eager: ProgramResult, compiled: ProgramResult): string {
  const expected = `${eager.stdout}${eager.status === 0 ? "" : `exit status ${eager.status}`}`.split("\n");
  const actual = `${compiled.stdout}${compiled.status === 0 ? "" : `exit status ${compiled.status}`}`.split(
    "\n",
  );
  const length = Math.max(expected.length, actual.length);
  for (let i = 0; i < length; ++i) {
    if (expected[i] !== actual[i]) {
      return `Different at output line ${i + 1}: plain Python printed “${expected[i] ?? "nothing"}”, compiled “${actual[i] ?? "nothing"}”.`;
    }
  }
  return "Plain Python and compiled print the same.";
}
