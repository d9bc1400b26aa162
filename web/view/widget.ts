// In: a notebook's widget model with `report`, and optionally `source` and `file`. Out: the view, following changes.
// Invariant: shaped as anywidget asks (`render({model, el})` returns its own clean-up).

import type { Report } from "../report/types.js";
import { mount, type MountOptions } from "./mount.js";

export interface WidgetModel {
  get(name: string): unknown;
  on(event: string, callback: () => void): void;
  off?(event: string, callback: () => void): void;
}

function reportOf(model: WidgetModel): Report | null {
  const value = model.get("report");
  if (typeof value === "string") return value === "" ? null : (JSON.parse(value) as Report);
  return (value as Report | null | undefined) ?? null;
}

function optionsOf(model: WidgetModel): MountOptions {
  const source = model.get("source");
  const file = model.get("file");
  return { ...(typeof source === "string" ? { source } : {}), ...(typeof file === "string" ? { file } : {}) };
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const view = mount(el, reportOf(model), optionsOf(model));
  const follow = () => view.update(reportOf(model), optionsOf(model));
  const events = ["change:report", "change:source"];
  for (const event of events) model.on(event, follow);
  return () => {
    for (const event of events) model.off?.(event, follow);
    view.destroy();
  };
}

export default { render };
