// In: the command line. Out: an exit status: the program's own, 2 for usage, 1 for a failure of ours.
// Invariant: every expected failure is one line on stderr.

import process from "node:process";
import { loadPyodide } from "pyodide";
import { doctor, linesOf } from "../lib/doctor.js";
import { ThirdbookError } from "../lib/errors.js";
import { version } from "../lib/wheel_file.js";
import { kUsage, parseCommand, UsageError, type Command } from "./arguments.js";
import { runProgram } from "./program.js";

export async function main(words: string[]): Promise<number> {
  try {
    return await dispatch(parseCommand(words));
  } catch (error) {
    if (error instanceof UsageError) return fail(error.message, 2);
    if (error instanceof ThirdbookError) return fail(error.message, 1);
    throw error;
  }
}

async function dispatch(command: Command): Promise<number> {
  switch (command.kind) {
    case "help":
      process.stdout.write(`${kUsage}\n`);
      return 0;
    case "version":
      process.stdout.write(`${version}\n`);
      return 0;
    case "doctor":
      process.stdout.write(`${linesOf(await doctor(await loadPyodide())).join("\n")}\nNode: ${process.versions.node}\n`);
      return 0;
    case "run":
    case "explain":
      return runProgram(command);
    default:
      return command satisfies never;
  }
}

function fail(message: string, status: number): number {
  process.stderr.write(`thirdbook: ${message}\n`);
  return status;
}
