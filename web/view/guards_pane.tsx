// In: a compilation's guards and the other compilations of the same function. Out: premises as rows; versions with their triggers.
// Invariant: a guard is shown by its text; how often it was checked only where the report says it.

import type { Compilation, Report } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";

interface GuardsPaneProps {
  model: ViewModel;
  report: Report;
  compilation: Compilation;
}

export function GuardsPane({ model, report, compilation }: GuardsPaneProps) {
  const versions = report.compilations
    .map((candidate, index) => ({ candidate, index }))
    .filter(
      ({ candidate }) => candidate.function === compilation.function && candidate.line === compilation.line,
    );
  return (
    <>
      <ListBox
        model={model}
        pane="guards"
        label="Guards"
        empty="No guards: the compiled code holds whatever comes."
        rows={compilation.guards.map((guard, index) => ({
          key: String(index),
          spans: [spanOfLine(compilation.file, guard.line)],
          content: (
            <>
              <code class="tb-wrap">{guard.text}</code>
              <span class="tb-row-end">
                {guard.hits !== undefined && <span class="tb-dim">{guard.hits}×</span>}
                <span class="tb-kind">{guard.kind}</span>
                {guard.line !== null && <span class="tb-dim">line {guard.line}</span>}
              </span>
            </>
          ),
        }))}
      />
      {versions.length > 1 && (
        <table class="tb-table">
          <caption>Versions of {compilation.function}</caption>
          <thead>
            <tr>
              <th scope="col">#</th>
              <th scope="col">Compiled because</th>
              <th scope="col">Status</th>
            </tr>
          </thead>
          <tbody>
            {versions.map(({ candidate, index }) => (
              <tr key={candidate.id} class={candidate.id === compilation.id ? "is-current" : ""}>
                <td>
                  <button
                    type="button"
                    class="tb-link"
                    aria-label={`Show compilation ${candidate.id}`}
                    onClick={() => model.choose(index)}
                  >
                    {candidate.id}
                  </button>
                </td>
                <td>{candidate.trigger}</td>
                <td>{candidate.status}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
