// In: what set-up found, and the names of targets. Out: each of them below build/, built incrementally with ninja.
// Invariant: configuring again only when its inputs changed; one build at a time in a folder; nothing is fetched.
// Usage: node wasm/toolchain/build.mjs [--folder DIR] [--keep-going] [TARGET…]
//   targets: native twin twin-asan pyodide embind lib app     (none = all); --keep-going builds what can be built

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { withLock } from "./lock.mjs";
import { findBuildTools } from "./native.mjs";
import { findNode } from "./node.mjs";
import { kBuild, kRepo } from "./places.mjs";
import { passThrough } from "./process.mjs";
import { SetupError, runMain, say } from "./say.mjs";
import { kTargets, kVersion } from "./targets.mjs";

const kWebParts = ["lib", "app"];
const kKnown = [...Object.keys(kTargets), ...kWebParts];
const kToStderr = ["ignore", 2, 2];

/** Every CMakeLists.txt of our tree: a new one means configuring again. */
function cmakeLists(folder = kRepo, depth = 0) {
  if (depth > 4) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "CMakeLists.txt") return [join(folder, entry.name)];
    const skip = !entry.isDirectory() || ["node_modules", "build", ".git"].includes(entry.name);
    return skip ? [] : cmakeLists(join(folder, entry.name), depth + 1);
  });
}

async function configure(name, folder, { env, options }, cmake, ninja) {
  const all = { CMAKE_MAKE_PROGRAM: ninja, THIRDBOOK_VERSION: kVersion, ...options };
  const words = Object.entries(all).map(([key, value]) => `-D${key}=${value}`);
  const args = ["-S", kRepo, "-B", folder, "-G", "Ninja", ...words];
  const inputs = JSON.stringify([args, cmakeLists()]);
  const stamp = join(folder, "configured.json");
  const before =
    existsSync(stamp) && existsSync(join(folder, "build.ninja")) ? readFileSync(stamp, "utf8") : "";
  if (before === inputs) return;
  rmSync(join(folder, "CMakeCache.txt"), { force: true });
  mkdirSync(folder, { recursive: true });
  say(`build: configuring ${name} in ${folder}`);
  const status = await passThrough(cmake, [...args, "--log-level=WARNING", "-Wno-dev"], {
    env: { ...process.env, ...env, CXXFLAGS: "" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new SetupError(`configuring ${name} failed`, folder, "see cmake's words above");
  writeFileSync(stamp, inputs);
}

async function buildTarget(name, own, flags) {
  const target = kTargets[name];
  const reason = target.missing();
  if (reason) return say(`build: ${name} skipped: ${reason}`);
  const { cmake, ninja } = findBuildTools();
  if (!cmake || !ninja) throw new SetupError("cmake or ninja missing", "PATH", "run npm run setup");
  const folder = own ?? join(kBuild, target.folder);
  const configuration = target.configuration();
  await withLock("build", join(folder, ".locks"), async () => {
    await configure(name, folder, configuration, cmake, ninja);
    const jobs = Math.min(availableParallelism(), Number(process.env.THIRDBOOK_JOBS) || 8);
    // NOHASHDIR: the same source compiled in another build folder is a hit of the compiler cache.
    const env = { ...process.env, ...configuration.env, CCACHE_NOHASHDIR: "1" };
    const args = ["-C", folder, "-j", String(jobs), "--quiet", ...flags, target.goal];
    if ((await passThrough(ninja, args, { env, stdio: kToStderr })) !== 0) {
      throw new SetupError(`building ${name} failed`, folder, "see the compiler's words above");
    }
    await target.finish(folder, own);
  });
}

/** The web parts have a build of their own. */
async function buildWeb(part) {
  const script = join(kRepo, "web/build.mjs");
  if ((await passThrough(findNode(), [script, part], { cwd: kRepo, stdio: kToStderr })) !== 0) {
    throw new SetupError(`building ${part} failed`, script, "see above");
  }
}

function parse(args) {
  const options = { names: [], flags: [], folder: null, keepGoing: false };
  while (args.length > 0) {
    const word = args.shift();
    if (word === "--folder") options.folder = resolve(args.shift() ?? ".");
    else if (word === "--keep-going") options.keepGoing = true;
    else options.names.push(word);
  }
  const unknown = options.names.find((name) => !kKnown.includes(name));
  if (unknown) throw new SetupError(`no target "${unknown}"`, "build.mjs", `one of ${kKnown.join(" ")}`);
  if (options.names.length === 0) options.names = kKnown;
  if (options.keepGoing) options.flags.push("-k", "0");
  return options;
}

await runMain(async () => {
  const { names, flags, folder, keepGoing } = parse(process.argv.slice(2));
  mkdirSync(kBuild, { recursive: true });
  const failures = [];
  for (const name of names) {
    try {
      await (kWebParts.includes(name) ? buildWeb(name) : buildTarget(name, folder, flags));
    } catch (error) {
      if (!keepGoing || !(error instanceof SetupError)) throw error;
      say(`error: ${error.message}`);
      failures.push(name);
    }
  }
  if (failures.length > 0) throw new SetupError(`not built: ${failures.join(", ")}`, kBuild, "see above");
});
