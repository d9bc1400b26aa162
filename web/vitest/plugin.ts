// In: options. Out: a Vite plugin that makes a Vitest project fit for Thirdbook: excludes, isolation headers, set-up file, time.
// Invariant: what the project says itself stays; nothing here loads Python.

import type { Plugin } from "vitest/config";

export interface PluginOptions {
  /** Address of a playground; a failed test then says a link that shows its program there. */
  playgroundURL?: string;
}

const kTimeout = 60_000;

/** `plugins: [thirdbook()]` in vitest.config.ts. */
export function thirdbook(options: PluginOptions = {}): Plugin {
  return {
    name: "thirdbook-vitest",
    config: ({ test = {} }) => ({
      define: { __THIRDBOOK_PLAYGROUND__: JSON.stringify(options.playgroundURL ?? "") },
      optimizeDeps: { exclude: ["pyodide", "thirdbook"] },
      server: {
        headers: {
          "Cross-Origin-Opener-Policy": "same-origin",
          "Cross-Origin-Embedder-Policy": "require-corp",
        },
      },
      test: {
        setupFiles: ["thirdbook/vitest/setup"],
        // What a plugin gives wins over what the project says.
        testTimeout: test.testTimeout ?? kTimeout,
        hookTimeout: test.hookTimeout ?? kTimeout,
        server: { deps: { inline: ["thirdbook"] } },
      },
    }),
  };
}
