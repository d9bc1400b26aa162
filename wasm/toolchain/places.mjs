// In: the environment (THIRDBOOK_CACHE, THIRDBOOK_BUILD). Out: every path that set-up, build and tests share.
// Invariant: nothing fetched lies in the tree, nothing built lies outside `build`; no path is spelled twice.

import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const kRepo = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const kCache = resolve(process.env.THIRDBOOK_CACHE || join(homedir(), ".cache", "thirdbook"));
export const kBuild = resolve(kRepo, process.env.THIRDBOOK_BUILD || "build");

/** CPython that everything here is made for: the one inside Pyodide. */
export const kPython = "3.14";

/** Debian's name for this machine's libraries, and where a package of libc6 keeps the dynamic linker. */
export const kTriplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
export const kLoader =
  process.arch === "arm64" ? "usr/lib/ld-linux-aarch64.so.1" : "usr/lib64/ld-linux-x86-64.so.2";

export const cache = {
  apt: join(kCache, "apt"),
  emscripten: join(kCache, "emscripten"),
  emConfig: join(kCache, "emscripten", "em-config.py"),
  emCache: join(kCache, "emscripten", "em-cache"),
  binaryen: join(kCache, "binaryen"),
  llvm: join(kCache, "llvm"),
  tools: join(kCache, "tools"),
  pip: join(kCache, "pip"),
  gtest: join(kCache, "gtest"),
  python: join(kCache, "python"),
  pythonRoot: join(kCache, "python", "root"),
  includeTwin: join(kCache, "python", "include-twin"),
  includeWasm: join(kCache, "python", "include-wasm"),
  twinPackages: join(kCache, "python", "site-packages"),
  jupyterLite: join(kCache, "jupyterlite"),
  testsuite: join(kCache, "testsuite"),
  node: join(kCache, "node"),
  stamps: join(kCache, "stamps"),
};

export const build = {
  native: join(kBuild, "native"),
  twin: join(kBuild, "twin"),
  twinAsan: join(kBuild, "twin-asan"),
  embind: join(kBuild, "embind"),
  wheel: join(kBuild, "wheel"),
};

export const kNodeModules = join(kRepo, "node_modules");
export const kPyodide = join(kNodeModules, "pyodide");
