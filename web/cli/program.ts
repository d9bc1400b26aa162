// In: a run or explain command. Out: the program's exit status; its report where asked for.
// Invariant: stdout is the program's own; everything of ours goes to stderr or to the report file; a program that cannot be started
// is a UsageError before Python is loaded.

import { accessSync, constants, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { loadPyodide } from "pyodide";
import type { Pyodide } from "../lib/host.js";
import { install } from "../lib/install.js";
import { Runner } from "../lib/runner.js";
import { UsageError, type RunCommand } from "./arguments.js";
import { connectStreams, mountHost, writeAll, type NodePyodide } from "./host_files.js";
import { printReport, type Section } from "../report/print.js";

const kExplained: Section[] = ["graph", "breaks", "guards", "ledger"];

export async function runProgram(command: RunCommand, interrupt: Uint8Array): Promise<number> {
  const path = resolve(command.file);
  checkReadable(command.file, path);
  if (command.report !== undefined) checkWritable(command.report);
  const host = (await loadPyodide({ env: environment() })) as unknown as Pyodide & NodePyodide;
  await install(host, { torchAlias: true });
  const runner = new Runner(host);
  runner.settings({
    enabled: !command.off,
    ...(command.backend === undefined ? {} : { backend: command.backend }),
    ...(command.verify ? { verify: true } : {}),
  });
  host.setInterruptBuffer(interrupt);
  connectStreams(host);
  mountHost(host);
  const status = await runner.run(path, command.file, command.args);
  const sections = command.kind === "explain" && command.print.length === 0 ? kExplained : command.print;
  if (sections.length > 0 || command.report !== undefined) {
    const text = String(host.runPython("import json, thirdbook; json.dumps(thirdbook.report())"));
    if (command.report !== undefined) writeFileSync(command.report, `${text}\n`);
    if (sections.length > 0) writeAll(2, new TextEncoder().encode(printReport(JSON.parse(text), sections)));
  }
  return status;
}

function environment(): Record<string, string> {
  const pairs = Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return { HOME: "/", ...Object.fromEntries(pairs) };
}

function checkReadable(given: string, path: string): void {
  try {
    if (statSync(path).isDirectory()) throw new UsageError(`${given} is a folder: name a Python file`);
    readFileSync(path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    throw new UsageError(
      code === "ENOENT"
        ? `${given} does not exist: check the path`
        : `${given} cannot be read (${code}): check its permissions`,
    );
  }
}

function checkWritable(report: string): void {
  const folder = dirname(resolve(report));
  try {
    accessSync(folder, constants.W_OK);
    if (statSync(report, { throwIfNoEntry: false })?.isDirectory())
      throw new UsageError(`--report ${report} is a folder: name a file`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--report ${report} cannot be written: ${folder} is missing or not writable`);
  }
}
