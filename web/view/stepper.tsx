// In: the steps of a compilation. Out: a slider and buttons that walk trace → graph → run → replay.
// Invariant: arrow keys work on the slider; each step selects its place in the source; the sentence is announced politely.

import type { Compilation } from "../report/types.js";
import type { ViewModel } from "./model.js";
import { spanOfLine, spanOfSite, type Span } from "./span.js";
import { describe, type Phase, type Step } from "./steps.js";

const kPhases: { phase: Phase; title: string }[] = [
  { phase: "trace", title: "Trace" },
  { phase: "graph", title: "Graph" },
  { phase: "run", title: "Run" },
  { phase: "replay", title: "Replay" },
];

interface StepperProps {
  model: ViewModel;
  compilation: Compilation;
}

export function Stepper({ model, compilation }: StepperProps) {
  const steps = model.steps.value;
  const last = steps.length - 1;
  const at = model.step.value ?? last;
  const phase = model.world.value.phase;
  const go = (index: number) => {
    const next = Math.max(0, Math.min(last, index));
    model.step.value = next;
    model.select(spanOf(compilation, steps[next]), "stepper");
  };
  const current = steps[at];
  return (
    <div class="tb-stepper">
      <div class="tb-stepper-row">
        <button type="button" aria-label="One step back" disabled={at <= 0} onClick={() => go(at - 1)}>
          ‹
        </button>
        <input
          type="range"
          min={0}
          max={last}
          value={at}
          aria-label="Step of the story"
          aria-valuetext={current ? describe(compilation, current) : ""}
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <button type="button" aria-label="One step forward" disabled={at >= last} onClick={() => go(at + 1)}>
          ›
        </button>
        <span class="tb-dim tb-count">
          {at}/{last}
        </span>
      </div>
      <ol class="tb-phases">
        {kPhases.map(({ phase: name, title }) => (
          <li
            key={name}
            class={phase === name ? "is-current" : ""}
            aria-current={phase === name ? "step" : undefined}
          >
            {title}
          </li>
        ))}
      </ol>
      <p class="tb-sentence" role="status">
        {current ? describe(compilation, current) : ""}
      </p>
    </div>
  );
}

function spanOf(compilation: Compilation, step: Step | undefined): Span | null {
  if (!step) return null;
  switch (step.kind) {
    case "trace-node":
      return spanOfLine(
        compilation.file,
        compilation.graphs[step.graph]?.nodes.find((node) => node.id === step.node)?.line ?? null,
      );
    case "trace-mutation":
    case "replay": {
      const site = compilation.ledger[step.index]?.sites[0];
      return site ? spanOfSite(site) : null;
    }
    case "start":
    case "graph":
    case "run":
      return null;
    default:
      return step satisfies never;
  }
}
