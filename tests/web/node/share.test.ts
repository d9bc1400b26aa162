import { describe, expect, test } from "vitest";
import { decodeHash, encodeHash, safeFileName } from "../../../build/npm/lib/share.js";

describe("a shared link", () => {
  test("carries the program, whatever its text", async () => {
    const program = { file: "day16.py", source: 'print("π", "</script><script>alert(1)</script>")\n' };
    const hash = await encodeHash(program);
    expect(hash).toMatch(/^#v1=[\w-]+$/);
    expect(await decodeHash(hash)).toEqual({ kind: "program", program });
  });

  test.each([
    ["#", "none"],
    ["", "none"],
    ["#v2=AAAA", "damaged"],
    ["#v1=", "damaged"],
    ["#v1=%%%%", "damaged"],
    ["#v1=AAAA", "damaged"],
    [`#v1=${"A".repeat(300_000)}`, "damaged"],
  ])("%.20s is %s", async (hash, kind) => {
    expect((await decodeHash(hash)).kind).toBe(kind);
  });

  test("that unpacks to far more than a program is refused", async () => {
    const hash = await encodeHash({ file: "a.py", source: "x".repeat(5_000_000) });
    expect(await decodeHash(hash)).toEqual({ kind: "damaged", reason: "it unpacks to too much" });
  });

  test("cannot name a file outside of the program's folder", () => {
    expect(safeFileName("../../etc/passwd")).toBe("program.py");
    expect(safeFileName("a/b.py")).toBe("ab.py");
    expect(safeFileName("day16.py")).toBe("day16.py");
  });
});
