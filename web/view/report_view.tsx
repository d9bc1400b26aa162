// In: a ViewModel. Out: every pane but the source, as sections that can be folded.
// Invariant: reads the report only; an empty report has its own words.

import type { ComponentChildren } from "preact";
import type { Compilation, Report } from "../report/types.js";
import { BreaksPane } from "./breaks_pane.js";
import { BytecodePane } from "./bytecode_pane.js";
import { GraphPane } from "./graph_pane.js";
import { GuardsPane } from "./guards_pane.js";
import { KernelsPane } from "./kernels_pane.js";
import { LedgerPane } from "./ledger_pane.js";
import type { ViewModel } from "./model.js";
import { baseName } from "./span.js";
import { Stepper } from "./stepper.js";
import { TimingsPane } from "./timings_pane.js";

export function ReportView({ model }: { model: ViewModel }) {
  const report = model.report.value;
  const compilation = model.compilation.value;
  if (!report) return <p class="tb-empty tb-large">No report yet: run the program.</p>;
  if (!compilation) {
    return (
      <p class="tb-empty tb-large">
        Nothing was compiled. Decorate a function with <code>@torch.compile</code> and call it.
      </p>
    );
  }
  return (
    <div class="tb-report">
      <div class="tb-story">
        <CompilationMenu model={model} report={report} compilation={compilation} />
        <Stepper model={model} compilation={compilation} />
      </div>
      <div class="tb-columns">
        <div>
          <Section title="Graph" note={countOf(nodesOf(compilation), "node")}>
            <GraphPane model={model} compilation={compilation} />
          </Section>
          <Section title="Ledger" note={countOf(compilation.ledger.length, "mutation")}>
            <LedgerPane model={model} compilation={compilation} />
          </Section>
        </div>
        <div>
          <Section title="Guards" note={countOf(compilation.guards.length, "premise")}>
            <GuardsPane model={model} report={report} compilation={compilation} />
          </Section>
          <Section title="Graph breaks" note={countOf(compilation.breaks.length, "break")}>
            <BreaksPane model={model} compilation={compilation} />
          </Section>
        </div>
      </div>
      <Section title="Bytecode" note={bytecodeNote(compilation)}>
        <BytecodePane model={model} compilation={compilation} />
      </Section>
      <div class="tb-columns">
        <Section title="Kernels" note={countOf(kernelsOf(compilation), "kernel")}>
          <KernelsPane model={model} compilation={compilation} />
        </Section>
        <Section title="Counters and timing" note="">
          <TimingsPane model={model} report={report} compilation={compilation} />
        </Section>
      </div>
    </div>
  );
}

function nodesOf(compilation: Compilation): number {
  return compilation.graphs.reduce((sum, graph) => sum + graph.nodes.length, 0);
}

function kernelsOf(compilation: Compilation): number {
  return compilation.graphs.reduce((sum, graph) => sum + graph.kernels.length, 0);
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function bytecodeNote(compilation: Compilation): string {
  const { original, rewritten } = compilation.bytecode;
  return `${original.instructions.length} → ${rewritten?.instructions.length ?? 0} instructions`;
}

function Section({ title, note, children }: { title: string; note: string; children: ComponentChildren }) {
  return (
    <details class="tb-section" open>
      <summary>
        <h3>{title}</h3> <span class="tb-dim">{note}</span>
      </summary>
      <div class="tb-section-body">{children}</div>
    </details>
  );
}

function CompilationMenu({
  model,
  report,
  compilation,
}: {
  model: ViewModel;
  report: Report;
  compilation: Compilation;
}) {
  return (
    <label class="tb-menu">
      <span class="tb-dim">Compiled frame</span>
      <select
        value={String(report.compilations.indexOf(compilation))}
        onChange={(event) => model.choose(Number(event.currentTarget.value))}
      >
        {report.compilations.map((item, index) => (
          <option key={item.id} value={String(index)}>
            {`${item.function} · ${baseName(item.file)}:${item.line} · ${item.status} · ${item.trigger}`}
          </option>
        ))}
      </select>
    </label>
  );
}
