// In: the host's page. Out: the messages between it and the worker that runs Python, both directions, tagged by `kind`.
// Invariant: plain data only; each run has a number, and every message about it carries that number.

import type { DoctorReport } from "./doctor.js";
import type { ErrorCode } from "./errors.js";
import type { OutputPiece } from "./paced_output.js";
import type { Report } from "./report.js";

export interface StartMessage {
  kind: "start";
  /** Address of the folder that holds Pyodide's files, with a slash at its end. */
  pyodideURL: string;
  wheelURL: string | null;
  /** Bytes of Pyodide's files and the wheel, when known, for an honest progress bar. */
  bytes: Record<string, number>;
}

export interface RunMessage {
  kind: "run";
  run: number;
  source: string;
  /** Name of the file in tracebacks and reports. */
  file: string;
  args: string[];
  stdin: string;
  enabled: boolean;
  backend: string | null;
  verify: boolean;
  /** The text of a graph of the report, whose file is wanted; the program then runs no further than that call. */
  exportGraph: string | null;
}

/** A graph's file for thirdbook/runtime, or why there is none. */
export type Exported = { kind: "file"; bytes: Uint8Array } | { kind: "refused"; reason: string };

/** A file that a program has left in its folder. */
export interface ProgramFile {
  name: string;
  bytes: Uint8Array;
}

export type ToWorker = StartMessage | RunMessage | { kind: "doctor" };

export type Stage = "downloading" | "compiling" | "starting" | "installing";

export interface StageTiming {
  stage: Stage;
  milliseconds: number;
}

export type FromWorker =
  | { kind: "progress"; stage: Stage; loaded: number; total: number }
  | { kind: "ready"; version: string; timings: StageTiming[] }
  | { kind: "failed"; code: ErrorCode; message: string }
  | { kind: "output"; run: number; pieces: OutputPiece[] }
  | {
      kind: "done";
      run: number;
      status: number;
      milliseconds: number;
      report: Report | null;
      trouble: string | null;
      files: ProgramFile[];
      exported: Exported | null;
    }
  | { kind: "doctor"; report: DoctorReport };
