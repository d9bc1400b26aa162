// In: examples/. Out: their names and texts. Invariant: whatever lies there is run by every test that uses this list.

import { readdirSync, readFileSync } from "node:fs";

export interface Example {
  file: string;
  source: string;
}

export const examples: Example[] = readdirSync("examples")
  .filter((file) => file.endsWith(".py"))
  .sort()
  .map((file) => ({ file, source: readFileSync(`examples/${file}`, "utf8") }));

/** What each program must print under any engine; proved against plain Python by the tests that use it. */
export const kDay16Output = "2 [1, 2]\n";
