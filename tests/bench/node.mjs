// The suite in this Node, for one group of contenders (they disturb each other in one process): prints one JSON line on stdout, progress on stderr.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, kPyodide } from "../../wasm/toolchain/places.mjs";
import { open as openHand } from "./contenders/hand.mjs";
import { open as openPlain } from "./contenders/plain.mjs";
import { open as openThirdbook } from "./contenders/thirdbook.mjs";
import { buildLimits } from "./limits/build.mjs";
import { nodePeers } from "./peers.mjs";
import { runSuite } from "./suite.mjs";

const options = JSON.parse(process.argv[2] ?? "{}");
const here = dirname(fileURLToPath(import.meta.url));
const relaxed = WebAssembly.validate(
  new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7b, 1, 0x7b, 3, 2, 1, 0, 10, 13, 1, 11, 0, 0x20, 0,
    0x20, 0, 0x20, 0, 0xfd, 0x85, 2, 0x0b,
  ]),
);
const built = buildLimits();
const contenders = [];
if (options.group === "own")
  contenders.push(await openHand({ limits: readFileSync(relaxed ? built.relaxed : built.plain) }));

async function pyodideWithWheel() {
  const folder = options.wheel ?? build.wheel;
  const wheel = existsSync(folder) && readdirSync(folder).find((name) => name.endsWith(".whl"));
  if (!wheel) throw new Error(`no wheel in ${folder}`);
  const { loadPyodide } = await import(pathToFileURL(join(kPyodide, "pyodide.mjs")).href);
  const pyodide = await loadPyodide();
  const bytes = readFileSync(join(folder, wheel));
  pyodide.unpackArchive(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "wheel");
  return pyodide;
}
if (options.group === "own") {
  const pyodide = await pyodideWithWheel();
  const programs = readFileSync(join(here, "contenders/programs.py"), "utf8");
  contenders.push(
    await openThirdbook({ pyodide, programs, compiled: true }),
    await openThirdbook({ pyodide, programs, compiled: false }),
  );
} else if (options.group === "plain") {
  contenders.push(await openPlain());
} else {
  const { open } = await import(`./contenders/${options.group}.mjs`);
  contenders.push(...[await open({ peers: await nodePeers() })].flat());
}
const filter = (id) => !options.cases || options.cases.some((c) => id.includes(c));
const out = await runSuite({
  contenders,
  digests: options.digests,
  filter,
  ledger: options.group === "own" ? readFileSync(join(here, "ledger.py"), "utf8") : null,
  quick: options.quick,
  say: (line) => console.error(`  ${line}`),
});
process.stdout.write(
  `\nRESULT ${JSON.stringify({ host: `Node ${process.versions.node}`, relaxed, ...out })}\n`,
);
process.exit(0);
