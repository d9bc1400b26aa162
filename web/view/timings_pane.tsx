// In: the report's counters, a compilation's stage times, and what the host has measured. Out: small tables.
// Invariant: only what was measured; no estimates.

import type { Compilation, Counters, Report } from "../report/types.js";
import type { ViewModel } from "./model.js";

const kCounterNames: Record<keyof Counters, string> = {
  frames: "frames seen",
  compilations: "compilations",
  graphs: "graphs",
  breaks: "graph breaks",
  recompiles: "recompilations",
  cacheHits: "cache hits",
  replays: "replays",
  fallbacks: "fallbacks to eager",
};

interface TimingsPaneProps {
  model: ViewModel;
  report: Report;
  compilation: Compilation;
}

export function TimingsPane({ model, report, compilation }: TimingsPaneProps) {
  const stages = Object.entries(compilation.timings ?? {});
  const together = stages.reduce((sum, [, milliseconds]) => sum + milliseconds, 0);
  const tables = [
    {
      title: "What the first call did besides running",
      rows: stages.length > 0 ? [...stages, ["together", together] as const] : [],
    },
    { title: "Whole program", rows: Object.entries(model.measured.value) },
  ].filter(({ rows }) => rows.length > 0);
  return (
    <div class="tb-figures">
      <dl>
        {(Object.keys(kCounterNames) as (keyof Counters)[]).map((name) => (
          <div key={name}>
            <dt>{kCounterNames[name]}</dt>
            <dd>{report.counters[name]}</dd>
          </div>
        ))}
      </dl>
      {tables.map(({ title, rows }) => (
        <div key={title}>
          <h4>{title}</h4>
          <dl>
            {rows.map(([name, milliseconds]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{milliseconds.toFixed(2)} ms</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </div>
  );
}
