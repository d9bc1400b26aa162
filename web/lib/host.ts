// In: the host's Pyodide. Out: the few parts of it that Thirdbook uses, typed, and its Python version and ABI.
// Invariant: nothing here owns or starts Pyodide; private parts of it are named in this file only.

import { ThirdbookError } from "./errors.js";

/** What Thirdbook needs of a Pyodide that the host has loaded. */
export interface Pyodide {
  readonly version: string;
  runPython(code: string, options?: { globals?: unknown; filename?: string }): unknown;
  runPythonAsync(code: string, options?: { globals?: unknown; filename?: string }): Promise<unknown>;
  unpackArchive(
    buffer: ArrayBuffer | ArrayBufferView,
    format: string,
    options?: { extractDir?: string },
  ): void;
  toPy(value: unknown): unknown;
  readonly globals: { get(name: string): unknown };
}

export interface HostFacts {
  pyodide: string;
  /** "3.14.2" */
  python: string;
  /** "cp314" */
  pythonTag: string;
  /** "pyemscripten_2026_0_wasm32", the platform tag of wheels made for this host */
  platformTag: string;
}

const kFacts = `
def _thirdbook_facts():
    import sys
    import sysconfig
    abi = sysconfig.get_config_var("PYODIDE_ABI_VERSION") or ""
    return "|".join([".".join(map(str, sys.version_info[:3])), sys.platform, abi])
_thirdbook_facts()
`;

export function isPyodide(value: unknown): value is Pyodide {
  if (typeof value !== "object" || value === null) return false;
  const host = value as Partial<Record<keyof Pyodide, unknown>>;
  return (
    typeof host.version === "string" &&
    typeof host.runPython === "function" &&
    typeof host.unpackArchive === "function"
  );
}

/** Asks the running Python what it is. */
export function factsOf(pyodide: unknown): HostFacts {
  if (!isPyodide(pyodide)) {
    throw new ThirdbookError(
      "not-pyodide",
      "install() needs the object that loadPyodide() resolved to; got something else: await loadPyodide() first",
    );
  }
  const dict = pyodide.runPython("dict()");
  const answer = String(pyodide.runPython(kFacts, { globals: dict }));
  if (hasDestroy(dict)) dict.destroy();
  const [python = "", , abi = ""] = answer.split("|");
  const [major = "0", minor = "0"] = python.split(".");
  return {
    pyodide: pyodide.version,
    python,
    pythonTag: `cp${major}${minor}`,
    platformTag: `pyemscripten_${abi || lockAbi(pyodide) || "unknown"}_wasm32`,
  };
}

function lockAbi(pyodide: Pyodide): string | undefined {
  const api = (pyodide as { _api?: { lockfile?: { info?: { abi_version?: string } } } })._api;
  return api?.lockfile?.info?.abi_version;
}

function hasDestroy(value: unknown): value is { destroy(): void } {
  return typeof (value as { destroy?: unknown } | null)?.destroy === "function";
}
