// In: elements as the CPU has them, or as the device has them: there each takes 4 bytes, or 8 where the dtype has 64 bits.
// Out: the other. Invariant: a value that neither side computes with is carried over bit by bit.

import { kArrays, type DType } from "../export_file.js";

export function isWide(dtype: DType): boolean {
  return dtype === "int64" || dtype === "float64";
}

export function deviceBytes(dtype: DType, elements: number): number {
  return elements * (isWide(dtype) ? 8 : 4);
}

function isNarrow(dtype: DType): boolean {
  return dtype === "bool" || dtype === "uint8";
}

/** What is written to the device; shares memory with `bytes` where nothing has to change. */
export function toDevice(dtype: DType, bytes: Uint8Array): Uint8Array {
  return isNarrow(dtype) ? new Uint8Array(Uint32Array.from(bytes).buffer) : bytes;
}

/** The float32 nearest to a float64. */
export function roundedFloat(bytes: Uint8Array): Uint8Array {
  const value = new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
  return new Uint8Array(Float32Array.of(value).buffer);
}

export function fromDevice(dtype: DType, bytes: ArrayBuffer): Uint8Array {
  return isNarrow(dtype) ? Uint8Array.from(new Uint32Array(bytes)) : new Uint8Array(bytes);
}

/** The row-major elements of a view, as the typed array of its dtype. */
export function dense(
  storage: Uint8Array,
  view: { dtype: DType; shape: number[]; strides: number[]; offset: number },
): ArrayBufferView {
  const { dtype, shape, strides, offset } = view;
  const Type = kArrays[dtype];
  const size = Type.BYTES_PER_ELEMENT;
  const count = shape.reduce((product, n) => product * n, 1);
  const aligned = storage.byteOffset % size === 0 ? storage : storage.slice();
  const all = new Type(
    aligned.buffer as ArrayBuffer,
    aligned.byteOffset,
    Math.floor(aligned.byteLength / size),
  );
  if (isContiguous(shape, strides)) return all.slice(offset, offset + count);
  const out = new Type(count);
  const index = shape.map(() => 0);
  let at = offset;
  for (let i = 0; i < count; i++) {
    out[i] = all[at] as never;
    for (let d = shape.length - 1; d >= 0; d--) {
      at += strides[d] as number;
      index[d] = (index[d] as number) + 1;
      if (index[d] !== shape[d]) break;
      at -= (shape[d] as number) * (strides[d] as number);
      index[d] = 0;
    }
  }
  return out;
}

function isContiguous(shape: number[], strides: number[]): boolean {
  let expected = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    if (shape[d] !== 1 && strides[d] !== expected) return false;
    expected *= shape[d] as number;
  }
  return true;
}
