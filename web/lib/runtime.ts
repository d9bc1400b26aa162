// Runs files that thirdbook.export() wrote, without Python.
//
// In: the bytes of a file (docs/export-format.md) and the Embind module that the build makes. Out: outputs as typed arrays, and the
// ledger's rows as data. Errors: ExportFileError for a file that is damaged, truncated or too new; Error from the runtime for inputs
// that do not fit. Invariant: no DOM; nothing is kept but the graph, which dispose() frees.

export class ExportFileError extends Error {
  readonly code = "export-file";
}

/** A tensor: `data` is the typed array of its dtype (bool and uint8 Uint8Array, int64 BigInt64Array), row-major. */
export interface TensorValue {
  dtype: string;
  shape: number[];
  data: ArrayBufferView;
}

interface ExportedGraph {
  run(inputs: unknown[]): TensorValue[];
  text(): string;
  delete(): void;
}
export interface RuntimeModule {
  version(): string;
  load(bytes: Uint8Array): ExportedGraph;
}

interface HeaderInput {
  name: string;
  kind: "argument" | "state";
  dtype?: string;
  shape?: number[];
  number?: "int" | "float" | "bool";
  offset?: number;
  bytes?: number;
  value?: number;
}
interface Header {
  inputs: HeaderInput[];
  outputs: { dtype: string; shape: number[]; sources: string[] }[];
  ledger: unknown[];
}

const kMagic = "TBEXPORT";
const kVersion = 1;
const kHead = 20;

const kArrays: Record<string, new (buffer: ArrayBuffer) => ArrayBufferView> = {
  bool: Uint8Array,
  uint8: Uint8Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** An exported call, ready to run. Arguments are given by source name, such as "L['x']". */
export class LoadedGraph {
  readonly #graph: ExportedGraph;
  readonly #header: Header;
  readonly #data: Uint8Array;

  constructor(graph: ExportedGraph, header: Header, data: Uint8Array) {
    this.#graph = graph;
    this.#header = header;
    this.#data = data;
  }

  /** Names of the inputs that run() wants. */
  get argumentNames(): string[] {
    return this.#header.inputs.filter((input) => input.kind === "argument").map((input) => input.name);
  }

  /** The graph as text. */
  get text(): string {
    return this.#graph.text();
  }

  /** Outputs in the graph's order, and the rows of the ledger that a host which keeps state applies. */
  run(args: Record<string, TensorValue | number>): { outputs: TensorValue[]; effects: unknown[] } {
    const inputs = this.#header.inputs.map((input) => {
      if (input.kind === "argument") {
        const given = args[input.name];
        if (given === undefined) throw new Error(`input ${input.name} is missing`);
        return given;
      }
      if (input.number !== undefined) return Number(input.value);
      const array = kArrays[input.dtype ?? ""];
      if (array === undefined) throw new ExportFileError(`the file names an unknown dtype ${input.dtype}`);
      const start = input.offset ?? 0;
      return {
        shape: input.shape ?? [],
        data: new array(this.#data.slice(start, start + (input.bytes ?? 0)).buffer),
      };
    });
    return { outputs: this.#graph.run(inputs), effects: this.#header.ledger };
  }

  dispose(): void {
    this.#graph.delete();
  }
}

/** Reads a file's parts; the graph itself is checked by the runtime. */
export function load(bytes: Uint8Array, runtime: RuntimeModule): LoadedGraph {
  if (bytes.length < kHead || new TextDecoder().decode(bytes.subarray(0, 8)) !== kMagic)
    throw new ExportFileError("this is no file of thirdbook.export()");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true);
  if (version > kVersion)
    throw new ExportFileError(`the file has version ${version}, this runtime reads up to ${kVersion}`);
  const graphStart = kHead + view.getUint32(12, true);
  const dataStart = graphStart + view.getUint32(16, true);
  if (dataStart > bytes.length) throw new ExportFileError("the file is truncated");
  let header: Header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(kHead, graphStart))) as Header;
  } catch {
    throw new ExportFileError("the file's header is damaged");
  }
  let graph: ExportedGraph;
  try {
    graph = runtime.load(bytes.subarray(graphStart, dataStart));
  } catch (error) {
    throw new ExportFileError(error instanceof Error ? error.message : String(error));
  }
  return new LoadedGraph(graph, header, bytes.slice(dataStart));
}
