// In: what set-up found, and the names of targets. Out: build/TARGET, built incrementally with ninja.
// Invariant: configuring again only when its inputs changed; one build at a time in a folder; nothing is fetched.
// Usage: node wasm/toolchain/build.mjs [--folder DIR] [--keep-going] [TARGET…]
//   targets: native twin twin-asan pyodide embind lib app     (none = all)

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { findEmscripten } from "./emscripten.mjs";
import { withLock } from "./lock.mjs";
import { findBuildTools, findCompiler, findGtest } from "./native.mjs";
import { findNode } from "./node.mjs";
import { build, cache, kBuild, kRepo } from "./places.mjs";
import { passThrough } from "./process.mjs";
import { findHeaders } from "./headers.mjs";
import { SetupError, runMain, say } from "./say.mjs";
import { findTwin, finishTwin } from "./twin.mjs";
import { writeWheel } from "./wheel.mjs";

export const kVersion = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8")).version;

function nativeTarget(options, reason) {
  return { reason, env: {}, options: { CMAKE_CXX_COMPILER: findCompiler() ?? "", ...options } };
}

function wasmTarget(options) {
  const emscripten = findEmscripten();
  if (!emscripten) return { reason: "no emscripten; run npm run setup" };
  const root = dirname(realpathSync(emscripten.emcc));
  const toolchain = join(root, "cmake/Modules/Platform/Emscripten.cmake");
  return {
    env: { ...emscripten.env, _EMCC_CCACHE: "0" },
    options: {
      CMAKE_TOOLCHAIN_FILE: toolchain,
      CMAKE_CROSSCOMPILING_EMULATOR: findNode(),
      CMAKE_BUILD_TYPE: "Release",
      CMAKE_CXX_FLAGS_RELEASE: "-O2 -DNDEBUG",
      ...options,
    },
  };
}

/** How each CMake target is configured; `reason` says why one cannot be built here. */
const kTargets = {
  native: () =>
    nativeTarget(
      {
        THIRDBOOK_TESTS: "ON",
        THIRDBOOK_GTEST: findGtest() ?? "",
        CMAKE_CXX_FLAGS: "-O1 -g",
        THIRDBOOK_SANITIZE: "ON",
      },
      findGtest() ? null : "no GoogleTest sources",
    ),
  twin: () =>
    nativeTarget(
      { THIRDBOOK_PYTHON_INCLUDE: cache.includeTwin, CMAKE_CXX_FLAGS: "-O1 -g" },
      findTwin() ? null : "no native twin (Debian only)",
    ),
  "twin-asan": () =>
    nativeTarget(
      { THIRDBOOK_PYTHON_INCLUDE: cache.includeTwin, CMAKE_CXX_FLAGS: "-O1 -g", THIRDBOOK_SANITIZE: "ON" },
      findTwin() ? null : "no native twin (Debian only)",
    ),
  pyodide: () =>
    findHeaders()
      ? wasmTarget({ THIRDBOOK_PYTHON_INCLUDE: cache.includeWasm })
      : { reason: "no CPython headers; run npm run setup" },
  embind: () => wasmTarget({ THIRDBOOK_EMBIND: "ON" }),
};

/** Every CMakeLists.txt of our tree: a new one means configuring again. */
function cmakeLists(folder = kRepo, depth = 0) {
  if (depth > 4) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "CMakeLists.txt") return [join(folder, entry.name)];
    const skip = !entry.isDirectory() || ["node_modules", "build", ".git"].includes(entry.name);
    return skip ? [] : cmakeLists(join(folder, entry.name), depth + 1);
  });
}

async function configure(name, folder, target, cmake, ninja) {
  const options = { CMAKE_MAKE_PROGRAM: ninja, THIRDBOOK_VERSION: kVersion, ...target.options };
  const args = [
    "-S",
    kRepo,
    "-B",
    folder,
    "-G",
    "Ninja",
    ...Object.entries(options).map(([key, value]) => `-D${key}=${value}`),
  ];
  const inputs = JSON.stringify([args, cmakeLists()]);
  const stamp = join(folder, "configured.json");
  if (existsSync(join(folder, "build.ninja")) && existsSync(stamp) && readFileSync(stamp, "utf8") === inputs)
    return;
  rmSync(join(folder, "CMakeCache.txt"), { force: true });
  mkdirSync(folder, { recursive: true });
  say(`build: configuring ${name} in ${folder}`);
  const env = { ...process.env, ...target.env, CXXFLAGS: "" };
  if (
    (await passThrough(cmake, [...args, "--log-level=WARNING"], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    })) !== 0
  ) {
    throw new SetupError(`configuring ${name} failed`, folder, "see cmake's words above");
  }
  writeFileSync(stamp, inputs);
}

const kAfter = {
  twin: (folder) => finishTwin(folder, false),
  "twin-asan": (folder) => finishTwin(folder, true),
  pyodide: (folder) =>
    writeWheel(folder, folder === build.pyodide ? build.wheel : join(folder, "wheel"), kVersion),
};

async function buildTarget(name, folder, flags) {
  const target = kTargets[name]();
  if (target.reason) {
    say(`build: ${name} skipped: ${target.reason}`);
    return;
  }
  const { cmake, ninja } = findBuildTools();
  if (!cmake || !ninja) throw new SetupError("cmake or ninja missing", "PATH", "run npm run setup");
  await withLock(name, join(folder, ".locks"), async () => {
    await configure(name, folder, target, cmake, ninja);
    const jobs = Math.min(availableParallelism(), Number(process.env.THIRDBOOK_JOBS) || 8);
    const env = { ...process.env, ...target.env, CCACHE_NOHASHDIR: "1" };
    const status = await passThrough(ninja, ["-C", folder, "-j", String(jobs), "--quiet", ...flags], {
      env,
      stdio: ["ignore", 2, 2],
    });
    if (status !== 0)
      throw new SetupError(`building ${name} failed`, folder, "see the compiler's words above");
    await kAfter[name]?.(folder);
  });
}

/** The web parts have a build of their own; it is called where it exists. */
async function buildWeb(part) {
  const script = join(kRepo, "web/build.mjs");
  if (!existsSync(script)) return say(`build: ${part} skipped: web/build.mjs is not there`);
  if ((await passThrough(findNode(), [script, part], { cwd: kRepo })) !== 0)
    throw new SetupError(`building ${part} failed`, script, "see above");
}

await runMain(async () => {
  const names = [];
  const flags = [];
  let folder = null;
  const args = process.argv.slice(2);
  while (args.length > 0) {
    const word = args.shift();
    if (word === "--folder") folder = resolve(args.shift() ?? ".");
    else if (word === "--keep-going") flags.push("-k", "0");
    else names.push(word);
  }
  const known = [...Object.keys(kTargets), "lib", "app"];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown) throw new SetupError(`no target "${unknown}"`, "build.mjs", `one of ${known.join(" ")}`);
  mkdirSync(kBuild, { recursive: true });
  const failures = [];
  for (const name of names.length ? names : known) {
    const work =
      name === "lib" || name === "app"
        ? buildWeb(name)
        : buildTarget(name, folder ?? join(kBuild, name), flags);
    try {
      await work;
    } catch (error) {
      if (flags.length === 0 || !(error instanceof SetupError)) throw error;
      say(`error: ${error.message}`);
      failures.push(name);
    }
  }
  if (failures.length > 0) throw new SetupError(`not built: ${failures.join(", ")}`, kBuild, "see above");
});
