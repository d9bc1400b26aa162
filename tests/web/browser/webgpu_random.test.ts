// In: the random graphs of the native tests (tests/native/kernel/random_graph.h). Out: on the software adapter they give what wasm
// gives. Skipped, aloud, where the native tests are not built or Chromium has no adapter.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { kArrays, type DType } from "../../../web/lib/export_file.ts";
import { exportFile } from "../graph_file.ts";
import { difference } from "./compare.ts";
import { GpuPage, kShaders, type Case, type Input, type Tensor } from "./gpu.ts";

const kProgram = "build/native/tests/test_kernel";
const gpu = await GpuPage.open();
const canRun = existsSync(kProgram) && (await gpu.hasAdapter());
const folder = mkdtempSync(join(tmpdir(), "thirdbook-graphs-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
  return gpu.close();
});

interface Row {
  seed: number;
  inputs: { dtype: DType; shape: number[]; weak: boolean }[];
}

function caseOf({ seed, inputs }: Row): Case {
  const graph = new Uint8Array(readFileSync(join(folder, `${seed}.graph`)));
  const outputs = new DataView(graph.buffer, graph.byteOffset);
  const values: Record<string, Input> = {};
  const header = inputs.map(({ dtype, shape, weak }, i) => {
    const bytes = new Uint8Array(readFileSync(join(folder, `${seed}.${i}`))).buffer;
    const data = Array.from(new kArrays[dtype](bytes) as ArrayLike<number | bigint>, Number).map((x) =>
      Number.isFinite(x) ? x : (String(x) as "NaN"),
    );
    const name = `x${i}`;
    values[name] = weak ? (data[0] as number) : { dtype, shape, data };
    const number = dtype === "float64" ? "float" : dtype === "bool" ? "bool" : "int";
    return { name, kind: "argument", ...(weak ? { number } : { dtype, shape }) };
  });
  // The outputs' list ends the graph: its length is what is left before it of 8 bytes each.
  let count = 0;
  while (outputs.getUint32(graph.length - 4 - 8 * count, true) !== count || count === 0) count++;
  const rows = new Array(count).fill({ dtype: "float32", shape: [], sources: [] });
  return { name: `seed ${seed}`, file: exportFile(graph, header, rows), inputs: values };
}

test.skipIf(!canRun)("random graphs are on the GPU what they are on wasm", async () => {
  const env = { ...process.env, THIRDBOOK_GRAPH_DUMP: folder };
  execFileSync(kProgram, ["--gtest_filter=Wgsl.RandomGraphsHavePlans"], { env, stdio: "ignore" });
  const rows = readFileSync(join(folder, "index.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row)
    .slice(0, Number(process.env["THIRDBOOK_RANDOM_GRAPHS"] ?? 120));
  const cases = rows.map(caseOf);
  const outcomes = await gpu.run(cases);
  let compared = 0;
  const differences: string[] = [];
  outcomes.forEach((outcome, i) => {
    const { name } = cases[i] as Case;
    const { wasm, devices, faults } = outcome;
    if (typeof wasm === "string") return;
    expect(devices, `${name}: ${faults.join()}`).toEqual(["wasm", "webgpu", "webgpu", "webgpu"]);
    for (const shaders of kShaders) {
      wasm.forEach((want, output) => {
        compared++;
        const found = difference(outcome[shaders][output] as Tensor, want, 2e-3);
        if (found !== undefined) differences.push(`${name} output ${output}, ${shaders}: ${found}`);
      });
    }
  });
  expect(compared).toBeGreaterThan(rows.length / 2);
  // A rounding before a comparison or a floor is a whole number after it: few, and never in shapes or dtypes.
  expect(differences.filter((text) => /dtype|shape/.test(text))).toEqual([]);
  expect(differences.length, differences.join("\n")).toBeLessThan(compared / 50);
});
