// In: the bytes of a file that thirdbook.export() wrote (docs/export-format.md). Out: its header, the graph's bytes and the
// data of its state inputs, views of the given bytes.
// Invariant: whatever the bytes are, the answer is a file whose header is consistent in itself, or one ExportFileError.

export class ExportFileError extends Error {
  readonly code = "export-file";
  override name = "ExportFileError";
}

export type DType = "bool" | "uint8" | "int32" | "int64" | "float32" | "float64";

/** Array types by dtype: bool and uint8 share one. */
export const kArrays = {
  bool: Uint8Array,
  uint8: Uint8Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

interface TensorInput {
  name: string;
  kind: "argument";
  dtype: DType;
  /** As in the traced call; a run may give other sizes where the graph allows them. */
  shape: number[];
}
interface NumberInput {
  name: string;
  kind: "argument";
  number: "int" | "float" | "bool";
}
type StateTensor = Omit<TensorInput, "kind"> & { kind: "state"; offset: number; bytes: number };
type StateNumber = Omit<NumberInput, "kind"> & { kind: "state"; value: number | boolean };
export type ExportInput = TensorInput | NumberInput | StateTensor | StateNumber;

export interface ExportHeader {
  schema: number;
  thirdbook: string;
  function: string;
  inputs: ExportInput[];
  outputs: { dtype: DType; shape: number[]; sources: string[] }[];
  /** How the call's result is put together (docs/export-format.md). */
  result: unknown;
  ledger: unknown[];
}

export interface ExportFile {
  header: ExportHeader;
  graph: Uint8Array;
  data: Uint8Array;
}

const kMagic = "TBEXPORT";
const kVersion = 1;
const kHead = 20;

export function readExportFile(bytes: Uint8Array): ExportFile {
  if (bytes.length < kHead || latin(bytes.subarray(0, kMagic.length)) !== kMagic)
    throw new ExportFileError("this is no file of thirdbook.export()");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true);
  if (version > kVersion)
    throw new ExportFileError(`the file has version ${version}, this runtime reads up to ${kVersion}`);
  const graphStart = kHead + view.getUint32(12, true);
  const dataStart = graphStart + view.getUint32(16, true);
  if (version === 0 || dataStart > bytes.length) throw new ExportFileError("the file is truncated");
  const data = bytes.subarray(dataStart);
  return {
    header: readHeader(bytes.subarray(kHead, graphStart), data.length),
    graph: bytes.subarray(graphStart, dataStart),
    data,
  };
}

function latin(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function readHeader(bytes: Uint8Array, dataSize: number): ExportHeader {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ExportFileError("the file's header is damaged");
  }
  const problem = problemOf(header, dataSize);
  if (problem !== undefined) throw new ExportFileError(`the file's header is damaged: ${problem}`);
  return header as ExportHeader;
}

type Fields = Record<string, unknown>;

function problemOf(header: unknown, dataSize: number): string | undefined {
  if (!isObject(header)) return "it is no object";
  const { inputs, outputs, ledger } = header;
  if (!Array.isArray(inputs) || !Array.isArray(outputs) || !Array.isArray(ledger)) return "a list is missing";
  for (const [index, input] of inputs.entries()) {
    if (!isObject(input) || !isInput(input, dataSize)) return `input ${index}`;
  }
  for (const [index, output] of outputs.entries()) {
    if (!isObject(output) || !isTensor(output) || !Array.isArray(output["sources"])) return `output ${index}`;
  }
  return undefined;
}

function isInput(input: Fields, dataSize: number): boolean {
  const { name, kind, number } = input;
  if (typeof name !== "string" || (kind !== "argument" && kind !== "state")) return false;
  if (number !== undefined) {
    if (number !== "int" && number !== "float" && number !== "bool") return false;
    return kind === "argument" || typeof input["value"] === "number" || typeof input["value"] === "boolean";
  }
  if (!isTensor(input)) return false;
  if (kind === "argument") return true;
  const { offset, bytes } = input;
  if (!isCount(offset) || !isCount(bytes) || offset + bytes > dataSize) return false;
  return bytes === byteSize(input["dtype"] as DType, input["shape"] as number[]);
}

function isTensor(fields: Fields): boolean {
  const { dtype, shape } = fields;
  return (
    typeof dtype === "string" && Object.hasOwn(kArrays, dtype) && Array.isArray(shape) && shape.every(isCount)
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

export function byteSize(dtype: DType, shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1) * kArrays[dtype].BYTES_PER_ELEMENT;
}
