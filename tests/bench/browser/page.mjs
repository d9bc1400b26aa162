// The suite in a page: run.mjs builds this with the peers and calls window.runBench.
import * as peers from "thirdbook-bench-peers";
import { open as openHand } from "../contenders/hand.mjs";
import { open as openJax } from "../contenders/jax.mjs";
import { open as openOrt } from "../contenders/ort.mjs";
import { open as openPlain } from "../contenders/plain.mjs";
import { open as openTf } from "../contenders/tfjs.mjs";
import { open as openThirdbook } from "../contenders/thirdbook.mjs";
import { open as openThirdbookGpu } from "../contenders/thirdbook_gpu.mjs";
import { runSuite } from "../suite.mjs";

/** What the page asks of WebGPU, whoever does it: counted where it goes through. */
const counts = { dispatches: 0, submits: 0, bytesWritten: 0 };
function countGpu() {
  const watch = (type, name, add) => {
    const original = type.prototype[name];
    type.prototype[name] = function (...args) {
      add(args);
      return original.apply(this, args);
    };
  };
  watch(GPUComputePassEncoder, "dispatchWorkgroups", () => counts.dispatches++);
  watch(GPUQueue, "submit", () => counts.submits++);
  watch(GPUQueue, "writeBuffer", ([, , data, , size]) => (counts.bytesWritten += size ?? data.byteLength));
}

const fetched = async (path) => (await fetch(path)).arrayBuffer();

window.runBench = async (options) => {
  const relaxed = options.relaxed;
  const contenders = [];
  const pyodideWithWheel = async () => {
    const { loadPyodide } = await import(/* @vite-ignore */ `${location.origin}/pyodide/pyodide.mjs`);
    const pyodide = await loadPyodide({ indexURL: `${location.origin}/pyodide/` });
    pyodide.unpackArchive(await fetched("/thirdbook.whl"), "wheel");
    return { pyodide, programs: await (await fetch("/programs.py")).text() };
  };
  const own = async () => {
    contenders.push(
      await openHand({ limits: await fetched(relaxed ? "/limits-relaxed.wasm" : "/limits.wasm") }),
    );
    const { pyodide, programs } = await pyodideWithWheel();
    contenders.push(
      await openThirdbook({ pyodide, programs, compiled: true }),
      await openThirdbook({ pyodide, programs, compiled: false }),
    );
  };
  const backend = options.gpu ? "webgpu" : "wasm";
  if (options.gpu) countGpu();
  if (options.gpu && options.group === "own")
    contenders.push(await openThirdbookGpu({ ...(await pyodideWithWheel()), lib: `${location.origin}/lib` }));
  else if (options.group === "own") await own();
  else if (options.group === "plain") contenders.push(await openPlain());
  else {
    const loaders = {
      jax: async () => ({ jax: await peers.jax(), version: options.versions["@jax-js/jax"] }),
      async tfjs() {
        const tf = await peers.tf();
        if (options.gpu) await peers.tfWebGpu();
        (await peers.tfWasm()).setWasmPaths("/tfjs/");
        return { tf, version: options.versions["@tensorflow/tfjs"] };
      },
      async ort() {
        const ort = await peers.ort();
        ort.env.wasm.wasmPaths = `${location.origin}/ort/`;
        return { ort, version: options.versions["onnxruntime-web"] };
      },
    };
    contenders.push(
      await { jax: openJax, tfjs: openTf, ort: openOrt }[options.group]({ peers: loaders, backend }),
    );
  }
  const filter = (id) => !options.cases || options.cases.some((c) => id.includes(c));
  return runSuite({
    contenders,
    digests: options.digests,
    filter,
    quick: options.quick,
    counts: options.gpu ? counts : undefined,
    say: (line) => console.log(line),
  });
};
