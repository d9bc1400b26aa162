// In: the Vitest projects `node` and `browser` of tests/web/vitest.config.ts. Out: their counts.
// Invariant: counts come from Vitest's JSON reporter; a run that leaves none has crashed.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "../../wasm/toolchain/browser.mjs";
import { findNode, nodeVersion } from "../../wasm/toolchain/node.mjs";
import { gpuEnvironment } from "../../wasm/toolchain/node_gpu.mjs";
import { kNodeModules, kRepo } from "../../wasm/toolchain/places.mjs";
import { buildTargets, kMinutes, runLines } from "./child.mjs";
import { addCounts, crashed, skipStage } from "./counts.mjs";

const kConfig = ["ts", "mts", "mjs"].map((ending) => join(kRepo, `tests/web/vitest.config.${ending}`));

function countJson(report) {
  const counts = {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: [],
  };
  for (const file of report.testResults) {
    const failed = file.assertionResults.filter((one) => one.status === "failed");
    counts.failures.push(...failed.map((one) => one.fullName));
    if (file.status === "failed" && failed.length === 0) {
      counts.failed++;
      counts.failures.push(`${file.name}: ${file.message.split("\n")[0]}`);
    }
  }
  return counts;
}

export async function runVitest(project, options) {
  const config = kConfig.find((path) => existsSync(path));
  if (!config) return skipStage(project, "no tests yet");
  const node = findNode();
  if (Number(nodeVersion(node).split(".")[0]) < 22)
    return skipStage(project, "Vitest needs Node 22.12 or newer");
  const chromium = findChromium();
  if (project === "browser" && !chromium)
    return skipStage(project, "no Chromium (apt-get install chromium, or THIRDBOOK_CHROMIUM)");
  if (!(await buildTargets(options, "pyodide", "embind", "lib", "app")))
    return crashed(`the build for ${project} failed`);
  const scratch = mkdtempSync(join(tmpdir(), "thirdbook-"));
  const output = join(scratch, "vitest.json");
  const patterns = options.patterns.flatMap((one) => ["-t", one]);
  const args = [
    "run",
    "--config",
    config,
    "--project",
    project,
    "--passWithNoTests",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${output}`,
  ];
  try {
    const status = await runLines(
      node,
      [join(kNodeModules, "vitest/vitest.mjs"), ...args, ...patterns, ...options.files],
      {
        onLine: (line) => process.stdout.write(`${line}\n`),
        timeout: 30 * kMinutes,
        env: {
          THIRDBOOK_CHROMIUM: chromium ?? "",
          CI: "true",
          NO_COLOR: "1",
          ...(project === "node" && gpuEnvironment()),
        },
      },
    );
    if (!existsSync(output))
      return status === "0"
        ? skipStage(project, "no tests yet")
        : crashed(`${project}: vitest ended with ${status}`);
    const counts = countJson(JSON.parse(readFileSync(output, "utf8")));
    if (status !== "0" && counts.failed === 0)
      return addCounts(counts, crashed(`${project}: vitest ended with ${status}`));
    return counts.passed + counts.failed + counts.skipped === 0 ? skipStage(project, "no tests yet") : counts;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
