#!/usr/bin/env node
// In: the command line. Out: an exit status. Invariant: a checkout that has not been built is one line, not a stack trace.

import { existsSync } from "node:fs";
import process from "node:process";

const command = new URL("../../build/npm/cli/command.js", import.meta.url);
if (existsSync(command)) {
  const { main } = await import(command.href);
  process.exit(await main(process.argv.slice(2)));
} else {
  process.stderr.write("thirdbook: this checkout is not built yet: run npm run build\n");
  process.exitCode = 1;
}
