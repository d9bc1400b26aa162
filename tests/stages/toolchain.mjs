// In: tests/toolchain/*.test.mjs. Out: the counts of Node's own test runner.
// Invariant: counts come from the runner's closing lines; a run that leaves none has crashed.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findNode } from "../../wasm/toolchain/node.mjs";
import { kRepo } from "../../wasm/toolchain/places.mjs";
import { buildTargets, runLines } from "./child.mjs";
import { crashed, kNone, skipStage } from "./counts.mjs";

export async function runToolchain(options) {
  const folder = join(kRepo, "tests/toolchain");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".test.mjs")) : [];
  if (files.length === 0) return skipStage("toolchain", "no tests yet");
  if (!(await buildTargets(options, "pyodide", "twin"))) return crashed("the pyodide or twin build failed");
  const patterns = options.patterns.map((one) => `--test-name-pattern=${one}`);
  const counts = { ...kNone, failures: [] };
  let closed = false;
  const onLine = (line) => {
    const number = line.match(/^# (pass|fail|skipped|cancelled) (\d+)$/);
    if (number?.[1] === "pass") closed = true;
    if (number?.[1] === "pass") counts.passed += Number(number[2]);
    else if (number?.[1] === "skipped") counts.skipped += Number(number[2]);
    else if (number) counts.failed += Number(number[2]);
    const failed = line.match(/^\s*not ok \d+ - (.*)$/);
    if (failed) counts.failures.push(failed[1]);
    if (!/^# /.test(line)) process.stdout.write(`${line}\n`);
  };
  const paths = files.sort().map((name) => join(folder, name));
  const status = await runLines(findNode(), ["--test", "--test-reporter=tap", ...patterns, ...paths], {
    onLine,
  });
  return closed ? counts : crashed(`node --test ended with ${status}`);
}
