// In: operations as the op table (core/graph/ops.def) names them. Out: the bytes of an exported file, as tb.export() writes them
// (docs/export-format.md, core/graph/serialize.h), with constants and arguments but no ledger.
// Invariant: attributes that are left out have the table's defaults.

import { readFileSync } from "node:fs";
import type { DType } from "../../web/lib/export_file.ts";

export interface Ref {
  node: number;
  output: number;
}
export type Attribute = null | boolean | number | string | number[] | { float: number } | { dtype: DType };

const kDTypes: DType[] = ["bool", "uint8", "int32", "int64", "float32", "float64"];

interface Parameter {
  type: string;
  name: string;
  fallback: string | undefined;
}

const table = new Map<string, Parameter[]>(
  [...readFileSync("core/graph/ops.def", "utf8").matchAll(/^TB_OP\((\w+),\s*\w+,\s*"\w+\((.*)\)"\)$/gm)].map(
    (match) => [match[1] as string, parameters(match[2] as string)],
  ),
);

function parameters(schema: string): Parameter[] {
  const pieces = schema.split(", ").filter((piece) => piece !== "*" && piece !== "");
  return pieces.map((piece) => {
    const [type, rest] = piece.split(" ") as [string, string];
    const [name, fallback] = rest.split("=") as [string, string | undefined];
    return { type, name, fallback };
  });
}

/** Names of the operations of these classes, in the table's order. */
export function operations(...classes: string[]): string[] {
  const rows = readFileSync("core/graph/ops.def", "utf8").matchAll(/^TB_OP\((\w+),\s*(\w+),/gm);
  return [...rows].filter((row) => classes.includes(row[2] as string)).map((row) => row[1] as string);
}

class Bytes {
  readonly #parts: Uint8Array[] = [];
  u8(value: number): this {
    return this.raw(Uint8Array.of(value));
  }
  u32(value: number): this {
    return this.raw(new Uint8Array(Uint32Array.of(value).buffer));
  }
  i32(value: number): this {
    return this.raw(new Uint8Array(Int32Array.of(value).buffer));
  }
  i64(value: number): this {
    return this.raw(new Uint8Array(BigInt64Array.of(BigInt(value)).buffer));
  }
  f64(value: number): this {
    return this.raw(new Uint8Array(Float64Array.of(value).buffer));
  }
  text(value: string): this {
    const bytes = new TextEncoder().encode(value);
    return this.u32(bytes.length).raw(bytes);
  }
  raw(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    return this;
  }
  take(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#parts));
  }
}

export class GraphFile {
  readonly #nodes: Uint8Array[] = [];
  readonly #outputs: Ref[] = [];
  readonly #inputs: object[] = [];

  input(name: string, dtype: DType, shape: number[]): Ref {
    this.#inputs.push({ name, kind: "argument", dtype, shape });
    const bytes = new Bytes().text("input").u32(0).u32(0).text(name);
    return this.#add(meta(bytes, dtype, shape, true).u8(0));
  }
  /** A number that is given at each run. */
  number(name: string, number: "int" | "float"): Ref {
    this.#inputs.push({ name, kind: "argument", number });
    const bytes = new Bytes().text("input").u32(0).u32(0).text(name);
    return this.#add(meta(bytes, number === "int" ? "int64" : "float64", [], true).u8(1));
  }
  constant(dtype: DType, shape: number[], elements: ArrayBufferView, weak = false): Ref {
    const bytes = meta(new Bytes().text("constant").u32(0).u32(0), dtype, shape, false).u8(Number(weak));
    return this.#add(
      bytes.raw(new Uint8Array(elements.buffer as ArrayBuffer, elements.byteOffset, elements.byteLength)),
    );
  }
  /** A Python number of the program: a whole one is an int unless `float`. */
  literal(value: number, float = !Number.isInteger(value)): Ref {
    return float
      ? this.constant("float64", [], Float64Array.of(value), true)
      : this.constant("int64", [], BigInt64Array.of(BigInt(value)), true);
  }
  op(name: string, operands: (Ref | null)[], attributes: Record<string, Attribute> = {}): Ref {
    const bytes = new Bytes().text(name).u32(operands.length);
    for (const ref of operands) bytes.i32(ref?.node ?? -1).i32(ref?.output ?? 0);
    const own = (table.get(name) ?? fail(name)).filter(({ type }) => !type.startsWith("Tensor"));
    bytes.u32(own.length);
    for (const parameter of own) putAttribute(bytes, parameter, attributes[parameter.name]);
    return this.#add(bytes);
  }
  output(...refs: Ref[]): void {
    this.#outputs.push(...refs);
  }

  /** The graph's part of a file. */
  graph(): Uint8Array {
    const bytes = new Bytes().raw(new TextEncoder().encode("TBGRAPH\0")).u32(1).u32(this.#nodes.length);
    for (const node of this.#nodes) bytes.raw(node);
    bytes.u32(this.#outputs.length);
    for (const { node, output } of this.#outputs) bytes.i32(node).i32(output);
    return bytes.take();
  }
  bytes(): Uint8Array {
    const outputs = this.#outputs.map(() => ({ dtype: "float32", shape: [], sources: [] }));
    return exportFile(this.graph(), this.#inputs, outputs);
  }

  #add(bytes: Bytes): Ref {
    this.#nodes.push(bytes.take());
    return { node: this.#nodes.length - 1, output: 0 };
  }
}

export function exportFile(graph: Uint8Array, inputs: object[], outputs: object[]): Uint8Array {
  const header = new TextEncoder().encode(
    JSON.stringify({ schema: 1, thirdbook: "", function: "f", inputs, outputs, result: null, ledger: [] }),
  );
  const bytes = new Bytes().raw(new TextEncoder().encode("TBEXPORT")).u32(1).u32(header.length);
  return bytes.u32(graph.length).raw(header).raw(graph).take();
}

function meta(bytes: Bytes, dtype: DType, shape: number[], layout: boolean): Bytes {
  bytes.u8(kDTypes.indexOf(dtype)).u32(shape.length);
  for (const size of shape) bytes.i64(size);
  if (layout) {
    shape.forEach((_, d) => bytes.i64(shape.slice(d + 1).reduce((product, size) => product * size, 1)));
    bytes.i64(0);
  }
  return bytes;
}

function putAttribute(bytes: Bytes, { type, name, fallback }: Parameter, given: Attribute | undefined): void {
  const value = given === undefined ? byDefault(type, name, fallback) : given;
  if (value === null) bytes.u8(0);
  else if (typeof value === "boolean") bytes.u8(1).u8(Number(value));
  else if (typeof value === "string") bytes.u8(6).text(value);
  else if (Array.isArray(value)) {
    bytes.u8(5).u32(value.length);
    for (const item of value) bytes.i64(item);
  } else if (typeof value === "object" && "dtype" in value) bytes.u8(4).u8(kDTypes.indexOf(value.dtype));
  else if (typeof value === "object") bytes.u8(3).f64(value.float);
  else if (type.startsWith("float") || !Number.isInteger(value)) bytes.u8(3).f64(value);
  else bytes.u8(2).i64(value);
}

function byDefault(type: string, name: string, fallback: string | undefined): Attribute {
  if (fallback === undefined) return fail(name);
  if (fallback === "None") return null;
  if (fallback === "True" || fallback === "False") return fallback === "True";
  if (fallback === "[]") return [];
  const count = /^int\[(\d)\]/.exec(type)?.[1];
  if (count !== undefined) return new Array<number>(Number(count)).fill(Number(fallback));
  return Number(fallback);
}

function fail(name: string): never {
  throw new Error(`ops.def does not tell ${name}`);
}
