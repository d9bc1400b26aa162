// In: messages of protocol.ts, in a module worker. Out: Pyodide with Thirdbook, running programs; answers by message.
// Invariant: starts once; one program at a time; each program finds the interpreter as the first one did, a fresh `__main__` and reset caches.

import { doctor } from "./doctor.js";
import { messageOf, ThirdbookError } from "./errors.js";
import { GraphCatch } from "./export_call.js";
import { FreshWorld } from "./fresh_world.js";
import type { Pyodide } from "./host.js";
import { install } from "./install.js";
import type {
  FromWorker,
  ProgramFile,
  RunMessage,
  Stage,
  StageTiming,
  StartMessage,
  ToWorker,
} from "./protocol.js";
import type { Report } from "./report.js";
import { PacedOutput, type OutputPiece } from "./paced_output.js";
import { Runner } from "./runner.js";
import { assertWasmAllowed } from "./wasm.js";

interface Scope {
  postMessage(message: FromWorker): void;
  addEventListener(type: "message", listener: (event: MessageEvent<ToWorker>) => void): void;
}

interface FileSystem {
  mkdirTree(path: string): void;
  chdir(path: string): void;
  readdir(path: string): string[];
  stat(path: string): { mode: number; size: number };
  isFile(mode: number): boolean;
  readFile(path: string): Uint8Array;
  writeFile(path: string, data: string): void;
  unlink(path: string): void;
}

interface WorkerPyodide extends Pyodide {
  FS: FileSystem;
  setStdin(options: { stdin: () => string | null }): void;
  setStdout(options: { write: (buffer: Uint8Array) => number; isatty: boolean }): void;
  setStderr(options: { write: (buffer: Uint8Array) => number; isatty: boolean }): void;
}

interface PyodideModule {
  loadPyodide(options: { indexURL: string }): Promise<WorkerPyodide>;
}

const kFolder = "/home/pyodide";
const kMaxFiles = 16e6;

/** Answers the host's messages; call it once in a worker: `import { serve } from "thirdbook/worker"; serve(self)`. */
export function serve(scope: Scope): void {
  let runtime: Promise<Runtime> | undefined;
  scope.addEventListener("message", ({ data }) => {
    switch (data.kind) {
      case "start":
        runtime ??= Runtime.start(data, (message) => scope.postMessage(message));
        runtime.catch((error: unknown) => {
          const code = error instanceof ThirdbookError ? error.code : "worker-failed";
          scope.postMessage({ kind: "failed", code, message: messageOf(error) });
        });
        return;
      case "run":
        void runtime
          ?.then((started) => started.run(data))
          .catch((error: unknown) => scope.postMessage({ kind: "done", ...failedRun(data.run, error) }));
        return;
      case "doctor":
        void runtime
          ?.then((started) => doctor(started.pyodide))
          .then((report) => scope.postMessage({ kind: "doctor", report }));
        return;
      default:
        data satisfies never;
    }
  });
}

function failedRun(run: number, error: unknown) {
  return {
    run,
    status: 1,
    milliseconds: 0,
    report: null,
    trouble: messageOf(error),
    files: [],
    exported: null,
  };
}

class Runtime {
  readonly pyodide: WorkerPyodide;
  readonly #runner: Runner;
  readonly #world: FreshWorld;
  readonly #post: (message: FromWorker) => void;

  private constructor(pyodide: WorkerPyodide, post: (message: FromWorker) => void) {
    this.pyodide = pyodide;
    this.#post = post;
    this.#runner = new Runner(pyodide);
    this.#world = new FreshWorld(pyodide);
  }

  static async start(message: StartMessage, post: (message: FromWorker) => void): Promise<Runtime> {
    assertWasmAllowed();
    const timings: StageTiming[] = [];
    const timed = async <T>(stage: Stage, work: () => Promise<T>): Promise<T> => {
      post({ kind: "progress", stage, loaded: 0, total: 0 });
      const from = performance.now();
      const result = await work();
      timings.push({ stage, milliseconds: performance.now() - from });
      return result;
    };
    await timed("downloading", () => download(message, post));
    const module = await timed("compiling", () => importPyodide(message.pyodideURL));
    const pyodide = await timed("starting", () => module.loadPyodide({ indexURL: message.pyodideURL }));
    const { version } = await timed("installing", () =>
      install(pyodide, {
        torchAlias: true,
        ...(message.wheelURL === null ? {} : { wheelURL: message.wheelURL }),
      }),
    );
    const runtime = new Runtime(pyodide, post);
    post({ kind: "ready", version, timings });
    return runtime;
  }

  async run(message: RunMessage): Promise<void> {
    const { pyodide } = this;
    const output = new PacedOutput((pieces) => this.#post({ kind: "output", run: message.run, pieces }));
    pyodide.setStdout(streamInto(output, "stdout"));
    pyodide.setStderr(streamInto(output, "stderr"));
    const lines = message.stdin === "" ? [] : message.stdin.split(/(?<=\n)/);
    pyodide.setStdin({ stdin: () => lines.shift() ?? null });
    const path = `${kFolder}/${message.file}`;
    pyodide.FS.mkdirTree(kFolder);
    pyodide.FS.chdir(kFolder);
    for (const name of filesIn(pyodide.FS)) pyodide.FS.unlink(`${kFolder}/${name}`);
    pyodide.FS.writeFile(path, message.source);
    this.#world.restore();
    this.#runner.settings({
      enabled: message.enabled,
      backend: message.backend ?? "auto",
      verify: message.verify,
    });
    const from = performance.now();
    let status = 1;
    let trouble: string | null = null;
    const graph = message.exportGraph === null ? null : new GraphCatch(pyodide, message.exportGraph);
    try {
      status = await this.#runner.run(path, path, message.args);
    } catch (error) {
      trouble = messageOf(error);
    }
    const exported = graph?.end() ?? null;
    const milliseconds = performance.now() - from;
    let report: Report | null = null;
    try {
      report = JSON.parse(
        String(pyodide.runPython("import json, thirdbook; json.dumps(thirdbook.report())")),
      ) as Report;
    } catch (error) {
      trouble ??= messageOf(error);
    }
    output.flush();
    const files = filesOf(pyodide.FS, message.file);
    this.#post({ kind: "done", run: message.run, status, milliseconds, report, trouble, files, exported });
  }
}

function streamInto(output: PacedOutput, stream: OutputPiece["stream"]) {
  const decoder = new TextDecoder();
  return {
    isatty: false,
    write: (buffer: Uint8Array) => {
      output.write(stream, decoder.decode(buffer, { stream: true }));
      return buffer.length;
    },
  };
}

function filesIn(fs: FileSystem): string[] {
  return fs.readdir(kFolder).filter((name) => fs.isFile(fs.stat(`${kFolder}/${name}`).mode));
}

/** What a program has made beside itself, as long as it is not too much to hand over. */
function filesOf(fs: FileSystem, program: string): ProgramFile[] {
  let room = kMaxFiles;
  const files: ProgramFile[] = [];
  for (const name of filesIn(fs)) {
    room -= fs.stat(`${kFolder}/${name}`).size;
    if (name !== program && room >= 0) files.push({ name, bytes: fs.readFile(`${kFolder}/${name}`) });
  }
  return files;
}

/** Fetches the files that Pyodide will ask for, so that progress is known and the engine's cache holds them. */
async function download(message: StartMessage, post: (message: FromWorker) => void): Promise<void> {
  const names = Object.keys(message.bytes);
  const total = Object.values(message.bytes).reduce((sum, bytes) => sum + bytes, 0);
  let loaded = 0;
  await Promise.all(
    names.map(async (name) => {
      const response = await fetch(new URL(name, message.pyodideURL));
      if (!response.ok || !response.body) {
        throw new ThirdbookError(
          "worker-failed",
          `${name} of Pyodide cannot be fetched (HTTP status ${response.status}): reload`,
        );
      }
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        loaded += value.length;
        post({ kind: "progress", stage: "downloading", loaded: Math.min(loaded, total), total });
      }
    }),
  );
}

async function importPyodide(pyodideURL: string): Promise<PyodideModule> {
  const url = new URL("pyodide.mjs", pyodideURL).href;
  try {
    return (await import(/* @vite-ignore */ url)) as PyodideModule;
  } catch (error) {
    throw new ThirdbookError(
      "worker-failed",
      `${url} cannot be loaded (${messageOf(error)}): check the address`,
      { cause: error },
    );
  }
}
