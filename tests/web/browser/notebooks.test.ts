// Notebook hosts, run headless without any network but their own: a JupyterLite site built from PyPI's packages, which has the wheel
// in its lock file and in piplite; PyScript from npm; micropip, which marimo and others use.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUpJupyterLite } from "../../../wasm/toolchain/jupyterlite.mjs";
import { kBuild, kNodeModules } from "../../../wasm/toolchain/places.mjs";
import { ownWheel, writePyodideFolder } from "./pyodide_folder.js";
import { fileAnswer, launchChromium, serve, type Server } from "./serve.js";

const fetched = setUpJupyterLite();
const kFolder = join(kBuild, "notebooks");
const kSite = join(kFolder, "site");
const kExtension = "@jupyterlite/pyodide-kernel-extension";
const kProgram = `import torch
from thirdbook import _kernel_bridge
seen = []
@torch.compile
def f(x):
    seen.append(x.shape[0])
    return x * 2 + 1
print(f(torch.arange(3.0)).tolist(), seen, thirdbook.counters["compilations"], _kernel_bridge.connect())`;
const kPrinted = "[1.0, 3.0, 5.0] [3] 1 True";

function buildJupyterLite(tools: string, wheels: string): void {
  const lite = join(kFolder, "source");
  mkdirSync(lite, { recursive: true });
  const federated_extensions = [join(tools, "share/jupyter/labextensions", kExtension)];
  writeFileSync(
    join(lite, "jupyter_lite_config.json"),
    JSON.stringify({ LiteBuildConfig: { federated_extensions, ignore_sys_prefix: true, apps: ["repl"] } }),
  );
  const offered = [ownWheel(), ...readdirSync(wheels).map((name) => join(wheels, name))];
  const words = ["-m", "jupyterlite_core.app", "build", "--lite-dir", lite, "--output-dir", kSite];
  const { status, stderr } = spawnSync(
    "python3",
    [...words, ...offered.flatMap((wheel) => ["--piplite-wheels", wheel])],
    { cwd: lite, encoding: "utf8", env: { ...process.env, PYTHONPATH: tools } },
  );
  if (status !== 0) throw new Error(stderr);
  const file = join(kSite, "jupyter-lite.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as {
    "jupyter-config-data": { litePluginSettings?: Record<string, object> };
  };
  const settings = (config["jupyter-config-data"].litePluginSettings ??= {});
  const kernel = `${kExtension}:kernel`;
  settings[kernel] = { ...settings[kernel], pyodideUrl: "./pyodide/pyodide.mjs", disablePyPIFallback: true };
  writeFileSync(file, JSON.stringify(config));
}

describe.skipIf(!fetched)("notebook hosts", () => {
  let browser: Browser;
  let server: Server;

  beforeAll(async () => {
    if (!fetched) return;
    rmSync(kFolder, { recursive: true, force: true });
    buildJupyterLite(fetched.tools, fetched.wheels);
    writePyodideFolder(join(kSite, "pyodide"), fetched.wheels);
    cpSync(join(kNodeModules, "@pyscript/core/dist"), join(kSite, "pyscript"), { recursive: true });
    server = await serve((path) => fileAnswer(join(kSite, path)));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  describe("JupyterLite", () => {
    /** Opens the site's REPL, which runs the code. */
    async function runCell(code: string) {
      const page = await browser.newPage();
      await page.goto(`${server.url}/repl/index.html?kernel=python&code=${encodeURIComponent(code)}`);
      return page;
    }

    test.each([
      ["the lock file", 'import pyodide_js\nawait pyodide_js.loadPackage("thirdbook")'],
      ["piplite", "%pip install thirdbook"],
    ])("compiles with the wheel from %s", async (_, load) => {
      const page = await runCell(`${load}\nimport thirdbook\nthirdbook.install_torch_alias()\n${kProgram}`);
      await page.locator(".jp-OutputArea-output", { hasText: kPrinted }).waitFor({ timeout: 120_000 });
      await page.close();
    });

    test("shows what explain() gives as HTML", async () => {
      const load = 'import pyodide_js\nawait pyodide_js.loadPackage("thirdbook")\nimport thirdbook';
      const page = await runCell(
        `${load}\ndef f(x):\n    return x * 2\nthirdbook.explain(f)(thirdbook.ones(2))`,
      );
      const shown = page.locator(".jp-RenderedHTML");
      await shown.waitFor({ timeout: 120_000 });
      expect(await shown.innerText()).toMatch(/mul\(/);
      await page.close();
    });
  });

  test("PyScript loads the wheel that its configuration names", async () => {
    const config = { interpreter: "/pyodide/pyodide.mjs", packages: [`/pyodide/${basename(ownWheel())}`] };
    writeFileSync(
      join(kSite, "pyscript.html"),
      `<!doctype html><html><head><meta charset="utf-8"><title>PyScript</title>
<script type="module" src="/pyscript/core.js"></script></head><body><pre id="out"></pre>
<script type="py" config='${JSON.stringify(config)}'>
import thirdbook
thirdbook.install_torch_alias()
from pyscript import document
${kProgram.replace("print(", "text = (").replace(/\n(text = .*)$/, '\n$1\ndocument.querySelector("#out").textContent = " ".join(map(str, text))')}
</script></body></html>`,
    );
    const page = await browser.newPage();
    await page.goto(`${server.url}/pyscript.html`);
    await page.locator("#out", { hasText: kPrinted }).waitFor({ timeout: 120_000 });
    await page.close();
  });

  test("micropip installs the wheel from its address", async () => {
    writeFileSync(
      join(kSite, "micropip.html"),
      `<!doctype html><pre id="out"></pre><script type="module">
import { loadPyodide } from "/pyodide/pyodide.mjs";
const pyodide = await loadPyodide();
pyodide.setStdout({ batched: (line) => (document.querySelector("#out").textContent += line) });
await pyodide.loadPackage("micropip");
await pyodide.runPythonAsync(${JSON.stringify(
        `import micropip
await micropip.install("${server.url}/pyodide/${basename(ownWheel())}")
import thirdbook
thirdbook.install_torch_alias()
${kProgram}`,
      )});
</script>`,
    );
    const page = await browser.newPage();
    await page.goto(`${server.url}/micropip.html`);
    await page.locator("#out", { hasText: kPrinted }).waitFor({ timeout: 120_000 });
    await page.close();
  });
});
