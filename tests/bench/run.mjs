// npm run bench: Thirdbook, its peers and hand-made kernels side by side, in Node and headless Chromium.
//
// In: the built wheel; options --quick, --cases a,b, --no-peers, --no-browser, --no-node, --no-webgpu, --wheel FOLDER, --out FILE;
// --from FILE only writes the page again from earlier results.
// Out: a table on stdout and in docs/bench.md (only when every case ran), all numbers in build/bench/results.json.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kBuild, kRepo } from "../../wasm/toolchain/places.mjs";
import { nativePython } from "./contenders/native.mjs";
import { report } from "./report.mjs";
import { gpuReport } from "./report_gpu.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const options = { quick: false, peers: true };
let node = true,
  browser = true,
  webgpu = true,
  out = null;
const args = process.argv.slice(2);
while (args.length) {
  const word = args.shift();
  if (word === "--quick") options.quick = true;
  else if (word === "--cases") options.cases = args.shift().split(",");
  else if (word === "--no-peers") options.peers = false;
  else if (word === "--no-browser") browser = false;
  else if (word === "--no-node") node = false;
  else if (word === "--no-webgpu") webgpu = false;
  else if (word === "--wheel") options.wheel = args.shift();
  else if (word === "--out") out = args.shift();
  else if (word === "--from") {
    const page = report(
      JSON.parse(readFileSync(args.shift(), "utf8")),
      new Date().toISOString().slice(0, 10),
    );
    writeFileSync(out ?? join(kRepo, "docs", "bench.md"), page);
    process.exit(0);
  } else {
    console.error(`bench: no option ${word}`);
    process.exit(2);
  }
}

function inNode(group) {
  return new Promise((done, fail) => {
    const words = ["--stack-size=4000", join(here, "node.mjs"), JSON.stringify({ ...options, ...group })];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.on("close", (status) => {
      const line = text.split("\n").find((l) => l.startsWith("RESULT "));
      if (line) done(JSON.parse(line.slice(7)));
      else fail(new Error(`the suite ended with status ${status}`));
    });
  });
}

// Each group has a process or page of its own; results are compared with those of the first.
const groups = options.peers ? ["own", "plain", "jax", "tfjs", "ort"] : ["own"];
async function allGroups(runGroup, names = groups) {
  let whole = null;
  for (const group of names) {
    try {
      const part = await runGroup({ group, digests: whole?.digests ?? {} });
      if (!whole) {
        whole = part;
        continue;
      }
      Object.assign(whole.versions, part.versions);
      whole.errors.push(...part.errors);
      for (const [id, row] of Object.entries(part.results)) Object.assign((whole.results[id] ??= {}), row);
    } catch (error) {
      if (!whole) throw error;
      whole.errors.push(`${group}: ${String(error.message).slice(0, 200)}`);
    }
  }
  return whole;
}

const runs = [];
if (node) {
  const native = options.peers && nativePython() !== null;
  if (options.peers && !native)
    console.error(
      "bench: no native PyTorch, it is left out (THIRDBOOK_BENCH_PYTHON names a Python that has it)",
    );
  runs.push(await allGroups(inNode, native ? [...groups, "native"] : groups));
}
if (browser) {
  const { withChromium } = await import("./browser/run.mjs");
  const run = await withChromium(options, allGroups);
  if (run) runs.push(run);
  else console.error("bench: no Chromium, that half is left out");
}
if (webgpu) {
  const { withChromium } = await import("./browser/run.mjs");
  const names = options.peers ? ["own", "jax", "tfjs"] : ["own"];
  const run = await withChromium({ ...options, gpu: true }, (runGroup) => allGroups(runGroup, names));
  if (run) {
    const inMemory = browser ? runs.find(({ host }) => host === run.host) : undefined;
    const text = gpuReport(run, new Date().toISOString().slice(0, 10), inMemory);
    console.log(text);
    if (!options.cases && !options.quick && options.peers)
      writeFileSync(join(kRepo, "docs", "bench-webgpu.md"), text);
  } else console.error("bench: no Chromium, WebGPU is left out");
}
mkdirSync(join(kBuild, "bench"), { recursive: true });
if (runs.length === 0) process.exit(0);
writeFileSync(join(kBuild, "bench", "results.json"), JSON.stringify(runs, null, 1));
const page = report(runs, new Date().toISOString().slice(0, 10));
console.log(page);
const whole = !options.cases && !options.quick && options.peers && runs.length === 2;
if (out || whole) writeFileSync(out ?? join(kRepo, "docs", "bench.md"), page);
