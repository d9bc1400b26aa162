// In: what two devices gave for one output. Out: the first difference beyond a bound, as text.

import type { Tensor } from "./gpu.ts";

/** `bound` is relative to the element, or to the largest one where that is below 1 in magnitude. */
export function difference(got: Tensor, want: Tensor, bound: number): string | undefined {
  if (got.dtype !== want.dtype) return `dtype ${got.dtype}, not ${want.dtype}`;
  if (got.shape.join() !== want.shape.join()) return `shape ${got.shape}, not ${want.shape}`;
  const finite = want.data.filter((value) => typeof value === "number") as number[];
  const scale = want.dtype.startsWith("float") ? Math.max(...finite.map(Math.abs), 1e-30) : 0;
  for (const [i, expected] of want.data.entries()) {
    const value = got.data[i];
    if (typeof expected === "string" || typeof value !== "number") {
      if (value !== expected) return `element ${i} is ${value}, not ${expected}`;
    } else if (Math.abs(value - expected) > bound * Math.max(Math.abs(expected), Math.min(scale, 1))) {
      return `element ${i} is ${value}, not ${expected}`;
    }
  }
  return undefined;
}
