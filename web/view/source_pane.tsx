// In: a program's text. Out: its lines, read-only, linked with every other pane; for hosts that have no editor of their own.
// Invariant: line numbers are those of the report.

import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";

export function SourcePane({ model, source, file }: { model: ViewModel; source: string; file: string }) {
  return (
    <ListBox
      model={model}
      pane="source"
      label="Source"
      className="tb-code"
      empty="The source is empty."
      rows={source
        .replace(/\n$/, "")
        .split("\n")
        .map((text, index) => ({
          key: String(index),
          spans: [spanOfLine(file, index + 1)],
          content: (
            <>
              <span class="tb-line">{index + 1}</span>
              <span>{text || " "}</span>
            </>
          ),
        }))}
    />
  );
}
