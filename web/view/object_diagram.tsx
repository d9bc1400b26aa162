// In: the objects of a ledger at a step. Out: them as boxes with their fields, and arrows where one holds another.
// Invariant: what has changed has a tick as well as a colour, what still waits in the ledger a word.

import { useMemo } from "preact/hooks";
import type { Compilation } from "../report/types.js";
import { ArrowMarker } from "./arrow_marker.js";
import type { ViewModel } from "./model.js";
import { fitted, kHead, kRow, layoutObjects, referenceKey, type ObjectBox } from "./object_layout.js";
import { objectsAt, referencesOf, type FieldState, type ObjectState } from "./objects.js";
import { shortSource } from "./source_name.js";
import { spanOfSite } from "./span.js";
import { worldAt } from "./steps.js";

const kLeastScale = 0.75; // below it, the diagram scrolls

interface ObjectDiagramProps {
  model: ViewModel;
  compilation: Compilation;
  objects: ObjectState[];
}

export function ObjectDiagram({ model, compilation, objects }: ObjectDiagramProps) {
  const steps = model.steps.value;
  const plan = useMemo(() => {
    const replay = steps.findIndex((step) => step.kind === "replay");
    const stages = [0, replay - 1, steps.length - 1].map((step) =>
      objectsAt(compilation, worldAt(steps, step)),
    );
    return layoutObjects(stages, stages.flatMap(referencesOf));
  }, [compilation, steps]);
  const names = new Set(objects.map(({ name }) => name));
  return (
    <div class="tb-objects" tabIndex={0} role="group" aria-label="Diagram of the objects">
      <svg
        viewBox={`0 0 ${plan.width} ${plan.height}`}
        style={{ maxWidth: `${plan.width}px`, minWidth: `${kLeastScale * plan.width}px` }}
        role="img"
        aria-label={objects.map(sentenceOf).join(" ")}
      >
        <defs>
          <ArrowMarker id="tb-holds" />
        </defs>
        {referencesOf(objects).map((reference) => {
          const points = plan.arrows.get(referenceKey(reference)) ?? [];
          return (
            <path
              key={`${referenceKey(reference)} ${reference.field}`}
              class="tb-edge"
              d={points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join(" ")}
              marker-end="url(#tb-holds)"
            >
              <title>{`${reference.from}${reference.field} is ${reference.to}`}</title>
            </path>
          );
        })}
        {objects.map((object) => {
          const box = plan.boxes.get(object.name);
          return (
            box && <ObjectCard key={object.name} model={model} object={object} box={box} names={names} />
          );
        })}
      </svg>
    </div>
  );
}

/** "self: .calls 0." */
function sentenceOf({ name, fields }: ObjectState): string {
  const parts = fields.map(({ name: field, value, applied }) => [field, value, ...applied].join(" "));
  return `${shortSource(name)}: ${parts.join(", ")}.`;
}

interface ObjectCardProps {
  model: ViewModel;
  object: ObjectState;
  box: ObjectBox;
  /** Of all objects in the diagram. */
  names: ReadonlySet<string>;
}

function ObjectCard({ model, object, box, names }: ObjectCardProps) {
  let row = 0;
  return (
    <g class="tb-object-box" transform={`translate(${box.x} ${box.y})`}>
      <title>{object.name}</title>
      <rect width={box.width} height={box.height} rx="7" />
      <text class="tb-title" x="10" y="16">
        {fitted(shortSource(object.name))}
      </text>
      <path class="tb-edge" d={`M0 ${kHead} H${box.width}`} />
      {object.fields.map((field) => {
        const top = kHead + row * kRow;
        row += 1 + field.entries.length;
        return (
          <FieldRows key={field.name} model={model} field={field} names={names} top={top} width={box.width} />
        );
      })}
    </g>
  );
}

interface FieldRowsProps {
  model: ViewModel;
  field: FieldState;
  names: ReadonlySet<string>;
  top: number;
  width: number;
}

function FieldRows({ model, field, names, top, width }: FieldRowsProps) {
  const spans = field.entries.flatMap((entry) => entry.sites.map(spanOfSite));
  const { applied, waiting } = field;
  const value = names.has(field.value) ? ` → ${shortSource(field.value)}` : `: ${field.value}`;
  const changedAsWhole = field.changed && applied.length === 0;
  const rows = [
    { text: `${field.name}${value}`, kind: changedAsWhole ? "changed" : "as-it-was" },
    ...applied.map((text) => ({ text, kind: "changed" })),
    ...waiting.map((text) => ({ text: `ledger: ${text}`, kind: "waiting" })),
  ];
  return (
    <g
      class={model.linked(spans) ? "tb-field is-linked" : "tb-field"}
      onClick={() => model.select(spans[0] ?? null, "objects")}
    >
      <rect x="1" y={top + 1} width={width - 2} height={rows.length * kRow + 1} />
      {rows.map(({ text, kind }, index) => (
        <text key={index} class={`is-${kind}`} x="10" y={top + index * kRow + 14}>
          <title>{text}</title>
          {fitted(kind === "changed" ? `✓ ${text}` : text)}
        </text>
      ))}
    </g>
  );
}
