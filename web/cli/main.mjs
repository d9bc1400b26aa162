#!/usr/bin/env node
// In: the command line. Out: an exit status. Invariant: Python runs in a thread with a deep stack, so that Python's own recursion limit
// comes first; Ctrl-C is a KeyboardInterrupt there, a second one ends the process; an unbuilt checkout is one line.

import { existsSync } from "node:fs";
import process from "node:process";
import { Worker } from "node:worker_threads";

const kStackMegabytes = 4;
const kInterrupted = 130;
const kSigint = 2;
const folder = process.env.THIRDBOOK_BUILD || "build";
const command = new URL(`../../${folder}/npm/cli/thread.js`, import.meta.url);

function start() {
  const interrupt = new Uint8Array(new SharedArrayBuffer(1));
  const worker = new Worker(command, {
    argv: process.argv.slice(2),
    workerData: { interrupt },
    resourceLimits: { stackSizeMb: kStackMegabytes },
  });
  process.on("SIGINT", () => {
    if (interrupt[0] !== 0) process.exit(kInterrupted);
    interrupt[0] = kSigint;
  });
  worker.on("error", (error) => {
    process.stderr.write(`thirdbook: ${error.stack ?? error}\n`);
    process.exit(1);
  });
  worker.on("exit", (status) => process.exit(status));
}

if (existsSync(command)) {
  start();
} else {
  process.stderr.write("thirdbook: this checkout is not built yet: run npm run build\n");
  process.exitCode = 1;
}
