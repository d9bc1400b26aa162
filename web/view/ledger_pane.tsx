// In: a compilation's ledger and the stepper's step. Out: the entries in replay order, and the objects as they stand at that step.
// Invariant: the world table shows `before` until an entry has been replayed and `after` from then on, never anything in between.

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
      {compilation.ledger.length > 0 && <WorldTable compilation={compilation} world={world} model={model} />}
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

interface ObjectState {
  source: string;
  value: string;
  waiting: string | null;
  changed: boolean;
  last: Mutation;
}

/** The objects that the ledger names, each with its value now and the value that waits for it. */
export function objectsAt(compilation: Compilation, world: World): ObjectState[] {
  const objects = new Map<string, ObjectState>();
  compilation.ledger.forEach((entry, index) => {
    if (entry.kind === "effect") return;
    const object = objects.get(entry.source) ?? {
      source: entry.source,
      value: entry.before ?? "as it was",
      waiting: null,
      changed: false,
      last: entry,
    };
    if (world.replayed.has(index))
      Object.assign(object, { value: entry.after, changed: true, waiting: null });
    else if (world.recorded.has(index)) object.waiting = entry.after;
    object.last = entry;
    objects.set(entry.source, object);
  });
  return [...objects.values()];
}

function WorldTable({ model, compilation, world }: LedgerPaneProps & { world: World }) {
  const objects = objectsAt(compilation, world);
  if (objects.length === 0) return null;
  return (
    <table class="tb-table tb-world">
      <caption>Objects at this step</caption>
      <thead>
        <tr>
          <th scope="col">Object</th>
          <th scope="col">In the world</th>
          <th scope="col">Waiting</th>
        </tr>
      </thead>
      <tbody>
        {objects.map((object) => (
          <tr key={object.source} class={model.linked(object.last.sites.map(spanOfSite)) ? "is-linked" : ""}>
            <th scope="row">
              <code>{object.source}</code>
            </th>
            <td class={object.changed ? "is-changed" : ""}>
              <code class="tb-wrap">{object.value}</code>
            </td>
            <td>
              {object.waiting === null ? (
                <span class="tb-dim">nothing</span>
              ) : (
                <code class="tb-wrap">{object.waiting}</code>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
