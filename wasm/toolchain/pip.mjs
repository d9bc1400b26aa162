// In: arguments of `pip install` or `pip download`. Out: whether wheels were fetched; nothing is ever built from source.
// Invariant: a Python without pip borrows Debian's wheel of pip; only folders of the cache are written.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackPackages } from "./apt.mjs";
import { hostSystem } from "./mirror.mjs";
import { cache } from "./places.mjs";
import { tryRun } from "./process.mjs";

function pipCommand() {
  if (tryRun("python3", ["-m", "pip", "--version"]) !== null) return ["-m", "pip"];
  const wheels = join(cache.pip, "usr/share/python-wheels");
  if (!existsSync(wheels) && aptUsable())
    unpackPackages(hostSystem().codename, ["python3-pip-whl"], cache.pip);
  const wheel = existsSync(wheels) && readdirSync(wheels).find((name) => /^pip-.*\.whl$/.test(name));
  return wheel ? [join(wheels, wheel, "pip")] : null;
}

function pip(command, args) {
  const program = pipCommand();
  if (!program) return false;
  const flags = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:"];
  return tryRun("python3", [...program, command, ...flags, ...args]) !== null;
}

/** Whether `pip install ARGS` succeeded; wheels only, without dependencies. */
export function pipInstall(args) {
  return pip("install", ["--upgrade", ...args]);
}

/** Whether `pip download ARGS` succeeded; wheels only, without dependencies. */
export function pipDownload(args) {
  return pip("download", args);
}
