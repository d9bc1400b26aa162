// In: the wheel in build/wheel and the twin in build/twin, as build.mjs left them. Out: that they are what they say.
// Invariant: skipped by name where a build is not there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build, kPyodide, kRepo } from "../../wasm/toolchain/places.mjs";
import { listedRuntimeSymbols, runtimeSymbols, wasmImports } from "../../wasm/toolchain/symbols.mjs";
import { findTwin } from "../../wasm/toolchain/twin.mjs";
import { kSideModule, kTag, wheelName } from "../../wasm/toolchain/wheel.mjs";

const version = JSON.parse(readFileSync(join(kRepo, "package.json"), "utf8")).version;
const site = join(build.wheel, "site");
const sideModule = join(site, "thirdbook", kSideModule);
const wheel = { skip: !existsSync(sideModule) && "the wheel is not built" };
const twin = { skip: !(findTwin() && existsSync(join(build.twin, "python"))) && "the twin is not built" };
const scratch = mkdtempSync(join(tmpdir(), "thirdbook-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const start = (script, ...args) =>
  spawnSync(process.execPath, [join(kRepo, script), ...args], {
    encoding: "utf8",
    cwd: kRepo,
    input: "a line\n",
  });

test("RECORD lists every file of the wheel with its digest and size", wheel, () => {
  const info = `thirdbook-${version}.dist-info`;
  const rows = readFileSync(join(site, info, "RECORD"), "utf8")
    .trim()
    .split("\n");
  for (const row of rows) {
    const [name, digest, size] = row.split(",");
    const data = readFileSync(join(site, name));
    if (name === `${info}/RECORD`) assert.equal(row, `${name},,`);
    else {
      assert.equal(digest, `sha256=${createHash("sha256").update(data).digest("base64url")}`);
      assert.equal(Number(size), data.length);
    }
  }
  const listed = rows.map((row) => row.split(",")[0]);
  for (const name of [`thirdbook/${kSideModule}`, `${info}/METADATA`, `${info}/WHEEL`, `${info}/LICENSE`])
    assert.ok(listed.includes(name), name);
  assert.ok(!listed.some((name) => /__pycache__|\.pyc$/.test(name)));
  assert.match(readFileSync(join(site, info, "WHEEL"), "utf8"), new RegExp(`^Tag: ${kTag}$`, "m"));
});

test("the wheel's name carries the version of package.json, and it is the only one", wheel, () => {
  assert.deepEqual(
    readdirSync(build.wheel).filter((name) => name.endsWith(".whl")),
    [wheelName(version)],
  );
});

test("the side module stays below 1 MB", wheel, () => {
  const size = readFileSync(sideModule).length;
  assert.ok(size < 1 << 20, `the side module has ${size} bytes`);
});

test("the C++ runtime symbols taken from Pyodide are exactly those listed", wheel, () => {
  assert.deepEqual(runtimeSymbols(wasmImports(sideModule)), listedRuntimeSymbols().sort());
});

test("every symbol that the side module imports is one that Pyodide has", wheel, () => {
  const main = new WebAssembly.Module(readFileSync(join(kPyodide, "pyodide.asm.wasm")));
  const own = new WebAssembly.Module(readFileSync(sideModule));
  const names = (list) => list.map((one) => one.name);
  const known = new Set([
    ...names(WebAssembly.Module.exports(main)),
    ...names(WebAssembly.Module.imports(main)),
    ...names(WebAssembly.Module.exports(own)),
  ]);
  const missing = wasmImports(sideModule).filter((name) => !known.has(name));
  assert.deepEqual(missing, []);
});

test("Pyodide on Node runs a program with arguments, stdin, stdout, stderr and exit status", wheel, () => {
  const program = join(scratch, "program.py");
  writeFileSync(
    program,
    "import sys\nprint(sys.argv[1:], __name__, input())\nprint('err', file=sys.stderr)\nsys.exit(7)\n",
  );
  const result = start("wasm/toolchain/pyodide-python.mjs", program, "a", "b c");
  assert.deepEqual(
    [result.status, result.stdout, result.stderr],
    [7, "['a', 'b c'] __main__ a line\n", "err\n"],
  );
});

test(
  "an uncaught exception in Pyodide is a traceback and status 1; a dead interpreter is status 134",
  wheel,
  () => {
    const raised = start("wasm/toolchain/pyodide-python.mjs", "-c", "1/0");
    assert.equal(raised.status, 1);
    assert.match(raised.stderr, /ZeroDivisionError: division by zero\n$/);
    assert.equal(start("wasm/toolchain/pyodide-python.mjs", "-c", "import os; os.abort()").status, 134);
  },
);

function python(...args) {
  return spawnSync(join(build.twin, "python"), args, { encoding: "utf8", cwd: kRepo });
}

test("the twin is CPython 3.14 and imports the extension that was built", twin, () => {
  const result = python(
    "-c",
    "import sys, thirdbook._core as core; print(sys.version_info[:2], core.__file__)",
  );
  assert.equal(result.stdout, `(3, 14) ${join(build.twin, "site/thirdbook/_core.so")}\n`, result.stderr);
});

const kSample = `
import os, unittest

class Sample(unittest.TestCase):
    def test_passes(self):
        print("no newline", end="")

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_fails_in_two_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertEqual(i, 1)

    @unittest.skip("not today")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail()

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no class")

    def test_never_runs(self):
        pass
`;

test("run.py counts each test once, and a class that cannot be set up as a failure", twin, () => {
  const file = join(scratch, "test_sample.py");
  writeFileSync(file, kSample);
  const result = python("tests/python/run.py", file);
  assert.equal(result.status, 1);
  const last = result.stdout.trim().split("\n").at(-1);
  const { passed, failed, skipped } = JSON.parse(last.slice(last.indexOf("@@ ") + 3));
  assert.deepEqual({ passed, failed, skipped }, { passed: 2, failed: 3, skipped: 1 });
});

test("run.py goes on after a file whose process dies, and counts it as failed", twin, () => {
  const body = (text) => `import os, unittest\nclass T(unittest.TestCase):\n    def test_it(self): ${text}\n`;
  const files = ["a_dies", "b_passes", "c_syntax"].map((name) => join(scratch, `test_${name}.py`));
  writeFileSync(files[0], body("os.abort()"));
  writeFileSync(files[1], body("pass"));
  writeFileSync(files[2], "def (:\n");
  const result = python("tests/python/run.py", ...files);
  const last = JSON.parse(result.stdout.trim().split("\n").at(-1).slice(3));
  assert.deepEqual(last, { total: true, passed: 1, failed: 2, skipped: 0 });
  assert.match(result.stdout, /FAIL test_a_dies\.py: the interpreter ended with status/);
});

test("the server keeps to its folder, names types and isolates the page", async () => {
  writeFileSync(join(scratch, "index.html"), "<p>hello</p>");
  writeFileSync(join(scratch, "m.wasm"), "");
  const port = await freePort();
  const { spawn } = await import("node:child_process");
  const server = spawn(process.execPath, [
    join(kRepo, "wasm/toolchain/serve.mjs"),
    "--port",
    String(port),
    scratch,
  ]);
  try {
    await new Promise((resolve) => server.stdout.once("data", resolve));
    const get = (path) => fetch(`http://127.0.0.1:${port}${path}`);
    const page = await get("/");
    assert.equal(await page.text(), "<p>hello</p>");
    assert.equal(page.headers.get("cross-origin-embedder-policy"), "require-corp");
    assert.equal((await get("/m.wasm")).headers.get("content-type"), "application/wasm");
    assert.equal((await get("/%2e%2e/%2e%2e/etc/passwd")).status, 404);
    assert.equal((await get("/..%2f..%2fetc/passwd")).status, 404);
    assert.equal((await get("/%")).status, 400);
    assert.equal((await get("/nothing")).status, 404);
  } finally {
    server.kill();
  }
});

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
