// In: a compilation's graph breaks. Out: each with its reason, explanation, hint and place, and links to the catalogue.
// Invariant: no breaks is good news and said as such.

import type { Compilation } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { RowEnd } from "./row_end.js";
import { spanOfLine } from "./span.js";

interface BreaksPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function BreaksPane({ model, compilation }: BreaksPaneProps) {
  const codes = [...new Set(compilation.breaks.map((item) => item.code))];
  return (
    <>
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
                <RowEnd line={item.line}>
                  <span class="tb-tag">{item.code}</span>
                </RowEnd>
              </span>
              <span>{item.explanation}</span>
              {item.hint && <span class="tb-hint">{item.hint}</span>}
            </span>
          ),
        }))}
      />
      {model.catalogueURL !== null && codes.length > 0 && (
        <p class="tb-note">
          In the catalogue, with examples:{" "}
          {codes.map((code, index) => (
            <span key={code}>
              {index > 0 && ", "}
              <a href={`${model.catalogueURL}#${code}`} target="_blank" rel="noreferrer">
                {code}
              </a>
            </span>
          ))}
        </p>
      )}
    </>
  );
}
