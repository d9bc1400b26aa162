// In: a name and a folder. Out: at most one process at a time does the work under that name.
// Invariant: a lock of a process that no longer runs is taken over; locks are files that hold the owner's pid.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "./say.mjs";

function ownerOf(path) {
  try {
    return Number(readFileSync(path, "utf8")) || 0;
  } catch {
    return 0;
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    const owner = ownerOf(path);
    if (owner && !alive(owner)) rmSync(path, { force: true });
    return false;
  }
}

/** Runs `work` while holding the lock `name` of `folder`; waits, aloud, as long as another process holds it. */
export async function withLock(name, folder, work) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.lock`);
  for (let waited = 0; !take(path); waited++) {
    if (waited === 10) say(`waiting for process ${ownerOf(path)}, which holds ${path}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}
