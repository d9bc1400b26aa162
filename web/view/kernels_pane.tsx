// In: the kernels of a compilation's graphs. Out: each with its loop form and the code that runs.
// Invariant: an empty text means a library kernel and is said so.

import type { Compilation } from "../report/types.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";

interface KernelsPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function KernelsPane({ model, compilation }: KernelsPaneProps) {
  const kernels = compilation.graphs.flatMap((graph, index) =>
    graph.kernels.map((kernel) => ({ graph, index, kernel })),
  );
  if (kernels.length === 0)
    return <p class="tb-empty">No kernels: the graph computes nothing, or has not been planned.</p>;
  return (
    <ul class="tb-kernels">
      {kernels.map(({ graph, index, kernel }) => {
        const nodes = graph.nodes.filter((node) => kernel.nodes.includes(node.id));
        const spans = nodes.map((node) => spanOfLine(compilation.file, node.line));
        return (
          <li key={`${index}.${kernel.name}`} class={model.linked(spans) ? "is-linked" : ""}>
            <h4>
              <button
                type="button"
                class="tb-link"
                onClick={() => model.select(spans.find((span) => span !== null) ?? null, "kernels")}
              >
                {kernel.name}
              </button>
              <span class="tb-dim"> {nodes.map((node) => `%${node.id} ${node.op}`).join(", ")}</span>
            </h4>
            {kernel.loops && (
              <pre class="tb-pre" tabIndex={0} aria-label={`Loops of ${kernel.name}`}>
                {kernel.loops}
              </pre>
            )}
            {kernel.text ? (
              <details>
                <summary>Code of {kernel.name}</summary>
                <pre class="tb-pre" tabIndex={0} aria-label={`Code of ${kernel.name}`}>
                  {kernel.text}
                </pre>
              </details>
            ) : (
              <p class="tb-dim">A library kernel: nothing is generated for it.</p>
            )}
          </li>
        );
      })}
    </ul>
  );
}
