// In: places in a source file, as co_positions gives them. Out: whether two places have anything to do with each other.
// Invariant: a place without columns stands for its whole lines; places of different files never meet.

import type { Instruction, Site } from "../report/types.js";

export interface Span {
  file: string;
  line: number;
  endLine: number;
  /** null: the whole lines. */
  col: number | null;
  endCol: number | null;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function spanOfLine(file: string, line: number | null): Span | null {
  return line === null || line <= 0 ? null : { file, line, endLine: line, col: null, endCol: null };
}

export function spanOfSite(site: Site): Span {
  return { file: site.file, line: site.line, endLine: site.endLine, col: site.col, endCol: site.endCol };
}

export function spanOfInstruction(file: string, instruction: Instruction): Span | null {
  const { line, endLine, col, endCol } = instruction;
  return line === null ? null : { file, line, endLine: endLine ?? line, col, endCol };
}

export function overlaps(a: Span, b: Span): boolean {
  if (baseName(a.file) !== baseName(b.file) || a.endLine < b.line || b.endLine < a.line) return false;
  if (a.col === null || a.endCol === null || b.col === null || b.endCol === null) return true;
  const aEndsBefore = a.endLine === b.line && a.endCol <= b.col;
  const bEndsBefore = b.endLine === a.line && b.endCol <= a.col;
  return !aEndsBefore && !bEndsBefore;
}

/** "day16.py:14" */
export function placeOf(span: Span): string {
  return `${baseName(span.file)}:${span.line}`;
}
