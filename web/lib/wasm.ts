// In: the engine. Out: what its WebAssembly can do, and whether the page may use it at all.
// Invariant: asking never loads anything and never throws, except assertWasmAllowed.

import { ThirdbookError } from "./errors.js";

const kEmpty = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
// A module whose one function is v128.const 0, drop.
const kSimd = [
  ...kEmpty,
  1,
  4,
  1,
  0x60,
  0,
  0,
  3,
  2,
  1,
  0,
  10,
  23,
  1,
  21,
  0,
  0xfd,
  12,
  ...new Array<number>(16).fill(0),
  0x1a,
  0x0b,
];
// f32x4.relaxed_madd on three constants, dropped.
const kConst = [0xfd, 12, ...new Array<number>(16).fill(0)];
const kRelaxed = [
  ...kEmpty,
  ...[1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 63, 1, 61, 0],
  ...[...kConst, ...kConst, ...kConst, 0xfd, 0x85, 0x02, 0x1a, 0x0b],
];

export interface WasmFacts {
  allowed: boolean;
  simd: boolean;
  relaxedSimd: boolean;
  /** JavaScript Promise Integration: Python can wait for a promise. */
  jspi: boolean;
}

export function wasmFacts(): WasmFacts {
  return {
    allowed: wasmAllowed(),
    simd: WebAssembly.validate(Uint8Array.from(kSimd)),
    relaxedSimd: WebAssembly.validate(Uint8Array.from(kRelaxed)),
    jspi: "Suspending" in WebAssembly,
  };
}

/** Whether code may be compiled: a Content-Security-Policy without 'wasm-unsafe-eval' forbids it. */
export function wasmAllowed(): boolean {
  if (typeof WebAssembly !== "object") return false;
  try {
    return new WebAssembly.Module(Uint8Array.from(kEmpty)) instanceof WebAssembly.Module;
  } catch {
    return false;
  }
}

export function assertWasmAllowed(): void {
  if (wasmAllowed()) return;
  throw new ThirdbookError(
    "wasm-blocked",
    "this page may not compile WebAssembly: add 'wasm-unsafe-eval' to script-src in its Content-Security-Policy",
  );
}
