// In: Pyodide of node_modules, Thirdbook's wheel, wheels of other packages. Out: a folder that a notebook host can load Pyodide from
// without any other network: its lock file names the wheels beside it.
// Invariant: a package's entry keeps its dependencies; version, file and checksum are those of the wheel that is there.

import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockEntry } from "../../../build/npm/lib/index.js";
import { kBuild, kPyodide } from "../../../wasm/toolchain/places.mjs";

interface Lock {
  packages: Record<string, { file_name: string; sha256: string; version: string }>;
}

/** Thirdbook's own wheel. */
export function ownWheel(): string {
  const folder = join(kBuild, "npm", "wheel");
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".whl")) ?? "");
}

export function writePyodideFolder(target: string, wheels: string): void {
  cpSync(kPyodide, target, { recursive: true, dereference: true });
  const lock = JSON.parse(readFileSync(join(kPyodide, "pyodide-lock.json"), "utf8")) as Lock;
  for (const name of readdirSync(wheels)) {
    cpSync(join(wheels, name), join(target, name));
    const [distribution = "", version = ""] = name.split("-");
    const entry = lock.packages[distribution.toLowerCase().replaceAll("_", "-")];
    if (!entry) continue;
    const sha256 = createHash("sha256")
      .update(readFileSync(join(wheels, name)))
      .digest("hex");
    Object.assign(entry, { file_name: name, version, sha256 });
  }
  const own = ownWheel();
  cpSync(own, join(target, own.split("/").at(-1) ?? ""));
  const packages = { ...lock.packages, thirdbook: lockEntry("./") };
  writeFileSync(join(target, "pyodide-lock.json"), JSON.stringify({ ...lock, packages }));
}
