// In: Vitest. Out: `test` with the fixture `python`, and the matchers' types.
// Invariant: one Pyodide a worker, in Node and in browser mode; every program starts with reset caches and a fresh namespace; a failed
// test carries the reports of its programs.

import { loadPyodide } from "pyodide";
import { onTestFailed, test as base } from "vitest";
import type { Pyodide } from "../lib/host.js";
import { install, type Thirdbook } from "../lib/install.js";
import type { Report } from "../lib/report.js";
import { encodeHash } from "../lib/share.js";
import { printReport } from "../report/print.js";
import type { ThirdbookMatchers } from "./matchers.js";
import { makeRun, Program, type ProgramOptions } from "./program.js";
import { kSnapshot } from "./snapshot_py.js";

export type { Tolerance } from "./difference.js";
export { matchers, type ExpectedBreak, type ExpectedMutation, type ThirdbookMatchers } from "./matchers.js";
export { Program, type Outcome, type ProgramOptions } from "./program.js";
export { reportSerializer } from "./serializer.js";

/* eslint-disable @typescript-eslint/no-unused-vars, @typescript-eslint/no-empty-object-type -- Vitest asks for this shape */
declare module "vitest" {
  interface Matchers<
    R extends void | Promise<void> = void | Promise<void>,
    T = unknown,
  > extends ThirdbookMatchers<R> {}
  interface TaskMeta {
    /** Of a failed test: the report of each of its programs. */
    thirdbook?: Report[];
  }
}
/* eslint-enable */

declare const __THIRDBOOK_PLAYGROUND__: string | undefined;

export interface Python {
  /** The host's Pyodide, for anything else. */
  readonly pyodide: Pyodide;
  readonly thirdbook: Thirdbook;
  /** A program for the matchers; common indentation is taken away. */
  program(source: string, options?: ProgramOptions): Program;
}

export interface Runtime {
  pyodide: Pyodide;
  thirdbook: Thirdbook;
  run: ReturnType<typeof makeRun>;
}

async function startRuntime(): Promise<Runtime> {
  const pyodide = (await loadPyodide()) as unknown as Pyodide;
  const thirdbook = await install(pyodide, { torchAlias: true });
  return { pyodide, thirdbook, run: makeRun(pyodide, kSnapshot) };
}

/** What a failed test says: each program with its report, and a playground link where a playground is known. */
async function describeFailure(programs: readonly Program[]): Promise<string[]> {
  const playground = typeof __THIRDBOOK_PLAYGROUND__ === "string" ? __THIRDBOOK_PLAYGROUND__ : "";
  return Promise.all(
    programs.map(async (program) => {
      const link =
        playground === ""
          ? ""
          : `\n${playground}${await encodeHash({ file: program.file, source: program.source })}`;
      const lines = program.source.trimEnd().split("\n");
      const listing = lines.map((line, index) => `${String(index + 1).padStart(4)}  ${line}`.trimEnd());
      const report = printReport(program.report, ["graph", "guards", "ledger", "breaks"]);
      return `${program.file}\n${listing.join("\n")}\n\n${report}${link}`;
    }),
  );
}

export const test = base
  .extend("pythonRuntime", { scope: "worker" }, () => startRuntime())
  .extend("python", ({ pythonRuntime }, { onCleanup }): Python => {
    const { pyodide, thirdbook, run } = pythonRuntime;
    const programs: Program[] = [];
    onTestFailed(async ({ task }) => {
      task.meta.thirdbook = programs.map((program) => program.report);
      for (const text of await describeFailure(programs)) console.error(text);
    });
    onCleanup(() => thirdbook.reset());
    return {
      pyodide,
      thirdbook,
      program(source, options) {
        const program = new Program(run, source, options);
        programs.push(program);
        return program;
      },
    };
  });

export const it = test;
