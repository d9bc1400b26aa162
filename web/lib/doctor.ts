// In: optionally the host's Pyodide. Out: what this place can do, as data; `lines` says it for people.
// Invariant: never throws and changes nothing; a question that cannot be answered is null.

import { factsOf, isPyodide } from "./host.js";
import { wasmFacts } from "./wasm.js";
import { checkTags, parseWheelName } from "./wheel.js";
import { version, wheel } from "./wheel_file.js";

export interface DoctorReport {
  thirdbook: string;
  wheel: string | null;
  pyodide: string | null;
  python: string | null;
  platformTag: string | null;
  /** null without a Pyodide or a wheel; otherwise "fits", or the reason why it does not. */
  fit: string | null;
  wasm: boolean;
  simd: boolean;
  relaxedSimd: boolean;
  jspi: boolean;
  crossOriginIsolated: boolean;
  /** The GPU adapter's description, or null. */
  gpu: string | null;
}

export async function doctor(pyodide?: unknown): Promise<DoctorReport> {
  const host = isPyodide(pyodide) ? factsOf(pyodide) : null;
  const wasm = wasmFacts();
  let fit: string | null = null;
  if (host && wheel) {
    try {
      const tags = parseWheelName(wheel.name);
      if (tags) checkTags(tags, wheel.name, host);
      fit = "fits";
    } catch (error) {
      fit = error instanceof Error ? error.message : String(error);
    }
  }
  return {
    thirdbook: version,
    wheel: wheel?.name ?? null,
    pyodide: host?.pyodide ?? null,
    python: host?.python ?? null,
    platformTag: host?.platformTag ?? null,
    fit,
    wasm: wasm.allowed,
    simd: wasm.simd,
    relaxedSimd: wasm.relaxedSimd,
    jspi: wasm.jspi,
    crossOriginIsolated: globalThis.crossOriginIsolated === true,
    gpu: await adapterName(),
  };
}

async function adapterName(): Promise<string | null> {
  const gpu = (globalThis.navigator as Navigator | undefined)?.gpu;
  if (!gpu) return null;
  try {
    const adapter = await gpu.requestAdapter();
    if (!adapter) return null;
    const { vendor, architecture, description } = adapter.info;
    return description || [vendor, architecture].filter(Boolean).join(" ") || "unnamed adapter";
  } catch {
    return null;
  }
}

/** The report as lines of `name: value`. */
export function linesOf(report: DoctorReport): string[] {
  const say = (value: string | boolean | null) =>
    value === null ? "none" : value === true ? "yes" : value === false ? "no" : value;
  return [
    `Thirdbook: ${report.thirdbook}`,
    `wheel: ${report.wheel ?? "not built (npm run build)"}`,
    `Pyodide: ${report.pyodide ?? "not loaded"}`,
    `Python: ${say(report.python)}`,
    `platform: ${say(report.platformTag)}`,
    `wheel and Pyodide: ${say(report.fit)}`,
    `WebAssembly may be compiled: ${say(report.wasm)}`,
    `SIMD: ${say(report.simd)}`,
    `relaxed SIMD: ${say(report.relaxedSimd)}`,
    `JSPI: ${say(report.jspi)}`,
    `cross-origin isolated: ${say(report.crossOriginIsolated)}`,
    `GPU: ${say(report.gpu)}`,
  ];
}
