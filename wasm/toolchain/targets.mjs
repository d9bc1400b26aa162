// In: what set-up found. Out: for each target of build.mjs the CMake folder it shares with others, how that folder is
// configured, what ninja is asked for, and what is done with the result.
// Invariant: a folder's configuration does not depend on which of its targets is asked for, so that all that know no
// CPython are compiled once for both: native tests and sanitized twin, side module and Embind runtime.

import { copyFileSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { findEmscripten } from "./emscripten.mjs";
import { findHeaders } from "./headers.mjs";
import { findCompiler, findGtest } from "./native.mjs";
import { findNode } from "./node.mjs";
import { build, cache, kRepo } from "./places.mjs";
import { which } from "./process.mjs";
import { findTwin, finishTwin } from "./twin.mjs";
import { writeWheel } from "./wheel.mjs";

export const kVersion = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8")).version;

const kNoTwin = "no native twin (it needs Debian; run npm run setup)";
const kNoWasm = "no emscripten; run npm run setup";

function nativeOptions(more) {
  const twin = findTwin() ? { THIRDBOOK_PYTHON_INCLUDE: cache.includeTwin } : {};
  const flags = { CMAKE_CXX_COMPILER: findCompiler() ?? "", CMAKE_CXX_FLAGS: "-O1 -g" };
  return { env: {}, options: { ...flags, ...twin, ...more } };
}

function sanitizedOptions() {
  const gtest = findGtest();
  const tests = gtest ? { THIRDBOOK_TESTS: "ON", THIRDBOOK_GTEST: gtest } : {};
  return nativeOptions({ THIRDBOOK_SANITIZE: "ON", ...tests });
}

function wasmOptions() {
  const { emcc, env } = findEmscripten();
  const headers = findHeaders();
  const ccache = which("ccache"); // CMake's own way would wrap em++, which ccache does not know
  return {
    env: ccache ? { ...env, EM_COMPILER_WRAPPER: ccache } : env,
    options: {
      CMAKE_TOOLCHAIN_FILE: join(dirname(realpathSync(emcc)), "cmake/Modules/Platform/Emscripten.cmake"),
      CMAKE_CROSSCOMPILING_EMULATOR: findNode(),
      CMAKE_BUILD_TYPE: "Release",
      CMAKE_CXX_FLAGS_RELEASE: "-O2 -DNDEBUG",
      THIRDBOOK_EMBIND: "ON",
      ...(headers ? { THIRDBOOK_PYTHON_INCLUDE: headers.include } : {}),
    },
  };
}

function copyRuntime(folder, target) {
  mkdirSync(target, { recursive: true });
  for (const ending of ["mjs", "wasm"]) {
    const name = `thirdbook_runtime.${ending}`;
    copyFileSync(join(folder, "wasm/embind", name), join(target, name));
  }
}

/**
 * `folder`: name below build/; `goal`: ninja's target; `missing()`: why it cannot be built here, or null;
 * `finish(folder, own)`: what follows, `own` being the target's place when build.mjs was told `--folder`, else null.
 */
export const kTargets = {
  native: {
    folder: "native",
    goal: "native_tests",
    missing: () => (findGtest() ? null : "no GoogleTest sources"),
    configuration: sanitizedOptions,
    finish: () => {},
  },
  twin: {
    folder: "twin",
    goal: "_core",
    missing: () => (findTwin() ? null : kNoTwin),
    configuration: () => nativeOptions({}),
    finish: (folder, own) => finishTwin(folder, own ?? build.twin, false),
  },
  "twin-asan": {
    folder: "native",
    goal: "_core",
    missing: () => (findTwin() ? null : kNoTwin),
    configuration: sanitizedOptions,
    finish: (folder, own) => finishTwin(folder, own ?? build.twinAsan, true),
  },
  pyodide: {
    folder: "wasm",
    goal: "_core",
    missing: () =>
      !findEmscripten() ? kNoWasm : findHeaders() ? null : "no CPython headers; run npm run setup",
    configuration: wasmOptions,
    finish: (folder, own) => writeWheel(folder, own ? join(own, "wheel") : build.wheel, kVersion),
  },
  embind: {
    folder: "wasm",
    goal: "thirdbook_runtime",
    missing: () => (findEmscripten() ? null : kNoWasm),
    configuration: wasmOptions,
    finish: (folder, own) => copyRuntime(folder, own ? join(own, "embind") : build.embind),
  },
};
