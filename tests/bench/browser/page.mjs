// The suite in a page: run.mjs builds this with the peers and calls window.runBench.
import * as peers from "thirdbook-bench-peers";
import { open as openHand } from "../contenders/hand.mjs";
import { open as openJax } from "../contenders/jax.mjs";
import { open as openOrt } from "../contenders/ort.mjs";
import { open as openPlain } from "../contenders/plain.mjs";
import { open as openTf } from "../contenders/tfjs.mjs";
import { open as openThirdbook } from "../contenders/thirdbook.mjs";
import { runSuite } from "../suite.mjs";

const fetched = async (path) => (await fetch(path)).arrayBuffer();

window.runBench = async (options) => {
  const relaxed = options.relaxed;
  const contenders = [];
  const own = async () => {
    contenders.push(
      await openHand({ limits: await fetched(relaxed ? "/limits-relaxed.wasm" : "/limits.wasm") }),
    );
    const { loadPyodide } = await import(/* @vite-ignore */ `${location.origin}/pyodide/pyodide.mjs`);
    const pyodide = await loadPyodide({ indexURL: `${location.origin}/pyodide/` });
    pyodide.unpackArchive(await fetched("/thirdbook.whl"), "wheel");
    const programs = await (await fetch("/programs.py")).text();
    contenders.push(
      await openThirdbook({ pyodide, programs, compiled: true }),
      await openThirdbook({ pyodide, programs, compiled: false }),
    );
  };
  if (options.group === "own") await own();
  else if (options.group === "plain") contenders.push(await openPlain());
  else {
    const loaders = {
      jax: async () => ({ jax: await peers.jax(), version: options.versions["@jax-js/jax"] }),
      async tfjs() {
        const tf = await peers.tf();
        (await peers.tfWasm()).setWasmPaths("/tfjs/");
        return { tf, version: options.versions["@tensorflow/tfjs"] };
      },
      async ort() {
        const ort = await peers.ort();
        ort.env.wasm.wasmPaths = `${location.origin}/ort/`;
        return { ort, version: options.versions["onnxruntime-web"] };
      },
    };
    contenders.push(await { jax: openJax, tfjs: openTf, ort: openOrt }[options.group]({ peers: loaders }));
  }
  const filter = (id) => !options.cases || options.cases.some((c) => id.includes(c));
  return runSuite({
    contenders,
    digests: options.digests,
    filter,
    quick: options.quick,
    say: (line) => console.log(line),
  });
};
