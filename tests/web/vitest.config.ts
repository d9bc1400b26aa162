// In: build/npm, build/site, examples/. Out: the Vitest projects `node` (package, command line, view model, Vitest tools) and `browser`
// (the built page in Chromium, driven as a person would).
// Invariant: both run from the repository's root whatever the working directory.

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { thirdbook } from "../../build/npm/vitest/plugin.js";

const kRoot = fileURLToPath(new URL("../..", import.meta.url));
const kMinute = 60_000;

export default defineConfig({
  root: kRoot,
  test: {
    projects: [
      {
        oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
        plugins: [thirdbook({ playgroundURL: "https://example.org/playground/" })],
        test: {
          name: "node",
          root: kRoot,
          include: ["tests/web/node/**/*.test.ts"],
          testTimeout: 4 * kMinute,
          hookTimeout: 4 * kMinute,
          maxWorkers: 2, // most of a file is one other process after the other
        },
      },
      {
        test: {
          name: "browser",
          root: kRoot,
          include: ["tests/web/browser/**/*.test.ts"],
          testTimeout: 4 * kMinute,
          hookTimeout: 4 * kMinute,
          fileParallelism: false,
        },
      },
    ],
  },
});
