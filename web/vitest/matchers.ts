// In: a Program (see program.ts) in expect(). Out: the verdict and a message that names source and line.
// Invariant: a matcher looks at the report or at the outcomes only; it never changes them.

import type { Mutation, Report } from "../lib/report.js";
import { firstDifference, type Tolerance } from "./difference.js";
import { Program } from "./program.js";

export interface Verdict {
  pass: boolean;
  message: () => string;
  actual?: unknown;
  expected?: unknown;
}

export interface ExpectedBreak {
  line?: number;
  /** Its name in the catalogue of graph breaks. */
  code?: string;
  /** A part of the reason or explanation. */
  reason?: string | RegExp;
}

export type ExpectedMutation = Partial<
  Pick<Mutation, "kind" | "source" | "operation" | "before" | "after">
> & { line?: number };

export interface ThirdbookMatchers<R = unknown> {
  /** Compiled and eager give the same printed text, exception and final globals. */
  toMatchEager(options?: Tolerance): R;
  toHaveNoGraphBreaks(): R;
  toHaveGraphBreak(expected?: ExpectedBreak): R;
  /** How many times frames were compiled, resumed frames included. */
  toCompileTimes(times: number): R;
  /** The ledgers of all compilations, in order, hold exactly these. */
  toHaveMutations(expected: ExpectedMutation[]): R;
  /** The replay order of the (first) compilation with a ledger is this list of "source operation". */
  toReplayAs(ledger: string[]): R;
}

function programOf(value: unknown): Program {
  if (value instanceof Program) return value;
  throw new TypeError("expect() needs a program here: expect(python.program(`…`))");
}

function reportOf(value: unknown): Report {
  const program = programOf(value);
  const { error, report } = program.compiled();
  if (error !== null && program.eager().error === null) {
    throw new Error(`the compiled program failed where plain Python does not:\n${error.trace}`);
  }
  return report;
}

export const matchers = {
  toMatchEager(received: unknown, options?: Tolerance): Verdict {
    const program = programOf(received);
    const found = firstDifference(program.eager(), program.compiled(), options);
    return {
      pass: found === null,
      message: () => (found === null ? "compiled and eager agree" : `compiled differs from eager: ${found}`),
    };
  },

  toHaveNoGraphBreaks(received: unknown): Verdict {
    const breaks = breaksOf(reportOf(received));
    return {
      pass: breaks.length === 0,
      message: () =>
        breaks.length === 0 ? "there is no graph break" : `graph breaks:\n${breaks.join("\n")}`,
    };
  },

  toHaveGraphBreak(received: unknown, expected: ExpectedBreak = {}): Verdict {
    const report = reportOf(received);
    const all = report.compilations.flatMap((compilation) => compilation.breaks);
    const pass = all.some(
      (item) =>
        (expected.line === undefined || item.line === expected.line) &&
        (expected.code === undefined || item.code === expected.code) &&
        (expected.reason === undefined || matches(`${item.reason}: ${item.explanation}`, expected.reason)),
    );
    const wanted = `graph break${expected.line === undefined ? "" : ` at line ${expected.line}`}${expected.code === undefined ? "" : ` of the kind ${expected.code}`}${expected.reason === undefined ? "" : ` with reason ${String(expected.reason)}`}`;
    const list = breaksOf(report);
    return {
      pass,
      message: () =>
        pass
          ? `there is a ${wanted}`
          : `no ${wanted}; ${list.length === 0 ? "there is none" : `there are:\n${list.join("\n")}`}`,
    };
  },

  toCompileTimes(received: unknown, times: number): Verdict {
    const report = reportOf(received);
    const actual = report.counters.compilations;
    const why = report.compilations
      .map((item) => `  #${item.id} ${item.function}: ${item.trigger}`)
      .join("\n");
    return {
      pass: actual === times,
      message: () => `compiled ${actual} times, expected ${times}:\n${why}`,
      actual,
      expected: times,
    };
  },

  toHaveMutations(received: unknown, expected: ExpectedMutation[]): Verdict {
    const ledger = reportOf(received).compilations.flatMap((compilation) => compilation.ledger);
    const pass =
      ledger.length === expected.length && expected.every((wanted, index) => fits(ledger[index], wanted));
    return {
      pass,
      message: () => `the ledger is:\n${ledger.map(lineOf).join("\n") || "  (empty)"}`,
      actual: ledger.map((entry) => ({ kind: entry.kind, source: entry.source, operation: entry.operation })),
      expected,
    };
  },

  toReplayAs(received: unknown, ledger: string[]): Verdict {
    const first = reportOf(received).compilations.find((compilation) => compilation.ledger.length > 0);
    const actual = [...(first?.ledger ?? [])]
      .sort((a, b) => a.order - b.order)
      .map((entry) => `${entry.source} ${entry.operation}`);
    return {
      pass: actual.length === ledger.length && actual.every((line, index) => line === ledger[index]),
      message: () => `the replay is:\n${actual.map((line) => `  ${line}`).join("\n") || "  (nothing)"}`,
      actual,
      expected: ledger,
    };
  },
};

function breaksOf(report: Report): string[] {
  return report.compilations.flatMap((compilation) =>
    compilation.breaks.map(
      (item) => `  ${item.file}:${item.line} ${item.code}, ${item.reason}: ${item.explanation}`,
    ),
  );
}

function matches(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
}

function fits(entry: Mutation | undefined, { line, ...fields }: ExpectedMutation): boolean {
  if (!entry) return false;
  if (line !== undefined && !entry.sites.some((site) => site.line === line)) return false;
  return Object.entries(fields).every(([name, value]) => entry[name as keyof typeof fields] === value);
}

function lineOf(entry: Mutation): string {
  const place = entry.sites.map((site) => `line ${site.line}`).join(", ");
  return `  ${entry.order}. ${entry.kind} ${entry.source} ${entry.operation} → ${entry.after} (${place})`;
}
