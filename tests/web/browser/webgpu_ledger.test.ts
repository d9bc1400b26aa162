// In: the tests of the ledger (tests/python). Out: in Pyodide in Chromium, with every graph on the software adapter, they pass; the webgpu
// stage runs the same in Node. Skipped, aloud, where Chromium has no adapter.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GpuPage } from "./gpu.ts";

const kFolder = "tests/python";
const kMinutes = 60_000;
const names = readdirSync(kFolder).filter((name) => name.endsWith(".py") || name.endsWith(".txt"));
const kElsewhere = {
  "test_ledger_faults.py": "faults are counted in the CPU's allocations there",
  "test_ledger_growth.py": "thousands of calls; the webgpu stage makes them on the GPU in Node",
};
const suites = names.filter((name) => name.startsWith("test_ledger_") && !(name in kElsewhere));

let gpu: GpuPage;
const hasAdapter = await GpuPage.isThere();
beforeAll(async () => {
  gpu = await GpuPage.open("gpu_python_page.mjs");
});
afterAll(() => gpu.close());

type PageGlobals = { runSuite(files: Record<string, string>, name: string): Promise<string> };

describe.skipIf(!hasAdapter)("the ledger on the GPU", () => {
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(kFolder, name), "utf8")]));
  let dispatches = 0;

  test.each(suites)(
    "%s",
    async (name) => {
      const text = await gpu.page.evaluate(
        ([all, one]) => (globalThis as unknown as PageGlobals).runSuite(all, one),
        [files, name] as const,
      );
      const found = /@@ (\{"file".*\})/.exec(text);
      expect(found, text).not.toBe(null);
      const counts = JSON.parse(found?.[1] as string) as { passed: number; failed: number };
      expect(counts.failed, text).toBe(0);
      expect(counts.passed).toBeGreaterThan(0);
      dispatches += Number(/^dispatches (\d+)$/m.exec(text)?.[1]);
    },
    5 * kMinutes,
  );

  for (const [name, why] of Object.entries(kElsewhere)) test.skip(`${name}: ${why}`, () => {});

  test("the GPU has been used", () => {
    expect(dispatches).toBeGreaterThan(50);
  });
});
