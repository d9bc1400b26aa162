// In: the built command line and README.md. Out: README.md with the printed run between its text fences as the program prints it now.
// Invariant: nothing else in README.md changes. Usage: node docs/printed-run.mjs (after npm run build)

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const kFence = /^```text\n.*?^```$/ms;
const words = ["web/cli/main.mjs", "run", "examples/day16.py", "--print", "graph,guards,ledger"];
const cwd = fileURLToPath(new URL("..", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd, encoding: "utf8" });
if (status !== 0) {
  process.stderr.write(stderr);
  process.exit(1);
}
const readme = new URL("../README.md", import.meta.url);
const text = readFileSync(readme, "utf8");
writeFileSync(
  readme,
  text.replace(kFence, () => `\`\`\`text\n${stdout}${stderr}\`\`\``),
);
