// In: the catalogue of graph breaks. Out: a page of the site: an entry a kind, each with its program and a link that opens it here.
// Invariant: no script; every text is escaped; addresses are relative.

import type { CatalogueEntry } from "../../docs/graph-breaks.mjs";
import { encodeHash } from "../lib/share.js";

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

async function articleOf({ code, title, why, hint, example }: CatalogueEntry): Promise<string> {
  const program =
    example === null
      ? ""
      : `<pre tabindex="0" aria-label="Program"><code>${escape(example)}</code></pre>
<p><a href="./${escape(await encodeHash({ file: `${code}.py`, source: example }))}">Open in the playground</a></p>`;
  return `<article id="${code}">
<h2><a href="#${code}"><code>${code}</code></a> ${escape(title)}</h2>
<p>${escape(why)}</p>
<p class="hint"><b>What to do:</b> ${escape(hint)}</p>
${program}
</article>`;
}

export async function cataloguePage(catalogue: CatalogueEntry[]): Promise<string> {
  const index = catalogue.map(
    ({ code, title }) => `<li><a href="#${code}"><code>${code}</code> ${escape(title)}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>Graph breaks · Thirdbook</title>
<link rel="icon" href="./icon.svg" type="image/svg+xml" />
<link rel="stylesheet" href="./graph-breaks.css" />
</head>
<body>
<header><a href="./">← Playground</a></header>
<main>
<h1>Graph breaks</h1>
<p>Where the tracer cannot go on, the graph ends: the ledger so far is settled, CPython runs the operation, and tracing resumes
after it. The result is always that of plain Python; a break costs speed only.</p>
<ul class="index">
${index.join("\n")}
</ul>
${(await Promise.all(catalogue.map(articleOf))).join("\n")}
</main>
</body>
</html>
`;
}
