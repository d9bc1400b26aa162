// In: web/, examples/, the wheel in build/wheel (if it is there) and node_modules. Out: build/npm (the package's modules), build/site
// (the playground, any static host). Usage: node web/build.mjs lib|app. Invariant: what is already up to date is not built again; a
// failure is one line that names the step.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { kBuild, kRepo } from "../wasm/toolchain/places.mjs";

const kWeb = dirname(fileURLToPath(import.meta.url));
const kNpm = join(kBuild, "npm");
const kSite = join(kBuild, "site");
const kWheels = join(kBuild, "wheel");
const kRuntime = join(kBuild, "embind");
const kBridge = join(kRepo, "wasm", "pyodide", "thirdbook", "_kernel_bridge.mjs");
const kBin = join(kRepo, "node_modules", ".bin");
const { version } = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8"));

class BuildError extends Error {}

function run(step, program, args) {
  const result = spawnSync(program, args, { cwd: kRepo, encoding: "utf8" });
  if (result.status === 0) return result.stdout;
  process.stderr.write(result.stdout + result.stderr);
  throw new BuildError(`${step} failed (status ${result.status ?? result.error?.message})`);
}

/** Newest modification time among files below `paths`, in milliseconds. */
function newest(paths) {
  let time = 0;
  for (const path of paths) {
    if (!existsSync(path)) continue;
    const status = statSync(path);
    if (!status.isDirectory()) time = Math.max(time, status.mtimeMs);
    else time = Math.max(time, newest(readdirSync(path).map((name) => join(path, name))));
  }
  return time;
}

function upToDate(stamp, inputs) {
  return existsSync(stamp) && statSync(stamp).mtimeMs > newest(inputs);
}

/** The wheel that toolchain built, or undefined. */
function findWheel() {
  if (!existsSync(kWheels)) return undefined;
  const names = readdirSync(kWheels).filter(
    (name) => name.startsWith(`thirdbook-${version}-`) && name.endsWith(".whl"),
  );
  if (names.length > 1)
    throw new BuildError(`build/wheel holds ${names.length} wheels of ${version}: remove the wrong ones`);
  return names[0];
}

function writeWheelFile() {
  const name = findWheel();
  mkdirSync(join(kNpm, "lib"), { recursive: true });
  rmSync(join(kNpm, "wheel"), { recursive: true, force: true });
  let wheel = "null";
  let manifest = { version, wheel: null };
  if (name) {
    const bytes = readFileSync(join(kWheels, name));
    mkdirSync(join(kNpm, "wheel"), { recursive: true });
    writeFileSync(join(kNpm, "wheel", name), bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    manifest = { version, wheel: { name, bytes: bytes.length, sha256 } };
    wheel = `{
  url: new URL("../wheel/${name}", import.meta.url).href,
  name: "${name}",
  bytes: ${bytes.length},
  sha256: "${sha256}",
}`;
  }
  writeFileSync(
    join(kNpm, "lib", "wheel_file.js"),
    `export const version = "${version}";\nexport const wheel = ${wheel};\n`,
  );
  cpSync(kBridge, join(kNpm, "lib", "kernel_bridge.js"));
  cpSync(join(kWeb, "lib", "kernel_bridge.d.ts"), join(kNpm, "lib", "kernel_bridge.d.ts"));
  cpSync(join(kWeb, "lib", "wheel_file.d.ts"), join(kNpm, "lib", "wheel_file.d.ts"));
  writeFileSync(join(kNpm, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The module behind thirdbook/runtime, where it has been built. */
function copyRuntime() {
  for (const ending of ["mjs", "wasm"]) {
    const file = join(kRuntime, `thirdbook_runtime.${ending}`);
    if (existsSync(file)) cpSync(file, join(kNpm, "lib", `thirdbook_runtime.${ending}`));
  }
  cpSync(join(kWeb, "lib", "thirdbook_runtime.d.mts"), join(kNpm, "lib", "thirdbook_runtime.d.mts"));
}

function buildLib() {
  const stamp = join(kNpm, ".built");
  const folders = ["lib", "cli", "report", "vitest", "view", "app"].map((name) => join(kWeb, name));
  const inputs = [
    ...folders,
    kWheels,
    kRuntime,
    kBridge,
    join(kRepo, "package.json"),
    fileURLToPath(import.meta.url),
  ];
  if (upToDate(stamp, inputs)) return;
  run("generating web/report/types.ts", process.execPath, [join(kWeb, "report", "generate.mjs"), "--check"]);
  run("compiling web/lib and web/cli", process.execPath, [
    join(kBin, "tsc"),
    ...["-p", join(kWeb, "tsconfig.lib.json"), "--outDir", kNpm],
  ]);
  writeWheelFile();
  copyRuntime();
  run("checking web/view and web/app", process.execPath, [
    join(kBin, "tsc"),
    ...["-p", join(kWeb, "tsconfig.app.json"), "--outDir", kNpm],
  ]);
  rmSync(join(kNpm, "app"), { recursive: true, force: true });
  run("building web/view", process.execPath, [
    join(kBin, "vite"),
    "build",
    "--config",
    join(kWeb, "view", "vite.config.ts"),
  ]);
  writeFileSync(stamp, "");
  process.stderr.write(
    `[thirdbook] built ${relative(kRepo, kNpm)}${findWheel() ? "" : " (without a wheel)"}\n`,
  );
}

function buildApp() {
  buildLib();
  const stamp = join(kSite, ".built");
  const folders = [join(kWeb, "app"), join(kWeb, "view"), join(kRepo, "examples"), join(kRepo, "docs")];
  if (upToDate(stamp, [...folders, join(kRepo, "core", "interpret", "breaks.def"), join(kNpm, ".built")]))
    return;
  writeFirstRun();
  run("building web/app", process.execPath, [
    join(kBin, "vite"),
    "build",
    "--config",
    join(kWeb, "app", "vite.config.ts"),
  ]);
  writeFileSync(stamp, "");
  process.stderr.write(`[thirdbook] built ${relative(kRepo, kSite)}\n`);
}

/** Runs the first example, so that the page has something to show before Python is there. */
function writeFirstRun() {
  const target = join(kBuild, "first_run.json");
  rmSync(target, { force: true });
  if (!findWheel()) return;
  const reportFile = join(kBuild, "first_run.report.json");
  const stdout = run("running examples/day16.py", process.execPath, [
    join(kWeb, "cli", "main.mjs"),
    ...["run", join(kRepo, "examples", "day16.py"), "--report", reportFile],
  ]);
  const folder = join(kRepo, "examples", "/");
  const report = JSON.parse(readFileSync(reportFile, "utf8").replaceAll(folder, ""));
  for (const compilation of report.compilations) delete compilation.timings; // so that the same sources give the same site
  writeFileSync(target, JSON.stringify({ report, stdout }));
}

const kTargets = { lib: buildLib, app: buildApp };

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const name of process.argv.slice(2)) {
      if (!Object.hasOwn(kTargets, name)) throw new BuildError(`${name} is not a target: lib or app`);
      kTargets[name]();
    }
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    process.stderr.write(`[thirdbook] error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
