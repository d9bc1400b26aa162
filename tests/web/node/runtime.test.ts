// In: build/npm with the Embind module, and a file written by thirdbook.export() (tests/web/fixtures/scale.tbexport:
// tanh(x * w + 1).sum() with w = [1, 2, 3] as state and `self.calls += 1` in the ledger). Out: the runtime without Python computes
// the same, and no file, whatever its bytes, makes it trap.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ExportFileError, load } from "../../../build/npm/lib/runtime.js";

const bytes = new Uint8Array(readFileSync(new URL("../fixtures/scale.tbexport", import.meta.url)));
const x = { dtype: "float32", shape: [3], data: new Float32Array([0.5, -1, 2]) };
const kExpected = Math.tanh(1.5) + Math.tanh(-1) + Math.tanh(7);

test("an exported graph runs without Python and hands over its effects", async () => {
  const graph = await load(bytes);
  expect(graph.argumentNames).toEqual(["L['x']"]);
  expect(graph.text).toContain("tanh");
  const { outputs, effects } = await graph.run({ "L['x']": x });
  expect(outputs).toMatchObject([{ dtype: "float32", shape: [] }]);
  expect((outputs[0]?.data as Float32Array)[0]).toBeCloseTo(kExpected, 5);
  expect(effects).toMatchObject([{ kind: "attribute-existing", operation: "setattr calls" }]);
  graph.dispose();
});

test("a file may be an ArrayBuffer, and several graphs live side by side", async () => {
  const [one, other] = await Promise.all([load(bytes.slice().buffer), load(bytes)]);
  one.dispose();
  const { outputs } = await other.run({ "L['x']": x });
  expect((outputs[0]?.data as Float32Array)[0]).toBeCloseTo(kExpected, 5);
  other.dispose();
});

test("a disposed graph says so; disposing twice does nothing", async () => {
  const graph = await load(bytes);
  graph.dispose();
  graph.dispose();
  await expect(graph.run({ "L['x']": x })).rejects.toThrow("this graph was disposed");
});

test("inputs that do not fit give one error that names the input", async () => {
  const graph = await load(bytes);
  const run = (value: unknown) => graph.run({ "L['x']": value as typeof x });
  await expect(graph.run({})).rejects.toThrow("input L['x'] is missing");
  await expect(run({ ...x, dtype: "float64", data: new Float64Array(3) })).rejects.toThrow(
    "input L['x'] wants a Float32Array, not Float64Array",
  );
  await expect(run({ ...x, shape: [4] })).rejects.toThrow(
    "input L['x'] has 16 bytes by its shape, its array 12",
  );
  await expect(run({ ...x, shape: [-3] })).rejects.toThrow("input L['x'] has no usable shape");
  await expect(run({ ...x, shape: undefined })).rejects.toThrow("input L['x'] has no usable shape");
  await expect(run(7)).rejects.toThrow("input L['x'] is a tensor, not a number");
  const five = { ...x, shape: [5], data: new Float32Array(5) };
  await expect(run(five)).rejects.toThrow("must match the size of tensor");
  await expect(run(x)).resolves.toMatchObject({ outputs: [{ shape: [] }] });
  graph.dispose();
});

test("damaged, truncated, too new and foreign files are refused", async () => {
  await expect(load(new Uint8Array([1, 2, 3]))).rejects.toThrow("this is no file of thirdbook.export()");
  await expect(load(bytes.slice(0, 700))).rejects.toThrow("the file is truncated");
  const newer = bytes.slice();
  newer[8] = 9;
  await expect(load(newer)).rejects.toThrow("the file has version 9, this runtime reads up to 1");
  const damaged = bytes.slice();
  damaged.fill(255, 600, 640);
  await expect(load(damaged)).rejects.toThrow(ExportFileError);
  const text = new TextDecoder("latin1").decode(bytes);
  const swapped = (from: string, to: string) =>
    load(Uint8Array.from(text.replace(from, to), (char) => char.charCodeAt(0)));
  await expect(swapped('"inputs"', '"inputz"')).rejects.toThrow(
    "the file's header is damaged: a list is missing",
  );
  await expect(swapped('"offset":0', '"offset":9')).rejects.toThrow("the file's header is damaged: input 1");
  await expect(swapped('"sources":', '"sourcez":')).rejects.toThrow("the file's header is damaged: output 0");
  await expect(swapped('"dtype":"float32","shape":[3]}', '"dtype":"uint8",  "shape":[3]}')).rejects.toThrow(
    "the file's header does not fit its graph: input L['x']",
  );
});

test("whatever bytes change, a file is refused or runs: the runtime never traps", async () => {
  let seed = 1;
  const below = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const counts = { refused: 0, failed: 0, ran: 0 };
  for (let round = 0; round < 1500; round++) {
    const damaged = bytes.slice();
    for (let hits = 1 + below(3); hits > 0; hits--)
      damaged[8 + below(bytes.length - 8)] = below(3) ? below(8) : below(256);
    try {
      const graph = await load(damaged);
      try {
        await graph.run({ "L['x']": x });
        counts.ran++;
      } catch (error) {
        expect(error).not.toBeInstanceOf(WebAssembly.RuntimeError);
        counts.failed++;
      }
      graph.dispose();
    } catch (error) {
      expect(error).toBeInstanceOf(ExportFileError);
      counts.refused++;
    }
  }
  expect(counts.refused).toBeGreaterThan(100);
  expect(counts.ran).toBeGreaterThan(10);
});

test("module and runtime are under 300 kB compressed", () => {
  const files = ["runtime.js", "export_file.js", "thirdbook_runtime.mjs", "thirdbook_runtime.wasm"];
  const sizes = files.map((name) => gzipSync(readFileSync(`build/npm/lib/${name}`), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
});
