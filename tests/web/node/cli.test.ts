import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Report } from "../../../web/report/types.js";
import { kDay16Output } from "../examples.js";
import { violationsOf } from "../schema.js";

const kMain = join(process.cwd(), "web/cli/main.mjs");
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "thirdbook-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

function thirdbook(words: string[], input = ""): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [kMain, ...words], {
    cwd: folder,
    input,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("usage errors are one line on stderr and status 2", () => {
  test.each([
    [[], /command is missing/],
    [["fly"], /fly is not a command: run, explain or doctor/],
    [["run"], /run needs a Python file/],
    [["run", "missing.py"], /missing\.py does not exist/],
    [["run", "."], /\. is a folder/],
    [["run", "a.py", "b"], /b: put the program's own arguments after --/],
    [
      ["run", "a.py", "--backend", "cuda"],
      /--backend cuda is not known: use auto, wasm, webgpu, eager or reference/,
    ],
    [["run", "a.py", "--print", "graph,gards"], /--print gards is not known: use graph, guards/],
    [["run", "a.py", "--colour"], /--colour/],
    [["run", "a.py", "--report"], /--report/],
    [["run", "a.py", "--report", "no/such/out.json"], /--report no\/such\/out\.json cannot be written/],
  ])("%j", (words, message) => {
    write("a.py", "");
    const { status, stdout, stderr } = thirdbook(words);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stdout).toBe("");
    expect(status).toBe(2);
  });
});

describe("a program runs as python would run it", () => {
  test("arguments, own folder, stdin, files and name", () => {
    mkdirSync(join(folder, "pkg"), { recursive: true });
    write("pkg/near.py", "value = 41\n");
    write(
      "pkg/main.py",
      "import sys, near, os\nprint(sys.argv, __name__, near.value + 1)\nprint(input(), sys.stdin.read())\n" +
        "open('made.txt', 'w').write(os.path.basename(__file__))\n",
    );
    const { status, stdout, stderr } = thirdbook(["run", "pkg/main.py", "--", "--flag", "x"], "one\ntwo");
    expect(stderr).toBe("");
    expect(stdout).toBe("['pkg/main.py', '--flag', 'x'] __main__ 42\none two\n");
    expect(readFileSync(join(folder, "made.txt"), "utf8")).toBe("main.py");
    expect(status).toBe(0);
  });

  test("a traceback has the program's frames only, and status 1", () => {
    write("boom.py", "def f():\n    raise ValueError('boom')\nprint('before')\nf()\n");
    const { status, stdout, stderr } = thirdbook(["run", "boom.py"]);
    expect(stdout).toBe("before\n");
    expect(stderr.split("\n")[0]).toBe("Traceback (most recent call last):");
    expect(stderr.match(/File "/g)).toHaveLength(2);
    expect(stderr).toMatch(/ValueError: boom\n$/);
    expect(status).toBe(1);
  });

  test("a syntax error is Python's own message and status 1", () => {
    write("broken.py", "def f(:\n");
    const { status, stderr } = thirdbook(["run", "broken.py"]);
    expect(stderr).toMatch(
      /^ {2}File ".*broken\.py", line 1\n {4}def f\(:\n.*\nSyntaxError: invalid syntax\n$/,
    );
    expect(status).toBe(1);
  });

  test.each([
    ["import sys; sys.exit(3)", 3, ""],
    ["raise SystemExit", 0, ""],
    ["import sys; sys.exit('no luck')", 1, "no luck\n"],
    ["raise KeyboardInterrupt", 130, /KeyboardInterrupt/],
  ])("%s", (text, expected, message) => {
    write("exit.py", `import atexit\natexit.register(print, "bye")\n${text}\n`);
    const { status, stdout, stderr } = thirdbook(["run", "exit.py"]);
    expect(status).toBe(expected);
    expect(stdout).toBe("bye\n");
    expect(stderr).toMatch(message);
  });

  test("endless recursion is a RecursionError, not a dead interpreter", () => {
    write(
      "deep.py",
      "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\ntry: A().q\nexcept RecursionError: print('caught')\n",
    );
    expect(thirdbook(["run", "deep.py"])).toMatchObject({ status: 0, stdout: "caught\n" });
  });
});

describe("day16", () => {
  const kProgram = join(process.cwd(), "examples/day16.py");

  test("prints its result, and --print goes to stderr", () => {
    const { status, stdout, stderr } = thirdbook([
      "run",
      kProgram,
      "--print",
      "graph,ledger",
      "--report",
      "out.json",
    ]);
    expect(stdout).toBe(kDay16Output);
    expect(status).toBe(0);
    expect(stderr).toMatch(/mul\(/);
    expect(stderr).toMatch(/calls/);
    const report = JSON.parse(readFileSync(join(folder, "out.json"), "utf8")) as Report;
    expect(violationsOf(report)).toEqual([]);
    expect(report.counters.compilations).toBe(1);
  });

  test("with --off is plain Python and compiles nothing", () => {
    const { status, stdout } = thirdbook(["run", kProgram, "--off", "--report", "off.json"]);
    expect(stdout).toBe(kDay16Output);
    expect(status).toBe(0);
    expect((JSON.parse(readFileSync(join(folder, "off.json"), "utf8")) as Report).compilations).toEqual([]);
  });

  test("explain prints graph, breaks, guards and ledger", () => {
    const { stdout, stderr } = thirdbook(["explain", kProgram]);
    expect(stdout).toBe(kDay16Output);
    for (const title of ["graph", "graph breaks", "guards", "ledger"])
      expect(stderr).toMatch(new RegExp(`^ {2}${title}$`, "m"));
  });

  test.each(["auto", "wasm", "eager", "reference"])("gives the same with --backend %s", (backend) => {
    expect(thirdbook(["run", kProgram, "--backend", backend])).toMatchObject({
      status: 0,
      stdout: kDay16Output,
      stderr: "",
    });
  });

  test("agrees with eager under --verify", () => {
    expect(thirdbook(["run", kProgram, "--verify"])).toMatchObject({
      status: 0,
      stdout: kDay16Output,
      stderr: "",
    });
  });
});

test("doctor says what fits", () => {
  const { status, stdout } = thirdbook(["doctor"]);
  expect(stdout).toMatch(/^wheel and Pyodide: fits$/m);
  expect(status).toBe(0);
});
