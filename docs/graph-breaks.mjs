// In: core/interpret/breaks.def, the programs in examples/breaks. Out: docs/graph-breaks.md, the catalogue; with --check nothing is
// written and the exit status is 1 when it is stale. Invariant: one entry a row of the table, in its order.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const kRoot = new URL("../", import.meta.url);
const kPage = new URL("docs/graph-breaks.md", kRoot);
const kText = String.raw`"((?:[^"\\]|\\.)*)"`;

/** The rows of breaks.def with the program that shows each; `internal` has none, nothing may cause it. */
export function readCatalogue() {
  const table = readFileSync(new URL("core/interpret/breaks.def", kRoot), "utf8");
  const row = new RegExp(String.raw`^TB_BREAK\(\w+,\s*${kText},\s*${kText},\s*${kText},\s*${kText}\)`, "gm");
  return [...table.matchAll(row)].map(([, code, title, why, hint]) => {
    const program = new URL(`examples/breaks/${code}.py`, kRoot);
    return { code, title, why, hint, example: existsSync(program) ? readFileSync(program, "utf8") : null };
  });
}

function entryOf({ code, title, why, hint, example }) {
  const shown = example === null ? "" : `\n\`\`\`python\n${example}\`\`\`\n`;
  return `## ${code}\n\n**${title}.** ${why}\n\n*What to do:* ${hint}\n${shown}`;
}

function pageOf(catalogue) {
  const index = catalogue.map(({ code, title }) => `| [\`${code}\`](#${code}) | ${title} |`).join("\n");
  return `# Graph breaks

Where the tracer cannot go on, the graph ends: the ledger so far is settled, CPython runs the operation, and tracing resumes after it.
The result is always that of plain Python; a break costs speed only. A report names each break by a code, its reason in words, the line
and a hint; \`fullgraph=True\` makes a break an error instead.

Generated from [core/interpret/breaks.def](../core/interpret/breaks.def) by \`node docs/graph-breaks.mjs\`; the programs lie in
[examples/breaks](../examples/breaks) and the tests run each.

| code | title |
|---|---|
${index}

${catalogue.map(entryOf).join("\n")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = pageOf(readCatalogue());
  if (!process.argv.includes("--check")) writeFileSync(kPage, page);
  else if (!existsSync(kPage) || readFileSync(kPage, "utf8") !== page) {
    process.stderr.write("docs/graph-breaks.md is stale: node docs/graph-breaks.mjs\n");
    process.exitCode = 1;
  }
}
