// In: the kernels of a compilation's graphs, and what ran on the GPU. Out: each with its loop form and the code that runs.
// Invariant: an empty text means a library kernel and is said so.

import type { Compilation, Graph } from "../report/types.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";

interface KernelsPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

/** A wasm kernel or a shader. */
interface Code {
  name: string;
  nodes: number[];
  loops: string;
  text: string;
}

export function KernelsPane({ model, compilation }: KernelsPaneProps) {
  const { graphs } = compilation;
  const kernels = graphs.flatMap((graph) => graph.kernels.map((code) => ({ graph, code })));
  const shaders = graphs.flatMap((graph) =>
    (graph.shaders ?? []).map((shader) => ({ graph, code: { ...shader, loops: "" } })),
  );
  if (kernels.length + shaders.length === 0)
    return <p class="tb-empty">No kernels: the graph computes nothing, or has not been planned.</p>;
  const list = (codes: { graph: Graph; code: Code }[]) => (
    <ul class="tb-kernels">
      {codes.map(({ graph, code }, index) => (
        <CodeItem
          key={`${index}.${code.name}`}
          model={model}
          compilation={compilation}
          graph={graph}
          code={code}
        />
      ))}
    </ul>
  );
  return (
    <>
      {shaders.length > 0 && <h4>On the GPU, in WGSL: one dispatch each</h4>}
      {list(shaders)}
      {shaders.length > 0 && kernels.length > 0 && <h4>For the CPU, in WebAssembly</h4>}
      {list(kernels)}
    </>
  );
}

interface CodeItemProps extends KernelsPaneProps {
  graph: Graph;
  code: Code;
}

function CodeItem({ model, compilation, graph, code }: CodeItemProps) {
  const nodes = graph.nodes.filter((node) => code.nodes.includes(node.id));
  const spans = nodes.map((node) => spanOfLine(compilation.file, node.line));
  return (
    <li class={model.linked(spans) ? "is-linked" : ""}>
      <h4>
        <button
          type="button"
          class="tb-link"
          onClick={() => model.select(spans.find((span) => span !== null) ?? null, "kernels")}
        >
          {code.name}
        </button>
        <span class="tb-dim"> {nodes.map((node) => `%${node.id} ${node.op}`).join(", ")}</span>
      </h4>
      {code.loops && (
        <pre class="tb-pre" tabIndex={0} aria-label={`Loops of ${code.name}`}>
          {code.loops}
        </pre>
      )}
      {code.text ? (
        <details>
          <summary>Code of {code.name}</summary>
          <pre class="tb-pre" tabIndex={0} aria-label={`Code of ${code.name}`}>
            {code.text}
          </pre>
        </details>
      ) : (
        <p class="tb-dim">A library kernel: nothing is generated for it.</p>
      )}
    </li>
  );
}
