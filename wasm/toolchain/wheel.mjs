// In: the built side module and the Python package of wasm/pyodide/thirdbook. Out: one wheel in build/wheel, and the
// same files unpacked in build/wheel/site for tests.
// Invariant: same input, same bytes (sorted names, fixed dates); a side module above kLimit is said aloud (and fails a test of tests/toolchain).

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { kRepo } from "./places.mjs";
import { run } from "./process.mjs";
import { say } from "./say.mjs";
import { checkWasm } from "./symbols.mjs";

export const kTag = "cp314-cp314-pyemscripten_2026_0_wasm32";
export const kSideModule = "_core.cpython-314-wasm32-emscripten.so";
const kLimit = 1 << 20;
const kPackage = join(kRepo, "wasm/pyodide/thirdbook");
const kZipProgram = `
import os, sys, zipfile
root, target, names = sys.argv[1], sys.argv[2], sys.stdin.read().split("\\n")
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name in names:
        info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        info.external_attr = 0o644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        with open(os.path.join(root, name), "rb") as file:
            archive.writestr(info, file.read())
`;

export const wheelName = (version) => `thirdbook-${version}-${kTag}.whl`;

/** Every file below `folder`, relative, sorted. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

function writeInfo(site, version) {
  const info = join(site, `thirdbook-${version}.dist-info`);
  mkdirSync(info);
  const { description } = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8"));
  const metadata = [
    "Metadata-Version: 2.1",
    "Name: thirdbook",
    `Version: ${version}`,
    `Summary: ${description}`,
    "License: Apache-2.0",
    "Requires-Python: >=3.14,<3.15",
    "",
  ];
  writeFileSync(join(info, "METADATA"), metadata.join("\n"));
  const wheel = ["Wheel-Version: 1.0", "Generator: thirdbook", "Root-Is-Purelib: false", `Tag: ${kTag}`, ""];
  writeFileSync(join(info, "WHEEL"), wheel.join("\n"));
  writeFileSync(join(info, "top_level.txt"), "thirdbook\n");
  const license = join(kRepo, "LICENSE");
  if (existsSync(license)) cpSync(license, join(info, "LICENSE"));
  const record = join(info, "RECORD");
  const rows = filesBelow(site).map((name) => {
    const data = readFileSync(join(site, name));
    return `${name},sha256=${createHash("sha256").update(data).digest("base64url")},${data.length}`;
  });
  writeFileSync(record, [...rows, `${relative(site, record)},,`, ""].join("\n"));
}

/** Packs build/pyodide's side module; returns the wheel's path. Prints the sizes. */
export function writeWheel(folder, target, version) {
  const module = join(folder, "wasm/pyodide", kSideModule);
  checkWasm(module);
  const size = statSync(module).size;
  if (size >= kLimit) say(`wheel: the side module has ${size} bytes, over its limit of ${kLimit}`);
  const site = join(target, "site");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(site, "thirdbook"), { recursive: true });
  if (existsSync(kPackage)) {
    cpSync(kPackage, join(site, "thirdbook"), {
      recursive: true,
      filter: (path) => !/__pycache__|\.pyc$|\/_core\./.test(path),
    });
  }
  cpSync(module, join(site, "thirdbook", kSideModule));
  writeInfo(site, version);
  const wheel = join(target, wheelName(version));
  run("python3", ["-c", kZipProgram, site, wheel], {
    input: filesBelow(site).join("\n"),
    failure: ["the wheel could not be written", wheel, "is the disk full?"],
  });
  const kilobytes = (bytes) => `${(bytes / 1024).toFixed(0)} kB`;
  say(
    `wheel: ${wheelName(version)}: side module ${kilobytes(size)} (gzip ${kilobytes(gzipSync(readFileSync(module)).length)}), wheel ${kilobytes(statSync(wheel).size)}`,
  );
  return wheel;
}
