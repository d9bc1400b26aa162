// In: exported graphs, one for each operation and some of many. Out: on the software adapter they give what wasm gives, within the
// bounds that docs/webgpu.md states. Skipped, aloud, where Chromium has no adapter.

import { afterAll, describe, expect, test } from "vitest";
import { operations } from "../graph_file.ts";
import { difference } from "./compare.ts";
import { GpuPage, type FaultyRuns, type Outcome, type Tensor } from "./gpu.ts";
import { casesOf, chainCase, layersCase, rows, softmaxCase } from "./webgpu_cases.ts";

const gpu = await GpuPage.open();
const hasAdapter = await gpu.hasAdapter();
afterAll(() => gpu.close());

function expectEqual(outcome: Outcome, bound: number, name: string): void {
  const { wasm, devices, faults } = outcome;
  expect(devices, `${name}: ${faults.join()}`).toEqual(["wasm", "webgpu", "webgpu"]);
  for (const shaders of ["software", "hardware"] as const) {
    expect(outcome[shaders]).toHaveLength(wasm.length);
    (wasm as Tensor[]).forEach((want, i) => {
      const got = outcome[shaders][i] as Tensor;
      expect(difference(got, want, bound), `${name}, output ${i}, shaders for ${shaders}`).toBe(undefined);
    });
  }
}

describe.skipIf(!hasAdapter)("on the GPU", () => {
  const names = operations("kPointwise", "kReduction", "kView", "kMaybeView", "kOther");

  test("every operation of the table has a row", () => {
    expect([...rows.keys()].sort()).toEqual([...names].sort());
  });

  test.each(names)("%s is what it is on wasm", async (name) => {
    const cases = casesOf(name);
    const outcomes = await gpu.run(cases);
    outcomes.forEach((outcome, i) => {
      const { name: label, bound } = cases[i] as (typeof cases)[number];
      expectEqual(outcome, bound, label);
    });
  });

  test("chains, softmax, layers are as few dispatches as can be", async () => {
    const [chain, softmax, layers] = await gpu.run([chainCase(), softmaxCase(), layersCase()]);
    for (const outcome of [chain, softmax, layers]) expectEqual(outcome as Outcome, 1e-5, "fused");
    expect(chain?.dispatches).toBe(1);
    expect(softmax?.dispatches).toBe(1);
    expect(layers?.dispatches).toBe(2);
    for (const outcome of [chain, softmax, layers]) expect(outcome?.hostSteps).toEqual([]);
  });
});

describe.skipIf(!hasAdapter)("faults of the GPU: wasm gives the same result", () => {
  const one = casesOf("layer_norm")[0] as ReturnType<typeof casesOf>[number];
  let want: Tensor[];
  test("the result without a fault", async () => {
    const [outcome] = await gpu.run([one]);
    want = outcome?.wasm as Tensor[];
    expectEqual(outcome as Outcome, 1e-5, one.name);
  });
  const expectRuns = ({ runs, errors }: FaultyRuns) => {
    expect(errors).toEqual([]);
    for (const { outputs } of runs) {
      outputs.forEach((got, i) => expect(difference(got, want[i] as Tensor, 1e-5)).toBe(undefined));
    }
  };

  test("no adapter", async () => {
    const result = await gpu.runFaulty(one, "none");
    expectRuns(result);
    expect(result.runs[0]).toMatchObject({ device: "wasm", fault: "WebGPU gives no adapter here" });
  });

  test("a tensor larger than the adapter's largest buffer", async () => {
    const result = await gpu.runFaulty(one, "limits");
    expectRuns(result);
    expect(result.runs[0]?.fault).toBe("a tensor of the graph is larger than the adapter's largest buffer");
  });

  test("the device is lost at any call, and the next run asks for another", async () => {
    const { calls, runs } = await gpu.runFaulty(one, "lost", -1);
    expect(runs).toMatchObject([{ device: "webgpu" }, { device: "webgpu" }]);
    expect(calls).toBeGreaterThan(20);
    let lost = 0;
    for (let at = 0; at < calls; at++) {
      const result = await gpu.runFaulty(one, "lost", at);
      expectRuns(result);
      const faults = result.runs.map(({ fault }) => fault).filter((fault) => fault !== null);
      expect(faults.length, `call ${at}`).toBeLessThanOrEqual(1);
      if (faults.length === 1) expect(faults[0]).toContain("the GPU device was lost");
      lost += faults.length;
    }
    expect(lost).toBeGreaterThan(10);
  });

  test("a buffer or a shader that WebGPU refuses is heard of, and is no error of the page", async () => {
    const { calls } = await gpu.runFaulty(one, "invalid", -1);
    const heard = new Set<string>();
    for (let at = 0; at < calls; at++) {
      const result = await gpu.runFaulty(one, "invalid", at);
      expectRuns(result);
      for (const { fault } of result.runs) {
        if (fault !== null) heard.add(/^(WebGPU|the GPU refused a shader)/.exec(fault)?.[0] ?? fault);
      }
    }
    expect([...heard].sort()).toEqual(["WebGPU", "the GPU refused a shader"]);
  });
});
