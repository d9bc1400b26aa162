// In: tests/python/test_*.py. Out: their counts in the twin, the sanitized twin, or Pyodide on Node.
// Invariant: counts come from run.py's `@@` lines. In the twin each file has its own process; in Pyodide several share
// one, and when it dies the file that had begun fails and the rest goes on in a new one.

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { build, kRepo } from "../../wasm/toolchain/places.mjs";
import { findHeaders } from "../../wasm/toolchain/headers.mjs";
import { findTwin } from "../../wasm/toolchain/twin.mjs";
import { buildTargets, inParallel, kMinutes, runLines } from "./child.mjs";
import { addCounts, crashed, kNone, skipStage } from "./counts.mjs";

const kFolder = join(kRepo, "tests/python");
const kRunner = join(kFolder, "run.py");
const kBatch = 8; // files that share one Pyodide, whose start costs two seconds

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

/** Runs run.py on `files` in one process; returns `{counts, rest}`, rest = files that were not reached. */
async function runFiles(program, args, files, options, timeout) {
  let counts = kNone;
  let begun = null;
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
    { onLine, timeout },
  );
  const missing = files.filter((name) => !done.has(name));
  if (missing.length === 0) return { counts, rest: [] };
  const culprit = begun ?? missing[0];
  counts = addCounts(counts, crashed(`${culprit}: the interpreter ended with ${status}`));
  return { counts, rest: missing.filter((name) => name !== culprit) };
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

export async function runPyodide(options) {
  if (!findHeaders()) return skipStage("pyodide", "no CPython headers; run npm run setup");
  const files = testFiles(options);
  if (files.length === 0) return skipStage("pyodide", "no tests yet");
  if (!(await buildTargets(options, "pyodide"))) return crashed("the pyodide build failed");
  const batches = [];
  for (let start = 0; start < files.length; start += kBatch) batches.push(files.slice(start, start + kBatch));
  const launcher = [join(kRepo, "wasm/toolchain/pyodide-python.mjs")];
  const results = await inParallel(batches, async (batch) => {
    let total = kNone;
    for (let rest = batch; rest.length > 0;) {
      const { counts, rest: remaining } = await runFiles(
        process.execPath,
        launcher,
        rest,
        options,
        20 * kMinutes,
      );
      total = addCounts(total, counts);
      rest = remaining;
    }
    return total;
  });
  return results.reduce(addCounts, kNone);
}
