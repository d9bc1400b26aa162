// In: a compilation's ledger and the stepper's step. Out: the entries in replay order, and the objects as they stand at that step.

import type { Compilation, Mutation } from "../report/types.js";
import { ListBox } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { afterOf } from "./objects.js";
import { ObjectsPane } from "./objects_pane.js";
import { placeOf, spanOfSite } from "./span.js";

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
      <ObjectsPane model={model} compilation={compilation} />
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
          {afterOf(entry)}
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
