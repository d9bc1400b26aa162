// In: exported graphs, and WebGPU in Node through the npm package webgpu. Out: they give what wasm gives. Skipped, aloud, where the
// package finds no adapter; without any WebGPU the graph runs on wasm and says why.

import { expect, test } from "vitest";
import { load, type RunResult } from "../../../build/npm/lib/runtime.js";
import { nodeGpu } from "../../../wasm/toolchain/node_gpu.mjs";
import type { GpuEntry } from "../../../web/lib/webgpu/device.ts";
import { chainCase, layersCase, softmaxCase } from "../browser/webgpu_cases.ts";
import type { Case } from "../browser/gpu.ts";

const gpu = (await nodeGpu()) as GpuEntry | undefined;

async function runOn(one: Case, options: Parameters<typeof load>[1]): Promise<RunResult> {
  const graph = await load(one.file, options);
  const values = Object.entries(one.inputs).map(([name, input]) => [
    name,
    typeof input === "number" ? input : { ...input, data: Float32Array.from(input.data as number[]) },
  ]);
  const result = await graph.run(Object.fromEntries(values));
  graph.dispose();
  return result;
}

test.skipIf(gpu === undefined).each([chainCase(), softmaxCase(), layersCase()])(
  "$name in Node on WebGPU is what it is on wasm",
  async (one) => {
    const want = await runOn(one, {});
    const got = await runOn(one, { device: "webgpu", gpu: gpu as GpuEntry });
    expect(got).toMatchObject({ device: "webgpu", gpu: { hostSteps: [] } });
    const data = got.outputs[0]?.data as Float32Array;
    (want.outputs[0]?.data as Float32Array).forEach((value, i) => expect(data[i]).toBeCloseTo(value, 4));
  },
);

test("a host without WebGPU runs the graph on wasm and says why", async () => {
  const result = await runOn(chainCase(), { device: "webgpu" });
  expect(result).toMatchObject({ device: "wasm", fault: "this host has no WebGPU" });
});
