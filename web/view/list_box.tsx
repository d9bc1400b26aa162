// In: rows with places in the source. Out: a list for eyes, mouse and keyboard, in which the rows of the one selection are marked.
// Invariant: one tab stop; arrow keys, Home and End move; choosing a row selects its place everywhere; a selection made elsewhere
// scrolls only the list itself.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { PaneName, ViewModel } from "./model.js";
import type { Span } from "./span.js";

export interface Row {
  key: string;
  spans: (Span | null)[];
  /** Not there yet at the stepper's step. */
  pending?: boolean;
  className?: string;
  content: ComponentChildren;
}

export interface ListBoxProps {
  model: ViewModel;
  pane: PaneName;
  label: string;
  rows: Row[];
  empty: string;
  className?: string;
}

export function ListBox({ model, pane, label, rows, empty, className }: ListBoxProps) {
  const prefix = useId();
  const list = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const selection = model.selection.value;
  const firstLinked = selection ? rows.findIndex((row) => model.linked(row.spans)) : -1;

  useEffect(() => {
    if (!list.current || firstLinked < 0 || selection?.from === pane) return;
    setActive(firstLinked);
    revealIn(list.current, list.current.children[firstLinked]);
  }, [selection, firstLinked, pane]);

  if (rows.length === 0) return <p class="tb-empty">{empty}</p>;

  const current = Math.min(active, rows.length - 1);
  const choose = (index: number) => {
    const row = rows[index];
    if (!row) return;
    setActive(index);
    model.select(row.spans.find((span) => span !== null) ?? null, pane);
    if (list.current) revealIn(list.current, list.current.children[index]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = moveBy(event.key, current, rows.length);
    if (target === undefined) return;
    event.preventDefault();
    choose(target);
  };

  return (
    <div
      ref={list}
      class={`tb-list ${className ?? ""}`}
      role="listbox"
      aria-label={label}
      aria-multiselectable="true"
      aria-activedescendant={`${prefix}-${current}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      {rows.map((row, index) => {
        const linked = model.linked(row.spans);
        const classes = [
          "tb-row",
          row.className,
          linked && "is-linked",
          row.pending && "is-pending",
          index === current && "is-active",
        ];
        return (
          <div
            key={row.key}
            id={`${prefix}-${index}`}
            class={classes.filter(Boolean).join(" ")}
            role="option"
            aria-selected={linked}
            onClick={() => choose(index)}
          >
            {row.content}
          </div>
        );
      })}
    </div>
  );
}

function moveBy(key: string, current: number, count: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return Math.min(count - 1, current + 1);
    case "ArrowUp":
      return Math.max(0, current - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    case "Enter":
    case " ":
      return current;
    default:
      return undefined;
  }
}

function revealIn(box: HTMLElement, child: Element | undefined): void {
  if (!(child instanceof HTMLElement)) return;
  const top = child.offsetTop - box.offsetTop;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + child.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top + child.offsetHeight - box.clientHeight;
}
