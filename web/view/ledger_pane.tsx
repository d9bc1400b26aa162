// In: a compilation's ledger and the stepper's step. Out: the entries in replay order, and the objects as they stand at that step.
// Invariant: the objects show `before` until an entry has been replayed and `after` from then on, never anything in between.

import type { Compilation, Mutation } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { placeOf, spanOfSite } from "./span.js";
import type { World } from "./steps.js";

interface LedgerPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function LedgerPane({ model, compilation }: LedgerPaneProps) {
  const world = model.world.value;
  return (
    <>
      <ListBox
        model={model}
        pane="ledger"
        label="Ledger, in replay order"
        empty="The ledger is empty: this function changes nothing outside of itself."
        rows={compilation.ledger.map((entry, index) => ({
          key: String(index),
          spans: entry.sites.map(spanOfSite),
          pending: !world.recorded.has(index),
          className: world.replayed.has(index) ? "is-replayed" : "",
          content: (
            <Entry entry={entry} replayed={world.replayed.has(index)} recorded={world.recorded.has(index)} />
          ),
        }))}
      />
      {compilation.ledger.length > 0 && (
        <WorldDiagram compilation={compilation} world={world} model={model} />
      )}
    </>
  );
}

function Entry({ entry, replayed, recorded }: { entry: Mutation; replayed: boolean; recorded: boolean }) {
  const state = replayed ? "replayed" : recorded ? "recorded" : "not yet";
  return (
    <>
      <span class="tb-order">{entry.order}</span>
      <span class="tb-entry">
        <span class="tb-entry-head">
          <code class="tb-source">{entry.source}</code> <span class="tb-operation">{entry.operation}</span>
          <span class={`tb-row-end tb-state is-${state.replace(" ", "-")}`}>{state}</span>
        </span>
        <code class="tb-change tb-wrap">
          {entry.before !== undefined && (
            <>
              <span class="tb-before">{entry.before}</span> →{" "}
            </>
          )}
          {entry.after}
        </code>
        <span class="tb-dim tb-sites">
          {`${entry.kind} · `}
          {entry.sites
            .map((site) => `${placeOf(spanOfSite(site))}, columns ${site.col}–${site.endCol}`)
            .join("; ")}
          {entry.settledAt !== null && ` · settled at ${entry.settledAt}`}
        </span>
      </span>
    </>
  );
}

export interface FieldState {
  name: string;
  value: string;
  /** Changes of the contents that the replay has carried out: append('x'). */
  applied: string[];
  /** What the ledger holds for it and the replay has not carried out yet. */
  waiting: string[];
  changed: boolean;
  entries: Mutation[];
}

export interface ObjectState {
  name: string;
  fields: FieldState[];
}

/** Which object an entry writes, which part of it, and whether the part gets a whole new value. */
function placeIn(entry: Mutation): { object: string; field: string; whole: boolean } {
  const [, verb, key] = /^(?:[\w.]+\.)?(setattr|delattr|setitem|delitem) (.+)$/.exec(entry.operation) ?? [];
  if (verb?.endsWith("attr")) return { object: entry.source, field: `.${key}`, whole: true };
  if (entry.kind === "global")
    return { object: "module globals", field: plainName(key ?? entry.source), whole: true };
  if (entry.kind === "cell") return { object: "closure", field: entry.source, whole: true };
  if (verb?.endsWith("item")) return { object: entry.source, field: `[${key}]`, whole: true };
  return { object: entry.source, field: "contents", whole: false };
}

function plainName(key: string): string {
  return key.replace(/^'(.*)'$/, "$1");
}

/** "append('x')" for list.append of 'x'. */
function callOf(entry: Mutation): string {
  return `${entry.operation.slice(entry.operation.lastIndexOf(".") + 1)}(${entry.after})`;
}

function afterOf(entry: Mutation, whole: boolean): string {
  if (/\bdel(attr|item) /.test(entry.operation)) return "deleted";
  return whole ? entry.after : callOf(entry);
}

/** The objects that the ledger names: each part with its value now and what waits for it. */
export function objectsAt(compilation: Compilation, world: World): ObjectState[] {
  const objects = new Map<string, Map<string, FieldState>>();
  compilation.ledger.forEach((entry, index) => {
    if (entry.kind === "effect") return;
    const place = placeIn(entry);
    const fields = objects.get(place.object) ?? new Map<string, FieldState>();
    objects.set(place.object, fields);
    const value = entry.before ?? "as it was";
    const field = fields.get(place.field) ?? {
      name: place.field,
      value,
      applied: [],
      waiting: [],
      changed: false,
      entries: [],
    };
    fields.set(place.field, field);
    field.entries.push(entry);
    const after = afterOf(entry, place.whole);
    if (world.replayed.has(index)) {
      field.changed = true;
      if (place.whole) field.value = after;
      else field.applied.push(after);
    } else if (world.recorded.has(index)) {
      field.waiting.push(after);
    }
  });
  return [...objects].map(([name, fields]) => ({ name, fields: [...fields.values()] }));
}

function WorldDiagram({ model, compilation, world }: LedgerPaneProps & { world: World }) {
  const objects = objectsAt(compilation, world);
  if (objects.length === 0) return null;
  return (
    <div class="tb-world">
      <h4>Objects at this step</h4>
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
    </div>
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
