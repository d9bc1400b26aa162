// thirdbook/runtime: runs files that thirdbook.export() wrote, without Python.
//
// In: the bytes of a file, and inputs as typed arrays. Out: outputs as typed arrays, and the ledger's rows as data. Errors:
// ExportFileError from load() for a file that is damaged, truncated or too new; Error from run() for inputs that do not fit.
// Invariant: no DOM; a run changes nothing but what it returns; dispose() frees the graph, as does the garbage collector in its own time.

import {
  ExportFileError,
  kArrays,
  readExportFile,
  type ExportFile,
  type ExportHeader,
  type ExportInput,
} from "./export_file.js";
import type { TensorValue } from "./tensor_value.js";
import type { ExportedGraph, RuntimeModule } from "./thirdbook_runtime.mjs";
import type { GpuEntry } from "./webgpu/device.js";
import type { GpuGraph, GpuWork } from "./webgpu/exported.js";

export type { TensorValue } from "./tensor_value.js";
export type { GpuWork } from "./webgpu/exported.js";
export { ExportFileError, type DType, type ExportHeader, type ExportInput } from "./export_file.js";

export interface RunResult {
  /** In the order of `header.outputs`. */
  outputs: TensorValue[];
  /** The ledger: what plain Python would do besides, for a host that keeps state. */
  effects: unknown[];
  /** Where it ran. */
  device: Device;
  /** On the GPU: what was done there. */
  gpu?: GpuWork;
  /** Why it ran on wasm although the GPU was asked for. */
  fault?: string;
}

export type Device = "wasm" | "webgpu";

export interface LoadOptions {
  /** "wasm" (the default), or "webgpu": on the GPU, and on wasm whenever that fails. */
  device?: Device;
  /**
   * "float16": on a GPU that can, the file's weights and what lies between two steps take half the memory, each rounded to float16
   * (relative 2^-11; beyond 65504 infinite). All is computed in float32; inputs and outputs stay as they are. Default "float32".
   */
  gpuStorage?: "float32" | "float16";
  /** A host's WebGPU where it is not navigator.gpu, such as that of the npm package webgpu in Node. */
  gpu?: GpuEntry;
  /** Where thirdbook_runtime.wasm is, for pages whose bundler puts it elsewhere than beside its module. */
  wasmURL?: string | URL;
}

/** An exported call, ready to run. */
export class LoadedGraph {
  static readonly #forgotten = new FinalizationRegistry<ExportedGraph>((graph) => graph.delete());

  /** What the file says of itself: inputs, outputs and where the world holds them, ledger. */
  readonly header: ExportHeader;
  /** By input: what the file holds, undefined for an argument. */
  readonly #state: (TensorValue | number | undefined)[];
  readonly #options: LoadOptions;
  #graph: ExportedGraph | undefined;
  #gpu: Promise<GpuGraph> | undefined;

  /** @internal */
  constructor(graph: ExportedGraph, { header, data }: ExportFile, options: LoadOptions) {
    this.#options = options;
    this.header = header;
    this.#state = header.inputs.map((input) => {
      if (input.kind === "argument") return undefined;
      if ("number" in input) return Number(input.value);
      const { dtype, shape, offset, bytes } = input;
      return { dtype, shape, data: new kArrays[dtype](data.slice(offset, offset + bytes).buffer) };
    });
    this.#graph = graph;
    LoadedGraph.#forgotten.register(this, graph, this);
  }

  /** Names of the inputs that run() wants, such as "L['x']". */
  get argumentNames(): string[] {
    return this.header.inputs.filter(({ kind }) => kind === "argument").map(({ name }) => name);
  }

  /** The graph as text. */
  get text(): string {
    return this.#loaded().text();
  }

  /** Takes the arguments by name. On the GPU or on wasm, the result is the same within float32's rounding. */
  async run(args: Readonly<Record<string, TensorValue | number>> = {}): Promise<RunResult> {
    const graph = this.#loaded();
    const inputs = this.#inputs(args);
    const effects = this.header.ledger;
    if (this.#options.device !== "webgpu") return { outputs: graph.run(inputs), effects, device: "wasm" };
    try {
      this.#gpu ??= import("./webgpu/exported.js").then(
        ({ GpuGraph }) =>
          new GpuGraph(graph, this.#options.gpu, {
            halves: this.#options.gpuStorage === "float16",
            own: this.#state.map((value) => value !== undefined),
          }),
      );
      const { outputs, gpu } = await (await this.#gpu).run(inputs);
      return { outputs, effects, device: "webgpu", gpu };
    } catch (error) {
      // Nothing has been changed. What is wrong with the inputs, wasm says as well.
      const fault = error instanceof Error ? error.message : String(error);
      return { outputs: this.#loaded().run(inputs), effects, device: "wasm", fault };
    }
  }

  /** Frees the graph; a second call does nothing. */
  dispose(): void {
    LoadedGraph.#forgotten.unregister(this);
    void this.#gpu?.then((gpu) => gpu.dispose());
    this.#gpu = undefined;
    this.#graph?.delete();
    this.#graph = undefined;
  }

  #loaded(): ExportedGraph {
    if (this.#graph === undefined) throw new Error("this graph was disposed");
    return this.#graph;
  }

  #inputs(args: Readonly<Record<string, TensorValue | number>>): (TensorValue | number)[] {
    return this.header.inputs.map((input, index) => this.#state[index] ?? argument(input, args[input.name]));
  }
}

/** The checks that need no graph; dtype and size in bytes are compared by the core. */
function argument(input: ExportInput, value: TensorValue | number | undefined): TensorValue | number {
  if (value === undefined) throw new Error(`input ${input.name} is missing`);
  if ("number" in input) {
    if (typeof value !== "number") throw new Error(`input ${input.name} is a number`);
    return value;
  }
  if (typeof value === "number") throw new Error(`input ${input.name} is a tensor, not a number`);
  const { shape, data } = value as Partial<TensorValue>;
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0))
    throw new Error(`input ${input.name} has no usable shape`);
  if (!ArrayBuffer.isView(data)) throw new Error(`input ${input.name} has no typed array as data`);
  return value;
}

const modules = new Map<string, Promise<RuntimeModule>>();

function runtime(wasmURL = ""): Promise<RuntimeModule> {
  let module = modules.get(wasmURL);
  if (module === undefined) {
    const options = wasmURL === "" ? {} : { locateFile: () => wasmURL };
    module = import("./thirdbook_runtime.mjs").then(({ default: create }) => create(options));
    modules.set(wasmURL, module);
    module.catch(() => modules.delete(wasmURL)); // a later call may have a network
  }
  return module;
}

/** Reads a file; the graph itself is checked by the core. */
export async function load(file: Uint8Array | ArrayBuffer, options: LoadOptions = {}): Promise<LoadedGraph> {
  // A plain Uint8Array: slice() of Node's Buffer, which is one too, copies nothing.
  const bytes = ArrayBuffer.isView(file)
    ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
    : new Uint8Array(file);
  const parts = readExportFile(bytes);
  const module = await runtime(options.wasmURL?.toString());
  let loaded: ExportedGraph;
  try {
    loaded = module.load(parts.graph);
  } catch (error) {
    throw new ExportFileError(error instanceof Error ? error.message : String(error));
  }
  const problem = mismatch(parts.header, loaded);
  if (problem !== undefined) {
    loaded.delete();
    throw new ExportFileError(`the file's header does not fit its graph: ${problem}`);
  }
  return new LoadedGraph(loaded, parts, options);
}

function mismatch(header: ExportHeader, graph: ExportedGraph): string | undefined {
  const inputs = graph.inputs();
  if (inputs.length !== header.inputs.length) return `${inputs.length} inputs`;
  if (graph.outputCount() !== header.outputs.length) return `${graph.outputCount()} outputs`;
  const odd = header.inputs.find((input, index) => {
    const own = inputs[index];
    return (
      own === undefined || own.number !== "number" in input || ("dtype" in input && input.dtype !== own.dtype)
    );
  });
  return odd && `input ${odd.name}`;
}
