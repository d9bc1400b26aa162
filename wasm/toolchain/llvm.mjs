// In: Debian's LLVM 19 packages. Out: a folder of its programs (clang, wasm-ld, llvm-ar, clang-format …) in the cache.
// Invariant: each program starts with its own libraries only, so nothing has to be installed on the machine.

import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpackPackages } from "./apt.mjs";
import { hostSystem } from "./mirror.mjs";
import { cache, kTriplet } from "./places.mjs";
import { say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";

const kRecipe = 1;
const kPrograms = ["clang-19", "lld-19", "llvm-19", "llvm-19-linker-tools", "clang-format-19"];
const kLibraries = [
  "libllvm19",
  "libclang-cpp19",
  "libclang-common-19-dev",
  "libclang1-19",
  "libedit2",
  "libz3-4",
  "libxml2",
  "libzstd1",
  "libffi8",
  "zlib1g",
  "libtinfo6",
  "libbsd0",
  "libmd0",
  "liblzma5",
];
const kIcu = { bookworm: "libicu72", trixie: "libicu76" };

/** Writes a launcher at `path` that runs `words` with its own arguments appended. */
export function writeLauncher(path, words) {
  writeFileSync(path, `#!/bin/sh\n${words} "$@"\n`);
  chmodSync(path, 0o755);
}

/** Folder with LLVM's programs, or null when they have not been fetched. */
export function findLlvm() {
  return readStamp("llvm", kRecipe) && existsSync(join(cache.llvm, "bin/clang"))
    ? join(cache.llvm, "bin")
    : null;
}

export function ensureLlvm() {
  const found = findLlvm();
  if (found) return found;
  const { codename } = hostSystem();
  say(
    `llvm: fetching clang-19, lld-19, llvm-19, clang-format-19 (${codename}), about 90 MB, into ${cache.llvm}`,
  );
  const versions = unpackPackages(codename, [...kPrograms, ...kLibraries, kIcu[codename]], cache.llvm);
  const programs = join(cache.llvm, "usr/lib/llvm-19/bin");
  const libraries = `${join(cache.llvm, "usr/lib", kTriplet)}:${join(cache.llvm, "lib", kTriplet)}`;
  mkdirSync(join(cache.llvm, "bin"), { recursive: true });
  for (const name of readdirSync(programs)) {
    writeLauncher(
      join(cache.llvm, "bin", name),
      `LD_LIBRARY_PATH="${libraries}" exec "${join(programs, name)}"`,
    );
  }
  writeStamp("llvm", kRecipe, versions);
  return findLlvm();
}
