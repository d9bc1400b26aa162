// In: a compilation's guards and the other versions of the same code. Out: premises as rows, and why each version was made.
// Invariant: a guard is shown by its text; one that failed says how often.

import type { Compilation, Report } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { RecompileMatrix } from "./recompile_matrix.js";
import { RowEnd } from "./row_end.js";
import { spanOfLine } from "./span.js";
import { versionsOf } from "./versions.js";

interface GuardsPaneProps {
  model: ViewModel;
  report: Report;
  compilation: Compilation;
}

export function GuardsPane({ model, report, compilation }: GuardsPaneProps) {
  const versions = versionsOf(report, compilation);
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
              <RowEnd line={guard.line}>
                {guard.hits ? <span class="tb-failed">failed {guard.hits}×</span> : null}
                {guard.cost !== undefined && (
                  <span class="tb-dim" title="Steps that checking it adds">
                    {guard.cost} step{guard.cost === 1 ? "" : "s"}
                  </span>
                )}
                <span class="tb-kind">{guard.kind}</span>
              </RowEnd>
            </>
          ),
        }))}
      />
      {versions.length > 1 && (
        <RecompileMatrix model={model} report={report} compilation={compilation} versions={versions} />
      )}
    </>
  );
}
