// An exported graph on the GPU: what the Embind module plans, the executor runs.
//
// In: inputs in the graph's order, checked. Out: outputs as typed arrays. Errors: GpuFault; whatever else the core says.
// Invariant: a program is made once for each set of input sizes and device.

import { kArrays, type DType } from "../export_file.js";
import type { TensorValue } from "../tensor_value.js";
import type { DeviceSteps, ExportedGraph, InputLayout } from "../thirdbook_runtime.mjs";
import { sharedDevice, type GpuDevice, type GpuEntry } from "./device.js";
import { dense } from "./elements.js";
import { GpuProgram, type GpuCounters } from "./executor.js";
import { GpuFault } from "./fault.js";
import type { Plan } from "./plan.js";

type Value = TensorValue | number;

/** What one run did on the GPU. */
export interface GpuWork extends GpuCounters {
  /** Operations without a shader: their operands were read back, and the host computed them. */
  hostSteps: string[];
}

export class GpuGraph {
  readonly #graph: ExportedGraph;
  readonly #dtypes: DType[];
  readonly #entry: GpuEntry | undefined;
  readonly #programs = new Map<string, { program: GpuProgram; steps: DeviceSteps }>();
  #device: GpuDevice | undefined;

  constructor(graph: ExportedGraph, entry: GpuEntry | undefined) {
    this.#graph = graph;
    this.#entry = entry;
    this.#dtypes = graph.inputs().map(({ dtype }) => dtype as DType);
  }

  async run(inputs: Value[]): Promise<{ outputs: TensorValue[]; gpu: GpuWork }> {
    const layouts = inputs.map((input) => (typeof input === "number" ? null : { shape: input.shape }));
    const bytes = inputs.map((input, i) => bytesOf(input, this.#dtypes[i] as DType));
    const { device, program } = await this.prepare(layouts);
    const before = { ...program.counters };
    const buffers = await program.run(bytes);
    try {
      const storages = await program.read(buffers);
      const outputs = program.plan.outputs.map((output, i) => ({
        dtype: output.dtype,
        shape: output.shape,
        data: dense(storages[i] as Uint8Array, output),
      }));
      const hostSteps = program.plan.steps.flatMap((step) => (step.kind === "host" ? [step.name] : []));
      return { outputs, gpu: { ...difference(program.counters, before), hostSteps } };
    } finally {
      for (const buffer of buffers) device.pool.release(buffer);
    }
  }

  /** The program for inputs of these layouts, on the device at hand. */
  async prepare(layouts: (InputLayout | null)[]): Promise<{ device: GpuDevice; program: GpuProgram }> {
    const device = await sharedDevice(this.#entry);
    if (device !== this.#device) this.dispose();
    this.#device = device;
    const key = JSON.stringify(layouts);
    const known = this.#programs.get(key);
    if (known !== undefined) return { device, program: known.program };
    const steps = this.#plan(layouts, device);
    try {
      const host = {
        constant: (slot: number) => steps.constant(slot).slice(),
        runHostStep: (step: number, reads: Uint8Array[]) => steps.runHostStep(step, reads),
      };
      const program = await GpuProgram.make(device, JSON.parse(steps.json()) as Plan, host);
      this.#programs.set(key, { program, steps });
      return { device, program };
    } catch (error) {
      steps.delete();
      throw error;
    }
  }

  /** What was dispatched for the sizes that came first. */
  shaders(): { name: string; nodes: number[]; text: string }[] {
    const [first] = this.#programs.values();
    if (first === undefined) return [];
    const { steps, shaders } = first.program.plan;
    return steps.flatMap((step) =>
      step.kind === "dispatch"
        ? [{ name: step.name, nodes: step.nodes, text: shaders[step.shader]?.code ?? "" }]
        : [],
    );
  }

  dispose(): void {
    for (const { program, steps } of this.#programs.values()) {
      program.dispose();
      steps.delete();
    }
    this.#programs.clear();
  }

  #plan(layouts: (InputLayout | null)[], { limits }: GpuDevice): DeviceSteps {
    try {
      return this.#graph.plan(layouts, limits);
    } catch (error) {
      throw new GpuFault("limit", error instanceof Error ? error.message : String(error));
    }
  }
}

function bytesOf(input: Value, dtype: DType): Uint8Array {
  const view = typeof input === "number" ? numberAs(input, dtype) : input.data;
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

function numberAs(value: number, dtype: DType): ArrayBufferView {
  if (dtype === "int64") return BigInt64Array.of(BigInt(Math.trunc(value)));
  return new kArrays[dtype]([value]);
}

function difference(after: GpuCounters, before: GpuCounters): GpuCounters {
  return {
    dispatches: after.dispatches - before.dispatches,
    submits: after.submits - before.submits,
    bytesWritten: after.bytesWritten - before.bytesWritten,
    bytesRead: after.bytesRead - before.bytesRead,
  };
}
