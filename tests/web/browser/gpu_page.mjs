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

/** navigator.gpu without what tells that its adapter is software: shaders are those that hardware gets. */
const hardware = {
  requestAdapter: async () => {
    const adapter = await navigator.gpu.requestAdapter();
    return { limits: adapter.limits, requestDevice: (descriptor) => adapter.requestDevice(descriptor) };
  },
};
const kDevices = {
  wasm: {},
  software: { device: "webgpu" },
  hardware: { device: "webgpu", gpu: hardware },
};

async function runCase({ file, inputs }) {
  const bytes = Uint8Array.from(atob(file), (char) => char.charCodeAt(0));
  const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, value(input)]));
  const outcome = { devices: [], faults: [], dispatches: 0, hostSteps: [] };
  for (const [name, options] of Object.entries(kDevices)) {
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

globalThis.runCases = async (cases) => {
  const outcomes = [];
  for (const one of cases) outcomes.push(await runCase(one));
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
      if (struck && kind === "invalid" && name === "createBuffer") args[0] = { ...args[0], usage: 0 };
      if (struck && kind === "invalid" && name === "createShaderModule") args[0] = { code: "fn main( {" };
      return original(...args);
    };
  };
  const requestDevice = (adapter) => async (descriptor) => {
    const device = await adapter.requestDevice(descriptor);
    for (const name of kWatched) watch(device, name, device);
    for (const name of ["submit", "writeBuffer"]) watch(device.queue, name, device);
    if (kind === "limits")
      Object.defineProperty(device, "limits", {
        value: { ...limitsOf(device), maxStorageBufferBindingSize: 64 },
      });
    return device;
  };
  const requestAdapter = async () => {
    if (kind === "none") return null;
    const adapter = await navigator.gpu.requestAdapter();
    return { limits: adapter.limits, requestDevice: requestDevice(adapter) };
  };
  return { entry: { requestAdapter }, count: () => calls };
}

function limitsOf({ limits }) {
  const names = ["maxStorageBuffersPerShaderStage", "maxBufferSize", "maxComputeWorkgroupsPerDimension"];
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

globalThis.ready = true;
