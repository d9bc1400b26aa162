// In: one compilation. Out: its story as steps (trace → graph → run → replay), and what is true after each of them.
// Invariant: during the trace only the ledger grows and the world stays; during the replay one entry after the other reaches the
// world; nodes keep their order, entries keep theirs, and the two are merged by source line.

import type { Compilation } from "../report/types.js";

export type Step =
  | { kind: "start" }
  | { kind: "trace-node"; graph: number; node: number }
  | { kind: "trace-mutation"; index: number }
  | { kind: "graph" }
  | { kind: "run" }
  | { kind: "replay"; index: number };

export type Phase = "before" | "trace" | "graph" | "run" | "replay";

export interface World {
  phase: Phase;
  /** Keys of nodes that exist: see nodeKey. */
  nodes: ReadonlySet<string>;
  /** Indices into the ledger. */
  recorded: ReadonlySet<number>;
  replayed: ReadonlySet<number>;
}

export function nodeKey(graph: number, node: number): string {
  return `${graph}.${node}`;
}

export function stepsOf(compilation: Compilation): Step[] {
  const nodes = compilation.graphs.flatMap((graph, g) =>
    graph.nodes.map((node) => ({ g, id: node.id, line: node.line ?? 0 })),
  );
  const entries = compilation.ledger.map((entry, index) => ({ index, line: entry.sites[0]?.line ?? 0 }));
  const steps: Step[] = [{ kind: "start" }];
  let n = 0;
  let e = 0;
  while (n < nodes.length || e < entries.length) {
    const node = nodes[n];
    const entry = entries[e];
    if (node && (!entry || node.line <= entry.line)) {
      steps.push({ kind: "trace-node", graph: node.g, node: node.id });
      ++n;
    } else if (entry) {
      steps.push({ kind: "trace-mutation", index: entry.index });
      ++e;
    }
  }
  if (compilation.graphs.length > 0) steps.push({ kind: "graph" }, { kind: "run" });
  const order = [...compilation.ledger.keys()].sort(
    (a, b) => orderOf(compilation, a) - orderOf(compilation, b),
  );
  for (const index of order) steps.push({ kind: "replay", index });
  return steps;
}

function orderOf(compilation: Compilation, index: number): number {
  return compilation.ledger[index]?.order ?? index;
}

export function worldAt(steps: readonly Step[], last: number): World {
  const nodes = new Set<string>();
  const recorded = new Set<number>();
  const replayed = new Set<number>();
  let phase: Phase = "before";
  for (const step of steps.slice(0, last + 1)) {
    switch (step.kind) {
      case "start":
        break;
      case "trace-node":
        nodes.add(nodeKey(step.graph, step.node));
        phase = "trace";
        break;
      case "trace-mutation":
        recorded.add(step.index);
        phase = "trace";
        break;
      case "graph":
      case "run":
        phase = step.kind;
        break;
      case "replay":
        replayed.add(step.index);
        phase = "replay";
        break;
      default:
        step satisfies never;
    }
  }
  return { phase, nodes, recorded, replayed };
}

/** One sentence about a step. */
export function describe(compilation: Compilation, step: Step): string {
  switch (step.kind) {
    case "start":
      return `${compilation.function} is about to be traced; nothing has happened.`;
    case "trace-node": {
      const node = compilation.graphs[step.graph]?.nodes.find((candidate) => candidate.id === step.node);
      return node ? `Trace: %${node.id} ${node.op} enters the graph.` : "Trace.";
    }
    case "trace-mutation": {
      const entry = compilation.ledger[step.index];
      return entry
        ? `Trace: ${entry.source} ${entry.operation} is recorded in the ledger; the object stays as it is.`
        : "Trace.";
    }
    case "graph":
      return "The graph is complete and pure: no mutation is in it.";
    case "run":
      return "Guards hold, the kernels run; the world is still untouched.";
    case "replay": {
      const entry = compilation.ledger[step.index];
      return entry ? `Replay: ${entry.source} ${entry.operation} reaches the object.` : "Replay.";
    }
    default:
      return step satisfies never;
  }
}
