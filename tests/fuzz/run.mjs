// In: seeds and a target. Out: every program that differs, shrunk, in build/fuzz/; counts; exit status 1 when there is one.
// Invariant: each batch runs in a process of its own, so a crash is attributed to the seed that had begun and the rest
// goes on; a crash is a failure and is shrunk like any other.
// Usage: node tests/fuzz/run.mjs [--seed S] [--count N] [--target twin|twin-asan|pyodide] [--batch B] [--no-shrink]

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, kBuild, kRepo } from "../../wasm/toolchain/places.mjs";
import { runMain, say, SetupError } from "../../wasm/toolchain/say.mjs";
import { inParallel, kMinutes, runLines } from "../stages/child.mjs";

const kFuzz = join(kRepo, "tests/fuzz/fuzz.py");
const kTargets = {
  twin: [join(build.twin, "python")],
  "twin-asan": [join(build.twinAsan, "python")],
  pyodide: [process.execPath, join(kRepo, "wasm/toolchain/pyodide-python.mjs")],
};

function parse(args) {
  const options = { seed: 0, count: 1000, target: "twin", batch: 0, shrink: true };
  const number = (word) => {
    const value = Number(args.shift());
    if (!Number.isInteger(value) || value < 0)
      throw new SetupError(`${word} needs a whole number`, "tests/fuzz/run.mjs", `${word} 100`);
    return value;
  };
  while (args.length > 0) {
    const word = args.shift();
    if (word === "--seed") options.seed = number(word);
    else if (word === "--count") options.count = number(word);
    else if (word === "--batch") options.batch = number(word);
    else if (word === "--target") options.target = args.shift() ?? "";
    else if (word === "--no-shrink") options.shrink = false;
    else
      throw new SetupError(
        `no option ${word}`,
        "tests/fuzz/run.mjs",
        "one of --seed, --count, --target, --batch, --no-shrink",
      );
  }
  if (!(options.target in kTargets))
    throw new SetupError(
      `no target "${options.target}"`,
      "tests/fuzz/run.mjs",
      `one of ${Object.keys(kTargets).join(" ")}`,
    );
  if (!existsSync(kTargets[options.target].at(-1)))
    throw new SetupError(
      `${options.target} is not built`,
      kTargets[options.target].at(-1),
      `node wasm/toolchain/build.mjs ${options.target}`,
    );
  if (options.batch === 0) options.batch = options.target === "pyodide" ? 250 : 100;
  return options;
}

/** Runs fuzz.py once; resolves to `{status, begun, failures, done, tail}`. */
async function runOnce(target, args, timeout) {
  const [program, ...first] = kTargets[target];
  const found = { begun: null, failures: [], done: null, tail: [] };
  const onLine = (line) => {
    const mark = line.match(/@@ (\{.*\})$/);
    if (!mark) {
      found.tail.push(line);
      if (found.tail.length > 20) found.tail.shift();
      return;
    }
    const note = JSON.parse(mark[1]);
    if ("begin" in note) found.begun = note.begin;
    if ("failed" in note) found.failures.push(note);
    if ("done" in note) found.done = note;
  };
  found.status = await runLines(program, [...first, kFuzz, ...args], { onLine, timeout });
  return found;
}

async function shrinkCrash(options, seed, found) {
  const plain = {
    failed: seed,
    kind: "crash",
    what: `the interpreter ended with ${found.status}\n${found.tail.join("\n")}`,
    program: "",
  };
  if (!options.shrink || options.target === "pyodide") return plain;
  const python = kTargets[options.target];
  const shrunk = await runOnce(
    options.target,
    ["--crash", String(seed), "--python", ...python],
    10 * kMinutes,
  );
  return shrunk.failures[0] ?? plain;
}

/** All seeds of one batch, through as many processes as it takes. */
async function runBatch(options, first, last) {
  const failures = [];
  let next = first;
  while (next < last) {
    const args = [
      "--seed",
      String(next),
      "--count",
      String(last - next),
      ...(options.shrink ? [] : ["--no-shrink"]),
    ];
    const found = await runOnce(options.target, args, 30 * kMinutes);
    failures.push(...found.failures);
    if (found.done) break;
    if (found.begun === null)
      throw new SetupError(
        "the fuzzer does not start",
        kTargets[options.target].join(" "),
        found.tail.join("\n") || found.status,
      );
    failures.push(await shrinkCrash(options, found.begun, found));
    next = found.begun + 1;
  }
  for (const failure of failures) report(failure);
  return failures;
}

function report({ failed, kind, what, program }) {
  const folder = join(kBuild, "fuzz");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${failed}.py`);
  writeFileSync(file, program);
  process.stdout.write(`FAIL seed ${failed} (${kind}): ${what}\n${program}\n  kept in ${file}\n\n`);
}

await runMain(async () => {
  const options = parse(process.argv.slice(2));
  const batches = [];
  const end = options.seed + options.count;
  for (let first = options.seed; first < end; first += options.batch)
    batches.push([first, Math.min(first + options.batch, end)]);
  say(`fuzz: ${options.count} programs from seed ${options.seed} in the ${options.target}`);
  const started = Date.now();
  let finished = 0;
  const failures = (
    await inParallel(batches, async ([first, last]) => {
      const found = await runBatch(options, first, last);
      finished += last - first;
      say(`fuzz: ${finished} of ${options.count}`);
      return found;
    })
  ).flat();
  const kinds = new Map();
  for (const { kind } of failures) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  for (const [kind, count] of kinds) process.stdout.write(`${count} × ${kind}\n`);
  process.stdout.write(`fuzz: ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  process.stdout.write(`${options.count - failures.length} passed, ${failures.length} failed\n`);
  return failures.length > 0 ? 1 : 0;
});
