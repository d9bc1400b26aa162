// What core/kernel/device_plan.h hands over: the steps of one graph for one set of input sizes, as data.

import type { DType } from "../export_file.js";

export interface Slot {
  kind: "input" | "constant" | "temporary";
  /** Of an input: its number. */
  index?: number;
  /** Of an input: it is given as a float64, and here is the float32 nearest to it. */
  rounded?: boolean;
  dtype: DType;
  /** The device has it as float16. */
  half?: boolean;
  elements: number;
  /** The steps that use it; -1: none. */
  first: number;
  last: number;
}

export interface Dispatch {
  kind: "dispatch";
  name: string;
  /** What it computes: nodes of the graph. */
  nodes: number[];
  shader: number;
  /** Bound from 1 on; binding 0 is the uniform with `cells`. */
  slots: number[];
  cells: number[];
  groups: [number, number, number];
  /** Of a batched product: where its matrices start; bound after the slots. */
  offsets?: number[];
  /** What must lie in [low, high) before it may run: those elements of a slot, not its others. */
  indices?: (Place & { low: number; high: number })[];
}

export type Step =
  | Dispatch
  | { kind: "copy"; from: number; to: number }
  | { kind: "host"; name: string; reads: number[]; writes: number[] };

/** Elements of a slot. */
export interface Place {
  slot: number;
  dtype: DType;
  shape: number[];
  strides: number[];
  offset: number;
}

export interface Plan {
  slots: Slot[];
  shaders: { code: string }[];
  steps: Step[];
  outputs: Place[];
}

/** What the core computes for a plan while it runs. */
export interface PlanHost {
  /** The elements of a constant, as the CPU has them. */
  constant(slot: number): Uint8Array;
  /** The elements that a host step writes, from those that it reads. */
  runHostStep(step: number, reads: Uint8Array[]): Uint8Array[];
}
