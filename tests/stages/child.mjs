// In: a program that a stage runs. Out: its status, and each of its output lines as they come.
// Invariant: a program that exceeds its time, or says nothing for too long, is killed, and says so as a status.

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { kRepo } from "../../wasm/toolchain/places.mjs";
import { passThrough } from "../../wasm/toolchain/process.mjs";

export const kMinutes = 60_000;

/** Runs `program`; both streams go line by line to `onLine`. Resolves to "0", another status, a signal, "timeout", or
 *  "silence" when no line came for that long; then SIGABRT goes first, so that faulthandler can say where it was. */
export function runLines(program, args, { onLine, timeout = 10 * kMinutes, silence = timeout, env } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: kRepo,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let late = null;
    const kill = (why) => {
      late ??= why;
      child.kill("SIGABRT");
      setTimeout(() => child.kill("SIGKILL"), 2000).unref();
    };
    const timer = setTimeout(kill, timeout, "timeout");
    const watch = setTimeout(kill, silence, "silence");
    const heard = (line) => {
      watch.refresh();
      onLine(line);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", heard);
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      clearTimeout(watch);
      resolve(late ?? signal ?? String(status));
    });
  });
}

/** Builds targets with build.mjs unless told not to; true when it succeeded. */
export async function buildTargets(options, ...targets) {
  if (!options.build) return true;
  return (
    (await passThrough(process.execPath, ["wasm/toolchain/build.mjs", "--keep-going", ...targets], {
      cwd: kRepo,
    })) === 0
  );
}

/** Maps `work` over `items`, as many at a time as the machine has cores; results in the items' order. */
export async function inParallel(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), items.length) }, worker));
  return results;
}
