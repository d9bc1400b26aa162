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
    return { limits: adapter.limits, features: adapter.features, requestDevice };
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
const kSuite = `
import os, runpy, sys
from thirdbook import _api, _gpu
os.environ["THIRDBOOK_TEST_BACKEND"] = "webgpu"
_api.Config._defaults["backend"] = "webgpu"
_api.config.reset()
sys.argv = ["run.py", suite]
if folder not in sys.path:
    sys.path.insert(0, folder)
before = _gpu.counters().get("dispatches", 0)
try:
    runpy.run_path(folder + "/run.py", run_name="__main__")
except SystemExit:
    pass
print("dispatches", _gpu.counters().get("dispatches", 0) - before)
`;
/** What run.py prints for one file of tests/python; `files` are the texts of that folder, by name. */
globalThis.runSuite = async (files, suite) => {
  const folder = "/suite/tests/python";
  pyodide.FS.mkdirTree(folder);
  for (const [name, source] of Object.entries(files)) pyodide.FS.writeFile(`${folder}/${name}`, source);
  text = "";
  await pyodide.runPythonAsync(kSuite, { globals: pyodide.toPy({ __name__: "suite", suite, folder }) });
  return text;
};
globalThis.features = async () => [...(await navigator.gpu.requestAdapter()).features];
globalThis.loseDevice = async () => {
  lastDevice.destroy();
  await lastDevice.lost;
};
globalThis.ready = true;
