// The catalogue of graph breaks: each entry's program breaks as it says, where it says, and gives what plain Python gives.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { test } from "thirdbook/vitest";
import { readCatalogue } from "../../../docs/graph-breaks.mjs";

const catalogue = readCatalogue();

describe("each program of the catalogue breaks at its line and prints what plain Python prints", () => {
  for (const { code, example } of catalogue) {
    if (example === null) continue;
    test(code, ({ python }) => {
      const program = python.program(example, { file: `${code}.py` });
      const line = example.split("\n").findIndex((text) => text.includes("# breaks here")) + 1;
      expect(program.eager().error).toBeNull();
      expect(program).toMatchEager();
      expect(program).toHaveGraphBreak({ line, code });
    });
  }
});

describe("the catalogue", () => {
  test("has a program for every code but internal, and no other", () => {
    const programs = readdirSync("examples/breaks").map((name) => name.replace(/\.py$/, ""));
    const codes = catalogue.map(({ code }) => code);
    expect(codes.length).toBeGreaterThan(20);
    expect([...programs, "internal"].sort()).toEqual([...codes].sort());
  });

  test("names a reason and a remedy for every code", () => {
    for (const { code, title, why, hint } of catalogue) {
      expect(title, code).toMatch(/^[A-Z]/);
      expect(why, code).toMatch(/^[A-Z].*\.$/);
      expect(hint, code).toMatch(/^[A-Z].*\.$/);
    }
  });

  test("is written down in docs/graph-breaks.md", () => {
    const { status, stderr } = spawnSync(process.execPath, ["docs/graph-breaks.mjs", "--check"], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("is what an Unsupported error points at", ({ python }) => {
    const program = python.program(`
      import torch

      @torch.compile(fullgraph=True)
      def f(x):
          torch._dynamo.graph_break()
          return x

      try:
          f(torch.ones(2))
      except RuntimeError as error:
          print(str(error).splitlines()[-1].strip())
    `);
    const { stdout } = program.compiled();
    const link = /catalogue: (docs\/[\w.-]+)#([\w-]+)/.exec(stdout);
    expect(readFileSync(link?.[1] ?? "", "utf8")).toContain(`\n## ${link?.[2]}\n`);
  });
});
