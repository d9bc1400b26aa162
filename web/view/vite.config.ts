// In: web/view. Out: build/npm/view/index.js: one module with Preact, dagre and the stylesheet inside.
// Invariant: no asset beside it, so that any host can import it.

import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { kBuild } from "../../wasm/toolchain/places.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  configFile: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: `${kBuild}/npm/view`,
    emptyOutDir: false,
    target: "es2022",
    lib: { entry: here("index.ts"), formats: ["es"], fileName: () => "index.js" },
  },
});
