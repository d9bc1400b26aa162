// In: a report and one of its compilations. Out: all versions of the same code, in the order in which they were compiled.
// Invariant: a version belongs where its misses say so; a resumed frame is code of its own, whatever its name.

import type { Compilation, Report } from "../report/types.js";

export function versionsOf(report: Report, compilation: Compilation): Compilation[] {
  const family = new Set([compilation.id]);
  for (let size = 0; size !== family.size;) {
    size = family.size;
    for (const { id, misses } of report.compilations) {
      const kin = misses.map((miss) => miss.compilation);
      if (!family.has(id) && !kin.some((other) => family.has(other))) continue;
      for (const member of [id, ...kin]) family.add(member);
    }
  }
  return report.compilations.filter(({ id }) => family.has(id));
}
