// In: elements as the CPU has them. Out: what is written to a GPU for float16 storage is the nearest float16, ties to even; indices are
// found out of range whatever their dtype and place in memory.

import { expect, test } from "vitest";
import { allWithin, slotBytes, toHalves } from "../../../build/npm/lib/webgpu/elements.js";

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}
function halvesOf(...values: number[]): number[] {
  const bytes = toHalves(bytesOf(Float32Array.from(values)));
  return Array.from(new Uint16Array(bytes.buffer as ArrayBuffer)).slice(0, values.length);
}

test("each float32 becomes the nearest float16, ties to even", () => {
  const rows: [number, number][] = [
    [0, 0],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2.5, 0xc100],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [65504, 0x7bff],
    [65519, 0x7bff],
    [65520, 0x7c00],
    [-1e30, 0xfc00],
    [Infinity, 0x7c00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [1.5 * 2 ** -25, 0x0001],
    [3 * 2 ** -25, 0x0002],
    [1e-40, 0],
  ];
  expect(halvesOf(...rows.map(([value]) => value))).toEqual(rows.map(([, half]) => half));
  const nan = halvesOf(NaN)[0] as number;
  expect(nan & 0x7c00).toBe(0x7c00);
  expect(nan & 0x3ff).not.toBe(0);
});

test("an odd number of halves fills whole words", () => {
  expect(toHalves(bytesOf(Float32Array.of(1, 2, 3))).byteLength).toBe(8);
  expect(slotBytes({ dtype: "float32", half: true }, 3)).toBe(8);
  expect(slotBytes({ dtype: "float32" }, 3)).toBe(12);
});

test("indices are within their bounds, or not", () => {
  const wide = bytesOf(BigInt64Array.of(0n, 5n, -1n, 2n ** 40n));
  expect(allWithin("int64", wide.subarray(0, 16), 0, 6)).toBe(true);
  expect(allWithin("int64", wide.subarray(0, 16), 0, 5)).toBe(false);
  expect(allWithin("int64", wide.subarray(16, 24), -1, 5)).toBe(true);
  expect(allWithin("int64", wide.subarray(16, 24), 0, 5)).toBe(false);
  expect(allWithin("int64", wide.subarray(24), 0, 5)).toBe(false);
  const odd = new Uint8Array(9);
  odd.set(bytesOf(Int32Array.of(-3, 2)), 1);
  expect(allWithin("int32", odd.subarray(1), -3, 3)).toBe(true);
  expect(allWithin("int32", odd.subarray(1), -2, 3)).toBe(false);
});
