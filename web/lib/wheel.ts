// In: a wheel's address and bytes, and what the host is. Out: nothing, or the first reason why it cannot be installed there.
// Invariant: a wheel that passes has the host's tags, unpacks completely, and its extension modules are valid WebAssembly, so that
// nothing half-installed is ever left behind.

import { ThirdbookError } from "./errors.js";
import type { HostFacts } from "./host.js";
import { readDirectory, unpack, ZipError } from "./zip.js";

export interface WheelName {
  project: string;
  version: string;
  python: string[];
  abi: string[];
  platform: string[];
}

/** Parses `{project}-{version}(-{build})?-{python}-{abi}-{platform}.whl`; undefined when it is not such a name. */
export function parseWheelName(file: string): WheelName | undefined {
  const match = /^([^-]+)-([^-]+)(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl$/.exec(file);
  if (!match) return undefined;
  const [, project, version, python, abi, platform] = match as unknown as [string, string, string, string, string, string];
  return { project, version, python: python.split("."), abi: abi.split("."), platform: platform.split(".") };
}

/** The file name in an address, without query and hash. */
export function fileNameOf(url: string): string {
  const path = url.replace(/[?#].*$/, "");
  return decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
}

/** Checks the tags in the wheel's name against the host. */
export function checkTags(file: string, facts: HostFacts): WheelName {
  const name = parseWheelName(file);
  if (!name) {
    throw new ThirdbookError("wheel-name", `${file} is not a wheel's file name: keep the name that the wheel was built with`);
  }
  if (!name.python.includes(facts.pythonTag) || !name.abi.includes(facts.pythonTag)) {
    throw new ThirdbookError(
      "wrong-python",
      `${file} is for CPython ${name.python.map(pythonOf).join(", ")}, but this Pyodide ${facts.pyodide} runs Python ` +
        `${facts.python}: use a Pyodide with Python ${name.python.map(pythonOf).join(" or ")}`,
    );
  }
  if (!name.platform.includes(facts.platformTag)) {
    throw new ThirdbookError(
      "wrong-abi",
      `${file} is built for ${name.platform.join(", ")}, but this Pyodide ${facts.pyodide} needs ${facts.platformTag}: ` +
        "use the Pyodide release that the wheel names, or a wheel for this one",
    );
  }
  return name;
}

function pythonOf(tag: string): string {
  return tag.replace(/^cp(\d)(\d+)$/, "$1.$2");
}

/** Checks the bytes: the archive is whole, its metadata agrees with its name, its extension modules are valid. */
export async function checkBytes(file: string, bytes: Uint8Array): Promise<void> {
  try {
    const entries = readDirectory(bytes);
    const metadata = entries.find((entry) => /^[^/]+\.dist-info\/WHEEL$/.test(entry.name));
    if (!metadata) throw new ZipError("it has no WHEEL file");
    for (const entry of entries) {
      if (entry.name.endsWith("/")) continue;
      const data = await unpack(entry);
      if (entry.name.endsWith(".so")) checkWasm(file, entry.name, data);
      if (entry === metadata) checkMetadata(file, new TextDecoder().decode(data));
    }
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    throw new ThirdbookError("wheel-corrupt", `${file} is not a whole wheel (${error.message}): fetch or build it again`, {
      cause: error,
    });
  }
}

function checkMetadata(file: string, text: string): void {
  const tags = [...text.matchAll(/^Tag: *(\S+)$/gm)].map((match) => match[1]);
  const name = parseWheelName(file);
  const wanted = name && `${name.python[0]}-${name.abi[0]}-${name.platform[0]}`;
  if (tags.length > 0 && !tags.includes(wanted)) {
    throw new ThirdbookError(
      "wheel-name",
      `${file} says inside that it is for ${tags.join(", ")}: it was renamed; keep the name that the wheel was built with`,
    );
  }
}

function checkWasm(file: string, member: string, data: Uint8Array): void {
  if (data[0] !== 0 || data[1] !== 0x61 || data[2] !== 0x73 || data[3] !== 0x6d) {
    throw new ThirdbookError("wasm-corrupt", `${member} in ${file} is not WebAssembly: fetch or build the wheel again`);
  }
  if (!WebAssembly.validate(data as Uint8Array<ArrayBuffer>)) {
    throw new ThirdbookError(
      "wasm-corrupt",
      `${member} in ${file} is not valid WebAssembly for this engine: fetch or build the wheel again, or use a newer browser`,
    );
  }
}
