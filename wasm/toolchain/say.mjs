// In: one line of text per step. Out: that line on stderr, so that stdout stays a program's own.
// Invariant: a failure is one line with the thing's name, its place and the remedy, and ends the process with status 1.

export function say(text) {
  process.stderr.write(`[thirdbook] ${text}\n`);
}

/** An expected failure of set-up or build: `what` happened, `where`, and what to do about it. */
export class SetupError extends Error {
  constructor(what, where, remedy) {
    super(`${what} (${where}): ${remedy}`);
    this.name = "SetupError";
  }
}

/** Runs `main` and turns a SetupError into one line; anything else keeps its stack, for it is our own bug. */
export async function runMain(main) {
  try {
    const status = await main();
    if (typeof status === "number") process.exitCode = status;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`[thirdbook] error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
