// In: a Python program and its arguments, as `python` takes them. Out: the program's own output and exit status, run by
// Pyodide on Node with the built wheel unpacked in site-packages and the repository at its own path.
// Invariant: nothing of ours is printed on stdout; an interpreter that dies gives status 134.
// Usage: node wasm/toolchain/pyodide-python.mjs [--site DIR] [--jspi] [--webgpu] FILE|-m MODULE|-c CODE [ARGS…]

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readSync, readdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findNode } from "./node.mjs";
import { gpuEnvironment, nodeGpu } from "./node_gpu.mjs";
import { build, kBuild, kPyodide, kRepo } from "./places.mjs";
import { SetupError, runMain } from "./say.mjs";

const kStack = "--stack-size=4000"; // kB; CPython recurses deeper than V8's default stack allows
const kSitePackages = "/lib/python3.14/site-packages";

const kRunner = `
def _run(mode, target, argv, first_path):
    import os, runpy, sys, traceback
    sys.argv[:] = argv
    sys.path.insert(0, first_path)
    status = 0
    try:
        if mode == "-m":
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        elif mode == "-c":
            exec(compile(target, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
        else:
            runpy.run_path(target, run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, int) or stop.code is None:
            status = stop.code or 0
        else:
            print(stop.code, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status
_run
`;

const kWebGpu = `
def _connect(connect):
    from thirdbook import _api, _gpu
    _gpu.register(connect)
    _api.Config._defaults["backend"] = "webgpu"
    _api.config.reset()
_connect
`;

function parse(args) {
  const options = { site: join(build.wheel, "site"), jspi: false, webgpu: false };
  while (args[0]?.startsWith("--")) {
    const word = args.shift();
    if (word === "--site") options.site = resolve(args.shift() ?? "");
    else if (word === "--jspi") options.jspi = true;
    else if (word === "--webgpu") options.jspi = options.webgpu = true;
    else
      throw new SetupError(`no option ${word}`, "pyodide-python.mjs", "one of --site DIR, --jspi, --webgpu");
  }
  const mode = args[0] === "-m" || args[0] === "-c" ? args.shift() : "file";
  const target = args.shift();
  if (target === undefined)
    throw new SetupError("no program", "pyodide-python.mjs", "give FILE, -m MODULE or -c CODE");
  if (mode === "file" && !existsSync(target))
    throw new SetupError("no such file", target, "give the path of a Python program");
  return { ...options, mode, target: mode === "file" ? resolve(target) : target, rest: args };
}

/** A new process with a bigger stack and a Node that has JSPI, unless this one is it already. */
function again() {
  const env = process.argv.includes("--webgpu") ? { ...process.env, ...gpuEnvironment() } : process.env;
  const result = spawnSync(findNode(), [kStack, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
    env,
  });
  if (result.signal) process.stderr.write(`[thirdbook] Node ended by ${result.signal}\n`);
  return result.status ?? 134;
}

function copyTree(fs, from, to) {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const place = join(to, relative(from, path));
    if (entry.isDirectory()) fs.mkdirTree(place);
    else if (entry.isFile()) {
      fs.mkdirTree(join(place, ".."));
      fs.writeFile(place, readFileSync(path));
    }
  }
}

function mountHost(pyodide, folder) {
  pyodide.FS.mkdirTree(folder);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, folder);
}

function connectStreams(pyodide) {
  const writer = (fd) => ({ write: (buffer) => writeAll(fd, buffer), isatty: false });
  pyodide.setStdout(writer(1));
  pyodide.setStderr(writer(2));
  pyodide.setStdin({ read: (buffer) => readSync(0, buffer), isatty: false });
}

function writeAll(fd, buffer) {
  for (let done = 0; done < buffer.length;) {
    try {
      done += writeSync(fd, buffer, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
  return buffer.length;
}

/** Gives Python the GPU of this machine, as install() of the npm package does, and makes it the default backend. */
async function connectGpu(pyodide) {
  const gpu = await nodeGpu();
  if (gpu === undefined)
    throw new SetupError("no WebGPU adapter here", "pyodide-python.mjs", "leave out --webgpu");
  const { GpuBridge } = await import(pathToFileURL(join(kBuild, "npm", "lib", "webgpu", "bridge.js")).href);
  const set = pyodide.runPython(kWebGpu);
  set(() => GpuBridge.connect(gpu));
}

async function runProgram({ site, jspi, webgpu, mode, target, rest }) {
  if (!existsSync(site))
    throw new SetupError("the wheel is not built", site, "run: node wasm/toolchain/build.mjs pyodide");
  const { loadPyodide } = await import(pathToFileURL(join(kPyodide, "pyodide.mjs")).href);
  const pyodide = await loadPyodide({
    env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1", ...pick("THIRDBOOK") },
  });
  copyTree(pyodide.FS, site, kSitePackages);
  mountHost(pyodide, tmpdir());
  if (!kRepo.startsWith(join(tmpdir(), "/"))) mountHost(pyodide, kRepo);
  pyodide.FS.chdir(process.cwd().startsWith(kRepo) ? process.cwd() : kRepo);
  connectStreams(pyodide);
  if (webgpu) await connectGpu(pyodide);
  const run = pyodide.runPython(kRunner);
  const firstPath = mode === "file" ? join(target, "..") : "";
  const argv = pyodide.toPy([mode === "file" ? target : mode, ...rest]);
  return jspi ? await run.callPromising(mode, target, argv, firstPath) : run(mode, target, argv, firstPath);
}

/** Variables of the environment that are Thirdbook's own, for the tests. */
function pick(prefix) {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith(prefix)));
}

await runMain(async () => {
  const ready = process.execArgv.includes(kStack) && process.execPath === findNode();
  if (!ready) return again();
  const program = parse(process.argv.slice(2));
  try {
    process.exit(await runProgram(program));
  } catch (error) {
    if (error instanceof SetupError) throw error;
    process.stderr.write(`[thirdbook] the interpreter died: ${error}\n`);
    process.exit(134);
  }
});
