// In: build/native/tests. Out: the counts of every GoogleTest program there.
// Invariant: counts come from GoogleTest's own JSON; a program that leaves none has crashed.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGtest } from "../../wasm/toolchain/native.mjs";
import { build } from "../../wasm/toolchain/places.mjs";
import { buildTargets, inParallel, runLines } from "./child.mjs";
import { addCounts, crashed, kNone, skipStage } from "./counts.mjs";

function countJson(report) {
  const cases = report.testsuites.flatMap((suite) =>
    suite.testsuite.map((one) => ({ ...one, suite: suite.name })),
  );
  const counts = { ...kNone, failures: [] };
  for (const one of cases) {
    if (one.failures) counts.failures.push(`${one.suite}.${one.name}`);
    if (one.failures) counts.failed++;
    else if (one.status === "NOTRUN" || one.result === "SKIPPED" || one.result === "SUPPRESSED")
      counts.skipped++;
    else counts.passed++;
  }
  return counts;
}

async function runProgram(folder, name, patterns, scratch) {
  const output = join(scratch, `${name}.json`);
  const filter = patterns.length > 0 ? [`--gtest_filter=${patterns.map((one) => `*${one}*`).join(":")}`] : [];
  const lines = [];
  const args = ["--gtest_brief=1", `--gtest_output=json:${output}`, ...filter];
  const status = await runLines(join(folder, name), args, {
    onLine: (line) => lines.push(line),
    env: { UBSAN_OPTIONS: "print_stacktrace=1", ASAN_OPTIONS: "hard_rss_limit_mb=4096" },
  });
  if (status !== "0") process.stdout.write(`${lines.join("\n")}\n`);
  if (!existsSync(output)) return crashed(`${name} ended with ${status} before its report`);
  const counts = countJson(JSON.parse(readFileSync(output, "utf8")));
  return status !== "0" && counts.failed === 0
    ? addCounts(counts, crashed(`${name} ended with ${status}`))
    : counts;
}

export async function runNative(options) {
  if (!findGtest()) return skipStage("native", "no GoogleTest sources");
  const built = await buildTargets(options, "native");
  const folder = join(build.native, "tests");
  const programs = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.startsWith("test_"))
        .sort()
    : [];
  const failed = built ? kNone : crashed("the native build failed");
  if (programs.length === 0) return built ? skipStage("native", "no tests yet") : failed;
  const scratch = mkdtempSync(join(tmpdir(), "thirdbook-"));
  try {
    const results = await inParallel(programs, (name) => runProgram(folder, name, options.patterns, scratch));
    return results.reduce(addCounts, failed);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
