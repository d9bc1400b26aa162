// In: the built command line, README.md and docs/*.md. Out: the pages, with what the programs print now in every fence that begins
// with "```text examples/NAME.py --print SECTIONS"; with --check nothing is written and the exit status is 1 when a page is stale.
// Invariant: nothing else in a page changes. Usage: node docs/printed-run.mjs [--check] (after npm run build)

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const kRoot = fileURLToPath(new URL("..", import.meta.url));
const kFence = /^(```text (examples\/\S+\.py --print \S+)\n).*?^```$/gms;

function printed(words) {
  const run = ["web/cli/main.mjs", "run", ...words.split(" ")];
  const { status, stdout, stderr } = spawnSync(process.execPath, run, { cwd: kRoot, encoding: "utf8" });
  if (status !== 0) throw new Error(`${words}: ${stderr}`);
  return `${stdout}${stderr}`;
}

const docs = readdirSync(join(kRoot, "docs")).filter((name) => name.endsWith(".md"));
for (const page of ["README.md", ...docs.map((name) => join("docs", name))]) {
  const text = readFileSync(join(kRoot, page), "utf8");
  const now = text.replace(kFence, (_, head, words) => `${head}${printed(words)}\`\`\``);
  if (now === text) continue;
  if (!process.argv.includes("--check")) writeFileSync(join(kRoot, page), now);
  else {
    process.stderr.write(`${page} is stale: node docs/printed-run.mjs\n`);
    process.exitCode = 1;
  }
}
