// Written by the build (see vite.config.ts): what the site ships.
declare module "virtual:build-facts" {
  import type { Report } from "../report/types.js";

  /** Bytes of Pyodide's files, by name. */
  export const pyodideBytes: Record<string, number>;
  /** The first example as it ran when the site was built; null when the checkout had no wheel. */
  export const firstRun: { report: Report; stdout: string } | null;
  export const version: string;
}
