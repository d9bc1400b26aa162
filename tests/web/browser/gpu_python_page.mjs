// Served as it is (gpu.ts): Pyodide with Thirdbook in the page, where programs run as runPythonAsync() or runPython() runs them.

import { loadPyodide } from "/pyodide/pyodide.mjs";
import { install } from "/lib/index.js";

/** A WebGPU whose last device the test may take away. */
let lastDevice;
const gpu = {
  requestAdapter: async (options) => {
    const adapter = await navigator.gpu.requestAdapter(options);
    if (adapter === null) return null;
    const requestDevice = async (descriptor) => (lastDevice = await adapter.requestDevice(descriptor));
    return { limits: adapter.limits, requestDevice };
  },
};

let text = "";
const pyodide = await loadPyodide({ indexURL: "/pyodide/" });
pyodide.setStdout({ batched: (line) => (text += `${line}\n`) });
pyodide.setStderr({ batched: (line) => (text += `${line}\n`) });
await install(pyodide, { torchAlias: true, gpu });

/** What a program printed, or its error. `waits`: whether Python may wait for promises. */
globalThis.runProgram = async (code, waits) => {
  text = "";
  const globals = pyodide.toPy({ __name__: "__main__" });
  try {
    if (waits) await pyodide.runPythonAsync(code, { globals });
    else pyodide.runPython(code, { globals });
  } catch (error) {
    text += `${String(error).trim().split("\n").at(-1)}\n`;
  }
  return text;
};
globalThis.loseDevice = async () => {
  lastDevice.destroy();
  await lastDevice.lost;
};
globalThis.ready = true;
