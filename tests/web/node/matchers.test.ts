// The matchers on programs that must fail them: each message names the place.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { thirdbook } from "../../../build/npm/vitest/plugin.js";
import { matchers, Program, reportSerializer, type Outcome } from "../../../build/npm/vitest/index.js";
import type { Report } from "../../../web/report/types.js";

const report = JSON.parse(readFileSync("tests/web/fixtures/day16.report.json", "utf8")) as Report;

function programWith(eager: Partial<Outcome>, compiled: Partial<Outcome>): Program {
  const base: Outcome = { stdout: "", error: null, globals: [], report };
  return new Program(
    (_source, _file, enabled) => JSON.stringify({ ...base, ...(enabled ? compiled : eager) }),
    "pass",
  );
}

const number = (repr: string) => ({ kind: "scalar" as const, type: "float", repr });

describe("toMatchEager", () => {
  test("names the first global that differs", () => {
    const program = programWith({ globals: [["x", number("1.0")]] }, { globals: [["x", number("2.0")]] });
    const verdict = matchers.toMatchEager(program);
    expect(verdict.pass).toBe(false);
    expect(verdict.message()).toMatch(/globals\.x.*1\.0.*2\.0/);
  });

  test("allows what the tolerance allows, and nothing more", () => {
    const program = programWith({ globals: [["x", number("1.0")]] }, { globals: [["x", number("1.001")]] });
    expect(matchers.toMatchEager(program, { tolerance: 1e-2 }).pass).toBe(true);
    expect(matchers.toMatchEager(program, { tolerance: 1e-4 }).pass).toBe(false);
  });

  test("sees a difference in aliasing", () => {
    const list = { kind: "object" as const, type: "list", items: [] };
    const program = programWith(
      {
        globals: [
          ["a", list],
          ["b", { kind: "same", object: 0 }],
        ],
      },
      {
        globals: [
          ["a", list],
          ["b", list],
        ],
      },
    );
    expect(matchers.toMatchEager(program).pass).toBe(false);
  });

  test("compares printed numbers within the tolerance and other text exactly", () => {
    expect(matchers.toMatchEager(programWith({ stdout: "y 1.0000001\n" }, { stdout: "y 1.0\n" })).pass).toBe(
      true,
    );
    expect(matchers.toMatchEager(programWith({ stdout: "y 1.0\n" }, { stdout: "z 1.0\n" })).pass).toBe(false);
  });

  test("compares exceptions", () => {
    const error = { type: "ValueError", text: "boom", trace: "…" };
    const verdict = matchers.toMatchEager(programWith({ error }, {}));
    expect(verdict.pass).toBe(false);
    expect(verdict.message()).toMatch(/eager ValueError: boom/);
  });
});

describe("the matchers on reports", () => {
  const program = programWith({}, {});

  test("toCompileTimes says why it was compiled", () => {
    const verdict = matchers.toCompileTimes(program, 2);
    expect(verdict.pass).toBe(false);
    expect(verdict.message()).toMatch(/compiled 1 times, expected 2:\n.*Model\.forward: call/);
  });

  test("toHaveGraphBreak says what there is", () => {
    expect(matchers.toHaveGraphBreak(program).message()).toBe("no graph break; there is none");
  });

  test("toHaveMutations compares the named fields, the line and the number of entries", () => {
    const expected = [
      { source: "L['self']", operation: "setattr calls", line: 14 },
      { operation: "list.append" },
    ];
    expect(matchers.toHaveMutations(program, expected).pass).toBe(true);
    expect(matchers.toHaveMutations(program, expected.slice(0, 1)).pass).toBe(false);
    expect(matchers.toHaveMutations(program, [{ line: 15 }, { operation: "list.append" }]).pass).toBe(false);
  });

  test("toReplayAs compares the order", () => {
    expect(matchers.toReplayAs(program, ["L['self'] setattr calls", "G['log'] list.append"]).pass).toBe(true);
    expect(matchers.toReplayAs(program, ["G['log'] list.append", "L['self'] setattr calls"]).pass).toBe(
      false,
    );
  });

  test("refuse what is no program", () => {
    expect(() => matchers.toHaveNoGraphBreaks("x = 1")).toThrow(/expect\(python\.program/);
  });
});

test("the plugin leaves a project's own time limits alone", () => {
  const { config } = thirdbook() as unknown as {
    config(user: { test?: object }): { test: Record<string, unknown> };
  };
  expect(config({}).test).toMatchObject({ testTimeout: 60_000, hookTimeout: 60_000 });
  expect(config({ test: { testTimeout: 5, hookTimeout: 6 } }).test).toMatchObject({
    testTimeout: 5,
    hookTimeout: 6,
  });
});

test("a report's snapshot has neither addresses nor folders", () => {
  const changed = structuredClone(report);
  (changed.compilations[0] as Report["compilations"][0]).file = "/home/someone/day16.py";
  (changed.compilations[0]?.guards[0] as { text: string }).text = "x is <object at 0x7f12ab34>";
  const text = reportSerializer.serialize(changed);
  expect(text).toContain("day16.py");
  expect(text).not.toMatch(/someone|7f12ab34/);
});
