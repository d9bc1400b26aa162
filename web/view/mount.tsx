// In: an element of any page and a report. Out: the report view inside it, in a shadow root with its own style.
// Invariant: the host's style and ours do not touch; destroy() leaves the element as it was found.

import { render } from "preact";
import type { Report } from "../report/types.js";
import { ViewModel } from "./model.js";
import { ReportView } from "./report_view.js";
import { SourcePane } from "./source_pane.js";
import style from "./view.css?inline";

export interface MountOptions {
  /** The program, shown beside the report; `file` is its name in the report. */
  source?: string;
  file?: string;
  /** Address of a page with docs/graph-breaks.md, for links from breaks. */
  catalogueURL?: string;
}

export interface MountedView {
  update(report: Report | null, options?: MountOptions): void;
  destroy(): void;
}

/** Shows `report` in `element`. */
export function mount(element: HTMLElement, report: Report | null, options: MountOptions = {}): MountedView {
  const host = document.createElement("div");
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const root = document.createElement("div");
  root.className = "tb-root";
  shadow.append(sheet, root);
  element.append(host);
  const model = new ViewModel();
  model.catalogueURL = options.catalogueURL ?? null;

  const update = (next: Report | null, { source, file }: MountOptions = options) => {
    model.show(next);
    const name = file ?? next?.compilations[0]?.file ?? "program.py";
    render(
      <>
        {source !== undefined && <SourcePane model={model} source={source} file={name} />}
        <ReportView model={model} />
      </>,
      root,
    );
  };
  update(report);
  return {
    update,
    destroy() {
      render(null, root);
      host.remove();
    },
  };
}
