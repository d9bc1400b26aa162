// In: one graph of the report. Out: boxes, groups and edges with coordinates, from dagre.
// Invariant: every node of the graph is in exactly one box; with `collapsed`, a kernel's nodes share one box.

import { graphlib, layout } from "@dagrejs/dagre";
import type { Graph, Kernel, Node } from "../report/types.js";
import { shortSource } from "./source_name.js";

export interface Box {
  key: string;
  nodes: Node[];
  kernel: Kernel | null;
  title: string;
  detail: string;
  output: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  key: string;
  points: { x: number; y: number }[];
}

export interface Group {
  key: string;
  title: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Drawing {
  boxes: Box[];
  edges: Edge[];
  groups: Group[];
  width: number;
  height: number;
}

const kCharacter = 7.3;
const kPadding = 11;
const kBoxHeight = 40;
const kShortNames: Record<string, string> = {
  float32: "f32",
  float64: "f64",
  float16: "f16",
  bfloat16: "bf16",
  int64: "i64",
  int32: "i32",
  int16: "i16",
  int8: "i8",
  uint8: "u8",
};

/** "f32[4, 8]" */
export function metaOf(node: Node): string {
  return `${kShortNames[node.dtype] ?? node.dtype}[${node.shape.join(", ")}]`;
}

export function titleOf(graph: Graph, node: Node): string {
  if (node.op === "input") return node.name || "input";
  if (node.op !== "constant") return node.op;
  return "value" in node.attrs ? String(node.attrs["value"]) : (printedConstant(graph, node) ?? "constant");
}

/** Whether a search finds the node. */
export function matches(graph: Graph, node: Node, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return (
    wanted === "" ||
    `%${node.id} ${node.op} ${titleOf(graph, node)} ${metaOf(node)}`.toLowerCase().includes(wanted)
  );
}

/** In the drawing there is little room. */
function shortTitleOf(graph: Graph, node: Node): string {
  const title = titleOf(graph, node);
  return node.op === "input" ? shortSource(title) : title;
}

/** "2" of "%1 = constant 2 (weak int64)" in the graph's text. */
function printedConstant(graph: Graph, node: Node): string | undefined {
  const match = new RegExp(`^\\s*%${node.id} = constant (\\S+)`, "m").exec(graph.text);
  return match?.[1];
}

export function layoutGraph(graph: Graph, collapsed: boolean): Drawing {
  const outputs = new Set(graph.outputs);
  const kernels = graph.kernels.filter((kernel) => kernel.nodes.length > 1);
  const kernelOf = new Map(kernels.flatMap((kernel) => kernel.nodes.map((id) => [id, kernel] as const)));
  const isSource = (node: Node) => node.op === "input" || node.op === "constant";

  const boxes = new Map<string, Box>();
  const boxOf = new Map<number, string>();
  for (const node of graph.nodes) {
    const kernel = isSource(node) ? null : (kernelOf.get(node.id) ?? null);
    const key = kernel && collapsed ? `kernel ${kernel.name}` : String(node.id);
    boxOf.set(node.id, key);
    const box = boxes.get(key);
    if (box) {
      box.nodes.push(node);
      box.output ||= outputs.has(node.id);
      box.detail = `${box.nodes.length} nodes · ${metaOf(node)}`;
    } else {
      const title = kernel && collapsed ? kernel.name : shortTitleOf(graph, node);
      boxes.set(key, {
        key,
        nodes: [node],
        kernel,
        title,
        detail: metaOf(node),
        output: outputs.has(node.id),
        x: 0,
        y: 0,
        width: 0,
        height: kBoxHeight,
      });
    }
  }

  const plan = new graphlib.Graph({ compound: true, multigraph: false });
  plan.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 28, marginx: 12, marginy: 12 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes.values()) {
    const longest = Math.max(box.title.length, box.detail.length * 0.88, 4);
    box.width = Math.ceil(longest * kCharacter + 2 * kPadding);
    plan.setNode(box.key, { width: box.width, height: box.height });
    if (box.kernel && !collapsed) {
      const group = `group ${box.kernel.name}`;
      plan.setNode(group, {});
      plan.setParent(box.key, group);
    }
  }
  for (const node of graph.nodes) {
    for (const operand of node.operands) {
      const from = operand === null ? undefined : boxOf.get(operand);
      const to = boxOf.get(node.id);
      if (from !== undefined && to !== undefined && from !== to) plan.setEdge(from, to);
    }
  }
  layout(plan);

  for (const box of boxes.values()) {
    const placed = plan.node(box.key);
    Object.assign(box, { x: placed.x - box.width / 2, y: placed.y - box.height / 2 });
  }
  const groups = collapsed
    ? []
    : kernels
        .filter((kernel) => plan.hasNode(`group ${kernel.name}`))
        .map((kernel) => {
          const placed = plan.node(`group ${kernel.name}`);
          const { x, y, width, height } = placed;
          return { key: kernel.name, title: kernel.name, x: x - width / 2, y: y - height / 2, width, height };
        });
  const edges = plan
    .edges()
    .map((edge) => ({ key: `${edge.v} → ${edge.w}`, points: plan.edge(edge).points ?? [] }));
  const size = plan.graph();
  return { boxes: [...boxes.values()], edges, groups, width: size.width ?? 0, height: size.height ?? 0 };
}
