// An exported graph on the GPU: what the Embind module plans, the executor runs.
//
// In: inputs in the graph's order, checked. Out: outputs as typed arrays. Errors: GpuFault; whatever else the core says.
// Invariant: a program is made once for each set of input sizes and device.

import { kArrays, type DType } from "../export_file.js";
import type { TensorValue } from "../tensor_value.js";
import type { DeviceSteps, ExportedGraph, InputLayout } from "../thirdbook_runtime.mjs";
import { sharedDevice, type GpuDevice, type GpuEntry } from "./device.js";
import { dense } from "./elements.js";
import { kUsage } from "./buffers.js";
import { GpuProgram, slotElements, type GpuCounters, type GpuInput } from "./executor.js";
import { GpuFault } from "./fault.js";
import type { Plan } from "./plan.js";

type Value = TensorValue | number;

/** What one run did on the GPU. */
export interface GpuWork extends GpuCounters {
  /** Operations without a shader: their operands were read back, and the host computed them. */
  hostSteps: string[];
}

export interface GpuGraphOptions {
  /** Float32 values that stay inside the graph, and its own inputs, are stored as float16 where the adapter can. */
  halves?: boolean;
  /** Inputs that are the same at every run: they are written to the device once. */
  own?: boolean[];
}

export class GpuGraph {
  readonly #graph: ExportedGraph;
  readonly #dtypes: DType[];
  readonly #entry: GpuEntry | undefined;
  readonly #programs = new Map<string, { program: GpuProgram; steps: DeviceSteps }>();
  readonly #options: GpuGraphOptions;
  readonly #own = new Map<string, GPUBuffer>(); // by input and how it is stored
  #device: GpuDevice | undefined;

  constructor(graph: ExportedGraph, entry: GpuEntry | undefined, options: GpuGraphOptions = {}) {
    this.#options = options;
    this.#graph = graph;
    this.#entry = entry;
    this.#dtypes = graph.inputs().map(({ dtype }) => dtype as DType);
  }

  async run(inputs: Value[]): Promise<{ outputs: TensorValue[]; gpu: GpuWork }> {
    const own = (i: number) => this.#options.own?.[i] === true;
    const layouts = inputs.map((input, i) =>
      typeof input === "number" ? null : { shape: input.shape, own: own(i) },
    );
    const bytes = inputs.map((input, i) => bytesOf(input, this.#dtypes[i] as DType));
    const { device, program } = await this.prepare(layouts);
    const before = { ...program.counters };
    const given: GpuInput[] = [];
    for (const [i, elements] of bytes.entries())
      given.push(layouts[i]?.own === true ? await this.#kept(device, program, i, elements) : elements);
    const buffers = await program.run(given, bytes);
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

  /** The buffer of an own input, written at its first use. */
  async #kept(
    device: GpuDevice,
    program: GpuProgram,
    index: number,
    elements: Uint8Array,
  ): Promise<GpuInput> {
    const slot = program.plan.slots.find((one) => one.kind === "input" && one.index === index);
    if (slot === undefined) return elements; // nothing reads it
    const key = `${index} ${slot.half === true}`;
    const known = this.#own.get(key);
    if (known !== undefined) return known;
    const bytes = slotElements(slot, elements);
    const buffer = await device.checked(() => {
      const usage = kUsage.storage | kUsage.copyFrom | kUsage.copyTo;
      const made = device.device.createBuffer({ size: Math.max(16, bytes.byteLength), usage });
      if (bytes.byteLength > 0) device.device.queue.writeBuffer(made, 0, bytes as Uint8Array<ArrayBuffer>);
      return made;
    });
    program.counters.bytesWritten += bytes.byteLength;
    this.#own.set(key, buffer);
    return buffer;
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
    for (const buffer of this.#own.values()) buffer.destroy();
    this.#own.clear();
  }

  #plan(layouts: (InputLayout | null)[], { limits, hasHalves }: GpuDevice): DeviceSteps {
    try {
      return this.#graph.plan(layouts, { ...limits, halves: this.#options.halves === true && hasHalves });
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
