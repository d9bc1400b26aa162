// In: a built extension module. Out: the symbols it takes from its host. Invariant: none of them is Thirdbook's own (a
// source that is missing from a CMakeLists.txt), and what comes from the host's C++ runtime is listed in
// wasm/pyodide/runtime-symbols.txt, for that ABI is not stable.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { kRepo } from "./places.mjs";
import { tryRun } from "./process.mjs";
import { SetupError } from "./say.mjs";

const kOurs = /^_ZN?K?\w*9thirdbook/;
const kList = join(kRepo, "wasm/pyodide/runtime-symbols.txt");

/** Names that a wasm side module imports: functions, and addresses of functions and data. */
export function wasmImports(path) {
  const module = new WebAssembly.Module(readFileSync(path));
  const infrastructure = new Set([
    "memory",
    "__indirect_function_table",
    "__stack_pointer",
    "__memory_base",
    "__table_base",
    "__c_longjmp",
    "__cpp_exception",
  ]);
  const names = WebAssembly.Module.imports(module).map((one) => one.name);
  return [...new Set(names)].filter((name) => !infrastructure.has(name)).sort();
}

/** C++ runtime symbols (mangled names and the unwinder's) among `names`. */
export function runtimeSymbols(names) {
  return names.filter((name) => /^_Z|^__cxa|^_Unwind|^__gxx/.test(name));
}

export function listedRuntimeSymbols() {
  return readFileSync(kList, "utf8")
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter(Boolean);
}

function refuseOwn(names, path) {
  const own = names.filter((name) => kOurs.test(name));
  if (own.length === 0) return;
  const readable = tryRun("c++filt", own.slice(0, 8))?.trim().split("\n") ?? own.slice(0, 8);
  throw new SetupError(
    `${own.length} symbols of our own are not defined`,
    path,
    `list their sources in a CMakeLists.txt: ${readable.join("; ")}`,
  );
}

/** Throws when a symbol of Thirdbook itself is undefined in the side module. */
export function checkWasm(path) {
  refuseOwn(wasmImports(path), path);
}

/** The same for a shared object of the twin; without `nm` nothing is checked. */
export function checkShared(path) {
  const text = tryRun("nm", ["-D", "--undefined-only", path]) ?? "";
  refuseOwn(
    text.split("\n").map((line) => line.trim().split(/\s+/).at(-1) ?? ""),
    path,
  );
}
