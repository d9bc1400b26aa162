// Printed text on its way from the worker to the page: order and content are kept, and no flood costs more than its newest part.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OutputLog, type OutputPart } from "../../../web/app/output_log.js";
import { PacedOutput, type OutputPiece } from "../../../web/lib/paced_output.js";

describe("the worker's side", () => {
  const textOf = (messages: OutputPiece[][]) =>
    messages
      .flat()
      .map(({ stream, text }) => `${stream}:${text}`)
      .join("");

  test("sends the first lines at once, each in a message", () => {
    const messages: OutputPiece[][] = [];
    const output = new PacedOutput((pieces) => messages.push(pieces));
    output.write("stdout", "a\n");
    output.write("stderr", "b\n");
    expect(messages).toEqual([[{ stream: "stdout", text: "a\n" }], [{ stream: "stderr", text: "b\n" }]]);
  });

  test("joins the lines of a flood and loses none", () => {
    const messages: OutputPiece[][] = [];
    const output = new PacedOutput((pieces) => messages.push(pieces));
    for (let i = 0; i < 100_000; ++i) output.write("stdout", `${i}\n`);
    output.flush();
    expect(messages.length).toBeLessThan(400);
    expect(textOf(messages).replaceAll("stdout:", "")).toBe(
      Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join(""),
    );
  });

  test("keeps the order of two streams and the size of a message", () => {
    const messages: OutputPiece[][] = [];
    const output = new PacedOutput((pieces) => messages.push(pieces));
    for (let i = 0; i < 3000; ++i) output.write(i % 2 === 0 ? "stdout" : "stderr", `${i};`);
    output.flush();
    expect(Math.max(...messages.map((pieces) => pieces.length))).toBeLessThanOrEqual(201);
    expect(textOf(messages).match(/\d+/g)?.map(Number)).toEqual(Array.from({ length: 3000 }, (_, i) => i));
  });
});

describe("the page's side", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function logged(fill: (log: OutputLog) => void): { shown: readonly OutputPart[]; times: number } {
    const calls: (readonly OutputPart[])[] = [];
    const log = new OutputLog((parts) => calls.push(parts));
    fill(log);
    vi.runAllTimers();
    return { shown: calls.at(-1) ?? [], times: calls.length };
  }

  test("shows many pieces once, streams apart", () => {
    const { shown, times } = logged((log) => {
      log.add("stdout", "a");
      log.add("stdout", "b");
      log.add("stderr", "c");
      log.add("stdout", "d");
    });
    expect(times).toBe(1);
    expect(shown).toEqual([
      { stream: "stdout", text: "ab" },
      { stream: "stderr", text: "c" },
      { stream: "stdout", text: "d" },
    ]);
  });

  test("shows the newest whole lines of what is too long, and says that the rest is left out", () => {
    const { shown } = logged((log) => {
      for (let i = 0; i < 40_000; ++i) log.add("stdout", `${i}\n`);
    });
    const [note, text] = shown as [OutputPart, OutputPart];
    expect(note).toEqual({ stream: "note", text: "Earlier output is left out here." });
    expect(text.text).toMatch(/^\d{5}\n(.*\n)*39999\n$/);
    expect(text.text.length).toBeLessThanOrEqual(50_000);
  });

  test("shows the end of a line that is too long by itself", () => {
    const { shown } = logged((log) => log.add("stdout", `${"x".repeat(3_000_000)}\n`));
    expect(shown[1]?.text).toBe(`${"x".repeat(49_999)}\n`);
  });

  test("shows a bounded number of parts", () => {
    const { shown } = logged((log) => {
      for (let i = 0; i < 5000; ++i) log.add(i % 2 === 0 ? "stdout" : "stderr", "x\n");
    });
    expect(shown.length).toBeLessThanOrEqual(401);
  });
});
