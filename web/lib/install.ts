// In: a Pyodide that the host has loaded, and options. Out: the Python package `thirdbook`, imported there, and a small handle.
// Invariant: version, ABI and bytes are checked before anything is written into the host's file system; installing twice is
// installing once; every failure is one ThirdbookError.

import { messageOf, ThirdbookError } from "./errors.js";
import { fetchBytes } from "./fetch.js";
import { factsOf, type HostFacts, type Pyodide } from "./host.js";
import { connectKernels } from "./kernel_bridge.js";
import type { Report } from "./report.js";
import { assertWasmAllowed } from "./wasm.js";
import { Watchdog } from "./watchdog.js";
import { checkBytes, checkTags, fileNameOf, parseWheelName } from "./wheel.js";
import type { GpuEntry } from "./webgpu/device.js";
import { wheel } from "./wheel_file.js";

export type InstallEvent =
  | { kind: "check" }
  | { kind: "fetch"; loaded: number; total: number }
  | { kind: "unpack" }
  | { kind: "import" }
  | { kind: "ready"; version: string; milliseconds: number };

export interface InstallOptions {
  /** Address of the wheel; the one in this package when left out. */
  wheelURL?: string;
  /** The wheel itself, for hosts that have it already; its name is then taken from `wheelURL`. */
  wheelBytes?: Uint8Array;
  /** Makes `import torch` give Thirdbook's alias where no real torch is installed. Default false. */
  torchAlias?: boolean;
  /** The WebGPU that tensors and graphs may use; navigator.gpu when left out. */
  gpu?: GpuEntry;
  onProgress?: (event: InstallEvent) => void;
  /** Milliseconds without progress after which the promise rejects with code "timeout". Default 30,000. */
  timeout?: number;
}

/** What the host holds after install(). */
export interface Thirdbook {
  readonly version: string;
  readonly host: HostFacts;
  /** Whether generated kernels can run; otherwise library kernels do the same work, more slowly. */
  readonly generatedKernels: boolean;
  /** Everything compiled since the last reset. */
  report(): Report;
  /** Forgets every compiled function and zeroes the counters. */
  reset(): void;
}

/** Installs Thirdbook into `pyodide` (on a page, in a worker, in Node) and imports it. */
export async function install(pyodide: Pyodide, options: InstallOptions = {}): Promise<Thirdbook> {
  const watchdog = new Watchdog(options.timeout ?? 30_000);
  let stage = "checking the host";
  const work = installIn(pyodide, options, (event) => {
    stage = kStages[event.kind];
    watchdog.feed();
    options.onProgress?.(event);
  });
  return watchdog.guard(work, () => stage);
}

const kStages: Record<InstallEvent["kind"], string> = {
  check: "checking the host",
  fetch: "fetching the wheel",
  unpack: "unpacking the wheel",
  import: "importing thirdbook",
  ready: "finishing",
};

async function installIn(
  pyodide: Pyodide,
  options: InstallOptions,
  tell: (event: InstallEvent) => void,
): Promise<Thirdbook> {
  const started = performance.now();
  tell({ kind: "check" });
  const host = factsOf(pyodide);
  assertWasmAllowed();
  if (!pyodide.runPython("import importlib.util as u; u.find_spec('thirdbook') is not None")) {
    await unpackWheel(pyodide, host, options, tell);
  }
  tell({ kind: "import" });
  const version = importPackage(pyodide, options.torchAlias ?? false);
  const generatedKernels = connect(pyodide);
  registerGpu(pyodide, options.gpu);
  tell({ kind: "ready", version, milliseconds: performance.now() - started });
  return {
    version,
    host,
    generatedKernels,
    report: () =>
      JSON.parse(
        String(pyodide.runPython("import json, thirdbook; json.dumps(thirdbook.report())")),
      ) as Report,
    reset: () => void pyodide.runPython("import thirdbook; thirdbook.reset()"),
  };
}

async function unpackWheel(
  pyodide: Pyodide,
  host: HostFacts,
  options: InstallOptions,
  tell: (event: InstallEvent) => void,
): Promise<void> {
  const own = options.wheelURL === undefined && options.wheelBytes === undefined;
  const url = options.wheelURL ?? wheel?.url;
  if (url === undefined) {
    throw new ThirdbookError(
      "wheel-missing",
      "this checkout has no wheel yet: run npm run build, or pass {wheelURL} to install()",
    );
  }
  // A bundler may have renamed the file or put it into a data: address; the package knows its own wheel's name.
  const file = own && wheel ? wheel.name : fileNameOf(url);
  const named = parseWheelName(file);
  if (named) checkTags(named, file, host);
  tell({ kind: "fetch", loaded: 0, total: own ? (wheel?.bytes ?? 0) : 0 });
  const bytes =
    options.wheelBytes ?? (await fetchBytes(url, (loaded, total) => tell({ kind: "fetch", loaded, total })));
  for (const tag of await checkBytes(file, bytes)) checkTags(tag, file, host);
  tell({ kind: "unpack" });
  // The folder is named because Pyodide would unpack into the working directory.
  const extractDir = String(pyodide.runPython("import sysconfig; sysconfig.get_path('purelib')"));
  pyodide.unpackArchive(bytes, "wheel", { extractDir });
  pyodide.runPython("import importlib; importlib.invalidate_caches()");
}

function importPackage(pyodide: Pyodide, torchAlias: boolean): string {
  try {
    const alias = torchAlias ? "; thirdbook.install_torch_alias()" : "";
    return String(pyodide.runPython(`import thirdbook${alias}; thirdbook.__version__`));
  } catch (error) {
    throw new ThirdbookError(
      "import-failed",
      `the wheel was unpacked, but importing thirdbook failed (${messageOf(error)}): reload the page and report this line`,
      { cause: error },
    );
  }
}

/** From JavaScript, because a page's Content-Security-Policy may forbid the wheel to evaluate its own. */
function connect(pyodide: Pyodide): boolean {
  try {
    if (pyodide.runPython("import thirdbook; thirdbook._core._engine_registered()")) return true;
    const { instantiate, relaxed } = connectKernels(pyodide);
    const flag = relaxed ? "True" : "False";
    pyodide.runPython(
      `from thirdbook import _kernel_bridge; _kernel_bridge.register(${instantiate}, ${flag})`,
    );
    return true;
  } catch {
    return false;
  }
}

/** Nothing is loaded or asked of WebGPU before the first graph or tensor that wants it. */
function registerGpu(pyodide: Pyodide, entry: GpuEntry | undefined): void {
  const register = pyodide.runPython("from thirdbook import _gpu; _gpu.register") as (
    connect: () => Promise<unknown>,
  ) => void;
  register(() => import("./webgpu/bridge.js").then(({ GpuBridge }) => GpuBridge.connect(entry)));
}
