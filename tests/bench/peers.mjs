// Installs the peers' npm packages into the cache on demand and loads them.
//
// In: the network, once. Out: loaders by name; versions as installed. Invariant: none of them is a dependency of this package.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { kCache } from "../../wasm/toolchain/places.mjs";

export const kPeers = {
  "@jax-js/jax": "0.1.25",
  "@tensorflow/tfjs": "4.22.0",
  "@tensorflow/tfjs-backend-wasm": "4.22.0",
  "@tensorflow/tfjs-backend-webgpu": "4.22.0",
  "onnxruntime-web": "1.30.0",
};
export const kPeerFolder = join(kCache, "bench");

const kLoader = `
export const jax = () => import("@jax-js/jax");
export const tf = () => import("@tensorflow/tfjs");
export const tfWasm = () => import("@tensorflow/tfjs-backend-wasm");
export const tfWebGpu = () => import("@tensorflow/tfjs-backend-webgpu");
export const ort = () => import("onnxruntime-web");
`;

export function installPeers() {
  mkdirSync(kPeerFolder, { recursive: true });
  const wanted = JSON.stringify({
    name: "thirdbook-bench-peers",
    private: true,
    type: "module",
    dependencies: kPeers,
  });
  const file = join(kPeerFolder, "package.json");
  const present = existsSync(file) && JSON.stringify(JSON.parse(readFileSync(file, "utf8"))) === wanted;
  if (!present || !existsSync(join(kPeerFolder, "node_modules/onnxruntime-web"))) {
    writeFileSync(file, wanted);
    console.error("bench: installing the peers into the cache");
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], {
      cwd: kPeerFolder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  writeFileSync(join(kPeerFolder, "load.js"), kLoader);
}

/** Loaders for Node. */
export async function nodePeers() {
  installPeers();
  const load = await import(pathToFileURL(join(kPeerFolder, "load.js")).href);
  const modules = join(kPeerFolder, "node_modules");
  return {
    jax: async () => ({ jax: await load.jax(), version: kPeers["@jax-js/jax"] }),
    async tfjs() {
      const tf = await load.tf();
      const wasm = await load.tfWasm();
      wasm.setWasmPaths(join(modules, "@tensorflow/tfjs-backend-wasm/dist/"));
      return { tf, version: kPeers["@tensorflow/tfjs"] };
    },
    async ort() {
      const ort = await load.ort();
      return { ort: ort.default?.InferenceSession ? ort.default : ort, version: kPeers["onnxruntime-web"] };
    },
  };
}
