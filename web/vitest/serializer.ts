// In: a report in a snapshot. Out: its text form: graphs, guards, ledger, breaks; no times, no counters of hits, no addresses.
// Invariant: the same program gives the same text in every engine and folder.

import type { Report } from "../lib/report.js";
import { printReport } from "../report/print.js";

export const reportSerializer = {
  test(value: unknown): boolean {
    return (
      typeof value === "object" &&
      value !== null &&
      "compilations" in value &&
      "counters" in value &&
      "schema" in value
    );
  },
  serialize(value: Report): string {
    return stable(printReport(value, ["graph", "guards", "ledger", "breaks"]));
  },
};

/** Without addresses and without folders. */
export function stable(text: string): string {
  return text
    .replace(/\b0x[0-9a-f]{4,}\b/gi, "0x…")
    .replace(/(?:[A-Za-z]:)?(?:\/[\w.@-]+)+\/([\w-]+\.py)\b/g, "$1");
}
