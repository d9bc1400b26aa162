// In: a program and its arguments. Out: its standard output, or its exit status.
// Invariant: a program that must succeed and does not is a SetupError that carries its last lines.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { SetupError } from "./say.mjs";

/** Path of `program` on PATH, or null. Skips node_modules/.bin, which npm puts in front. */
export function which(program, path = process.env.PATH ?? "") {
  for (const folder of path.split(delimiter)) {
    if (!folder || folder.includes("node_modules")) continue;
    const candidate = join(folder, program);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // not here
    }
  }
  return null;
}

/** Runs to the end and returns stdout. `failure` = [what, where, remedy] of the SetupError when it fails. */
export function run(program, args, { cwd, env, failure, input } = {}) {
  const result = spawnSync(program, args, {
    cwd,
    env: env ?? process.env,
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (result.status === 0) return result.stdout;
  const output =
    `${result.stderr ?? ""}${result.stdout ?? ""}`.trim() ||
    String(result.error ?? `signal ${result.signal}`);
  const last = output.split("\n").slice(-12).join("\n    ");
  const [what, where, remedy] = failure ?? [`${program} failed`, args.join(" "), "see below"];
  throw new SetupError(what, where, `${remedy}\n    ${last}`);
}

/** stdout of a program, or null when it cannot be run or fails. */
export function tryRun(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: "utf8", ...options });
  return result.status === 0 ? result.stdout : null;
}

/** Runs with the terminal's own streams; resolves to the exit status (128 + signal when killed). */
export function passThrough(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", ...options });
    child.on("error", reject);
    child.on("close", (status, signal) => resolve(signal ? 128 + 1 : status));
  });
}
