// In: a Pyodide with Thirdbook and a program's text. Out: what the program does, eagerly and compiled, each run once and kept.
// Invariant: every run has a fresh namespace and reset caches; the runs of one program do not see each other.

import type { Pyodide } from "../lib/host.js";
import type { Report } from "../lib/report.js";

export type Description =
  | { kind: "scalar"; type: string; repr: string }
  | { kind: "code"; type: string; name: string }
  | { kind: "same"; object: number }
  | { kind: "tensor"; dtype: string; shape: number[]; values: (number | boolean | string)[] }
  | { kind: "object"; type: string; items?: unknown[]; state?: [string, Description][] };

export interface Outcome {
  stdout: string;
  error: { type: string; text: string; trace: string } | null;
  globals: [string, Description][];
  report: Report;
}

export interface ProgramOptions {
  /** Its name in reports and tracebacks. Default "program.py". */
  file?: string;
  backend?: string;
}

type RunFunction = (source: string, file: string, enabled: boolean, backend: string) => string;

/** A Python program, to be handed to the matchers. */
export class Program {
  readonly source: string;
  readonly file: string;
  readonly #run: RunFunction;
  readonly #backend: string;
  #eager: Outcome | undefined;
  #compiled: Outcome | undefined;

  constructor(run: RunFunction, source: string, options: ProgramOptions = {}) {
    this.#run = run;
    this.source = dedent(source);
    this.file = options.file ?? "program.py";
    this.#backend = options.backend ?? "auto";
  }

  /** As plain Python: compile() gives back its argument. */
  eager(): Outcome {
    return (this.#eager ??= this.#outcome(false));
  }

  compiled(): Outcome {
    return (this.#compiled ??= this.#outcome(true));
  }

  /** The report of the compiled run, whether it has happened already or not. */
  get report(): Report {
    return this.compiled().report;
  }

  #outcome(enabled: boolean): Outcome {
    return JSON.parse(this.#run(this.source, this.file, enabled, this.#backend)) as Outcome;
  }
}

/** Takes away the indentation that all lines share, and a first empty line. */
export function dedent(text: string): string {
  const lines = text.replace(/^[ \t]*\n/, "").split("\n");
  const used = lines.filter((line) => line.trim() !== "");
  const shared = Math.min(...used.map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(shared)).join("\n");
}

export function makeRun(pyodide: Pyodide, source: string): RunFunction {
  const globals = pyodide.runPython("{'__name__': 'thirdbook_vitest'}") as { get(name: string): unknown };
  pyodide.runPython(source, { globals, filename: "<thirdbook vitest>" });
  return globals.get("run_program") as RunFunction;
}
