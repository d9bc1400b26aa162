import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";
import { beforeAll, describe, expect, test } from "vitest";
import {
  doctor,
  install,
  lockEntry,
  ThirdbookError,
  type InstallEvent,
  type Pyodide,
} from "../../../build/npm/lib/index.js";
import { wheel } from "../../../build/npm/lib/wheel_file.js";

const kName = "thirdbook-0.1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl";

/** A host that says it is another Python; it answers nothing else, so nothing can have been written into it. */
function otherHost(python: string, abi: string): Pyodide {
  return {
    version: "0.0.0",
    runPython: (code: string) =>
      code.includes("_thirdbook_facts") ? `${python}|emscripten|${abi}` : code === "dict()" ? {} : false,
    runPythonAsync: () => Promise.reject(new Error("not asked for")),
    unpackArchive: () => {
      throw new Error("nothing may be unpacked");
    },
    toPy: (value: unknown) => value,
    globals: { get: () => undefined },
  };
}

async function failureOf(work: Promise<unknown>): Promise<ThirdbookError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ThirdbookError);
  const failure = error as ThirdbookError;
  expect(failure.message).not.toContain("\n");
  return failure;
}

describe("install refuses", () => {
  test("what is no Pyodide", async () => {
    const failure = await failureOf(install({} as Pyodide));
    expect(failure.code).toBe("not-pyodide");
    expect(failure.message).toMatch(/loadPyodide/);
  });

  test("another Python, before fetching anything", async () => {
    const failure = await failureOf(
      install(otherHost("3.13.2", "2025_0"), { wheelURL: `http://nowhere.invalid/${kName}` }),
    );
    expect(failure.code).toBe("wrong-python");
    expect(failure.message).toMatch(/CPython 3\.14.*Python 3\.13\.2/);
  });

  test("another ABI, before fetching anything", async () => {
    const failure = await failureOf(
      install(otherHost("3.14.0", "2025_9"), { wheelURL: `http://nowhere.invalid/${kName}` }),
    );
    expect(failure.code).toBe("wrong-abi");
    expect(failure.message).toMatch(/pyemscripten_2026_0_wasm32.*pyemscripten_2025_9_wasm32/);
  });
});

describe("install in this Pyodide", () => {
  let pyodide: Pyodide;
  let bytes: Uint8Array;
  beforeAll(async () => {
    pyodide = (await loadPyodide()) as unknown as Pyodide;
    expect(wheel, "the wheel is built").not.toBeNull();
    bytes = new Uint8Array(readFileSync(fileURLToPath(wheel?.url ?? "")));
  });

  test("says that a wheel cannot be fetched", async () => {
    const failure = await failureOf(install(pyodide, { wheelURL: `file:///nowhere/${kName}` }));
    expect(failure.code).toBe("wheel-missing");
    expect(failure.message).toContain(`file:///nowhere/${kName}`);
  });

  test("does not wait for ever for a server that is silent", async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const { port } = server.address() as AddressInfo;
    const failure = await failureOf(
      install(pyodide, { wheelURL: `http://localhost:${port}/${kName}`, timeout: 300 }),
    );
    server.closeAllConnections();
    server.close();
    expect(failure.code).toBe("timeout");
    expect(failure.message).toMatch(/while fetching the wheel/);
  });

  test("says that a wheel is cut short", async () => {
    const failure = await failureOf(
      install(pyodide, { wheelURL: kName, wheelBytes: bytes.slice(0, bytes.length / 2) }),
    );
    expect(failure.code).toBe("wheel-corrupt");
  });

  test("says that a wheel has flipped bits", async () => {
    const broken = bytes.slice();
    for (let i = 400; i < 440; ++i) broken[i] = (broken[i] as number) ^ 0x55;
    const failure = await failureOf(install(pyodide, { wheelURL: kName, wheelBytes: broken }));
    expect(failure.code).toBe("wheel-corrupt");
  });

  test("says that a page without Python is no wheel", async () => {
    const page = new TextEncoder().encode("<!doctype html><title>404</title>");
    const failure = await failureOf(install(pyodide, { wheelURL: kName, wheelBytes: page }));
    expect(failure.code).toBe("wheel-corrupt");
  });

  test("says that an extension module is no WebAssembly", async () => {
    const failure = await failureOf(
      install(pyodide, { wheelURL: kName, wheelBytes: storedWheel("not wasm at all") }),
    );
    expect(failure.code).toBe("wasm-corrupt");
  });

  test("says that an extension module is broken WebAssembly", async () => {
    const failure = await failureOf(
      install(pyodide, { wheelURL: kName, wheelBytes: storedWheel("\0asm\x01\0\0\0\x63\x05") }),
    );
    expect(failure.code).toBe("wasm-corrupt");
  });

  test("leaves nothing behind after all of these", () => {
    expect(pyodide.runPython("import importlib.util; importlib.util.find_spec('thirdbook') is None")).toBe(
      true,
    );
  });

  test("works, reports progress in order, and is idempotent", async () => {
    const kinds: InstallEvent["kind"][] = [];
    const first = await install(pyodide, { onProgress: ({ kind }) => kinds.push(kind) });
    expect([...new Set(kinds)]).toEqual(["check", "fetch", "unpack", "import", "ready"]);
    const second = await install(pyodide);
    expect(second.version).toBe(first.version);
    expect([first.generatedKernels, second.generatedKernels]).toEqual([true, true]);
    expect(first.report().compilations).toEqual([]);
    expect(pyodide.runPython("import thirdbook; thirdbook.__file__")).toBe(
      "/lib/python3.14/site-packages/thirdbook/__init__.py",
    );
  });

  test("is described by doctor", async () => {
    expect(await doctor(pyodide)).toMatchObject({ fit: "fits", python: "3.14.2", wasm: true, simd: true });
  });
});

describe("lockEntry", () => {
  test("names the wheel at the given address with its checksum", () => {
    const entry = lockEntry("https://example.org/wheels");
    expect(entry.file_name).toBe(`https://example.org/wheels/${wheel?.name}`);
    expect(entry.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(existsSync(fileURLToPath(wheel?.url ?? ""))).toBe(true);
  });

  test("lets loadPackage install thirdbook from a lock file", async () => {
    const host = await loadPyodide({ packages: [] });
    const api = (host as unknown as { _api: { lockfile_packages: Record<string, unknown> } })._api;
    const folder = new URL(".", wheel?.url).href;
    api.lockfile_packages["thirdbook"] = lockEntry(fileURLToPath(folder));
    await host.loadPackage("thirdbook", { messageCallback: () => undefined });
    expect(host.runPython("import thirdbook; thirdbook.__version__")).toBe("0.1.0");
  });
});

/** A small wheel, uncompressed, whose extension module is `text`. */
function storedWheel(text: string): Uint8Array {
  const files: [string, Uint8Array][] = [
    [
      "thirdbook-0.1.0.dist-info/WHEEL",
      new TextEncoder().encode("Wheel-Version: 1.0\nTag: cp314-cp314-pyemscripten_2026_0_wasm32\n"),
    ],
    ["thirdbook/_core.cpython-314-wasm32-emscripten.so", Uint8Array.from(text, (c) => c.charCodeAt(0))],
  ];
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const [name, data] of files) {
    const bytes = new TextEncoder().encode(name);
    const common = [20, 0, 0, 0, 0, crcOf(data), data.length, data.length, bytes.length, 0];
    const local = record("IHHHHHIIIHH", [0x04034b50, ...common]);
    directory.push(record("IHHHHHHIIIHHHHHII", [0x02014b50, 20, ...common, 0, 0, 0, 0, at]), bytes);
    parts.push(local, bytes, data);
    at += local.length + bytes.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = record("IHHHHIIH", [0x06054b50, 0, 0, files.length, files.length, size, at, 0]);
  return new Uint8Array(Buffer.concat([...parts, ...directory, end]));
}

function record(format: string, values: number[]): Uint8Array {
  const buffer = Buffer.alloc([...format].reduce((sum, letter) => sum + (letter === "I" ? 4 : 2), 0));
  let at = 0;
  [...format].forEach((letter, index) => {
    const value = values[index] ?? 0;
    at = letter === "I" ? buffer.writeUInt32LE(value, at) : buffer.writeUInt16LE(value, at);
  });
  return buffer;
}

function crcOf(data: Uint8Array): number {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let k = 0; k < 8; ++k) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
