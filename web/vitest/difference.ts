// In: the outcomes of two runs. Out: the first difference, in words, or null.
// Invariant: numbers may differ by `tolerance` (absolute and relative); everything else must be equal, aliasing included.

import type { Description, Outcome } from "./program.js";

export interface Tolerance {
  /** Default 1e-6. */
  tolerance?: number;
}

export function firstDifference(eager: Outcome, compiled: Outcome, options: Tolerance = {}): string | null {
  const tolerance = options.tolerance ?? 1e-6;
  const error = errorDifference(eager, compiled);
  if (error !== null) return error;
  const printed = textDifference(eager.stdout, compiled.stdout, tolerance);
  if (printed !== null) return printed;
  return difference("globals", eager.globals, compiled.globals, tolerance);
}

function errorDifference(eager: Outcome, compiled: Outcome): string | null {
  const say = ({ error }: Outcome) => (error === null ? "no exception" : `${error.type}: ${error.text}`);
  return say(eager) === say(compiled)
    ? null
    : `exception: eager ${say(eager)}, compiled ${compiled.error?.trace ?? say(compiled)}`;
}

const kNumber = /-?\d+\.\d+(?:e[+-]?\d+)?/g;

function textDifference(eager: string, compiled: string, tolerance: number): string | null {
  const expected = eager.split("\n");
  const actual = compiled.split("\n");
  for (let i = 0; i < Math.max(expected.length, actual.length); ++i) {
    const a = expected[i];
    const b = actual[i];
    if (a === b) continue;
    if (a !== undefined && b !== undefined && sameText(a, b, tolerance)) continue;
    return `printed line ${i + 1}: eager ${JSON.stringify(a ?? "nothing")}, compiled ${JSON.stringify(b ?? "nothing")}`;
  }
  return null;
}

function sameText(a: string, b: string, tolerance: number): boolean {
  if (a.replace(kNumber, "#") !== b.replace(kNumber, "#")) return false;
  const left = a.match(kNumber) ?? [];
  const right = b.match(kNumber) ?? [];
  return left.every((text, index) => close(Number(text), Number(right[index]), tolerance));
}

export function close(a: number, b: number, tolerance: number): boolean {
  if (Object.is(a, b)) return true;
  return Math.abs(a - b) <= tolerance + tolerance * Math.abs(a);
}

function difference(path: string, eager: unknown, compiled: unknown, tolerance: number): string | null {
  if (typeof eager === "number" && typeof compiled === "number" && close(eager, compiled, tolerance))
    return null;
  if (isFloat(eager) && isFloat(compiled) && close(Number(eager.repr), Number(compiled.repr), tolerance))
    return null;
  if (Array.isArray(eager) && Array.isArray(compiled)) {
    for (let i = 0; i < Math.max(eager.length, compiled.length); ++i) {
      const found = difference(pathOf(path, eager[i] ?? compiled[i], i), eager[i], compiled[i], tolerance);
      if (found !== null) return found;
    }
    return null;
  }
  if (isRecord(eager) && isRecord(compiled)) {
    for (const key of new Set([...Object.keys(eager), ...Object.keys(compiled)])) {
      const found = difference(
        key === "items" || key === "state" ? path : `${path}.${key}`,
        eager[key],
        compiled[key],
        tolerance,
      );
      if (found !== null) return found;
    }
    return null;
  }
  return eager === compiled
    ? null
    : `${path}: eager ${JSON.stringify(eager)}, compiled ${JSON.stringify(compiled)}`;
}

/** `globals` entry ["log", …] is globals.log; other items are numbered. */
function pathOf(path: string, item: unknown, index: number): string {
  return Array.isArray(item) && typeof item[0] === "string" ? `${path}.${item[0]}` : `${path}[${index}]`;
}

function isFloat(value: unknown): value is Extract<Description, { kind: "scalar" }> {
  return isRecord(value) && value["kind"] === "scalar" && value["type"] === "float";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
