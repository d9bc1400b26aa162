// In: the report's counters and a compilation's stage times. Out: two small tables.
// Invariant: only what the report says; no estimates.

import type { Compilation, Counters, Report } from "../report/types.js";

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

export function TimingsPane({ report, compilation }: { report: Report; compilation: Compilation }) {
  const timings = Object.entries(compilation.timings ?? {});
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
      {timings.length > 0 && (
        <dl>
          {timings.map(([stage, milliseconds]) => (
            <div key={stage}>
              <dt>{stage}</dt>
              <dd>{milliseconds.toFixed(2)} ms</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
