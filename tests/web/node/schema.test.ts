import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { violationsOf } from "../schema.js";

const sample = JSON.parse(readFileSync("tests/web/fixtures/day16.report.json", "utf8")) as Record<
  string,
  unknown
>;

describe("the report's schema", () => {
  test("accepts the sample report", () => {
    expect(violationsOf(sample)).toEqual([]);
  });

  test("names what is missing and what is unknown", () => {
    const { counters, ...rest } = sample;
    expect(counters).toBeDefined();
    expect(violationsOf({ ...rest, extra: 1 })).toEqual([
      " must have required property 'counters'",
      " must NOT have additional properties",
    ]);
  });

  test("refuses a kind of mutation that it does not know", () => {
    const changed = structuredClone(sample) as { compilations: { ledger: { kind: string }[] }[] };
    (changed.compilations[0]?.ledger[0] as { kind: string }).kind = "rumour";
    expect(violationsOf(changed)).toEqual([
      "/compilations/0/ledger/0/kind must be equal to one of the allowed values",
    ]);
  });

  test("has generated types that are up to date", () => {
    const { status, stderr } = spawnSync(process.execPath, ["web/report/generate.mjs", "--check"], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });
});
