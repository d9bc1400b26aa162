// In: headers of CPython 3.14 (the twin's, or any that the user has), and Pyodide. Out: the same headers with Pyodide's
// own pyconfig.h, for the wasm build. Invariant: made anew when Pyodide's version or the headers' place changes.

import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cache, kPyodide, kPython } from "./places.mjs";
import { tryRun, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";
import { findTwin } from "./twin.mjs";

const kRecipe = 1;
const kPyconfigProgram = `
import json, sysconfig
def wanted(name, value):
    return name.isupper() and isinstance(value, int) and value != 0
json.dumps({name: int(value) for name, value in sysconfig.get_config_vars().items() if wanted(name, value)})
`;

/** The headers' version as their patchlevel.h says it, e.g. "3.14.10", or null. */
function headersVersion(folder) {
  const path = join(folder, "patchlevel.h");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.match(/define PY_VERSION\s+"([^"]+)"/)?.[1] ?? null;
}

function pyodideVersion() {
  const path = join(kPyodide, "package.json");
  if (!existsSync(path)) throw new SetupError("pyodide is not installed", kPyodide, "run npm run setup");
  return JSON.parse(readFileSync(path, "utf8")).version;
}

/** `{folder, origin}`: THIRDBOOK_PYTHON_INCLUDE, else the twin's, else what python3.14-config says. */
function sourceHeaders() {
  const named = process.env.THIRDBOOK_PYTHON_INCLUDE;
  const right = (folder) => headersVersion(folder)?.startsWith(`${kPython}.`);
  if (named) {
    if (right(named)) return { folder: named, origin: named };
    const remedy = "let THIRDBOOK_PYTHON_INCLUDE name the folder that has Python.h and patchlevel.h";
    throw new SetupError(`no CPython ${kPython} headers`, named, remedy);
  }
  const twin = findTwin();
  if (twin) return { folder: cache.includeTwin, origin: twin.origin };
  const config = which(`python${kPython}-config`);
  const folder = config && tryRun(config, ["--includes"])?.match(/-I(\S+)/)?.[1];
  if (folder && right(folder)) return { folder, origin: folder };
  throw new SetupError(
    `no CPython ${kPython} headers`,
    `THIRDBOOK_PYTHON_INCLUDE, python${kPython}-config`,
    `install CPython ${kPython} with its headers, or name their folder in THIRDBOOK_PYTHON_INCLUDE`,
  );
}

/** pyconfig.h of the CPython inside Pyodide, from its own sysconfig: every integer that is not 0. */
async function pyodideConfig() {
  const { loadPyodide } = await import(pathToFileURL(join(kPyodide, "pyodide.mjs")).href);
  const pyodide = await loadPyodide();
  const values = JSON.parse(pyodide.runPython(kPyconfigProgram));
  const version = pyodide.runPython("import sys; sys.version.split()[0]");
  const lines = Object.keys(values)
    .sort()
    .map((name) => `#define ${name} ${values[name]}\n`);
  const title = `// CPython ${version} in Pyodide ${pyodide.version}, written from its sysconfig.`;
  return { version, text: `${title}\n#pragma once\n${lines.join("")}` };
}

/** `{include, version, origin}` of the headers for wasm, or null when set-up has not run. */
export function findHeaders() {
  const notes = readStamp("headers", kRecipe);
  const version = headersVersion(cache.includeWasm);
  return notes && version ? { include: cache.includeWasm, version, origin: notes.origin } : null;
}

export async function setUpHeaders() {
  const { folder, origin } = sourceHeaders();
  const notes = { origin, pyodide: pyodideVersion(), source: headersVersion(folder) };
  const found = findHeaders() && readStamp("headers", kRecipe);
  if (found && JSON.stringify(found) === JSON.stringify(notes)) return;
  const fresh = `${cache.includeWasm}.new`;
  rmSync(fresh, { recursive: true, force: true });
  cpSync(folder, fresh, { recursive: true, dereference: true, preserveTimestamps: true });
  const config = await pyodideConfig();
  writeFileSync(join(fresh, "pyconfig.h"), config.text);
  rmSync(cache.includeWasm, { recursive: true, force: true });
  renameSync(fresh, cache.includeWasm);
  writeStamp("headers", kRecipe, notes);
  say(`headers: CPython ${notes.source} of ${origin}, pyconfig.h of CPython ${config.version} in Pyodide`);
}
