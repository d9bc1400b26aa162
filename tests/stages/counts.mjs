// In: what single test programs reported. Out: one `{passed, failed, skipped, reason?, failures?}` for a stage.
// Invariant: a stage that could not run counts as one skipped, with the reason; a crash counts as one failed.

import { say } from "../../wasm/toolchain/say.mjs";

export const kNone = Object.freeze({ passed: 0, failed: 0, skipped: 0 });

export function addCounts(left, right) {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
    failures: [...(left.failures ?? []), ...(right.failures ?? [])],
  };
}

export function skipStage(name, reason) {
  say(`test: ${name} skipped: ${reason}`);
  return { ...kNone, skipped: 1, reason };
}

export function crashed(what) {
  process.stdout.write(`FAIL ${what}\n`);
  return { ...kNone, failed: 1, failures: [what] };
}
