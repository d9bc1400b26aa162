// The types of build/embind/thirdbook_runtime.mjs, which web/build.mjs copies beside the compiled modules.

import type { TensorValue } from "./tensor_value.js";
import type { PlanLimits } from "./webgpu/device.js";

/** What the graph's file says of an input: a tensor, or a number of that kind. */
export interface GraphInput {
  name: string;
  dtype: string;
  number: boolean;
}

/** What core/kernel/device_plan.h plans for one set of input sizes. */
export interface DeviceSteps {
  json(): string;
  /** A view of the module's memory: to be copied before the next call. */
  constant(slot: number): Uint8Array;
  runHostStep(step: number, reads: Uint8Array[]): Uint8Array[];
  delete(): void;
}

/** How an input lies in its storage; without strides it is the whole storage, row-major. null stands for a number. */
export interface InputLayout {
  shape: number[];
  strides?: number[];
  offset?: number;
  elements?: number;
  /** It is the same at every run. */
  own?: boolean;
}

export interface ExportedGraph {
  inputs(): GraphInput[];
  outputCount(): number;
  text(): string;
  /** Throws where the limits, or the graph, do not allow one. */
  plan(
    layouts: (InputLayout | null)[],
    limits: PlanLimits & { halves: boolean },
  ): DeviceSteps;
  run(inputs: (TensorValue | number)[]): TensorValue[];
  delete(): void;
}

export interface RuntimeModule {
  version(): string;
  load(bytes: Uint8Array): ExportedGraph;
}

export default function createRuntime(options?: {
  locateFile?: (name: string, folder: string) => string;
}): Promise<RuntimeModule>;
