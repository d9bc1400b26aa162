// In: markers by line. Out: the editor's marks for them, in the gutter and under the text; a module of its own that is fetched with the first.

import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import type { EditorState, TransactionSpec } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import type { Marker } from "./editor.js";

/** F8 goes from mark to mark. */
export const marking = [lintGutter(), keymap.of(lintKeymap)];

export function mark(state: EditorState, markers: readonly Marker[]): TransactionSpec {
  const { doc } = state;
  const diagnostics = markers
    .filter(({ line }) => line >= 1 && line <= doc.lines)
    .map(({ line, severity, message }): Diagnostic => {
      const { from, to, text } = doc.line(line);
      return { from: from + (text.length - text.trimStart().length), to, severity, message };
    })
    .sort((a, b) => a.from - b.from);
  return setDiagnostics(state, diagnostics);
}
