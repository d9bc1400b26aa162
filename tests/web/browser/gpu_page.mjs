// Served as it is (gpu.ts): in the page, runs exported files on wasm and on WebGPU.

import { kArrays } from "/lib/export_file.js";
import { load } from "/lib/runtime.js";

function value(input) {
  if (typeof input === "number") return input;
  const { dtype, shape, data } = input;
  const numbers = data.map((x) => (typeof x === "string" ? Number(x) : x));
  const array = dtype === "int64" ? BigInt64Array.from(numbers.map(BigInt)) : kArrays[dtype].from(numbers);
  return { dtype, shape, data: array };
}

/** NaN and infinities, which JSON has not, as texts. */
function plain({ dtype, shape, data }) {
  const numbers = Array.from(data, Number).map((x) => (Number.isFinite(x) ? x : String(x)));
  return { dtype, shape, data: numbers };
}

/** navigator.gpu whose adapter does not tell that it is software: shaders are those that hardware gets, with `features` or all. */
const hardware = (features) => ({
  requestAdapter: async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const { subgroupMinSize, subgroupMaxSize } = adapter.info;
    return {
      limits: adapter.limits,
      features: features ?? adapter.features,
      info: { subgroupMinSize, subgroupMaxSize },
      requestDevice: (descriptor) => adapter.requestDevice(descriptor),
    };
  },
});
const kDevices = {
  wasm: {},
  software: { device: "webgpu" },
  hardware: { device: "webgpu", gpu: hardware() },
  plain: { device: "webgpu", gpu: hardware(new Set()) },
  halves: { device: "webgpu", gpuStorage: "float16" },
};

globalThis.features = async () => [...(await navigator.gpu.requestAdapter()).features];

async function runCase({ file, inputs }, devices) {
  const bytes = Uint8Array.from(atob(file), (char) => char.charCodeAt(0));
  const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, value(input)]));
  const outcome = { devices: [], faults: [], dispatches: 0, hostSteps: [], shaders: [] };
  for (const name of devices) {
    const options = kDevices[name];
    try {
      const graph = await load(bytes, options);
      const result = await graph.run(values);
      outcome[name] = result.outputs.map(plain);
      outcome.devices.push(result.device);
      outcome.faults.push(result.fault ?? null);
      outcome.dispatches = result.gpu?.dispatches ?? 0;
      outcome.hostSteps = result.gpu?.hostSteps ?? [];
      graph.dispose();
    } catch (error) {
      outcome[name] = String(error);
    }
  }
  return outcome;
}

globalThis.runCases = async (cases, devices) => {
  const outcomes = [];
  for (const one of cases) outcomes.push(await runCase(one, devices));
  return outcomes;
};

// ---- Faults

const kWatched = [
  "createBuffer",
  "createShaderModule",
  "createComputePipelineAsync",
  "createBindGroup",
  "createCommandEncoder",
  "popErrorScope",
];

/** A WebGPU whose `at`-th call of the watched ones meets a fault; `count()` tells how many there were. */
function faultyGpu(kind, at) {
  let calls = 0;
  const watch = (object, name, device) => {
    const original = object[name].bind(object);
    object[name] = (...args) => {
      const struck = calls++ === at;
      if (struck && kind === "lost") device.destroy();
      if (struck && kind === "memory" && name === "createBuffer")
        throw new RangeError("no memory for a buffer");
      if (struck && kind === "memory" && name === "popErrorScope")
        return original(...args).then(() => new GPUOutOfMemoryError("no memory left"));
      if (struck && kind === "invalid" && name === "createBuffer") args[0] = { ...args[0], usage: 0 };
      if (struck && kind === "invalid" && name === "createShaderModule") args[0] = { code: "fn main( {" };
      return original(...args);
    };
  };
  const requestDevice = (adapter) => async (descriptor) => {
    const device = await adapter.requestDevice(descriptor);
    for (const name of kWatched) watch(device, name, device);
    for (const name of ["submit", "writeBuffer"]) watch(device.queue, name, device);
    if (kind in kSmallLimits)
      Object.defineProperty(device, "limits", { value: { ...limitsOf(device), ...kSmallLimits[kind] } });
    return device;
  };
  const requestAdapter = async () => {
    if (kind === "none") return null;
    const adapter = await navigator.gpu.requestAdapter();
    const { limits, features, info } = adapter;
    return { limits, features, info, requestDevice: requestDevice(adapter) };
  };
  return { entry: { requestAdapter }, count: () => calls };
}

const kSmallLimits = {
  bytes: { maxStorageBufferBindingSize: 64 },
  bindings: { maxStorageBuffersPerShaderStage: 1 },
  groups: { maxComputeWorkgroupsPerDimension: 1 },
};

function limitsOf({ limits }) {
  const names = [
    "maxStorageBufferBindingSize",
    "maxStorageBuffersPerShaderStage",
    "maxBufferSize",
    "maxComputeWorkgroupsPerDimension",
  ];
  return Object.fromEntries(names.map((name) => [name, limits[name]]));
}

/** Runs a file twice on a faulty GPU: what came out, and how many calls there were. */
globalThis.runFaulty = async ({ file, inputs }, kind, at) => {
  const bytes = Uint8Array.from(atob(file), (char) => char.charCodeAt(0));
  const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, value(input)]));
  const { entry, count } = faultyGpu(kind, at);
  const errors = [];
  const heard = (event) => errors.push(String(event.error?.message ?? event.reason));
  addEventListener("unhandledrejection", heard);
  const graph = await load(bytes, { device: "webgpu", gpu: entry });
  const runs = [];
  for (let i = 0; i < 2; i++) {
    const { outputs, device, fault } = await graph.run(values);
    runs.push({ outputs: outputs.map(plain), device, fault: fault ?? null });
  }
  graph.dispose();
  await new Promise((resolve) => setTimeout(resolve, 0));
  removeEventListener("unhandledrejection", heard);
  return { runs, calls: count(), errors };
};

// ---- Counts

/** Runs a file with each of `inputs`: what each run asked of WebGPU. */
globalThis.runCounted = async ({ file, inputs }) => {
  const counts = { pipelines: 0, buffers: 0, submits: 0, bytesWritten: 0 };
  const watch = (object, name, add) => {
    const original = object[name].bind(object);
    object[name] = (...args) => {
      add(args);
      return original(...args);
    };
  };
  const requestAdapter = async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const { limits, features, info } = adapter;
    const requestDevice = async (descriptor) => {
      const device = await adapter.requestDevice(descriptor);
      watch(device, "createComputePipelineAsync", () => counts.pipelines++);
      watch(device, "createBuffer", () => counts.buffers++);
      watch(device.queue, "submit", () => counts.submits++);
      watch(device.queue, "writeBuffer", ([, , data]) => (counts.bytesWritten += data.byteLength));
      return device;
    };
    return { limits, features, info, requestDevice };
  };
  const bytes = Uint8Array.from(atob(file), (char) => char.charCodeAt(0));
  const graph = await load(bytes, { device: "webgpu", gpu: { requestAdapter } });
  const runs = [];
  for (const one of inputs) {
    const before = { ...counts };
    const { device } = await graph.run(
      Object.fromEntries(Object.entries(one).map(([name, input]) => [name, value(input)])),
    );
    const added = Object.entries(counts).map(([name, count]) => [name, count - before[name]]);
    runs.push({ device, ...Object.fromEntries(added) });
  }
  graph.dispose();
  return runs;
};

globalThis.ready = true;
