// In: exported graphs, one for each operation and some of many. Out: on the software adapter they give what wasm gives, within the
// bounds that docs/webgpu.md states. Skipped, aloud, where Chromium has no adapter.

import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { operations } from "../graph_file.ts";
import { difference } from "./compare.ts";
import { GpuPage, kShaders, type FaultyRuns, type Outcome, type Tensor } from "./gpu.ts";
import {
  casesOf,
  chainCase,
  computedIndexCase,
  floats,
  isWide,
  kLookUps,
  kWithShader,
  layersCase,
  outOfRange,
  rows,
  softmaxCase,
  subgroupCases,
} from "./webgpu_cases.ts";

const gpu = await GpuPage.open();
const hasAdapter = await gpu.hasAdapter();
afterAll(() => gpu.close());

function expectEqual(outcome: Outcome, bound: number, name: string): void {
  const { wasm, devices, faults } = outcome;
  expect(devices, `${name}: ${faults.join()}`).toEqual(["wasm", "webgpu", "webgpu", "webgpu"]);
  for (const shaders of kShaders) {
    expect(outcome[shaders]).toHaveLength(wasm.length);
    (wasm as Tensor[]).forEach((want, i) => {
      const got = outcome[shaders][i] as Tensor;
      expect(difference(got, want, bound), `${name}, output ${i}, shaders for ${shaders}`).toBe(undefined);
    });
  }
}

describe.skipIf(!hasAdapter)("on the GPU", () => {
  const names = operations(
    ...["kPointwise", "kReduction", "kView", "kMaybeView", "kAlong"],
    ...["kLinearAlgebra", "kRearrange", "kIndexing", "kSpatial"],
  );

  test("every operation of the table has a row", () => {
    expect([...rows.keys()].sort()).toEqual([...names].sort());
  });

  test.each(names)("%s is what it is on wasm", async (name) => {
    const cases = casesOf(name);
    const outcomes = await gpu.run(cases);
    outcomes.forEach((outcome, i) => {
      const { name: label, bound } = cases[i] as (typeof cases)[number];
      expectEqual(outcome, bound, label);
      // In float64 nothing has a shader.
      const wide = Object.values((cases[i] as (typeof cases)[number]).inputs).some(isWide);
      if (kWithShader.has(name) && !wide) expect(outcome.hostSteps, label).toEqual([]);
    });
  });

  test("a run again makes no buffer and one submit; a new size compiles nothing", async () => {
    const { file, inputs } = chainCase();
    const larger = { ...inputs, a: floats([70, 33]) };
    const [first, again, other] = await gpu.runCounted(file, [inputs, inputs, larger]);
    expect(first).toMatchObject({ device: "webgpu", pipelines: 1 });
    // The caller reads: a buffer and a submit more.
    expect(again).toMatchObject({ device: "webgpu", pipelines: 0, buffers: 1, submits: 2 });
    expect(other).toMatchObject({ device: "webgpu", pipelines: 0, submits: 2 });
  });

  test("what the file holds is written to the device once", async () => {
    const file = readFileSync(new URL("../fixtures/scale.tbexport", import.meta.url));
    const given = { "L['x']": floats([3]) };
    const runs = await gpu.runCounted(new Uint8Array(file), [given, given]);
    expect(runs[0]?.bytesWritten).toBeGreaterThan(24);
    expect(runs[1]).toMatchObject({ device: "webgpu", bytesWritten: 12 });
  });

  test("an index that is out of range is the error that it is on wasm", async () => {
    const outcomes = await gpu.run([...kLookUps.values()].map(outOfRange));
    for (const outcome of outcomes) {
      expect(outcome.wasm).toMatch(/out of (range|bounds)/);
      for (const shaders of kShaders) expect(outcome[shaders]).toBe(outcome.wasm);
    }
  });

  test("indices that are computed on the device are looked at before they are used", async () => {
    const [right, wrong] = await gpu.run([computedIndexCase(0), computedIndexCase(1)]);
    expectEqual(right as Outcome, 0, "computed indices");
    expect(right?.hostSteps).toEqual([]);
    expect(wrong?.software).toBe(wrong?.wasm);
    expect(wrong?.wasm).toContain("out of range");
  });

  test("a sum through subgroups is what it is through workgroup memory", async (context) => {
    const features = await gpu.features();
    if (!features.includes("subgroups")) context.skip("this adapter has no subgroups");
    // Few long rows: a workgroup takes each. Every kind of fold and every type.
    for (const one of subgroupCases()) {
      const [outcome] = await gpu.run([one]);
      expectEqual(outcome as Outcome, 1e-5, one.name);
    }
  });

  test("float16 storage keeps what is inside a graph to 2^-11, and inputs and outputs as they are", async (context) => {
    const features = await gpu.features();
    if (!features.includes("shader-f16")) context.skip("this adapter has no shader-f16");
    const [layers, chain] = await gpu.run([layersCase(), chainCase()], ["wasm", "halves"]);
    for (const outcome of [layers, chain]) expect(outcome?.devices).toEqual(["wasm", "webgpu"]);
    const [want] = layers?.wasm as Tensor[];
    const [got] = layers?.halves as Tensor[];
    expect(difference(got as Tensor, want as Tensor, 2e-3)).toBe(undefined);
    expect(got).not.toEqual(want); // something was stored as float16
    // Nothing lies between two steps of one fused chain.
    const [exact] = chain?.wasm as Tensor[];
    expect(difference((chain?.halves as Tensor[])[0] as Tensor, exact as Tensor, 4e-6)).toBe(undefined);
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

  test.each([
    ["bytes", "a tensor of the graph is larger than the adapter's largest buffer"],
    ["bindings", "a kernel of the graph needs more buffers than the adapter binds"],
  ] as const)("limits exceeded: %s", async (kind, fault) => {
    const result = await gpu.runFaulty(one, kind);
    expectRuns(result);
    expect(result.runs.map((run) => run.fault)).toEqual([fault, fault]);
  });

  test("limits exceeded: workgroups", async () => {
    const product = casesOf("mm")[0] as ReturnType<typeof casesOf>[number];
    const [outcome] = await gpu.run([product]);
    const { runs, errors } = await gpu.runFaulty(product, "groups");
    expect(errors).toEqual([]);
    const fault = "a product of the graph has more tiles than the adapter has workgroups";
    for (const run of runs) {
      expect(run).toMatchObject({ device: "wasm", fault });
      expect(run.outputs).toEqual(outcome?.wasm);
    }
    // What is no product takes more elements with each invocation.
    const few = await gpu.runFaulty(one, "groups");
    expectRuns(few);
    expect(few.runs.map(({ device }) => device)).toEqual(["webgpu", "webgpu"]);
  });

  test("no memory for a buffer, or found out later, at any call", async () => {
    const { calls } = await gpu.runFaulty(one, "memory", -1);
    const heard = new Set<string>();
    for (let at = 0; at < calls; at++) {
      const result = await gpu.runFaulty(one, "memory", at);
      expectRuns(result);
      for (const { fault } of result.runs) if (fault !== null) heard.add(fault);
    }
    expect([...heard].sort()).toEqual(["WebGPU: no memory left", "no memory for a buffer"]);
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
