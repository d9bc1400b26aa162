// In: tests/python/test_*.py. Out: their counts in the twin, the sanitized twin, Pyodide on Node, or there with graphs on WebGPU.
// Invariant: counts come from run.py's `@@` lines. In the twin each file has its own process; in Pyodide several share
// one, and when it dies the file that had begun fails and the rest goes on in a new one.

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { findHeaders } from "../../wasm/toolchain/headers.mjs";
import { findNode } from "../../wasm/toolchain/node.mjs";
import { gpuEnvironment } from "../../wasm/toolchain/node_gpu.mjs";
import { build, kRepo } from "../../wasm/toolchain/places.mjs";
import { findTwin } from "../../wasm/toolchain/twin.mjs";
import { buildTargets, inParallel, kMinutes, runLines } from "./child.mjs";
import { addCounts, crashed, kNone, skipStage } from "./counts.mjs";

const kFolder = join(kRepo, "tests/python");
const kRunner = join(kFolder, "run.py");
const kNodeGpu = pathToFileURL(join(kRepo, "wasm/toolchain/node_gpu.mjs")).href;
const kBatch = 8; // files that share one Pyodide, whose start costs two seconds
// What computes with tensors, or keeps them: the rest of the suite has nothing to do with a backend. Faults are counted
// in the CPU's allocations and dispatches; those of the GPU are injected in tests/web/browser/webgpu.test.ts.
const kOnGpu = /^test_(ledger_(?!faults)\w+|tensor_programs|language_dynamic|higher_order)\.py$/;

function testFiles(options) {
  const all = existsSync(kFolder)
    ? readdirSync(kFolder)
        .filter((name) => /^test_.*\.py$/.test(name))
        .sort()
    : [];
  if (options.files.length === 0) return all;
  return all.filter((name) =>
    options.files.some((asked) => name === basename(asked) || name === `${basename(asked)}.py`),
  );
}

/** Runs run.py on `files` in one process; returns `{counts, rest, dispatches}`, rest = files that were not reached. */
async function runFiles(program, args, files, options, timeout, env) {
  let counts = kNone;
  let begun = null;
  let dispatches = 0;
  const done = new Set();
  const failures = [];
  const onLine = (line) => {
    const mark = line.match(/^(.*)@@ (\{.*\})$/);
    const text = mark ? mark[1] : line;
    if (text.startsWith("FAIL ")) failures.push(text.slice(5));
    if (text || !mark) process.stdout.write(`${text}\n`);
    if (!mark) return;
    const note = JSON.parse(mark[2]);
    if (note.begin) begun = note.begin;
    dispatches += note.dispatches ?? 0;
    if (!note.file) return;
    done.add(note.file);
    begun = null;
    process.stdout.write(
      `  ${note.file}: ${note.passed} passed, ${note.failed} failed, ${note.skipped} skipped (${note.seconds} s)\n`,
    );
    counts = addCounts(counts, { ...note, failures: failures.splice(0) });
  };
  const patterns = options.patterns.flatMap((one) => ["-k", one]);
  const status = await runLines(
    program,
    [...args, kRunner, ...files.map((name) => join(kFolder, name)), ...patterns],
    { onLine, timeout, env },
  );
  const missing = files.filter((name) => !done.has(name));
  if (missing.length === 0) return { counts, rest: [], dispatches };
  const culprit = begun ?? missing[0];
  counts = addCounts(counts, crashed(`${culprit}: the interpreter ended with ${status}`));
  return { counts, rest: missing.filter((name) => name !== culprit), dispatches };
}

export async function runTwin(name, options) {
  if (!findTwin()) return skipStage(name, "no native twin here (it needs Debian)");
  const files = testFiles(options);
  if (files.length === 0) return skipStage(name, "no tests yet");
  if (!(await buildTargets(options, name))) return crashed(`the ${name} build failed`);
  const python = join(build[name === "twin" ? "twin" : "twinAsan"], "python");
  const results = await inParallel(files, (file) => runFiles(python, [], [file], options, 15 * kMinutes));
  return results.map((one) => one.counts).reduce(addCounts, kNone);
}

/** Counts of files in Pyodide, some to a process, and how often the GPU was used. */
async function inPyodide(files, flags, options, env) {
  const batches = [];
  for (let start = 0; start < files.length; start += kBatch) batches.push(files.slice(start, start + kBatch));
  const launcher = [join(kRepo, "wasm/toolchain/pyodide-python.mjs"), ...flags];
  const results = await inParallel(batches, async (batch) => {
    let total = { counts: kNone, dispatches: 0 };
    for (let rest = batch; rest.length > 0;) {
      const ran = await runFiles(process.execPath, launcher, rest, options, 20 * kMinutes, env);
      total = {
        counts: addCounts(total.counts, ran.counts),
        dispatches: total.dispatches + ran.dispatches,
      };
      rest = ran.rest;
    }
    return total;
  });
  return {
    counts: results.map((one) => one.counts).reduce(addCounts, kNone),
    dispatches: results.reduce((sum, one) => sum + one.dispatches, 0),
  };
}

export async function runPyodide(options) {
  if (!findHeaders()) return skipStage("pyodide", "no CPython headers; run npm run setup");
  const files = testFiles(options);
  if (files.length === 0) return skipStage("pyodide", "no tests yet");
  if (!(await buildTargets(options, "pyodide"))) return crashed("the pyodide build failed");
  return (await inPyodide(files, [], options)).counts;
}

/** The tests of graphs and the ledger once more, with every graph on WebGPU. */
export async function runWebGpu(options) {
  if (!findHeaders()) return skipStage("webgpu", "no CPython headers; run npm run setup");
  const files = testFiles(options).filter((name) => kOnGpu.test(name));
  if (files.length === 0) return skipStage("webgpu", "no such tests");
  if (!(await buildTargets(options, "pyodide", "embind", "lib"))) return crashed("the webgpu build failed");
  const script = `import("${kNodeGpu}").then(async ({ nodeGpu }) => process.exit((await nodeGpu()) ? 0 : 1))`;
  const probe = await runLines(findNode(), ["-e", script], {
    onLine: () => undefined,
    env: gpuEnvironment(),
  });
  if (probe !== "0") return skipStage("webgpu", "the npm package webgpu finds no adapter here");
  const env = { THIRDBOOK_TEST_BACKEND: "webgpu" };
  const { counts, dispatches } = await inPyodide(files, ["--webgpu"], options, env);
  process.stdout.write(`webgpu: ${dispatches} dispatches\n`);
  return dispatches > 0 ? counts : addCounts(counts, crashed("webgpu: nothing has run on the GPU"));
}
