// Runs plans on a device.
//
// In: a plan, and for each input its elements, on the host or already in a buffer. Out: a buffer for each output, or its elements.
// Errors: GpuFault, when nothing but the pool's buffers has been written. Invariant: one submit for a graph without host steps;
// nothing is read back but what a host step or the caller asks for.

import type { DType } from "../export_file.js";
import { kMapForReading, kUsage } from "./buffers.js";
import type { GpuDevice } from "./device.js";
import { allWithin, dense, fromDevice, roundedFloat, slotBytes, toDevice, toHalves } from "./elements.js";
import { GpuFault } from "./fault.js";
import type { Dispatch, Plan, PlanHost, Slot, Step } from "./plan.js";

/** What was done since the executor was made; none of it depends on the adapter. */
export interface GpuCounters {
  dispatches: number;
  submits: number;
  bytesWritten: number;
  bytesRead: number;
}

/** An input: elements as the CPU has them, or a buffer that holds the input's whole storage. */
export type GpuInput = Uint8Array | GPUBuffer;

interface BoundDispatch {
  pipeline: GPUComputePipeline;
  cells: GPUBufferBinding;
  offsets: GPUBuffer | undefined;
}

const kCellAlignment = 256; // the largest minUniformBufferOffsetAlignment there is

export class GpuProgram {
  readonly plan: Plan;
  readonly counters: GpuCounters = { dispatches: 0, submits: 0, bytesWritten: 0, bytesRead: 0 };
  readonly #gpu: GpuDevice;
  readonly #host: PlanHost;
  readonly #bound: (BoundDispatch | undefined)[];
  readonly #own: GPUBuffer[]; // uniforms, offsets, constants: as long as the program
  readonly #constants: Map<number, GPUBuffer>;

  private constructor(
    gpu: GpuDevice,
    plan: Plan,
    host: PlanHost,
    bound: (BoundDispatch | undefined)[],
    constants: Map<number, GPUBuffer>,
    own: GPUBuffer[],
  ) {
    this.#gpu = gpu;
    this.plan = plan;
    this.#host = host;
    this.#bound = bound;
    this.#constants = constants;
    this.#own = own;
  }

  /** Compiles the plan's shaders and writes what does not change from run to run. */
  static async make(gpu: GpuDevice, plan: Plan, host: PlanHost): Promise<GpuProgram> {
    gpu.assertAlive();
    for (const one of plan.steps.flatMap(indicesOf)) {
      if (plan.slots[one.slot]?.kind === "constant") assertWithin(one, host.constant(one.slot));
    }
    const pipelines = await Promise.all(plan.shaders.map(({ code }) => gpu.pipeline(code)));
    return gpu.checked(() => {
      const { device } = gpu;
      const own: GPUBuffer[] = [];
      const filled = (bytes: Uint8Array, usage: number) => {
        const size = Math.max(16, Math.ceil(bytes.byteLength / 4) * 4);
        const buffer = device.createBuffer({ size, usage: usage | kUsage.copyFrom | kUsage.copyTo });
        write(device, buffer, bytes);
        own.push(buffer);
        return buffer;
      };
      const cells = new Uint32Array((plan.steps.length * kCellAlignment * spread(plan)) / 4);
      const stride = (kCellAlignment * spread(plan)) / 4;
      plan.steps.forEach((step, index) => {
        if (step.kind === "dispatch") cells.set(step.cells, index * stride);
      });
      const uniform = filled(bytesOf(cells), kUsage.uniform);
      const bound = plan.steps.map((step, index) =>
        step.kind !== "dispatch"
          ? undefined
          : {
              pipeline: pipelines[step.shader] as GPUComputePipeline,
              cells: {
                buffer: uniform,
                offset: index * stride * 4,
                size: Math.ceil(step.cells.length / 4) * 16,
              },
              offsets: step.offsets && filled(bytesOf(Uint32Array.from(step.offsets)), kUsage.storage),
            },
      );
      const constants = new Map<number, GPUBuffer>();
      plan.slots.forEach((description, slot) => {
        if (description.kind === "constant")
          constants.set(slot, filled(slotElements(description, host.constant(slot)), kUsage.storage));
      });
      return new GpuProgram(gpu, plan, host, bound, constants, own);
    });
  }

  dispose(): void {
    for (const buffer of this.#own) buffer.destroy();
  }

  /**
   * The outputs' buffers, each of its own; they belong to the caller, who releases them to the device's pool. `known`: elements of
   * inputs that are given as buffers, where the caller has them.
   */
  async run(inputs: GpuInput[], known: (Uint8Array | undefined)[] = []): Promise<GPUBuffer[]> {
    const run = new Run(this.#gpu, this.plan, this.#host, this.#bound, this.#constants, this.counters);
    try {
      await run.steps(inputs, known);
      return run.takeOutputs();
    } finally {
      run.releaseAll();
    }
  }

  /** The elements of the outputs' whole storages, as the CPU has them. */
  async read(buffers: GPUBuffer[]): Promise<Uint8Array[]> {
    const slots = this.plan.outputs.map(({ slot }) => this.plan.slots[slot] as Slot);
    return readSlots(this.#gpu, this.counters, slots, buffers);
  }
}

/** One run: which buffer each slot has. */
class Run {
  readonly #gpu: GpuDevice;
  readonly #plan: Plan;
  readonly #host: PlanHost;
  readonly #bound: (BoundDispatch | undefined)[];
  readonly #constants: Map<number, GPUBuffer>;
  readonly #counters: GpuCounters;
  readonly #buffers = new Map<number, GPUBuffer>();
  readonly #pooled = new Set<number>(); // slots whose buffer goes back to the pool
  readonly #outputs: Set<number>;
  readonly #within = new Set<object>(); // indices that have been looked at

  constructor(
    gpu: GpuDevice,
    plan: Plan,
    host: PlanHost,
    bound: (BoundDispatch | undefined)[],
    constants: Map<number, GPUBuffer>,
    counters: GpuCounters,
  ) {
    this.#gpu = gpu;
    this.#plan = plan;
    this.#host = host;
    this.#bound = bound;
    this.#constants = constants;
    this.#counters = counters;
    this.#outputs = new Set(plan.outputs.map(({ slot }) => slot));
  }

  async steps(inputs: GpuInput[], known: (Uint8Array | undefined)[]): Promise<void> {
    const { steps } = this.#plan;
    this.#assertKnown(inputs, known);
    let next = 0;
    let first = true;
    while (next < steps.length || first) {
      let end = next;
      while (end < steps.length && !this.#waits(steps[end] as Step)) end++;
      const begin = next;
      const isFirst = first;
      await this.#gpu.checked(() => {
        if (isFirst) this.#placeInputs(inputs);
        this.#encode(begin, end);
      });
      first = false;
      const step = steps[end];
      if (step?.kind === "host") await this.#runHostStep(step, end);
      else if (step !== undefined) await this.#assertIndices(step);
      next = step?.kind === "dispatch" ? end : end + 1;
    }
  }

  /** Whether the host has something to do before a step, or in its place. */
  #waits(step: Step): boolean {
    return step.kind === "host" || indicesOf(step).some((one) => !this.#within.has(one));
  }
  /** Looks at the indices that the host has. */
  #assertKnown(inputs: GpuInput[], known: (Uint8Array | undefined)[]): void {
    for (const one of this.#plan.steps.flatMap(indicesOf)) {
      const { kind, index } = this.#slot(one.slot);
      if (kind === "input") {
        const input = inputs[index as number];
        const bytes = input instanceof Uint8Array ? input : known[index as number];
        if (bytes === undefined) continue;
        assertWithin(one, bytes);
      }
      if (kind !== "temporary") this.#within.add(one);
    }
  }
  /** Reads the indices of a step back, and nothing else. */
  async #assertIndices(step: Step): Promise<void> {
    const open = indicesOf(step).filter((one) => !this.#within.has(one));
    const slots = open.map(({ slot }) => this.#slot(slot));
    const buffers = open.map(({ slot }) => this.#buffer(slot));
    const read = await readSlots(this.#gpu, this.#counters, slots, buffers);
    open.forEach((one, i) => {
      assertWithin(one, read[i] as Uint8Array);
      this.#within.add(one);
    });
  }

  takeOutputs(): GPUBuffer[] {
    return this.#plan.outputs.map(({ slot }) => {
      this.#pooled.delete(slot);
      return this.#buffer(slot);
    });
  }

  releaseAll(): void {
    for (const slot of this.#pooled) this.#gpu.pool.release(this.#buffer(slot));
    this.#pooled.clear();
  }

  #placeInputs(inputs: GpuInput[]): void {
    this.#plan.slots.forEach((slot, number) => {
      if (slot.kind === "constant") this.#buffers.set(number, this.#constants.get(number) as GPUBuffer);
      if (slot.kind !== "input") return;
      const input = inputs[slot.index as number] as GpuInput;
      if (input instanceof Uint8Array) this.#write(number, slot.rounded ? roundedFloat(input) : input);
      else this.#buffers.set(number, input);
    });
  }

  #slot(number: number): Slot {
    return this.#plan.slots[number] as Slot;
  }
  #buffer(slot: number): GPUBuffer {
    const buffer = this.#buffers.get(slot);
    if (buffer === undefined) throw new Error(`slot ${slot} is read before it is written`);
    return buffer;
  }
  /** The slot's buffer, from the pool at its first use. */
  #acquire(slot: number): GPUBuffer {
    const known = this.#buffers.get(slot);
    if (known !== undefined) return known;
    const description = this.#slot(slot);
    const buffer = this.#gpu.pool.acquire(slotBytes(description, description.elements));
    this.#buffers.set(slot, buffer);
    this.#pooled.add(slot);
    return buffer;
  }
  #write(slot: number, elements: Uint8Array): void {
    const bytes = slotElements(this.#slot(slot), elements);
    this.#counters.bytesWritten += bytes.byteLength;
    write(this.#gpu.device, this.#acquire(slot), bytes);
  }

  /** Steps [begin, end), none of which is the host's, in one submit. */
  #encode(begin: number, end: number): void {
    if (begin === end) return;
    const { device } = this.#gpu;
    const encoder = device.createCommandEncoder();
    let pass: GPUComputePassEncoder | undefined;
    for (let index = begin; index < end; index++) {
      const step = this.#plan.steps[index] as Step;
      if (step.kind === "dispatch") {
        pass ??= encoder.beginComputePass();
        this.#dispatch(pass, step, this.#bound[index] as BoundDispatch);
      } else if (step.kind === "copy") {
        pass?.end();
        pass = undefined;
        const from = this.#slot(step.from);
        const to = this.#acquire(step.to);
        const size = slotBytes(from, from.elements);
        if (size > 0) encoder.copyBufferToBuffer(this.#buffer(step.from), 0, to, 0, size);
      }
      this.#releaseAfter(index);
    }
    pass?.end();
    device.queue.submit([encoder.finish()]);
    this.#counters.submits++;
  }

  #dispatch(pass: GPUComputePassEncoder, step: Dispatch, { pipeline, cells, offsets }: BoundDispatch): void {
    const buffers = step.slots.map((slot): GPUBufferBinding => {
      const description = this.#slot(slot);
      return { buffer: this.#acquire(slot), size: Math.max(8, slotBytes(description, description.elements)) };
    });
    if (offsets !== undefined) buffers.push({ buffer: offsets });
    const entries = [cells, ...buffers].map((resource, binding) => ({ binding, resource }));
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      this.#gpu.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    );
    pass.dispatchWorkgroups(...step.groups);
    this.#counters.dispatches++;
  }

  /** Buffers that no later step uses serve later steps: the queue keeps their order. */
  #releaseAfter(step: number): void {
    for (const slot of this.#pooled) {
      if (this.#slot(slot).last !== step || this.#outputs.has(slot)) continue;
      this.#pooled.delete(slot);
      this.#gpu.pool.release(this.#buffer(slot));
    }
  }

  async #runHostStep(step: Step & { kind: "host" }, index: number): Promise<void> {
    const slots = step.reads.map((slot) => this.#slot(slot));
    const buffers = step.reads.map((slot) => this.#buffer(slot));
    const reads = await readSlots(this.#gpu, this.#counters, slots, buffers);
    const written = this.#host.runHostStep(index, reads);
    await this.#gpu.checked(() => {
      step.writes.forEach((slot, i) => this.#write(slot, written[i] as Uint8Array));
      this.#releaseAfter(index);
    });
  }
}

/** Cells of a step as multiples of the alignment. */
function spread(plan: Plan): number {
  const most = Math.max(1, ...plan.steps.map((step) => (step.kind === "dispatch" ? step.cells.length : 0)));
  return Math.ceil((Math.ceil(most / 4) * 16) / kCellAlignment);
}

type Indices = NonNullable<Dispatch["indices"]>[number];
function indicesOf(step: Step): Indices[] {
  return step.kind === "dispatch" ? (step.indices ?? []) : [];
}

/** `storage`: of the whole slot, as the CPU has it. */
function assertWithin(indices: Indices, storage: Uint8Array): void {
  const { dtype, low, high } = indices;
  if (!allWithin(dtype, bytesOf(dense(storage, indices)), low, high))
    throw new GpuFault("index", "an index of the graph is out of range");
}

/** What is written to the device for a slot. */
export function slotElements(
  { dtype, half }: { dtype: DType; half?: boolean },
  elements: Uint8Array,
): Uint8Array {
  return half === true ? toHalves(elements) : toDevice(dtype, elements);
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

/** Sizes that are written are multiples of 4 on the device, whatever the dtype. */
function write(device: GPUDevice, buffer: GPUBuffer, bytes: Uint8Array): void {
  if (bytes.byteLength > 0) device.queue.writeBuffer(buffer, 0, bytes as Uint8Array<ArrayBuffer>);
}

async function readSlots(
  gpu: GpuDevice,
  counters: GpuCounters,
  slots: Slot[],
  buffers: GPUBuffer[],
): Promise<Uint8Array[]> {
  const ranges = slots.map((slot, i) => ({
    buffer: buffers[i] as GPUBuffer,
    bytes: slotBytes(slot, slot.elements),
  }));
  const read = await readBuffers(gpu, counters, ranges);
  return slots.map(({ dtype }, i) => fromDevice(dtype, read[i] as ArrayBuffer));
}

/** The starts of buffers, as the device has them; one submit for all. */
export async function readBuffers(
  gpu: GpuDevice,
  counters: GpuCounters,
  ranges: { buffer: GPUBuffer; bytes: number }[],
): Promise<ArrayBuffer[]> {
  const { device } = gpu;
  const total = ranges.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total === 0) return ranges.map(() => new ArrayBuffer(0));
  counters.bytesRead += total;
  const staging = await gpu.checked(() => {
    const target = device.createBuffer({ size: total, usage: kUsage.mapRead | kUsage.copyTo });
    const encoder = device.createCommandEncoder();
    let at = 0;
    for (const { buffer, bytes } of ranges) {
      if (bytes > 0) encoder.copyBufferToBuffer(buffer, 0, target, at, bytes);
      at += bytes;
    }
    device.queue.submit([encoder.finish()]);
    counters.submits++;
    return target;
  });
  try {
    await staging.mapAsync(kMapForReading);
    const all = staging.getMappedRange();
    let at = 0;
    return ranges.map(({ bytes }) => all.slice(at, (at += bytes)));
  } catch (error) {
    gpu.assertAlive();
    throw new GpuFault("validation", `WebGPU: ${String(error)}`);
  } finally {
    staging.destroy();
  }
}
