// Every example: compiled gives what plain Python gives, and its report follows the schema.
import { describe, expect } from "vitest";
import { test } from "thirdbook/vitest";
import type { Report } from "../../../web/report/types.js";
import { examples, kDay16Output } from "../examples.js";
import { violationsOf } from "../schema.js";

describe("each example, compiled and eager", () => {
  for (const { file, source } of examples) {
    test(file, ({ python }) => {
      const program = python.program(source, { file });
      expect(program.eager().error).toBeNull();
      expect(program.eager().stdout).not.toBe("");
      expect(program).toMatchEager();
      expect(violationsOf(program.report)).toEqual([]);
      expect(program.report.counters.compilations).toBeGreaterThan(0);
    });
  }
});

describe("day16", () => {
  const { source } = examples.find(({ file }) => file === "day16.py") as (typeof examples)[0];

  test("is one graph with one multiply, and a ledger of two mutations", ({ python }) => {
    const program = python.program(source, { file: "day16.py" });
    expect(program.compiled().stdout).toBe(kDay16Output);
    expect(program).toHaveNoGraphBreaks();
    expect(program).toCompileTimes(1);
    const [compilation] = program.report.compilations as [Report["compilations"][0]];
    const [graph] = compilation.graphs as [(typeof compilation.graphs)[0]];
    expect(
      graph.nodes.filter((node) => node.op !== "input" && node.op !== "constant").map((node) => node.op),
    ).toEqual(["mul"]);
    expect(graph.outputs).toHaveLength(1);
    expect(JSON.stringify(graph)).not.toMatch(/calls|log/);
    const line = (text: string) => source.split("\n").findIndex((candidate) => candidate.includes(text)) + 1;
    expect(program).toHaveMutations([
      { kind: "attribute-existing", line: line("self.calls += 1") },
      { kind: "value-existing", line: line("log.append") },
    ]);
    const sites = compilation.ledger.map((entry) => entry.sites[0]);
    expect(sites[0]).toMatchObject({ col: 8, endCol: 18 });
    expect(sites[1]).toMatchObject({ col: 8, endCol: 30 });
  });

  test("compiles once for a thousand calls", ({ python }) => {
    const program = python.program(
      `${source}\nfor _ in range(998):\n    m(torch.ones(4))\nprint(m.calls, len(log), log[-1])\n`,
    );
    expect(program).toCompileTimes(1);
    expect(program.compiled().stdout).toBe(`${kDay16Output}1000 1000 1000\n`);
  });
});

describe("graph_break", () => {
  const { source } = examples.find(({ file }) => file === "graph_break.py") as (typeof examples)[0];

  test("breaks at the call of graph_break, between the two mutations", ({ python }) => {
    const line = source.split("\n").findIndex((text) => text.includes("graph_break()")) + 1;
    expect(python.program(source)).toHaveGraphBreak({ line });
  });
});
