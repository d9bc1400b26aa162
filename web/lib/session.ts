// In: a way to make a worker that calls serve(). Out: programs run there; output, results and progress as events.
// Invariant: stop() ends a runaway program by ending the worker; the next run starts a new one; a failed start rejects and can be
// tried again; no promise stays open when its worker is gone.

import type { DoctorReport } from "./doctor.js";
import { ThirdbookError } from "./errors.js";
import type { Exported, FromWorker, ProgramFile, Stage, StageTiming, ToWorker } from "./protocol.js";
import type { Report } from "./report.js";
import { Watchdog } from "./watchdog.js";

export interface SessionOptions {
  /** A module worker whose script calls `serve(self)` of thirdbook/worker. */
  makeWorker: () => Worker;
  /** Address of the folder with Pyodide's files. */
  pyodideURL: string;
  wheelURL?: string;
  /** Sizes of Pyodide's files by name, for the progress bar. */
  bytes?: Record<string, number>;
  /** Milliseconds without progress after which starting fails with code "timeout". Default 60,000. */
  timeout?: number;
  onProgress?: (stage: Stage, loaded: number, total: number) => void;
  onReady?: (version: string, timings: StageTiming[]) => void;
}

export interface RunOptions {
  file?: string;
  args?: string[];
  stdin?: string;
  enabled?: boolean;
  backend?: string;
  verify?: boolean;
  /** The text of a graph of an earlier run's report: the program runs up to the call that computes it, and `exported` has its file. */
  exportGraph?: string;
  onOutput?: (stream: "stdout" | "stderr", text: string) => void;
}

export interface ProgramResult {
  status: number;
  /** What was printed, up to 16 million characters each; `onOutput` gets all of it. */
  stdout: string;
  stderr: string;
  milliseconds: number;
  report: Report | null;
  /** What went wrong outside of the program, such as an interpreter that died. */
  trouble: string | null;
  /** What the program has left in its folder, up to 16 MB. */
  files: ProgramFile[];
  /** Where `exportGraph` was given: the graph's file for thirdbook/runtime, or why there is none. */
  exported: Exported | null;
}

interface OpenRun {
  stdout: string;
  stderr: string;
  onOutput: RunOptions["onOutput"];
  resolve: (result: ProgramResult) => void;
  reject: (error: ThirdbookError) => void;
}

const kMostKept = 16_000_000;

export class Session {
  readonly #options: SessionOptions;
  #worker: Worker | undefined;
  #started: Promise<void> | undefined;
  #failStart: ((error: ThirdbookError) => void) | undefined;
  #runs = new Map<number, OpenRun>();
  #next = 1;
  #doctors: ((report: DoctorReport) => void)[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Starts Python in the worker, once. */
  start(): Promise<void> {
    this.#started ??= this.#startWorker().catch((error: unknown) => {
      this.#end(error instanceof ThirdbookError ? error : new ThirdbookError("worker-failed", String(error)));
      throw error;
    });
    return this.#started;
  }

  async run(source: string, options: RunOptions = {}): Promise<ProgramResult> {
    await this.start();
    const run = this.#next++;
    return new Promise((resolve, reject) => {
      this.#runs.set(run, { stdout: "", stderr: "", onOutput: options.onOutput, resolve, reject });
      this.#send({
        kind: "run",
        run,
        source,
        file: options.file ?? "program.py",
        args: options.args ?? [],
        stdin: options.stdin ?? "",
        enabled: options.enabled ?? true,
        backend: options.backend ?? null,
        verify: options.verify ?? false,
        exportGraph: options.exportGraph ?? null,
      });
    });
  }

  async doctor(): Promise<DoctorReport> {
    await this.start();
    return new Promise((resolve) => {
      this.#doctors.push(resolve);
      this.#send({ kind: "doctor" });
    });
  }

  /** Ends the worker; a running program's promise rejects. */
  stop(): void {
    this.#end(new ThirdbookError("worker-failed", "the program was stopped"));
  }

  #startWorker(): Promise<void> {
    const { options, worker } = { options: this.#options, worker: this.#options.makeWorker() };
    this.#worker = worker;
    const watchdog = new Watchdog(options.timeout ?? 60_000);
    let stage: Stage = "downloading";
    const ready = new Promise<void>((resolve, reject) => {
      this.#failStart = reject;
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        if (worker !== this.#worker) return; // an ended one may still fail
        this.#end(
          new ThirdbookError(
            "worker-failed",
            `the worker failed: ${event.message || "its script cannot be loaded"}`,
          ),
        );
      });
      worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
        if (worker !== this.#worker) return;
        if (data.kind === "progress") stage = data.stage;
        watchdog.feed();
        if (data.kind === "ready") resolve();
        this.#receive(data);
      });
    });
    worker.postMessage({
      kind: "start",
      pyodideURL: options.pyodideURL,
      wheelURL: options.wheelURL ?? null,
      bytes: options.bytes ?? {},
    } satisfies ToWorker);
    return watchdog.guard(ready, () => stage);
  }

  #send(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case "progress":
        this.#options.onProgress?.(message.stage, message.loaded, message.total);
        return;
      case "ready":
        this.#options.onReady?.(message.version, message.timings);
        return;
      case "failed":
        this.#end(new ThirdbookError(message.code, message.message));
        return;
      case "output": {
        const run = this.#runs.get(message.run);
        if (!run) return;
        for (const { stream, text } of message.pieces) {
          run[stream] += text.slice(0, kMostKept - run[stream].length);
          run.onOutput?.(stream, text);
        }
        return;
      }
      case "done": {
        const run = this.#runs.get(message.run);
        this.#runs.delete(message.run);
        const { status, milliseconds, report, trouble, files, exported } = message;
        const { stdout, stderr } = run ?? { stdout: "", stderr: "" };
        run?.resolve({ status, stdout, stderr, milliseconds, report, trouble, files, exported });
        return;
      }
      case "doctor":
        this.#doctors.shift()?.(message.report);
        return;
      default:
        message satisfies never;
    }
  }

  #end(error: ThirdbookError): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#started = undefined;
    this.#failStart?.(error);
    this.#failStart = undefined;
    for (const run of this.#runs.values()) run.reject(error);
    this.#runs.clear();
  }
}
