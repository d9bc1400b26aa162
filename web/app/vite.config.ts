// In: web/app, the built package, Pyodide from node_modules. Out: build/site, a static site that works from any folder.
// Invariant: every address is relative; Pyodide's files and the wheel keep their names (Pyodide and wheel tags ask for them).

import { existsSync, readFileSync, statSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { readCatalogue } from "../../docs/graph-breaks.mjs";
import { kBuild, kRepo } from "../../wasm/toolchain/places.mjs";
import { cataloguePage } from "./catalogue_page.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const kPyodide = join(kRepo, "node_modules", "pyodide");
const kPyodideFiles = [
  "pyodide.mjs",
  "pyodide.asm.mjs",
  "pyodide.asm.wasm",
  "python_stdlib.zip",
  "pyodide-lock.json",
];
const kFacts = "virtual:build-facts";
const kMade = ["wheel_file.js", "kernel_bridge.js", "thirdbook_runtime.mjs"];
const { version } = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8")) as { version: string };

/** Sizes of Pyodide's files and the first example's run, as a module. */
function buildFacts(): Plugin {
  return {
    name: "thirdbook-build-facts",
    resolveId: (id) => (id === kFacts ? `\0${kFacts}` : undefined),
    load(id) {
      if (id !== `\0${kFacts}`) return undefined;
      const bytes = Object.fromEntries(
        kPyodideFiles.map((name) => [name, statSync(join(kPyodide, name)).size]),
      );
      const run = join(kBuild, "first_run.json");
      const firstRun = existsSync(run) ? readFileSync(run, "utf8") : "null";
      return `export const version = "${version}";\nexport const pyodideBytes = ${JSON.stringify(bytes)};\nexport const firstRun = ${firstRun};\n`;
    },
  };
}

/** The package's modules that TypeScript does not make. */
function madeModules(): Plugin {
  return {
    name: "thirdbook-made-modules",
    enforce: "pre",
    resolveId(id) {
      const name = kMade.find((made) => id.endsWith(`/${made}`));
      return name && join(kBuild, "npm", "lib", name);
    },
  };
}

function pyodideFiles(): Plugin {
  return {
    name: "thirdbook-pyodide-files",
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const name = kPyodideFiles.find((file) => request.url?.split("?")[0] === `/pyodide/${file}`);
        if (name === undefined) return next();
        const types: Record<string, string> = {
          mjs: "text/javascript",
          wasm: "application/wasm",
          json: "application/json",
        };
        response.setHeader("content-type", types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream");
        response.end(readFileSync(join(kPyodide, name)));
      });
    },
    generateBundle() {
      for (const name of kPyodideFiles) {
        this.emitFile({
          type: "asset",
          fileName: `pyodide/${name}`,
          source: readFileSync(join(kPyodide, name)),
        });
      }
    },
  };
}

/** A page with the catalogue of graph breaks, where links from breaks lead. */
function catalogue(): Plugin {
  return {
    name: "thirdbook-catalogue",
    async generateBundle() {
      const emit = (fileName: string, source: string) => this.emitFile({ type: "asset", fileName, source });
      emit("graph-breaks.html", await cataloguePage(readCatalogue()));
      emit("graph-breaks.css", readFileSync(here("graph-breaks.css"), "utf8"));
      emit("icon.svg", readFileSync(here("icon.svg"), "utf8"));
    },
  };
}

/** Writes service_worker.js with the list of files and a version made of their contents. */
function serviceWorker(): Plugin {
  return {
    name: "thirdbook-service-worker",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const hash = createHash("sha256");
        const names = Object.keys(bundle).sort();
        for (const name of names) {
          const item = bundle[name];
          if (item) hash.update(name).update(item.type === "chunk" ? item.code : item.source);
        }
        const template = readFileSync(here("service_worker.js"), "utf8");
        const source = template
          .replace('"__VERSION__"', JSON.stringify(hash.digest("hex").slice(0, 16)))
          .replace('["__FILES__"]', JSON.stringify(names));
        this.emitFile({ type: "asset", fileName: "service_worker.js", source });
      },
    },
  };
}

export default defineConfig({
  root: here("."),
  base: "./",
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [buildFacts(), madeModules(), pyodideFiles(), catalogue(), serviceWorker()],
  worker: { format: "es", plugins: () => [madeModules()] },
  build: {
    outDir: join(kBuild, "site"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
