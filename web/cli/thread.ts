// In: the words of the command line, in the thread that main.mjs makes. Out: the thread's exit status.
// Invariant: nothing but this file knows that it is a thread.

import process from "node:process";
import { workerData } from "node:worker_threads";
import { main } from "./command.js";

const { interrupt } = workerData as { interrupt: Uint8Array };
process.exit(await main(process.argv.slice(2), interrupt));
