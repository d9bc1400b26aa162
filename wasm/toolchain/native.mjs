// In: the machine's C++ compiler. Out: cmake and ninja, GoogleTest's sources and clang-format-19 where the machine lacks them.
// Invariant: nothing is installed on the machine; what is unpacked lies in the cache.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackPackages } from "./apt.mjs";
import { ensureLlvm, findLlvm } from "./llvm.mjs";
import { hostSystem } from "./mirror.mjs";
import { cache } from "./places.mjs";
import { pipInstall } from "./pip.mjs";
import { which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";

/** The C++ compiler of the native builds: CXX, else g++, else clang++; null when there is none. */
export function findCompiler() {
  const named = process.env.CXX;
  return (named && which(named)) ?? which("g++") ?? which("clang++");
}

/** `{cmake, ninja}`: the machine's own, else those in the cache. */
export function findBuildTools() {
  const cached = (name) => {
    const path = join(cache.tools, "bin", name);
    return existsSync(path) ? path : null;
  };
  return { cmake: which("cmake") ?? cached("cmake"), ninja: which("ninja") ?? cached("ninja") };
}

export function setUpBuildTools() {
  if (!findCompiler())
    throw new SetupError("no C++ compiler", "PATH", "install g++ 12 or newer (Debian: apt-get install g++)");
  const { cmake, ninja } = findBuildTools();
  if (cmake && ninja) return;
  say(`tools: installing cmake and ninja with pip into ${cache.tools}`);
  const fetched = pipInstall(["--target", cache.tools, "cmake", "ninja"]);
  if (!fetched || !findBuildTools().cmake || !findBuildTools().ninja) {
    throw new SetupError(
      "cmake or ninja missing",
      "PATH",
      "install them (Debian: apt-get install cmake ninja-build)",
    );
  }
}

/** Folder of GoogleTest's sources, or null when there is none: then the native tests are skipped. */
export function findGtest() {
  for (const root of [join(cache.gtest, "usr/src/googletest"), "/usr/src/googletest"]) {
    if (existsSync(join(root, "CMakeLists.txt"))) return root;
  }
  return null;
}

export function setUpGtest() {
  if (findGtest()) return;
  if (!aptUsable()) return say("gtest: no sources in /usr/src/googletest; native tests are skipped");
  say("gtest: fetching GoogleTest's sources (googletest)");
  unpackPackages(hostSystem().codename, ["googletest"], cache.gtest);
}

/** clang-format 19, or null. */
export function findClangFormat() {
  const llvm = findLlvm();
  return which("clang-format-19") ?? (llvm && join(llvm, "clang-format"));
}

export function setUpLint() {
  if (findClangFormat()) return;
  if (aptUsable()) ensureLlvm();
  else say("lint: no clang-format-19 on PATH; C++ formatting is not checked");
}
