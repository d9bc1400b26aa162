// In: a wheel's address and bytes, and what the host is. Out: nothing, or the first reason why it cannot be installed there.
// Invariant: a wheel that passes has the host's tags, unpacks completely, and its extension modules are valid WebAssembly, so that
// nothing half-installed is ever left behind.

import { ThirdbookError } from "./errors.js";
import type { HostFacts } from "./host.js";
import { readDirectory, unpack, ZipError } from "./zip.js";

/** What a wheel is built for: each part may name several. */
export interface WheelTags {
  python: string[];
  abi: string[];
  platform: string[];
}

/** The tags in `{project}-{version}(-{build})?-{python}-{abi}-{platform}.whl`; undefined when it is not such a name. */
export function parseWheelName(file: string): WheelTags | undefined {
  const match = /^[^-]+-[^-]+(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl$/.exec(file);
  return match ? tagsOf(match[1] as string, match[2] as string, match[3] as string) : undefined;
}

function tagsOf(python: string, abi: string, platform: string): WheelTags {
  return { python: python.split("."), abi: abi.split("."), platform: platform.split(".") };
}

/** The file name in an address, without query and hash. */
export function fileNameOf(url: string): string {
  const path = url.replace(/[?#].*$/, "");
  return decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
}

/** Checks a wheel's tags against the host. */
export function checkTags(name: WheelTags, file: string, facts: HostFacts): void {
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
}

function pythonOf(tag: string): string {
  return tag.replace(/^cp(\d)(\d+)$/, "$1.$2");
}

/** Checks that the archive is whole and its extension modules are valid; gives the tags that it says it is for. */
export async function checkBytes(file: string, bytes: Uint8Array): Promise<WheelTags[]> {
  let tags: WheelTags[] = [];
  try {
    const entries = readDirectory(bytes);
    const metadata = entries.find((entry) => /^[^/]+\.dist-info\/WHEEL$/.test(entry.name));
    if (!metadata) throw new ZipError("it has no WHEEL file");
    for (const entry of entries) {
      if (entry.name.endsWith("/")) continue;
      const data = await unpack(entry);
      if (entry.name.endsWith(".so")) checkWasm(file, entry.name, data);
      if (entry === metadata) tags = readTags(new TextDecoder().decode(data));
    }
    if (tags.length === 0) throw new ZipError("its WHEEL file has no tags");
    return tags;
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    throw new ThirdbookError(
      "wheel-corrupt",
      `${file} is not a whole wheel (${error.message}): fetch or build it again`,
      {
        cause: error,
      },
    );
  }
}

function readTags(metadata: string): WheelTags[] {
  return [...metadata.matchAll(/^Tag: *([^-\s]+)-([^-\s]+)-([^-\s]+)\s*$/gm)].map((match) =>
    tagsOf(match[1] as string, match[2] as string, match[3] as string),
  );
}

function checkWasm(file: string, member: string, data: Uint8Array): void {
  if (data[0] !== 0 || data[1] !== 0x61 || data[2] !== 0x73 || data[3] !== 0x6d) {
    throw new ThirdbookError(
      "wasm-corrupt",
      `${member} in ${file} is not WebAssembly: fetch or build the wheel again`,
    );
  }
  if (!WebAssembly.validate(data as Uint8Array<ArrayBuffer>)) {
    throw new ThirdbookError(
      "wasm-corrupt",
      `${member} in ${file} is not valid WebAssembly for this engine: fetch or build the wheel again, or use a newer browser`,
    );
  }
}
