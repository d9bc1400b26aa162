// In: Debian's CPython 3.14 (sid), or any headers the user has. Out: headers for wasm, and the native twin for tests.
// Invariant: the wasm headers are CPython's with Pyodide's own pyconfig.h; the twin runs through its own dynamic
// linker, so that nothing of it touches the machine's.

import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackPackages } from "./apt.mjs";
import { cache, kLoader, kPython, kPyodide, kTriplet } from "./places.mjs";
import { pipInstall } from "./pip.mjs";
import { run, tryRun, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";

const kRecipe = 2;
const kSuite = "sid";
const kTwinPackages = [
  `python${kPython}-minimal`,
  `libpython${kPython}-minimal`,
  `libpython${kPython}-stdlib`,
  `libpython${kPython}-dev`,
  "libc6",
  "libstdc++6",
  "libgcc-s1",
  "zlib1g",
  "libexpat1",
  "libssl3t64",
  "libffi8",
  "libbz2-1.0",
  "liblzma5",
  "libsqlite3-0",
  "libzstd1",
  "tzdata",
];

const kPyconfigProgram = `
import json, sysconfig
names = sysconfig.get_config_vars()
json.dumps({k: v for k, v in names.items() if isinstance(v, int) and not isinstance(v, bool) and v != 0 and k.isupper()})
`;

/** Headers' version as their patchlevel.h says it, e.g. "3.14.10", or null. */
function headersVersion(folder) {
  const path = join(folder, "patchlevel.h");
  return existsSync(path)
    ? (readFileSync(path, "utf8").match(/define PY_VERSION\s+"([^"]+)"/)?.[1] ?? null)
    : null;
}

/** Headers of CPython 3.14 that the user has: THIRDBOOK_PYTHON_INCLUDE, or what python3.14-config says. */
function userHeaders() {
  const named = process.env.THIRDBOOK_PYTHON_INCLUDE;
  const config = which(`python${kPython}-config`);
  const asked = config && tryRun(config, ["--includes"])?.match(/-I(\S+)/)?.[1];
  for (const folder of [named, asked].filter(Boolean)) {
    if (headersVersion(folder)?.startsWith(`${kPython}.`)) return folder;
    if (folder === named) {
      throw new SetupError(
        `no CPython ${kPython} headers`,
        folder,
        "let THIRDBOOK_PYTHON_INCLUDE name the folder that has Python.h and patchlevel.h",
      );
    }
  }
  return null;
}

/** pyconfig.h of the CPython inside Pyodide, from its own sysconfig: every integer that is not 0. */
async function pyodideConfig() {
  const { loadPyodide } = await import(join(kPyodide, "pyodide.mjs"));
  const pyodide = await loadPyodide();
  const values = JSON.parse(pyodide.runPython(kPyconfigProgram));
  const version = pyodide.runPython("import sys; '.'.join(map(str, sys.version_info[:3]))");
  const lines = Object.keys(values)
    .sort()
    .map((name) => `#define ${name} ${values[name]}`);
  const text = `// CPython ${version} in Pyodide ${pyodide.version}, written from its sysconfig.\n#pragma once\n${lines.join("\n")}\n`;
  return { text, version, pyodide: pyodide.version };
}

async function writeWasmHeaders(source) {
  rmSync(cache.includeWasm, { recursive: true, force: true });
  cpSync(source, cache.includeWasm, { recursive: true, dereference: true });
  const config = await pyodideConfig();
  writeFileSync(join(cache.includeWasm, "pyconfig.h"), config.text);
  return config;
}

/** Writes `path`, a launcher of the twin with `environment` (shell assignments) before the dynamic linker. */
export function writeTwinLauncher(path, pythonPath, assignments = []) {
  const root = cache.pythonRoot;
  const libraries = join(root, "usr/lib", kTriplet);
  writeFileSync(
    path,
    `#!/bin/sh
# The native twin: Debian's CPython ${kPython} through its own dynamic linker, with this build of _core on its path.
export PYTHONHOME="${join(root, "usr")}" PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="${[pythonPath, cache.twinPackages].filter(Boolean).join(":")}\${PYTHONPATH:+:$PYTHONPATH}"
${assignments.map((one) => `export ${one}\n`).join("")}exec "${join(root, kLoader)}" --library-path "${libraries}" --argv0 "$0" "${join(root, `usr/bin/python${kPython}`)}" "$@"
`,
    { mode: 0o755 },
  );
}

/** `{version, numpy}` of the twin in the cache, or null. */
export function findTwin() {
  const notes = readStamp("python", kRecipe);
  return notes?.twin ? notes : null;
}

/** `{include, version, origin}` of the headers for wasm, or null when set-up has not run. */
export function findHeaders() {
  const notes = readStamp("python", kRecipe);
  const version = headersVersion(cache.includeWasm);
  return notes && version ? { include: cache.includeWasm, version, origin: notes.origin } : null;
}

function fetchNumpy() {
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const platforms = ["manylinux_2_27", "manylinux_2_28"].flatMap((name) => [
    "--platform",
    `${name}_${machine}`,
  ]);
  const target = [
    "--no-compile",
    "--python-version",
    kPython,
    "--implementation",
    "cp",
    ...platforms,
    "--target",
    cache.twinPackages,
  ];
  if (!pipInstall([...target, "numpy"])) {
    say(`twin: NumPy for CPython ${kPython} could not be fetched with pip; tests against NumPy are skipped`);
    return null;
  }
  return (
    tryRun("sh", [
      "-c",
      `ls "${cache.twinPackages}" | sed -n 's/^numpy-\\(.*\\)\\.dist-info$/\\1/p'`,
    ])?.trim() || null
  );
}

/** Makes the headers, and on Debian the twin. Returns what was found or made. */
export async function setUpPython() {
  const found = readStamp("python", kRecipe);
  if (found && headersVersion(cache.includeWasm)) return found;
  const notes = { twin: null, numpy: null, origin: "" };
  let headers;
  if (aptUsable()) {
    say(
      `python: fetching CPython ${kPython} and its headers from ${kSuite}, about 30 MB, into ${cache.python}`,
    );
    const versions = unpackPackages(kSuite, kTwinPackages, cache.pythonRoot);
    const include = join(cache.pythonRoot, "usr/include");
    headers = join(include, `python${kPython}`);
    rmSync(cache.includeTwin, { recursive: true, force: true });
    cpSync(headers, cache.includeTwin, { recursive: true, dereference: true });
    cpSync(join(include, kTriplet, `python${kPython}`, "pyconfig.h"), join(cache.includeTwin, "pyconfig.h"));
    const launcher = join(cache.python, "python");
    writeTwinLauncher(launcher, "");
    notes.twin = run(launcher, ["-c", "import sys; print(sys.version.split()[0])"], {
      failure: [
        `the twin CPython ${kPython} does not start`,
        launcher,
        `remove ${cache.python} and run set-up again`,
      ],
    }).trim();
    notes.origin = `Debian ${versions[`libpython${kPython}-dev`]} (${kSuite})`;
    notes.numpy = fetchNumpy();
    say(
      `python: headers and twin are CPython ${notes.twin}, ${notes.origin}; NumPy ${notes.numpy ?? "none"}`,
    );
  } else {
    headers = userHeaders();
    if (!headers) {
      throw new SetupError(
        `no CPython ${kPython} headers`,
        "THIRDBOOK_PYTHON_INCLUDE, python3.14-config",
        `install CPython ${kPython} with its headers, or name their folder in THIRDBOOK_PYTHON_INCLUDE`,
      );
    }
    notes.origin = headers;
    say(`python: headers of ${headers}; the native twin needs Debian, its tests are skipped`);
  }
  const config = await writeWasmHeaders(headers);
  say(`python: pyconfig.h written from CPython ${config.version} in Pyodide ${config.pyodide}`);
  writeStamp("python", kRecipe, notes);
  return notes;
}
