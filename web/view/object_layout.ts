// In: the objects of a ledger, as they stand at the beginning and at the end. Out: a place for each, from dagre, and the ways of the arrows
// between them. Invariant: places depend on the compilation only, never on the step.

import { graphlib, layout } from "@dagrejs/dagre";
import type { ObjectState, Reference } from "./objects.js";
import { shortSource } from "./source_name.js";

export const kRow = 18;
export const kHead = 24;
const kCharacter = 6.7;
const kPadding = 10;
const kMostCharacters = 44;

export interface ObjectBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface ObjectPlan {
  boxes: Map<string, ObjectBox>;
  /** By referenceKey. */
  arrows: Map<string, { x: number; y: number }[]>;
  width: number;
  height: number;
}

export function referenceKey({ from, to }: Reference): string {
  return `${from} → ${to}`;
}

/** As much of a text as has room in a row. */
export function fitted(text: string): string {
  return text.length > kMostCharacters ? `${text.slice(0, kMostCharacters - 1)}…` : text;
}

/** How many rows a field takes at most: its value, and one for each of its entries. */
export function rowsOf(object: ObjectState): number {
  return object.fields.reduce((sum, field) => sum + 1 + field.entries.length, 0);
}

/** `stages`: the same objects at several steps; a box has room for all of them. */
export function layoutObjects(stages: ObjectState[][], references: Reference[]): ObjectPlan {
  const plan = new graphlib.Graph({ multigraph: false });
  plan.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 40, marginx: 8, marginy: 8 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const object of stages[0] ?? []) {
    const texts = stages.flatMap((objects) => {
      const same = objects.find(({ name }) => name === object.name);
      return same ? [shortSource(same.name), ...same.fields.flatMap(textsOf)] : [];
    });
    const longest = Math.min(kMostCharacters, Math.max(...texts.map(({ length }) => length)));
    const width = Math.ceil(longest * kCharacter + 2 * kPadding);
    plan.setNode(object.name, { width, height: kHead + rowsOf(object) * kRow + 4 });
  }
  for (const { from, to } of references) if (from !== to) plan.setEdge(from, to);
  layout(plan);
  const boxes = new Map(
    plan.nodes().map((name) => {
      const { x, y, width, height } = plan.node(name);
      return [name, { x: x - width / 2, y: y - height / 2, width, height }];
    }),
  );
  const arrows = new Map(plan.edges().map(({ v, w }) => [`${v} → ${w}`, plan.edge(v, w).points ?? []]));
  const { width = 0, height = 0 } = plan.graph();
  return { boxes, arrows, width, height };
}

function textsOf(field: ObjectState["fields"][number]): string[] {
  return [
    `✓ ${field.name}: ${field.value}`,
    ...field.applied.map((text) => `✓ ${text}`),
    ...field.waiting.map((text) => `ledger: ${text}`),
  ];
}
