// In: names of stages, files and patterns. Out: every stage's own output, a summary, and alone on the last line
// `N passed, N failed, N skipped`; exit status 1 when something failed.
// Invariant: each stage runs in child processes, so a crash is a failure of its file, never the end of the run; what
// cannot run here is skipped aloud with its name and the reason.
// Usage: node tests/run.mjs [--stage NAME[,NAME…]] [--no-build] [-k PATTERN] [FILE…]
//   FILE is a name in tests/python (`test_frame`), or for vitest a part of a path

import { say, runMain, SetupError } from "../wasm/toolchain/say.mjs";
import { addCounts, kNone } from "./stages/counts.mjs";
import { runConformance } from "./stages/conformance.mjs";
import { runNative } from "./stages/native.mjs";
import { runPyodide, runTwin, runWebGpu } from "./stages/python.mjs";
import { runToolchain } from "./stages/toolchain.mjs";
import { runVitest } from "./stages/vitest.mjs";

const kShown = 200; // names of failures in the summary
const kStages = {
  toolchain: runToolchain,
  native: runNative,
  twin: (options) => runTwin("twin", options),
  "twin-asan": (options) => runTwin("twin-asan", options),
  pyodide: runPyodide,
  webgpu: runWebGpu,
  node: (options) => runVitest("node", options),
  browser: (options) => runVitest("browser", options),
  conformance: runConformance,
};

function parse(args) {
  const options = {
    stages: Object.keys(kStages),
    build: true,
    patterns: [],
    files: [],
  };
  while (args.length > 0) {
    const word = args.shift();
    if (word === "--stage") options.stages = (args.shift() ?? "").split(",");
    else if (word === "--no-build") options.build = false;
    else if (word === "-k") options.patterns.push(args.shift() ?? "");
    else if (word.startsWith("-"))
      throw new SetupError(`no option ${word}`, "tests/run.mjs", "one of --stage, --no-build, -k");
    else options.files.push(word);
  }
  const unknown = options.stages.find((name) => !(name in kStages));
  if (unknown !== undefined)
    throw new SetupError(
      `no stage "${unknown}"`,
      "tests/run.mjs",
      `one of ${Object.keys(kStages).join(" ")}`,
    );
  return options;
}

async function runStage(name, options) {
  const started = Date.now();
  say(`test: ${name}`);
  let counts;
  try {
    counts = await kStages[name](options);
  } catch (error) {
    process.stdout.write(`FAIL ${name}: ${error instanceof SetupError ? error.message : error.stack}\n`);
    counts = { ...kNone, failed: 1 };
  }
  return { name, counts, seconds: (Date.now() - started) / 1000 };
}

function summaryLine({ name, counts, seconds }) {
  const numbers = `${String(counts.passed).padStart(6)} passed ${String(counts.failed).padStart(4)} failed ${String(counts.skipped).padStart(4)} skipped`;
  const reason = counts.reason ? `  (${counts.reason})` : "";
  return `${name.padEnd(10)} ${numbers} ${seconds.toFixed(1).padStart(8)} s${reason}\n`;
}

await runMain(async () => {
  const options = parse(process.argv.slice(2));
  const results = [];
  for (const name of options.stages) results.push(await runStage(name, options));
  const total = results.map((one) => one.counts).reduce(addCounts, kNone);
  const failures = [
    ...new Set(
      results.flatMap((one) => (one.counts.failures ?? []).map((text) => `  ${one.name}: ${text}\n`)),
    ),
  ];
  process.stdout.write(`\n${results.map(summaryLine).join("")}`);
  if (failures.length > 0) process.stdout.write(`\nfailed:\n${failures.slice(0, kShown).join("")}`);
  if (failures.length > kShown) process.stdout.write(`  and ${failures.length - kShown} more\n`);
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  return total.failed > 0 ? 1 : 0;
});
