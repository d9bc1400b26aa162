// In: CPython's own tests, a short list of them. Out: their counts, compiled in the twin.
// Invariant: counts come from the closing line of tests/conformance/run.mjs; a run that leaves none has crashed.

import { join } from "node:path";
import { kRepo } from "../../wasm/toolchain/places.mjs";
import { findTwin } from "../../wasm/toolchain/twin.mjs";
import { buildTargets, kMinutes, runLines } from "./child.mjs";
import { crashed, kNone, skipStage } from "./counts.mjs";

export async function runConformance(options) {
  if (!findTwin()) return skipStage("conformance", "no native twin here (it needs Debian)");
  if (!(await buildTargets(options, "twin"))) return crashed("the twin build failed");
  let counts = null;
  const failures = [];
  const onLine = (line) => {
    const closing = line.match(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/);
    if (closing) {
      const [passed, failed, skipped] = closing.slice(1).map((digits) => Number(digits ?? 0));
      counts = { ...kNone, passed, failed, skipped, failures };
    } else {
      process.stdout.write(`${line}\n`);
      if (line.startsWith("FAIL ")) failures.push(line.slice(5));
    }
  };
  const args = [join(kRepo, "tests/conformance/run.mjs"), "--short", "--no-table", "--target", "twin"];
  const status = await runLines(process.execPath, args, { onLine, timeout: 30 * kMinutes });
  return counts ?? crashed(`tests/conformance/run.mjs ended with ${status}`);
}
