// In: a compilation's ledger and the stepper's step. Out: the objects at that step, as a diagram and the same as a list.
// Invariant: the diagram keeps its places from step to step, so that only what changes moves; what it shows can be had from the list.

import { useSignal } from "@preact/signals";
import type { Compilation } from "../report/types.js";
import { FormChoice, type Form } from "./form_choice.js";
import type { ViewModel } from "./model.js";
import { ObjectDiagram } from "./object_diagram.js";
import { objectsAt, type FieldState, type ObjectState } from "./objects.js";
import { spanOfSite } from "./span.js";

const kMostDrawn = 24;

export function ObjectsPane({ model, compilation }: { model: ViewModel; compilation: Compilation }) {
  const form = useSignal<Form>("drawing");
  const objects = objectsAt(compilation, model.world.value);
  if (objects.length === 0) return null;
  const drawable = objects.length <= kMostDrawn;
  const shown = drawable ? form.value : "list";
  return (
    <div class="tb-world">
      <div class="tb-toolbar">
        <h4>Objects at this step</h4>
        <FormChoice
          name="Objects"
          shown={shown}
          drawable={drawable}
          onChoose={(value) => (form.value = value)}
        />
      </div>
      {shown === "drawing" ? (
        <ObjectDiagram model={model} compilation={compilation} objects={objects} />
      ) : (
        <ObjectList model={model} objects={objects} />
      )}
    </div>
  );
}

function ObjectList({ model, objects }: { model: ViewModel; objects: ObjectState[] }) {
  return (
    <ul>
      {objects.map((object) => (
        <li key={object.name} class="tb-object">
          <code class="tb-object-name">{object.name}</code>
          <dl>
            {object.fields.map((field) => (
              <Field key={field.name} model={model} field={field} />
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}

function Field({ model, field }: { model: ViewModel; field: FieldState }) {
  const linked = model.linked(field.entries.flatMap((entry) => entry.sites.map(spanOfSite)));
  return (
    <div class={linked ? "is-linked" : ""}>
      <dt>
        <code>{field.name}</code>
      </dt>
      <dd class={field.changed ? "is-changed" : ""}>
        <code class="tb-wrap">{field.value}</code>
        {field.applied.map((call, index) => (
          <code key={index} class="tb-wrap tb-applied">
            {call}
          </code>
        ))}
        {field.changed && <span class="tb-note-end">changed</span>}
      </dd>
      {field.waiting.length > 0 && (
        <dd class="tb-waiting">
          <span>in the ledger:</span> <code class="tb-wrap">{field.waiting.join(", ")}</code>
        </dd>
      )}
    </div>
  );
}
