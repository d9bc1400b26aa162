// In: a report and the sections asked for. Out: text for a terminal.
// Invariant: pure; the same report gives the same text; nothing of the report is left out silently.

import type { Compilation, Instruction, Mutation, Report } from "./types.js";

export const kSections = ["graph", "guards", "ledger", "bytecode", "kernels", "replay", "breaks"] as const;
export type Section = (typeof kSections)[number];

export function printReport(report: Report, sections: readonly Section[]): string {
  const parts = report.compilations.map((compilation) => printCompilation(compilation, sections));
  if (parts.length === 0) parts.push("nothing was compiled");
  return `${parts.join("\n\n")}\n`;
}

function printCompilation(compilation: Compilation, sections: readonly Section[]): string {
  const place = `${basename(compilation.file)}:${compilation.line}`;
  const head = `── #${compilation.id} ${compilation.function} (${place}) · ${compilation.status} · ${compilation.trigger}`;
  return [head, ...sections.flatMap((section) => printSection(compilation, section))].join("\n");
}

function printSection(compilation: Compilation, section: Section): string[] {
  switch (section) {
    case "graph":
      return title(
        "graph",
        compilation.graphs.length === 0 ? ["none"] : compilation.graphs.flatMap((graph) => lines(graph.text)),
      );
    case "guards":
      return title(
        "guards",
        compilation.guards.map(
          (guard) => `${guard.text}${guard.line === null ? "" : `   (line ${guard.line})`}`,
        ),
      );
    case "ledger":
      return title("ledger", compilation.ledger.map(ledgerLine));
    case "bytecode":
      return [
        ...title("bytecode, original", compilation.bytecode.original.instructions.map(instructionLine)),
        ...title(
          "bytecode, rewritten",
          compilation.bytecode.rewritten?.instructions.map(instructionLine) ?? [],
        ),
      ];
    case "kernels":
      return title(
        "kernels",
        compilation.graphs.flatMap((graph) => [
          ...graph.kernels.flatMap((kernel) => [
            `${kernel.name}: nodes ${nodesOf(kernel)}`,
            ...lines(kernel.loops),
            ...lines(kernel.text),
          ]),
          ...(graph.shaders ?? []).flatMap((shader) => [
            `${shader.name}, on the GPU: nodes ${nodesOf(shader)}`,
            ...lines(shader.text),
          ]),
        ]),
      );
    case "replay":
      return title("replay", compilation.ledger.map(replayLine));
    case "breaks":
      return title(
        "graph breaks",
        compilation.breaks.map(
          (b) =>
            `${basename(b.file)}:${b.line} ${b.code}, ${b.reason}: ${b.explanation}${b.hint ? ` Hint: ${b.hint}` : ""}`,
        ),
      );
    default:
      return section satisfies never;
  }
}

function nodesOf({ nodes }: { nodes: number[] }): string {
  return nodes.map((id) => `%${id}`).join(" ");
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function title(name: string, body: string[]): string[] {
  return [`  ${name}`, ...(body.length === 0 ? ["none"] : body).map((line) => `    ${line}`)];
}

function lines(text: string): string[] {
  return text.replace(/\n+$/, "").split("\n");
}

function sitesOf(entry: Mutation): string {
  return entry.sites
    .map((site) => `${basename(site.file)}:${site.line}:${site.col}-${site.endCol}`)
    .join(", ");
}

function ledgerLine(entry: Mutation): string {
  const change = entry.before === undefined ? entry.after : `${entry.before} → ${entry.after}`;
  return `${entry.order}. ${entry.kind}  ${entry.source}  ${entry.operation}  ${change}   (${sitesOf(entry)})`;
}

function replayLine(entry: Mutation): string {
  return `${entry.order}. ${entry.source} ${entry.operation}: ${entry.after}   (settled at ${entry.settledAt ?? "return"})`;
}

function instructionLine(instruction: Instruction): string {
  const line = instruction.line === null ? "" : String(instruction.line);
  const role = instruction.role ? ` ${instruction.role.padEnd(8)}` : "";
  const argument = instruction.argrepr || (instruction.arg === null ? "" : String(instruction.arg));
  return `${line.padStart(5)}${role} ${String(instruction.offset).padStart(5)} ${instruction.op.padEnd(26)} ${argument}`.trimEnd();
}
