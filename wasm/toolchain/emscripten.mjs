// In: the user's own emcc (EMSDK, PATH), or Debian's packages. Out: `{emcc, emxx, version, env, origin}` for the wasm builds.
// Invariant: a user's emcc of at least kMinimum wins; what is unpacked runs without root and without /usr of another
// release (binaryen through its own dynamic linker, clang with its own libraries).

import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackPackages } from "./apt.mjs";
import { ensureLlvm, writeLauncher } from "./llvm.mjs";
import { findNode } from "./node.mjs";
import { cache, kLoader, kTriplet } from "./places.mjs";
import { tryRun, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";

const kMinimum = [3, 1, 69];
const kRecipe = 3; // raise it when the unpacked form changes: everybody's copy is then made anew
const kScripts = join(cache.emscripten, "emscripten", "usr", "share", "emscripten");

function versionOf(emcc) {
  const match = tryRun(emcc, ["--version"])?.match(/\b(\d+)\.(\d+)\.(\d+)/);
  return match ? match.slice(1, 4).map(Number) : null;
}

function newEnough(version) {
  for (const [index, least] of kMinimum.entries()) {
    if (version[index] !== least) return version[index] > least;
  }
  return true;
}

function userEmscripten() {
  const places = [
    process.env.EMSDK && join(process.env.EMSDK, "upstream", "emscripten"),
    process.env.PATH,
  ].filter(Boolean);
  for (const place of places) {
    const emcc = which("emcc", place);
    const version = emcc && versionOf(emcc);
    if (!version) continue;
    const text = version.join(".");
    if (newEnough(version))
      return { emcc, emxx: which("em++", place), version: text, env: {}, origin: "your own" };
    say(`emscripten: ${emcc} is ${text}, older than ${kMinimum.join(".")}; not used`);
  }
  return null;
}

function cachedEmscripten() {
  const stamp = readStamp("emscripten", kRecipe);
  if (!stamp || !existsSync(cache.emConfig)) return null;
  return {
    emcc: join(kScripts, "emcc"),
    emxx: join(kScripts, "em++"),
    version: stamp.emscripten.split("+")[0],
    env: { EM_CONFIG: cache.emConfig, EMCC_SKIP_SANITY_CHECK: "1" },
    origin: `Debian ${stamp.emscripten}`,
  };
}

/** The emscripten to use, or null when set-up has not run. */
export function findEmscripten() {
  return userEmscripten() ?? cachedEmscripten();
}

function wrapBinaryen() {
  const bin = join(cache.binaryen, "bin");
  mkdirSync(bin, { recursive: true });
  const linker = join(cache.binaryen, kLoader);
  const libraries = join(cache.binaryen, "usr/lib", kTriplet);
  for (const name of readdirSync(join(cache.binaryen, "usr/bin"))) {
    writeLauncher(
      join(bin, name),
      `exec "${linker}" --library-path "${libraries}" "${join(cache.binaryen, "usr/bin", name)}"`,
    );
  }
}

/** Debian ships every library prebuilt; most variants (threads, wasm workers, debug, tests) are never linked here. */
function prune() {
  rmSync(join(kScripts, "test"), { recursive: true, force: true });
  const libraries = join(kScripts, "cache/sysroot/lib/wasm32-emscripten");
  const unused =
    /-(mt|ww|debug|tracing|webgl2|emu)\b|^libGL-(?!getprocaddr\.a)|^libwasmfs|^libembind-.*ubsan|asan|ubsan|lsan/;
  for (const entry of readdirSync(libraries, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && unused.test(entry.name)) rmSync(join(entry.parentPath ?? entry.path, entry.name));
  }
}

function installFromDebian() {
  const llvm = ensureLlvm();
  say(`emscripten: fetching emscripten and binaryen (trixie), about 260 MB, into ${cache.emscripten}`);
  rmSync(cache.emscripten, { recursive: true, force: true });
  mkdirSync(cache.emscripten, { recursive: true });
  const versions = {
    ...unpackPackages("trixie", ["binaryen", "libc6", "libstdc++6", "libgcc-s1"], cache.binaryen),
    ...unpackPackages("trixie", ["emscripten", "node-acorn"], join(cache.emscripten, "emscripten")),
  };
  prune();
  mkdirSync(join(kScripts, "node_modules"), { recursive: true });
  symlinkSync(
    join(cache.emscripten, "emscripten/usr/share/nodejs/acorn"),
    join(kScripts, "node_modules/acorn"),
  );
  wrapBinaryen();
  const configuration = {
    LLVM_ROOT: llvm,
    BINARYEN_ROOT: cache.binaryen,
    NODE_JS: findNode(),
    CACHE: join(kScripts, "cache"),
  };
  writeFileSync(
    cache.emConfig,
    Object.entries(configuration)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
      .join(""),
  );
  writeStamp("emscripten", kRecipe, versions);
  const made = cachedEmscripten();
  if (!versionOf(made.emcc) || tryRun(join(cache.binaryen, "bin/wasm-opt"), ["--version"]) === null) {
    throw new SetupError(
      "the unpacked emscripten does not start",
      made.emcc,
      `remove ${cache.emscripten} and run set-up again, or set EMSDK`,
    );
  }
}

/** Makes sure that there is an emscripten, and returns it. */
export function setUpEmscripten() {
  const own = userEmscripten();
  if (own) return own;
  if (cachedEmscripten()) return cachedEmscripten();
  if (!aptUsable()) {
    throw new SetupError(
      `no emcc of version ${kMinimum.join(".")} or newer`,
      "EMSDK, PATH",
      "install emsdk and activate it, then run set-up again",
    );
  }
  installFromDebian();
  return cachedEmscripten();
}
