// In: the machine and the cache. Out: one line for each thing that set-up, build and tests use: what was found, where,
// or the remedy. Invariant: it only looks; exit status 1 when something is missing without which nothing is built.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findChromium } from "./browser.mjs";
import { findEmscripten } from "./emscripten.mjs";
import { hostSystem } from "./mirror.mjs";
import { findBuildTools, findClangFormat, findCompiler, findGtest } from "./native.mjs";
import { findNode, nodeVersion } from "./node.mjs";
import { build, kCache, kPyodide, kRepo } from "./places.mjs";
import { tryRun, which } from "./process.mjs";
import { findHeaders } from "./headers.mjs";
import { runMain } from "./say.mjs";
import { findTwin } from "./twin.mjs";
import { kTag } from "./wheel.mjs";

const kSetUp = "run npm run setup";
const firstLine = (program, ...args) => tryRun(program, args)?.split("\n")[0].trim() ?? "does not start";

/** `[name, what was found or null, remedy, required]` of each thing. */
function findings() {
  const { id, codename } = hostSystem();
  const node = findNode();
  const python = which("python3");
  const compiler = findCompiler();
  const { cmake, ninja } = findBuildTools();
  const emscripten = findEmscripten();
  const headers = findHeaders();
  const twin = findTwin();
  const chromium = findChromium();
  const pyodide = join(kPyodide, "package.json");
  const wheels = existsSync(build.wheel)
    ? readdirSync(build.wheel).filter((name) => name.endsWith(".whl"))
    : [];
  return [
    ["system", `${id || process.platform} ${codename} ${process.arch}`, "", false],
    [
      "node",
      `${process.versions.node}${node === process.execPath ? "" : `; tests use ${nodeVersion(node)} (${node})`}`,
      "",
      true,
    ],
    ["python", python && `${firstLine(python, "--version")} (${python})`, "install Python 3", true],
    [
      "compiler",
      compiler && `${firstLine(compiler, "--version")} (${compiler})`,
      "install g++ 12 or newer",
      true,
    ],
    ["cmake", cmake && `${firstLine(cmake, "--version")} (${cmake})`, kSetUp, true],
    ["ninja", ninja && `${firstLine(ninja, "--version")} (${ninja})`, kSetUp, true],
    ["ccache", which("ccache"), "optional: install ccache for quicker builds", false],
    [
      "emcc",
      emscripten && `${emscripten.version}, ${emscripten.origin} (${emscripten.emcc})`,
      `${kSetUp}, or set EMSDK`,
      true,
    ],
    [
      "headers",
      headers && `CPython ${headers.version}, ${headers.origin}`,
      `${kSetUp}, or set THIRDBOOK_PYTHON_INCLUDE`,
      true,
    ],
    [
      "twin",
      twin && `CPython ${twin.twin}; NumPy ${twin.numpy ?? "none"}`,
      "needs Debian; native tests of the tracer are skipped",
      false,
    ],
    [
      "pyodide",
      existsSync(pyodide) ? `${JSON.parse(readFileSync(pyodide, "utf8")).version}, wheel tag ${kTag}` : null,
      kSetUp,
      true,
    ],
    ["googletest", findGtest(), `${kSetUp}; without it the native tests are skipped`, false],
    ["clang-format", findClangFormat(), `${kSetUp}; without it C++ is not linted`, false],
    [
      "chromium",
      chromium && `${firstLine(chromium, "--version")} (${chromium})`,
      "apt-get install -y --no-install-recommends chromium, or set THIRDBOOK_CHROMIUM",
      false,
    ],
    ["wheel", wheels.length > 0 ? wheels.join(" ") : null, "run npm run build", false],
    ["cache", kCache, "", false],
    ["repository", kRepo, "", false],
  ];
}

await runMain(() => {
  let status = 0;
  for (const [name, found, remedy, required] of findings()) {
    if (!found && required) status = 1;
    process.stdout.write(`${name.padEnd(13)} ${found ?? `missing: ${remedy}`}\n`);
  }
  return status;
});
