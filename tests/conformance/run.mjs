// In: names of CPython's own test files (all of the list when none), a target. Out: a table "passed compiled / passed
// plain, breaks by reason" in docs/conformance.md; exit status 1 when a test that passes plain does not pass compiled and
// known_gaps.txt does not say why (`ID — reason` a line).
// Invariant: each file runs in processes of its own, plain first; a process that dies costs the test that had begun, the
// rest goes on in a new one; CPython's tests are fetched, never committed.
// Usage: node tests/conformance/run.mjs [--target twin|pyodide] [--short] [--no-table] [FILE…]

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build, cache, kBuild, kPython, kRepo } from "../../wasm/toolchain/places.mjs";
import { runMain, say, SetupError } from "../../wasm/toolchain/say.mjs";
import { ensureTestsuite } from "../../wasm/toolchain/testsuite.mjs";
import { inParallel, kMinutes, runLines } from "../stages/child.mjs";
import { kFiles, kFragile, kShort } from "./files.mjs";

const kRunner = join(kRepo, "tests/conformance/runner.py");
const kGaps = join(kRepo, "tests/conformance/known_gaps.txt");
const kTable = join(kRepo, "docs/conformance.md");
const kLibrary = join(kBuild, "conformance", "lib"); // testsuite and the support package beside it
const kSilence = 3 * kMinutes; // a test that takes longer hangs
const kDeaths = 20; // after so many the file is given up
const kTargets = {
  twin: [join(build.twin, "python")],
  pyodide: [process.execPath, join(kRepo, "wasm/toolchain/pyodide-python.mjs")],
};

function parse(args) {
  const options = { target: "twin", files: [], table: true };
  while (args.length > 0) {
    const word = args.shift();
    if (word === "--target") options.target = args.shift() ?? "";
    else if (word === "--short") options.files.push(...kShort);
    else if (word === "--no-table") options.table = false;
    else if (word.startsWith("-"))
      throw new SetupError(
        `no option ${word}`,
        "tests/conformance/run.mjs",
        "one of --target, --short, --no-table",
      );
    else options.files.push(basename(word, ".py"));
  }
  if (!(options.target in kTargets))
    throw new SetupError(
      `no target "${options.target}"`,
      "tests/conformance/run.mjs",
      `one of ${Object.keys(kTargets).join(" ")}`,
    );
  options.whole = options.files.length === 0;
  if (options.whole) options.files = kFiles;
  return options;
}

/** A folder with the whole `test` package: the suite, and `test.support` from the standard library. */
function library() {
  if (
    existsSync(join(kLibrary, "test/support/__init__.py")) &&
    existsSync(join(kLibrary, "test/test_list.py"))
  )
    return kLibrary;
  const suite = ensureTestsuite();
  if (!suite)
    throw new SetupError(
      "CPython's own tests are not here",
      cache.testsuite,
      "they come from Debian's mirror; see docs/conformance.md",
    );
  rmSync(kLibrary, { recursive: true, force: true });
  mkdirSync(kLibrary, { recursive: true });
  const standard = join(cache.pythonRoot, `usr/lib/python${kPython}`, "test");
  for (const from of [standard, join(suite, "test")])
    if (existsSync(from))
      cpSync(from, join(kLibrary, "test"), {
        recursive: true,
        dereference: true,
        filter: (name) => !name.endsWith(".pyc"),
      });
  return kLibrary;
}

/** Tests that pass plain and, as we know, not compiled: id → what is missing. */
function knownGaps() {
  const lines = readFileSync(kGaps, "utf8").split("\n");
  return new Map(lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split(" — ")));
}

/** The innermost places of the traceback that faulthandler writes at a death. */
function lastPlaces(lines) {
  return lines
    .filter((line) => /^ {2}File ".*", line \d+ in /.test(line))
    .slice(0, 2)
    .map((line) => line.trim());
}

/** Runs one file to its end: `{outcomes: Map(test → outcome), why: Map, deaths: [{test, status}], reasons, counters}`. */
async function runFile(options, name, compiled) {
  const found = { outcomes: new Map(), why: new Map(), deaths: [], reasons: {}, counters: {} };
  const leaveOut = [...kFragile];
  for (;;) {
    let begun = null;
    let done = null;
    const tail = [];
    const onLine = (line) => {
      const mark = line.match(/@@ (\{.*\})$/);
      if (!mark) {
        tail.push(line);
        if (tail.length > 40) tail.shift();
        return;
      }
      const note = JSON.parse(mark[1]);
      if (note.begin) begun = note.begin;
      if (note.test) {
        found.outcomes.set(note.test, note.outcome);
        if (note.why) found.why.set(note.test, note.why);
        begun = null;
      }
      if (note.done) done = note;
    };
    const [program, ...first] = kTargets[options.target];
    const args = [
      ...first,
      kRunner,
      name,
      "--folder",
      library(),
      ...(compiled ? ["--compiled"] : []),
      "--leave-out",
      ...leaveOut,
    ];
    const status = await runLines(program, args, { onLine, timeout: 20 * kMinutes, silence: kSilence });
    if (done) {
      found.reasons = done.reasons;
      found.counters = done.counters;
      return found;
    }
    if (begun === null) {
      found.broken = `${status}: ${tail.slice(-3).join(" | ")}`;
      return found;
    }
    found.deaths.push({ test: begun, status: [status, ...lastPlaces(tail)].join(", ") });
    found.outcomes.set(begun, "died");
    leaveOut.push(begun, ...found.outcomes.keys());
    if (found.deaths.length > kDeaths) return found;
  }
}

async function compareFile(options, gaps, name) {
  const plain = await runFile(options, name, false);
  // A file that this interpreter cannot even load says nothing about us.
  const compiled = plain.broken ? plain : await runFile(options, name, true);
  const passed = [...plain.outcomes].filter(([, outcome]) => outcome === "passed").map(([test]) => test);
  const failed = passed.filter((test) => compiled.outcomes.get(test) !== "passed");
  const slow = compiled.deaths
    .filter((death) => death.status.startsWith("silence"))
    .map((death) => death.test);
  const known = failed.filter(
    (test) => gaps.has(test) && (compiled.outcomes.get(test) === "failed" || slow.includes(test)),
  );
  const lost = failed.filter((test) => !known.includes(test));
  say(
    `conformance: ${name}: ${passed.length - failed.length} of ${passed.length}${plain.broken ? ` (plain: ${plain.broken})` : ""}`,
  );
  for (const test of known) process.stdout.write(`KNOWN GAP ${test} — ${gaps.get(test)}\n`);
  for (const test of passed)
    if (gaps.has(test) && !failed.includes(test))
      process.stdout.write(`GAP CLOSED ${test}: take it out of known_gaps.txt\n`);
  if (compiled.broken && !plain.broken)
    process.stdout.write(`FAIL ${name}: the compiled run ends: ${compiled.broken}\n`);
  for (const test of lost) {
    const outcome = compiled.outcomes.get(test);
    if (outcome === undefined && compiled.broken) continue;
    const death = compiled.deaths.find((one) => one.test === test);
    process.stdout.write(
      `FAIL ${test}: ${outcome ?? "not reached"}${death ? ` (${death.status})` : ""} ${compiled.why.get(test) ?? ""}\n`,
    );
  }
  return { name, plain, compiled, passed: passed.length, known, lost };
}

function firstLine(compiled, test) {
  return (compiled.why.get(test) ?? compiled.outcomes.get(test) ?? "not reached").split("\n")[0];
}

function reasonsText(reasons) {
  const parts = Object.entries(reasons).slice(0, 5);
  return parts.map(([reason, count]) => `${reason} ${count}`).join(", ");
}

function table(options, gaps, rows) {
  const line = (row) => {
    const { compilations = 0, breaks = 0 } = row.compiled.counters;
    return `| ${row.name} | ${row.passed - row.lost.length - row.known.length} / ${row.passed} | ${compilations} | ${breaks} | ${reasonsText(row.compiled.reasons)} |`;
  };
  const total = rows.reduce((sum, row) => sum + row.passed, 0);
  const lost = rows.reduce((sum, row) => sum + row.lost.length + row.known.length, 0);
  const failures = rows.flatMap((row) => [
    ...row.known.map((test) => `- \`${test}\`: ${gaps.get(test)}`),
    ...row.lost.map((test) => `- \`${test}\`: ${firstLine(row.compiled, test)}`),
  ]);
  return `# Conformance: CPython's own tests through \`thirdbook.compile\`

Made by \`npm run conformance\` (target ${options.target}). Each test method of these files of CPython ${kPython}'s test suite runs
compiled; what passes plain must pass compiled. The suite is Debian's \`libpython${kPython}-testsuite\`, fetched into the cache and
never part of this repository. Tests that end plain Pyodide itself are left out (\`tests/conformance/files.mjs\`).

**${total - lost} of ${total}** tests that pass plain pass compiled.

| file | compiled / plain | compilations | breaks | by reason |
|---|---|---|---|---|
${rows.map(line).join("\n")}
${failures.length > 0 ? `\nNot passing compiled:\n\n${failures.join("\n")}\n` : ""}`;
}

await runMain(async () => {
  const options = parse(process.argv.slice(2));
  const program = kTargets[options.target].at(-1);
  if (!existsSync(program))
    throw new SetupError(
      `${options.target} is not built`,
      program,
      `node wasm/toolchain/build.mjs ${options.target}`,
    );
  library();
  const gaps = knownGaps();
  const rows = await inParallel(options.files, (name) => compareFile(options, gaps, name));
  if (options.table && options.whole) writeFileSync(kTable, table(options, gaps, rows));
  const known = rows.reduce((sum, row) => sum + row.known.length + (row.plain.broken ? 1 : 0), 0);
  const passed = rows.reduce((sum, row) => sum + row.passed - row.lost.length - row.known.length, 0);
  const failed = rows.reduce((sum, row) => sum + row.lost.length, 0);
  process.stdout.write(`${passed} passed, ${failed} failed, ${known} skipped\n`);
  return failed > 0 ? 1 : 0;
});
