// In: a compilation's graph breaks. Out: each with its reason, explanation, hint and place.
// Invariant: no breaks is good news and said as such.

import type { Compilation } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";

interface BreaksPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function BreaksPane({ model, compilation }: BreaksPaneProps) {
  return (
    <ListBox
      model={model}
      pane="breaks"
      label="Graph breaks"
      empty="No graph breaks: everything was traced."
      rows={compilation.breaks.map((item, index) => ({
        key: String(index),
        spans: [spanOfLine(item.file, item.line)],
        content: (
          <span class="tb-entry">
            <span class="tb-entry-head">
              <b>{item.reason}</b>
              <span class="tb-row-end tb-dim">line {item.line}</span>
            </span>
            <span>{item.explanation}</span>
            {item.hint && <span class="tb-hint">{item.hint}</span>}
          </span>
        ),
      }))}
    />
  );
}
