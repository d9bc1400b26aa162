import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Report } from "../../../web/report/types.js";
import { ViewModel } from "../../../web/view/model.js";
import { layoutGraph } from "../../../web/view/graph_layout.js";
import { layoutObjects } from "../../../web/view/object_layout.js";
import { afterOf, objectsAt, referencesOf, type ObjectState } from "../../../web/view/objects.js";
import { shortSource } from "../../../web/view/source_name.js";
import { overlaps, spanOfInstruction, spanOfLine, spanOfSite, type Span } from "../../../web/view/span.js";
import { versionsOf } from "../../../web/view/versions.js";
import { describe as sentence, stepsOf, worldAt } from "../../../web/view/steps.js";

const report = JSON.parse(readFileSync("tests/web/fixtures/day16.report.json", "utf8")) as Report;
const compilation = report.compilations[0] as Report["compilations"][0];

describe("places in the source", () => {
  const span = (line: number, col: number, endLine: number, endCol: number): Span => ({
    file: "/a/x.py",
    line,
    col,
    endLine,
    endCol,
  });

  test("meet when their columns overlap on one line, and not when they only touch", () => {
    expect(overlaps(span(3, 4, 3, 9), span(3, 8, 3, 12))).toBe(true);
    expect(overlaps(span(3, 4, 3, 9), span(3, 9, 3, 12))).toBe(false);
  });

  test("meet over several lines", () => {
    expect(overlaps(span(2, 30, 4, 2), span(3, 0, 3, 1))).toBe(true);
    expect(overlaps(span(2, 30, 4, 2), span(4, 2, 4, 8))).toBe(false);
  });

  test("without columns stand for the whole line", () => {
    const line = spanOfLine("x.py", 3) as Span;
    expect(overlaps(line, span(3, 8, 3, 12))).toBe(true);
    expect(overlaps(line, span(4, 8, 4, 12))).toBe(false);
  });

  test("of different files never meet", () => {
    expect(overlaps(span(3, 0, 3, 9), { ...span(3, 0, 3, 9), file: "/a/y.py" })).toBe(false);
  });
});

describe("the one selection", () => {
  test("of self.calls += 1 lights up its instructions, guard, ledger entry and replay code", () => {
    const model = new ViewModel();
    model.show(report);
    const entry = compilation.ledger[0] as (typeof compilation.ledger)[0];
    model.select(spanOfSite(entry.sites[0] as (typeof entry.sites)[0]), "ledger");
    const linkedOps = (name: "original" | "rewritten") =>
      (compilation.bytecode[name]?.instructions ?? [])
        .filter((instruction) => model.linked([spanOfInstruction(compilation.file, instruction)]))
        .map((instruction) => instruction.op);
    expect(linkedOps("original")).toContain("STORE_ATTR");
    expect(linkedOps("original")).not.toContain("RETURN_VALUE");
    expect(linkedOps("rewritten").length).toBeGreaterThan(0);
    const guards = compilation.guards.filter((guard) =>
      model.linked([spanOfLine(compilation.file, guard.line)]),
    );
    expect(guards.map((guard) => guard.source)).toContain("L['self'].calls");
  });
});

describe("the stepper", () => {
  const steps = stepsOf(compilation);

  test("walks trace, graph, run and replay, in this order", () => {
    const kinds = steps.map((step) => step.kind.replace(/-.*/, ""));
    expect(kinds.join(" ")).toMatch(/^start( trace)+ graph run( replay)+$/);
  });

  test("leaves the objects alone until the replay, then changes one entry at a time", () => {
    const run = steps.findIndex((step) => step.kind === "run");
    const textAt = (step: number) =>
      objectsAt(compilation, worldAt(steps, step)).flatMap((object) =>
        object.fields.map((field) => [field.value, ...field.applied].join(" ")),
      );
    const counted = "L['self'].calls + 1";
    expect(worldAt(steps, run).recorded.size).toBe(2);
    expect(textAt(run)).toEqual(["0", "[]"]);
    expect(textAt(run + 1)).toEqual([counted, "[]"]);
    expect(textAt(run + 2)).toEqual([counted, `[] append(${counted})`]);
  });

  test("draws an attribute as part of its object", () => {
    const objects = objectsAt(compilation, worldAt(steps, 0));
    expect(objects.map((object) => [object.name, object.fields.map((field) => field.name)])).toEqual([
      ["L['self']", [".calls"]],
      ["G['log']", ["contents"]],
    ]);
  });

  test("says each step in one sentence", () => {
    for (const step of steps) expect(sentence(compilation, step)).toMatch(/^[A-Z].*\.$/);
  });
});

describe("what an entry does to a container", () => {
  test.each([
    ["list.append", "x", "append(x)"],
    ["collections.deque.appendleft", "'a.b'", "appendleft('a.b')"],
    ["dict.setitem 'a, b.c'", "1", "['a, b.c'] = 1"],
    ["Counter.delitem 'a'", "", "del ['a']"],
    ["list.+=", "[1]", "+= [1]"],
    ["set.clear", "", "clear()"],
    ["list.append, list.pop", "x", "append, pop: x"],
    ["dict.setitem 'a', dict.setitem 'b'", "1, 2", "setitem 'a', setitem 'b': 1, 2"],
  ])("%s of %s is %s", (operation, after, text) => {
    const entry = {
      order: 1,
      kind: "value-existing",
      source: "L['x']",
      operation,
      after,
      sites: [],
      settledAt: "return",
    };
    expect(afterOf(entry as (typeof compilation.ledger)[0])).toBe(text);
  });
});

describe("the diagram of objects", () => {
  const object = (name: string, fields: Record<string, string>): ObjectState => ({
    name,
    fields: Object.entries(fields).map(([field, value]) => ({
      name: field,
      value,
      applied: [],
      waiting: [],
      changed: false,
      entries: [],
    })),
  });
  const objects = [
    object("G['tree']", { ".child": "G['leaf']" }),
    object("G['leaf']", { ".parent": "None" }),
    object("G['tree'].items", { contents: "as it was" }),
    object("G['tree_of_another']", { ".x": "1" }),
  ];

  test("has an arrow where a field holds another object, and to what is reached through one", () => {
    expect(referencesOf(objects)).toEqual([
      { from: "G['tree']", to: "G['tree'].items", field: ".items" },
      { from: "G['tree']", to: "G['leaf']", field: ".child" },
    ]);
  });

  test("gives each object a place of its own with room for its text", () => {
    const { boxes } = layoutObjects([objects], referencesOf(objects));
    const places = objects.map(({ name }) => boxes.get(name) as NonNullable<ReturnType<typeof boxes.get>>);
    places.forEach((a, i) => {
      expect(a.width).toBeGreaterThan(60);
      for (const b of places.slice(i + 1)) {
        const apart =
          a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(apart).toBe(true);
      }
    });
  });
});

describe("the versions of a function", () => {
  const version = (id: number, misses: number[]) => ({
    ...compilation,
    id,
    misses: misses.map((other) => ({ compilation: other, guard: "g", line: 1, was: "1", now: "2" })),
  });

  test("are those that their misses connect, resumed frames of the same name left out", () => {
    const all = [version(1, []), version(2, []), version(3, [1]), version(4, [2]), version(5, [1, 3])];
    const idsOf = (index: number) =>
      versionsOf({ ...report, compilations: all }, all[index] as (typeof all)[0]).map(({ id }) => id);
    expect(idsOf(0)).toEqual([1, 3, 5]);
    expect(idsOf(4)).toEqual([1, 3, 5]);
    expect(idsOf(1)).toEqual([2, 4]);
  });
});

describe("a source's short name", () => {
  test.each([
    ["L['x']", "x"],
    ["L['self']._modules['hidden']._parameters['bias']", "self.hidden.bias"],
    ["G['log'][0]", "log[0]"],
    ["G['cache']['key']", "cache['key']"],
  ])("%s is %s", (source, short) => expect(shortSource(source)).toBe(short));
});

describe("the drawing of a graph", () => {
  test("puts operands above their users and every node into one box", () => {
    const drawing = layoutGraph(compilation.graphs[0] as (typeof compilation.graphs)[0], false);
    const boxes = new Map(drawing.boxes.map((box) => [box.title, box]));
    expect(drawing.boxes.flatMap((box) => box.nodes)).toHaveLength(3);
    expect(boxes.get("x")?.y).toBeLessThan(boxes.get("mul")?.y ?? 0);
    expect(boxes.get("mul")?.output).toBe(true);
    expect([...boxes.keys()]).toContain("2");
  });
});
