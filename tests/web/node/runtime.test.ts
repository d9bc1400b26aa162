// In: build/embind and a file written by thirdbook.export() (tests/web/fixtures/scale.tbexport: tanh(x * w + 1).sum() with w = [1, 2, 3]
// as state and `self.calls += 1` in the ledger). Out: the runtime without Python computes the same.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ExportFileError, load, type RuntimeModule } from "../../../web/lib/runtime.ts";

const kRuntime = new URL("../../../build/embind/thirdbook_runtime.mjs", import.meta.url);
const bytes = new Uint8Array(readFileSync(new URL("../fixtures/scale.tbexport", import.meta.url)));

async function runtime(): Promise<RuntimeModule> {
  const module = (await import(/* @vite-ignore */ kRuntime.href)) as {
    default: () => Promise<RuntimeModule>;
  };
  return module.default();
}

test("an exported graph runs without Python and hands over its effects", async () => {
  const graph = load(bytes, await runtime());
  expect(graph.argumentNames).toEqual(["L['x']"]);
  const x = { dtype: "float32", shape: [3], data: new Float32Array([0.5, -1, 2]) };
  const { outputs, effects } = graph.run({ "L['x']": x });
  const expected = Math.tanh(1.5) + Math.tanh(-1) + Math.tanh(7);
  expect(outputs).toHaveLength(1);
  expect((outputs[0]?.data as Float32Array)[0]).toBeCloseTo(expected, 5);
  expect(effects).toMatchObject([{ kind: "attribute-existing", operation: "setattr calls" }]);
  graph.dispose();
});

test("inputs that do not fit give one error that names the input", async () => {
  const graph = load(bytes, await runtime());
  expect(() => graph.run({})).toThrow("input L['x'] is missing");
  const wrong = { dtype: "float64", shape: [3], data: new Float64Array(3) };
  expect(() => graph.run({ "L['x']": wrong })).toThrow("input L['x'] wants a Float32Array, not Float64Array");
  graph.dispose();
});

test("damaged, truncated, too new and foreign files are refused", async () => {
  const module = await runtime();
  expect(() => load(new Uint8Array([1, 2, 3]), module)).toThrow(ExportFileError);
  expect(() => load(bytes.slice(0, 700), module)).toThrow("the file is truncated");
  const newer = bytes.slice();
  newer[8] = 9;
  expect(() => load(newer, module)).toThrow("version 9");
  const damaged = bytes.slice();
  damaged.fill(255, 600, 640);
  expect(() => load(damaged, module)).toThrow(ExportFileError);
});
