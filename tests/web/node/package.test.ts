import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kDay16Output } from "../examples.js";
import { makeProject, runVitest, type FreshProject } from "../packed.js";

let project: FreshProject;
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

function node(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: project.folder,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("the tarball", () => {
  test("holds every file that package.json exports, a wheel, and no sources of the core", () => {
    const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
      exports: Record<string, string | Record<string, string>>;
    };
    const targets = Object.values(exports).flatMap((value) =>
      typeof value === "string" ? [value] : Object.values(value),
    );
    for (const target of targets.filter((path) => !path.includes("*"))) {
      expect(project.files).toContain(target.replace("./", ""));
    }
    expect(project.files.filter((path) => path.endsWith(".whl"))).toHaveLength(1);
    expect(project.files.filter((path) => /^(core|wasm|tests)\//.test(path))).toEqual([]);
  });
});

describe("a fresh project", () => {
  test("installs into Pyodide in Node and runs a compiled function", () => {
    writeFileSync(
      join(project.folder, "use.mjs"),
      `import { loadPyodide } from "pyodide";
import { install } from "thirdbook";
const pyodide = await loadPyodide();
const thirdbook = await install(pyodide, { torchAlias: true });
pyodide.runPython(${JSON.stringify(readFileSync("examples/day16.py", "utf8"))});
console.log(thirdbook.report().counters.compilations);
`,
    );
    expect(node("use.mjs")).toMatchObject({ status: 0, stdout: `${kDay16Output}1\n`, stderr: "" });
  });

  test("runs an exported graph without Python", () => {
    copyFileSync("tests/web/fixtures/scale.tbexport", join(project.folder, "scale.tbexport"));
    writeFileSync(
      join(project.folder, "run.mjs"),
      `import { readFileSync } from "node:fs";
import { load } from "thirdbook/runtime";
const graph = await load(readFileSync("scale.tbexport"));
const x = { dtype: "float32", shape: [3], data: new Float32Array([-1, -0.5, -1 / 3]) };
const { outputs, effects } = await graph.run({ "L['x']": x });
console.log(outputs[0].data[0], effects.length);
`,
    );
    expect(node("run.mjs")).toMatchObject({ status: 0, stdout: "0 1\n", stderr: "" });
  });

  test("has the command line", () => {
    copyFileSync("examples/day16.py", join(project.folder, "day16.py"));
    expect(node("node_modules/thirdbook/web/cli/main.mjs", "run", "day16.py")).toMatchObject({
      status: 0,
      stdout: kDay16Output,
    });
  });

  test.each(["nodenext", "bundler"])("finds the types with moduleResolution %s", (resolution) => {
    writeFileSync(
      join(project.folder, "use.ts"),
      `import { install, lockEntry, doctor, ThirdbookError, type Report } from "thirdbook";
import { serve } from "thirdbook/worker";
import { load, type LoadedGraph, type TensorValue } from "thirdbook/runtime";
import { mount } from "thirdbook/view";
import { test, expectTypeOf } from "./vitest_types.js";
export const report: Report = { schema: 1, version: "", compilations: [], counters: { frames: 0, compilations: 0, graphs: 0, breaks: 0, recompiles: 0, cacheHits: 0, replays: 0, fallbacks: 0 } };
export const view = (element: HTMLElement) => mount(element, report);
export const code = (error: ThirdbookError): "timeout" | string => error.code;
export const graph: Promise<LoadedGraph> = load(new Uint8Array(0), { wasmURL: "runtime.wasm" });
export const tensor = (value: TensorValue): number[] => value.shape;
export { install, lockEntry, doctor, serve, test, expectTypeOf };
// @ts-expect-error a number is no wheel address
void install(null as never, { wheelURL: 1 });
`,
    );
    writeFileSync(
      join(project.folder, "vitest_types.ts"),
      `import { expect } from "vitest";
import { test } from "thirdbook/vitest";
export { test };
export function expectTypeOf(program: import("thirdbook/vitest").Program) {
  expect(program).toMatchEager({ tolerance: 1e-3 });
  // @ts-expect-error a text is no number of compilations
  expect(program).toCompileTimes("once");
}
`,
    );
    const module = resolution === "bundler" ? "esnext" : "nodenext";
    const words = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2023,dom"];
    const { status, stdout } = node(
      "node_modules/typescript/bin/tsc",
      ...words,
      ...["--module", module, "--moduleResolution", resolution, "--types", "node", "use.ts"],
    );
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });

  test("a test that fails prints its program, the report, and a link to the playground", () => {
    writeFileSync(
      join(project.folder, "vitest.config.ts"),
      `import { thirdbook } from "thirdbook/vitest/plugin";
export default { plugins: [thirdbook({ playgroundURL: "https://example.org/" })], test: { include: ["fails.test.ts"] } };
`,
    );
    writeFileSync(
      join(project.folder, "fails.test.ts"),
      `import { expect } from "vitest";
import { test } from "thirdbook/vitest";
test("fails", ({ python }) => {
  expect(python.program("import torch\\n@torch.compile\\ndef f(x): return x + 1\\nf(torch.ones(2))\\n")).toCompileTimes(2);
});
`,
    );
    const { failed, output } = runVitest(project);
    expect(failed).toBe(1);
    expect(output).toContain("   3  def f(x): return x + 1\n");
    expect(output).toMatch(/── #1 f \(program\.py:2\).*\n {2}graph\n {4}%0 = input L\['x'\] f32\[2\]\n/);
    expect(output).toMatch(/^https:\/\/example\.org\/#v1=[\w-]+$/m);
    rmSync(join(project.folder, "fails.test.ts"));
  });

  test("runs the Vitest example from the tarball", () => {
    for (const name of readdirSync("examples/vitest")) {
      if (/\.(ts|json)$/.test(name)) copyFileSync(join("examples/vitest", name), join(project.folder, name));
    }
    expect(runVitest(project)).toMatchObject({ status: 0, passed: 7, failed: 0 });
  });
});
