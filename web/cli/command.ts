// In: the words of the command line, and a byte that becomes 2 on Ctrl-C. Out: an exit status: the program's own, 2 for usage, 1 for a failure of ours.
// Invariant: every expected failure is one line on stderr.

import process from "node:process";
import { loadPyodide } from "pyodide";
import { doctor, linesOf } from "../lib/doctor.js";
import { ThirdbookError } from "../lib/errors.js";
import { version } from "../lib/wheel_file.js";
import { kUsage, parseCommand, UsageError, type Command } from "./arguments.js";
import { writeAll } from "./host_files.js";
import { runProgram } from "./program.js";

export async function main(words: string[], interrupt: Uint8Array): Promise<number> {
  try {
    return await dispatch(parseCommand(words), interrupt);
  } catch (error) {
    if (error instanceof UsageError) return fail(error.message, 2);
    if (error instanceof ThirdbookError) return fail(error.message, 1);
    throw error;
  }
}

async function dispatch(command: Command, interrupt: Uint8Array): Promise<number> {
  switch (command.kind) {
    case "help":
      say(`${kUsage}\n`);
      return 0;
    case "version":
      say(`${version}\n`);
      return 0;
    case "doctor":
      say(`${linesOf(await doctor(await loadPyodide())).join("\n")}\nNode: ${process.versions.node}\n`);
      return 0;
    case "run":
    case "explain":
      return runProgram(command, interrupt);
    default:
      return command satisfies never;
  }
}

function say(text: string): void {
  writeAll(1, new TextEncoder().encode(text));
}

function fail(message: string, status: number): number {
  writeAll(2, new TextEncoder().encode(`thirdbook: ${message}\n`));
  return status;
}
