// In: what is said of a row beside its text. Out: it at the row's end, with the line in the source last.

import type { ComponentChildren } from "preact";

export function RowEnd({ line, children }: { line: number | null; children: ComponentChildren }) {
  return (
    <span class="tb-row-end">
      {children}
      {line !== null && <span class="tb-dim">line {line}</span>}
    </span>
  );
}
