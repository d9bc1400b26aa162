// In: an element and the program. Out: a CodeMirror editor that says what changed and where the cursor is.
// Invariant: marks and diagnostics never change the text; setText is not reported as the user's edit.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { Annotation, Compartment, EditorState, StateEffect, StateField, type Range } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Span } from "../view/span.js";

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  onChange: (text: string) => void;
  /** 1-based lines, 0-based columns; equal ends are a cursor. */
  onCursor: (line: number, col: number, endLine: number, endCol: number) => void;
  onRun: () => void;
}

export interface Marker {
  line: number;
  severity: "error" | "warning";
  message: string;
}

const searchSlot = new Compartment();
const markerSlot = new Compartment();
const byProgram = Annotation.define<boolean>();
const setLinked = StateEffect.define<Span | null>();

const linkedField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setLinked)) return decorate(transaction.state, effect.value);
    }
    return value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const kLine = Decoration.line({ class: "cm-linked-line" });
const kRange = Decoration.mark({ class: "cm-linked-range" });

function decorate(state: EditorState, span: Span | null): DecorationSet {
  if (!span || span.line < 1 || span.line > state.doc.lines) return Decoration.none;
  const ranges: Range<Decoration>[] = [];
  const lastLine = Math.min(span.endLine, state.doc.lines);
  for (let number = span.line; number <= lastLine; ++number)
    ranges.push(kLine.range(state.doc.line(number).from));
  if (span.col !== null && span.endCol !== null) {
    const from = offsetOf(state, span.line, span.col);
    const to = offsetOf(state, lastLine, span.endCol);
    if (to > from) ranges.push(kRange.range(from, to));
  }
  return Decoration.set(ranges, true);
}

/** Columns of the report are UTF-8 bytes; CodeMirror counts UTF-16 units. */
function offsetOf(state: EditorState, line: number, column: number): number {
  const { from, text } = state.doc.line(line);
  const bytes = new TextEncoder().encode(text).subarray(0, column);
  return from + Math.min(text.length, new TextDecoder().decode(bytes).length);
}

function columnOf(text: string, units: number): number {
  return new TextEncoder().encode(text.slice(0, units)).length;
}

const kHighlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)],
    color: "var(--code-name)",
    fontWeight: "600",
  },
  { tag: tags.meta, color: "var(--code-meta)" },
]);

export class Editor {
  readonly #view: EditorView;
  #markers: readonly Marker[] = [];
  #marks = false;

  constructor(options: EditorOptions) {
    this.#view = new EditorView({
      parent: options.parent,
      state: EditorState.create({
        doc: options.text,
        extensions: [
          lineNumbers(),
          highlightActiveLineGutter(),
          highlightSpecialChars(),
          history(),
          drawSelection(),
          indentOnInput(),
          indentUnit.of("    "),
          bracketMatching(),
          closeBrackets(),
          searchSlot.of([]),
          markerSlot.of([]),
          pythonLanguage,
          syntaxHighlighting(kHighlight),
          linkedField,
          EditorView.contentAttributes.of({
            "aria-label": "Program",
            "aria-description": "Tab indents; Escape leaves the editor.",
            tabindex: "0",
            spellcheck: "false",
            autocapitalize: "off",
          }),
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                options.onRun();
                return true;
              },
            },
            { key: "Escape", run: (view) => (view.contentDOM.blur(), true) },
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            { key: "Mod-f", run: (view) => (void search(view), true) },
            indentWithTab,
          ]),
          EditorView.updateListener.of((update) => {
            const own = update.transactions.some((transaction) => transaction.annotation(byProgram));
            if (update.docChanged && !own) options.onChange(update.state.doc.toString());
            if (update.selectionSet && !own && update.view.hasFocus) reportCursor(update.state, options);
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  setText(text: string): void {
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      annotations: byProgram.of(true),
      effects: setLinked.of(null),
    });
    this.#view.scrollDOM.scrollTop = 0;
  }

  /** Marks a place; with `reveal`, scrolls it into view. */
  link(span: Span | null, reveal: boolean): void {
    const effects: StateEffect<unknown>[] = [setLinked.of(span)];
    if (span && reveal && span.line <= this.#view.state.doc.lines) {
      effects.push(
        EditorView.scrollIntoView(this.#view.state.doc.line(span.line).from, { y: "nearest", yMargin: 40 }),
      );
    }
    this.#view.dispatch({ effects });
  }

  /** Their code is fetched with the first. */
  async setMarkers(markers: readonly Marker[]): Promise<void> {
    this.#markers = markers;
    if (markers.length === 0 && !this.#marks) return;
    const { mark, marking } = await import("./editor_markers.js");
    if (markers !== this.#markers) return; // others came meanwhile
    if (!this.#marks) this.#view.dispatch({ effects: markerSlot.reconfigure(marking) });
    this.#marks = true;
    this.#view.dispatch(mark(this.#view.state, markers));
  }

  focus(): void {
    this.#view.focus();
  }
}

/** Opens the search panel; its code is fetched the first time. */
async function search(view: EditorView): Promise<void> {
  const { searching, openSearchPanel } = await import("./editor_search.js");
  if (searchSlot.get(view.state) !== searching) view.dispatch({ effects: searchSlot.reconfigure(searching) });
  openSearchPanel(view);
}

function reportCursor(state: EditorState, { onCursor }: EditorOptions): void {
  const { from, to } = state.selection.main;
  const first = state.doc.lineAt(from);
  const last = state.doc.lineAt(to);
  onCursor(
    first.number,
    columnOf(first.text, from - first.from),
    last.number,
    columnOf(last.text, to - last.from),
  );
}
