// In: package-lock.json, and the running Node. Out: node_modules, and a Node that has JSPI and runs Vitest.
// Invariant: npm's lock files decide every version; a Node of the machine that is new enough is used as it is.

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { cache, kNodeModules, kRepo } from "./places.mjs";
import { run, tryRun, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";

const kLeast = 24; // JSPI and relaxed SIMD without flags; Vitest asks for 22.12
const kCached = join(cache.node, "node_modules", `node-linux-${process.arch}`, "bin", "node");
const kRecipe = join(kRepo, "wasm/toolchain/node");

const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const sameFile = (left, right) => existsSync(left) && existsSync(right) && digest(left) === digest(right);
const major = () => Number(process.versions.node.split(".")[0]);

/** The Node that tests, Vite and Vitest run on: the running one if new enough, else the one in the cache. */
export function findNode() {
  if (major() >= kLeast) return process.execPath;
  return existsSync(kCached) ? kCached : process.execPath;
}

export function nodeVersion(node) {
  return tryRun(node, ["--version"])?.trim().replace(/^v/, "") ?? "?";
}

function npmClean(folder) {
  const npm = which("npm");
  if (!npm) throw new SetupError("npm not found", "PATH", "install Node.js 20 or newer with npm");
  run(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    failure: ["npm ci failed", folder, "is the npm registry reachable? then run set-up again"],
  });
}

/** Skipped as long as node_modules was installed from the package-lock.json that lies here. */
export function setUpNodeModules() {
  const lock = join(kRepo, "package-lock.json");
  const installed = join(kNodeModules, ".thirdbook-lock.json");
  if (sameFile(lock, installed)) return;
  say("npm: installing the dependencies of package-lock.json into node_modules");
  npmClean(kRepo);
  copyFileSync(lock, installed);
}

export function setUpNode() {
  if (major() >= kLeast || existsSync(kCached)) return;
  if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) {
    say(
      `node: ${process.versions.node} is older than ${kLeast}; install a newer Node for the Vitest and JSPI tests`,
    );
    return;
  }
  say(
    `node: ${process.versions.node} is older than ${kLeast}; installing Node ${kLeast} from npm into ${cache.node}`,
  );
  rmSync(cache.node, { recursive: true, force: true });
  mkdirSync(cache.node, { recursive: true });
  for (const name of ["package.json", "package-lock.json"])
    copyFileSync(join(kRecipe, name), join(cache.node, name));
  npmClean(cache.node);
  if (!existsSync(kCached))
    throw new SetupError(
      "Node was installed but is not there",
      kCached,
      `remove ${cache.node} and run set-up again`,
    );
}
