// In: a report, and what people select in any pane. Out: signals that every pane reads.
// Invariant: there is one selection, one compilation and one step at a time; a new report keeps the compilation that has the same
// function, drops the selection of code that is gone, and shows the end of the story.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Compilation, Report } from "../report/types.js";
import { overlaps, type Span } from "./span.js";
import { stepsOf, worldAt, type Step, type World } from "./steps.js";

export type PaneName =
  | "source"
  | "graph"
  | "guards"
  | "ledger"
  | "objects"
  | "original"
  | "rewritten"
  | "kernels"
  | "breaks"
  | "stepper";

export interface Selection {
  span: Span;
  from: PaneName;
}

export class ViewModel {
  readonly report: Signal<Report | null> = signal(null);
  readonly chosen: Signal<number> = signal(0);
  readonly selection: Signal<Selection | null> = signal(null);
  /** Address of the catalogue of graph breaks, where the host has one. */
  catalogueURL: string | null = null;
  /** null: the whole story. */
  readonly step: Signal<number | null> = signal(null);
  /** Milliseconds that the host has measured, by name; of the report shown. */
  readonly measured: Signal<Record<string, number>> = signal({});
  readonly compilation: ReadonlySignal<Compilation | null>;
  readonly steps: ReadonlySignal<Step[]>;
  readonly world: ReadonlySignal<World>;

  constructor() {
    this.compilation = computed(() => {
      const all = this.report.value?.compilations ?? [];
      return all[this.chosen.value] ?? all[0] ?? null;
    });
    this.steps = computed(() => (this.compilation.value ? stepsOf(this.compilation.value) : []));
    this.world = computed(() => worldAt(this.steps.value, this.step.value ?? this.steps.value.length - 1));
  }

  show(report: Report | null, measured: Record<string, number> = {}): void {
    this.measured.value = measured;
    const name = this.compilation.peek()?.function;
    const index = report?.compilations.findIndex((compilation) => compilation.function === name) ?? -1;
    this.report.value = report;
    this.chosen.value = Math.max(0, index);
    this.step.value = null;
  }

  choose(index: number): void {
    this.chosen.value = index;
    this.step.value = null;
    this.selection.value = null;
  }

  select(span: Span | null, from: PaneName): void {
    this.selection.value = span && { span, from };
  }

  /** Whether something at `spans` belongs to the selection. */
  linked(spans: readonly (Span | null)[]): boolean {
    const selection = this.selection.value;
    return selection !== null && spans.some((span) => span !== null && overlaps(span, selection.span));
  }
}
