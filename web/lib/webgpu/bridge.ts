// What Python in Pyodide (wasm/pyodide/thirdbook/_gpu.py) asks of WebGPU: tensors by number, and graphs that take and give them.
//
// In: the bytes of graphs and of elements. Out: numbers; elements only when read() is asked for them. The graphs are planned by the
// Embind module, which is loaded when the first one comes. Errors: GpuFault. Invariant: a number stays good until it is released or its
// device is lost; what crosses to Python is numbers, texts and bytes.

import type { DType } from "../export_file.js";
import type { ExportedGraph, InputLayout, RuntimeModule } from "../thirdbook_runtime.mjs";
import { sharedDevice, type GpuDevice, type GpuEntry } from "./device.js";
import { deviceBytes, fromDevice, toDevice } from "./elements.js";
import { readBuffers, type GpuCounters } from "./executor.js";
import { GpuGraph } from "./exported.js";
import { GpuFault } from "./fault.js";

interface DeviceTensor {
  device: GpuDevice;
  buffer: GPUBuffer;
  dtype: DType;
  elements: number;
}

/** An input as Python describes it: null for a number, else a view of a storage that is here (`id`) or in the bytes beside it. */
type DescribedInput = (InputLayout & { id?: number }) | null;

export class GpuBridge {
  readonly #module: RuntimeModule;
  readonly #entry: GpuEntry | undefined;
  readonly #graphs = new Map<number, { exported: ExportedGraph; gpu: GpuGraph }>();
  readonly #tensors = new Map<number, DeviceTensor>();
  readonly #counters: GpuCounters = { dispatches: 0, submits: 0, bytesWritten: 0, bytesRead: 0 };
  #next = 1;

  /** Whether the adapter is a program on the CPU. */
  readonly software: boolean;

  private constructor(module: RuntimeModule, entry: GpuEntry | undefined, software: boolean) {
    this.#module = module;
    this.#entry = entry;
    this.software = software;
  }

  /** Errors: GpuFault "no-adapter" where there is no WebGPU. */
  static async connect(entry?: GpuEntry): Promise<GpuBridge> {
    const { limits } = await sharedDevice(entry);
    const { default: createRuntime } = await import("../thirdbook_runtime.mjs");
    return new GpuBridge(await createRuntime(), entry, limits.software);
  }

  /** JSON of what was done so far, and how many tensors are here. */
  counters(): string {
    return JSON.stringify({ ...this.#counters, tensors: this.#tensors.size });
  }

  async upload(bytes: Uint8Array, dtype: DType): Promise<number> {
    const device = await sharedDevice(this.#entry);
    const written = toDevice(dtype, bytes);
    const buffer = await device.checked(() => {
      const target = device.pool.acquire(written.byteLength);
      if (written.byteLength > 0)
        device.device.queue.writeBuffer(target, 0, written as Uint8Array<ArrayBuffer>);
      return target;
    });
    this.#counters.bytesWritten += written.byteLength;
    const elements = written.byteLength / deviceBytes(dtype, 1);
    return this.#keep({ device, buffer, dtype, elements });
  }

  async read(id: number): Promise<Uint8Array> {
    const { device, buffer, dtype, elements } = this.#tensor(id);
    const bytes = deviceBytes(dtype, elements);
    const [data] = await readBuffers(device, this.#counters, [{ buffer, bytes }]);
    return fromDevice(dtype, data as ArrayBuffer);
  }

  /** A copy of a tensor's elements, made in its turn on the device: nothing is waited for. */
  duplicate(id: number): number {
    const tensor = this.#tensor(id);
    const { device, dtype, elements } = tensor;
    const bytes = deviceBytes(dtype, elements);
    const buffer = device.pool.acquire(bytes);
    if (bytes > 0) {
      const encoder = device.device.createCommandEncoder();
      encoder.copyBufferToBuffer(tensor.buffer, 0, buffer, 0, bytes);
      device.device.queue.submit([encoder.finish()]);
      this.#counters.submits++;
    }
    return this.#keep({ ...tensor, buffer });
  }

  release(id: number): void {
    const tensor = this.#tensors.get(id);
    this.#tensors.delete(id);
    if (tensor !== undefined && !tensor.device.isLost) tensor.device.pool.release(tensor.buffer);
  }

  /** The number of a graph, from its bytes (core/graph/serialize.h). */
  compile(graph: Uint8Array, halves = false): number {
    const exported = this.#module.load(graph);
    this.#graphs.set(this.#next, { exported, gpu: new GpuGraph(exported, this.#entry, { halves }) });
    return this.#next++;
  }

  forget(graph: number): void {
    const known = this.#graphs.get(graph);
    this.#graphs.delete(graph);
    known?.gpu.dispose();
    known?.exported.delete();
  }

  /** JSON: [{name, nodes, text}] of the graph with this text, one a dispatch; empty where none has run here. */
  shaders(text: string): string {
    for (const { exported, gpu } of this.#graphs.values()) {
      if (exported.text() === text) return JSON.stringify(gpu.shaders());
    }
    return "[]";
  }

  /** Outputs as JSON: [{id, elements, shape, strides, offset}]. They stay on the device. */
  async run(graph: number, inputs: string, bytes: (Uint8Array | null)[]): Promise<string> {
    const { gpu } = this.#graphs.get(graph) as { gpu: GpuGraph };
    const described = JSON.parse(inputs) as DescribedInput[];
    // The number is no part of the layout: it would make a program for each tensor.
    const layouts = described.map((input) => {
      if (input === null) return null;
      const layout = { ...input };
      delete layout.id;
      return layout;
    });
    const { device, program } = await gpu.prepare(layouts);
    const given = described.map((input, i) => {
      if (input?.id === undefined) return bytes[i] as Uint8Array;
      const tensor = this.#tensor(input.id);
      if (tensor.device !== device) throw new GpuFault("device-lost", "a tensor's GPU device was lost");
      return tensor.buffer;
    });
    const before = { ...program.counters };
    const buffers = await program.run(given);
    for (const name of Object.keys(before) as (keyof GpuCounters)[])
      this.#counters[name] += program.counters[name] - before[name];
    const outputs = program.plan.outputs.map(({ slot, shape, strides, offset }, i) => {
      const { dtype, elements } = program.plan.slots[slot] as { dtype: DType; elements: number };
      const id = this.#keep({ device, buffer: buffers[i] as GPUBuffer, dtype, elements });
      return { id, elements, shape, strides, offset };
    });
    return JSON.stringify(outputs);
  }

  #keep(tensor: DeviceTensor): number {
    this.#tensors.set(this.#next, tensor);
    return this.#next++;
  }
  #tensor(id: number): DeviceTensor {
    const tensor = this.#tensors.get(id);
    if (tensor === undefined) throw new Error(`no tensor ${id} is on the GPU`);
    tensor.device.assertAlive();
    return tensor;
  }
}
