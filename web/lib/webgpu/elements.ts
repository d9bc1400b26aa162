// In: elements as the CPU has them, or as the device has them: there each takes 4 bytes, 8 where the dtype has 64 bits, or 2 in a slot
// of float16. Out: the other. Invariant: a value that neither side computes with is carried over bit by bit.

import { kArrays, type DType } from "../export_file.js";

export function isWide(dtype: DType): boolean {
  return dtype === "int64" || dtype === "float64";
}

export function deviceBytes(dtype: DType, elements: number): number {
  return elements * (isWide(dtype) ? 8 : 4);
}

/** Of a slot: buffers and their bindings are multiples of 4 bytes. */
export function slotBytes({ dtype, half }: { dtype: DType; half?: boolean }, elements: number): number {
  return half === true ? Math.ceil(elements / 2) * 4 : deviceBytes(dtype, elements);
}

function isNarrow(dtype: DType): boolean {
  return dtype === "bool" || dtype === "uint8";
}

/** What is written to the device; shares memory with `bytes` where nothing has to change. */
export function toDevice(dtype: DType, bytes: Uint8Array): Uint8Array {
  return isNarrow(dtype) ? new Uint8Array(Uint32Array.from(bytes).buffer) : bytes;
}

/** The float16 nearest to each float32, ties to even, in whole words. */
export function toHalves(bytes: Uint8Array): Uint8Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer as ArrayBuffer, aligned.byteOffset, aligned.byteLength / 4);
  const halves = new Uint16Array(Math.ceil(words.length / 2) * 2);
  words.forEach((word, i) => (halves[i] = half(word)));
  return new Uint8Array(halves.buffer);
}

function half(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const exponent = (word >>> 23) & 0xff;
  const fraction = word & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction !== 0 ? 0x200 : 0);
  if (exponent > 142) return sign | 0x7c00;
  if (exponent < 102) return sign;
  // As an integer a float16 is its exponent and fraction in a row: what rounding carries over goes the right way.
  const subnormal = exponent < 113;
  const significand = subnormal ? fraction | 0x800000 : ((exponent - 112) << 23) | fraction;
  const shift = subnormal ? 126 - exponent : 13;
  const kept = significand >>> shift;
  const rest = significand & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return sign | (kept + (rest > middle || (rest === middle && (kept & 1) === 1) ? 1 : 0));
}

/** Whether all elements, int32 or int64 as the CPU has them, lie in [low, high). */
export function allWithin(dtype: DType, bytes: Uint8Array, low: number, high: number): boolean {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Int32Array(aligned.buffer as ArrayBuffer, aligned.byteOffset, aligned.byteLength / 4);
  const step = dtype === "int64" ? 2 : 1;
  for (let i = 0; i < words.length; i += step) {
    const word = words[i] as number;
    if (word < low || word >= high || (step === 2 && words[i + 1] !== word >> 31)) return false;
  }
  return true;
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
