// The packed tarball in a fresh project, in Chromium: a plain page, a page built by Vite, a worker, the view.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examples, kDay16Output } from "../examples.js";
import { makeProject, type FreshProject } from "../packed.js";
import { fileAnswer, launchChromium, serve, type Server } from "./serve.js";

const kSource = examples.find(({ file }) => file === "day16.py")?.source ?? "";

let project: FreshProject;
let browser: Browser;
let server: Server;

beforeAll(async () => {
  project = makeProject();
  server = await serve((path) => fileAnswer(join(project.folder, path)));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await server.close();
  project.remove();
});

function write(name: string, text: string): void {
  writeFileSync(join(project.folder, name), text);
}

/** The snippet in this language under docs/page.md's "With Vite". */
function withVite(language: string): string {
  const section = readFileSync("docs/page.md", "utf8").split("## With Vite")[1] ?? "";
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(section)?.[1] ?? "";
}

/** As docs/page.md says it: beside what Vite builds. */
function copyPyodide(): void {
  expect(spawnSync("bash", ["-ec", withVite("sh")], { cwd: project.folder }).status).toBe(0);
}

/** Builds the page into dist/. */
function buildWithVite(page: string, options: string): void {
  const build = `build: { target: "es2022", rollupOptions: { input: "${page}" } }`;
  write("vite.config.js", `export default { base: "./", ${options} ${build} };\n`);
  const { status, stderr } = spawnSync(process.execPath, ["node_modules/vite/bin/vite.js", "build"], {
    cwd: project.folder,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
}

/** Opens the page and waits for the title that its script sets at its end. */
async function titleOf(path: string): Promise<string> {
  const page = await browser.newPage();
  page.on("pageerror", (error) => page.evaluate((text) => (document.title = `error ${text}`), error.message));
  await page.goto(`${server.url}/${path}`);
  await page.waitForFunction(() => document.title !== "", undefined, { timeout: 120_000 });
  const title = await page.title();
  await page.close();
  return title;
}

const kBody = `
const pyodide = await loadPyodide({ indexURL: INDEX });
let printed = "";
pyodide.setStdout({ batched: (line) => (printed += line + "\\n") });
const thirdbook = await install(pyodide, { torchAlias: true });
pyodide.runPython(${JSON.stringify(kSource)});
document.title = JSON.stringify({ printed, compilations: thirdbook.report().counters.compilations });
`;
const kExpected = JSON.stringify({ printed: kDay16Output, compilations: 1 });

describe("the package in Chromium", () => {
  test("works in a plain page with a module script", async () => {
    const script = `import { loadPyodide } from "./node_modules/pyodide/pyodide.mjs";
import { install } from "./node_modules/thirdbook/build/npm/lib/index.js";
${kBody.replace("INDEX", '"/node_modules/pyodide/"')}`;
    write("plain.html", `<!doctype html><title></title><script type="module">${script}</script>`);
    expect(await titleOf("plain.html")).toBe(kExpected);
  });

  test("works in a page that Vite has built, the wheel being an asset", async () => {
    mkdirSync(join(project.folder, "src"), { recursive: true });
    write("built.html", '<!doctype html><title></title><script type="module" src="./src/built.js"></script>');
    write(
      "src/built.js",
      `import { install } from "thirdbook";
const { loadPyodide } = await import(/* @vite-ignore */ "/node_modules/pyodide/pyodide.mjs");
${kBody.replace("INDEX", '"/node_modules/pyodide/"')}`,
    );
    buildWithVite("built.html", "");
    expect(await titleOf("dist/built.html")).toBe(kExpected);
  });

  test("works as docs/page.md has it with Vite: Pyodide imported, its files copied", async () => {
    copyPyodide();
    const body = kBody.replace(/const pyodide = .*;/, withVite("js"));
    write(
      "imported.html",
      '<!doctype html><title></title><script type="module" src="./src/imported.js"></script>',
    );
    write(
      "src/imported.js",
      `import { loadPyodide } from "pyodide";\nimport { install } from "thirdbook";\n${body}`,
    );
    buildWithVite("imported.html", "");
    expect(await titleOf("dist/imported.html")).toBe(kExpected);
  });

  test("runs a program in a worker and shows its report with mount", async () => {
    write(
      "worker.js",
      `import { serve } from "./node_modules/thirdbook/build/npm/lib/worker.js";\nserve(self);\n`,
    );
    const script = `import { Session } from "./node_modules/thirdbook/build/npm/lib/index.js";
import { mount } from "./node_modules/thirdbook/build/npm/view/index.js";
const session = new Session({
  makeWorker: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
  pyodideURL: new URL("./node_modules/pyodide/", document.baseURI).href,
});
const source = ${JSON.stringify(kSource)};
const { stdout, report } = await session.run(source, { file: "day16.py" });
const view = mount(document.body, report, { source, file: "day16.py" });
const shadow = document.body.lastElementChild.shadowRoot;
const headings = [...shadow.querySelectorAll("h3")].map((heading) => heading.textContent);
view.destroy();
document.title = JSON.stringify({ stdout, headings, left: document.body.children.length });
session.stop();`;
    write("view.html", `<!doctype html><title></title><body></body><script type="module">${script}</script>`);
    const result = JSON.parse(await titleOf("view.html")) as {
      stdout: string;
      headings: string[];
      left: number;
    };
    expect(result.stdout).toBe(kDay16Output);
    expect(result.headings).toEqual(
      expect.arrayContaining(["Graph", "Guards", "Ledger", "Bytecode", "Kernels"]),
    );
    expect(result.left).toBe(1);
  });

  test("offers the view as a widget that follows its model", async () => {
    const report = readFileSync("tests/web/fixtures/day16.report.json", "utf8");
    const script = `import widget from "./node_modules/thirdbook/build/npm/view/index.js";
const values = { report: ${report}, source: "x = 1", file: "day16.py" };
const listeners = new Map();
const model = {
  get: (name) => values[name],
  on: (event, callback) => listeners.set(event, callback),
  off: (event) => listeners.delete(event),
};
const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
const end = widget.render({ model, el: document.body });
const shadow = document.body.lastElementChild.shadowRoot;
const headings = shadow.querySelectorAll("h3").length;
values.report = "";
listeners.get("change:report")();
await frame();
const empty = shadow.querySelector(".tb-large").textContent;
end();
document.title = JSON.stringify({ headings, empty, left: document.body.querySelectorAll("div").length, listeners: listeners.size });`;
    write(
      "widget.html",
      `<!doctype html><meta charset="utf-8"><title></title><body></body><script type="module">${script}</script>`,
    );
    expect(JSON.parse(await titleOf("widget.html"))).toEqual({
      headings: 7,
      empty: "No report yet: run the program.",
      left: 0,
      listeners: 0,
    });
  });

  test("runs the worker, session and view of docs/page.md, built by Vite", async () => {
    const snippets = [...readFileSync("docs/page.md", "utf8").matchAll(/^```js\n(.*?)^```$/gms)].map(
      (match) => match[1] ?? "",
    );
    const [, worker, session, view] = snippets;
    mkdirSync(join(project.folder, "src"), { recursive: true });
    write("src/worker.js", worker?.replace("// worker.js\n", "") ?? "");
    write(
      "src/session.js",
      `${session}
const thirdbook = { report: () => report };
const source = "print('hello')";
${view?.replace("view.destroy();", 'const shown = document.querySelector("#report > div") !== null;\nview.destroy();')}
document.title = JSON.stringify({ status, stdout, shown });`,
    );
    write(
      "session.html",
      '<!doctype html><title></title><body><div id="report"></div></body><script type="module" src="./src/session.js"></script>',
    );
    copyPyodide();
    buildWithVite("session.html", 'worker: { format: "es" },');
    expect(await titleOf("dist/session.html")).toBe(
      JSON.stringify({ status: 0, stdout: "hello\n", shown: true }),
    );
  });
});
