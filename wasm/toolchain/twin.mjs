// In: a built `_core.so` and the Python package of wasm/pyodide/thirdbook. Out: FOLDER/site/thirdbook, where both lie
// together, and FOLDER/python, which starts the twin with them.
// Invariant: the package's own files are links, so an edit is seen without a build.

import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { kRepo } from "./places.mjs";
import { run } from "./process.mjs";
import { writeTwinLauncher } from "./python.mjs";
import { checkShared } from "./symbols.mjs";

const kPackage = join(kRepo, "wasm/pyodide/thirdbook");

function linkPackage(site) {
  mkdirSync(site, { recursive: true });
  const wanted = existsSync(kPackage)
    ? readdirSync(kPackage).filter((name) => name !== "__pycache__" && !name.startsWith("_core."))
    : [];
  for (const name of readdirSync(site)) {
    if (name !== "_core.so") rmSync(join(site, name), { recursive: true, force: true });
  }
  for (const name of wanted) symlinkSync(join(kPackage, name), join(site, name));
}

function sanitizerAssignments() {
  const library = (name) => run(process.env.CXX || "g++", [`-print-file-name=${name}`]).trim();
  return [
    `LD_PRELOAD="${library("libasan.so")} ${library("libstdc++.so.6")}"`,
    `ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:\${ASAN_OPTIONS:-}"`,
    `UBSAN_OPTIONS="print_stacktrace=1:\${UBSAN_OPTIONS:-}"`,
    "PYTHONMALLOC=malloc",
  ];
}

export function finishTwin(folder, sanitized) {
  const site = join(folder, "site", "thirdbook");
  linkPackage(site);
  const built = join(folder, "wasm/pyodide/_core.so");
  checkShared(built);
  // A new file, not the old one overwritten: a running test keeps the one it has mapped.
  rmSync(join(site, "_core.so"), { force: true });
  copyFileSync(built, join(site, "_core.so"));
  writeTwinLauncher(join(folder, "python"), join(folder, "site"), sanitized ? sanitizerAssignments() : []);
}
