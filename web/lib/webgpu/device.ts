// In: the page's navigator.gpu, or another (Node has none of its own). Out: one device, its pipelines and its pool of buffers.
// Invariant: everything that was made with a lost device goes with it; the next request asks for a new one.

import { BufferPool } from "./buffers.js";
import { GpuFault } from "./fault.js";

/** As much of navigator.gpu as is used. */
export interface GpuEntry {
  requestAdapter(options?: {
    powerPreference?: "high-performance" | "low-power";
  }): Promise<GPUAdapter | null>;
}

/** What core/kernel/device_plan.h asks of an adapter. */
export interface PlanLimits {
  storageBuffers: number;
  bufferBytes: number;
  groups: number;
  /** The adapter is a program on the CPU. */
  software: boolean;
  /** Its shaders may use subgroups, of 64 invocations at most. */
  subgroups: boolean;
}

/** What shaders use where an adapter has it. */
const kFeatures = ["subgroups", "shader-f16"] as const;
const kGroup = 64; // invocations of a workgroup

export class GpuDevice {
  readonly device: GPUDevice;
  readonly pool: BufferPool;
  readonly limits: PlanLimits;
  /** Shaders may store float16. */
  readonly hasHalves: boolean;
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>();
  #lost: string | undefined;

  private constructor(device: GPUDevice, info: GPUAdapterInfo | undefined) {
    this.device = device;
    this.hasHalves = device.features.has("shader-f16");
    const { limits } = device;
    this.pool = new BufferPool(device);
    this.limits = {
      storageBuffers: limits.maxStorageBuffersPerShaderStage,
      bufferBytes: Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize),
      groups: limits.maxComputeWorkgroupsPerDimension,
      software: isSoftware(info),
      subgroups: device.features.has("subgroups") && (info?.subgroupMaxSize ?? Infinity) <= kGroup,
    };
    void device.lost.then(({ message }) => (this.#lost = message || "no reason given"));
  }

  /** Errors: GpuFault "no-adapter". */
  static async request(gpu: GpuEntry): Promise<GpuDevice> {
    try {
      const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
      if (adapter === null) throw new GpuFault("no-adapter", "WebGPU gives no adapter here");
      const { maxStorageBuffersPerShaderStage, maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
      const requiredLimits = { maxStorageBuffersPerShaderStage, maxStorageBufferBindingSize, maxBufferSize };
      const requiredFeatures = kFeatures.filter((feature) => adapter.features.has(feature));
      return new GpuDevice(await adapter.requestDevice({ requiredLimits, requiredFeatures }), adapter.info);
    } catch (error) {
      if (error instanceof GpuFault) throw error;
      throw new GpuFault("no-adapter", `WebGPU gives no device here: ${String(error)}`);
    }
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  assertAlive(): void {
    if (this.#lost !== undefined) throw new GpuFault("device-lost", `the GPU device was lost: ${this.#lost}`);
  }

  /** The pipeline of a shader: compiled once for each text. */
  pipeline(code: string): Promise<GPUComputePipeline> {
    let pipeline = this.#pipelines.get(code);
    if (pipeline === undefined) {
      pipeline = this.#compile(code);
      this.#pipelines.set(code, pipeline);
      pipeline.catch(() => this.#pipelines.delete(code));
    }
    return pipeline;
  }

  /** How many different shaders have been compiled. */
  get pipelineCount(): number {
    return this.#pipelines.size;
  }

  async #compile(code: string): Promise<GPUComputePipeline> {
    this.assertAlive();
    // The scope keeps the module's own error from the page's console: the pipeline's names it again.
    this.device.pushErrorScope("validation");
    const module = this.device.createShaderModule({ code });
    const pipeline = this.device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint: "main" },
    });
    const [made, error] = await Promise.allSettled([pipeline, this.device.popErrorScope()]);
    if (made.status === "fulfilled") return made.value;
    this.assertAlive();
    const more = error.status === "fulfilled" && error.value ? `: ${error.value.message}` : "";
    throw new GpuFault("shader-refused", `the GPU refused a shader: ${String(made.reason)}${more}`);
  }

  /** Runs `work`, which waits for nothing; what WebGPU has to say against it becomes one GpuFault. */
  async checked<T>(work: () => T): Promise<T> {
    this.assertAlive();
    const { device } = this;
    for (const filter of ["out-of-memory", "validation", "internal"] as const) device.pushErrorScope(filter);
    let result: T;
    let errors: PromiseSettledResult<GPUError | null>[];
    try {
      result = work();
    } finally {
      errors = await Promise.allSettled([
        device.popErrorScope(),
        device.popErrorScope(),
        device.popErrorScope(),
      ]);
    }
    this.assertAlive();
    for (const error of errors) {
      if (error.status === "rejected") throw new GpuFault("validation", `WebGPU: ${String(error.reason)}`);
      if (error.value === null) continue;
      const memory = error.value.constructor.name === "GPUOutOfMemoryError";
      throw new GpuFault(memory ? "out-of-memory" : "validation", `WebGPU: ${error.value.message}`);
    }
    return result;
  }
}

function isSoftware(info: GPUAdapterInfo | undefined): boolean {
  return info?.isFallbackAdapter === true || info?.architecture === "swiftshader";
}

const shared = new WeakMap<GpuEntry, Promise<GpuDevice>>();

/** The one device of this page or worker and WebGPU, asked for at the first call and again after it was lost. */
export async function sharedDevice(
  gpu: GpuEntry | undefined = globalThis.navigator?.gpu,
): Promise<GpuDevice> {
  if (gpu === undefined) throw new GpuFault("no-adapter", "this host has no WebGPU");
  const known = shared.get(gpu);
  if (known !== undefined) {
    const device = await known;
    if (!device.isLost) return device;
  }
  const request = GpuDevice.request(gpu);
  shared.set(gpu, request);
  request.catch(() => shared.delete(gpu));
  return request;
}
