// In: the graphs of a compilation. Out: each as a drawing (search, kernels collapsed or not) and the same as a list.
// Invariant: what the drawing shows can be had from the list with the keyboard; beyond kMaxDrawn boxes only the list is offered.

import { useSignal } from "@preact/signals";
import type { Compilation, Graph, Node } from "../report/types.js";
import { FormChoice, type Form } from "./form_choice.js";
import { GraphDrawing } from "./graph_drawing.js";
import { matches, metaOf, titleOf } from "./graph_layout.js";
import { ListBox, type Row } from "./list_box.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";
import { nodeKey } from "./steps.js";

const kMaxDrawn = 600;

interface GraphPaneProps {
  model: ViewModel;
  compilation: Compilation;
}

export function GraphPane({ model, compilation }: GraphPaneProps) {
  if (compilation.graphs.length === 0) {
    return <p class="tb-empty">No graph: the function ran without a traced tensor operation.</p>;
  }
  return (
    <>
      {compilation.graphs.map((graph, index) => (
        <OneGraph
          key={`${compilation.id}.${index}`}
          model={model}
          compilation={compilation}
          graph={graph}
          index={index}
        />
      ))}
    </>
  );
}

interface OneGraphProps extends GraphPaneProps {
  graph: Graph;
  index: number;
}

function OneGraph({ model, compilation, graph, index }: OneGraphProps) {
  const form = useSignal<Form>("drawing");
  const search = useSignal("");
  const collapsed = useSignal(graph.kernels.length > 0 && graph.nodes.length > 60);
  const tooLarge = graph.nodes.length > kMaxDrawn;
  const shown = tooLarge ? "list" : form.value;
  const name = compilation.graphs.length > 1 ? `Graph ${index}` : "Graph";
  const fused = graph.kernels.some((kernel) => kernel.nodes.length > 1);
  return (
    <div class="tb-graph">
      <div class="tb-toolbar">
        <FormChoice
          name={name}
          shown={shown}
          drawable={!tooLarge}
          onChoose={(value) => (form.value = value)}
        />
        {fused && shown === "drawing" && (
          <button
            type="button"
            aria-pressed={collapsed.value}
            onClick={() => (collapsed.value = !collapsed.value)}
          >
            Collapse kernels
          </button>
        )}
        <input
          type="search"
          class="tb-search"
          placeholder="Find a node"
          aria-label={`${name}: find a node`}
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
      </div>
      {tooLarge && (
        <p class="tb-note">{graph.nodes.length} nodes are too many to draw; here they are as a list.</p>
      )}
      {shown === "drawing" ? (
        <GraphDrawing
          model={model}
          compilation={compilation}
          graph={graph}
          index={index}
          collapsed={collapsed.value}
          search={search.value}
          name={name}
        />
      ) : (
        <ListBox
          model={model}
          pane="graph"
          label={`${name}: nodes`}
          className="tb-code"
          rows={graph.nodes
            .filter((node) => matches(graph, node, search.value))
            .map((node) => listRow(model, compilation, graph, index, node))}
          empty="No node matches."
        />
      )}
    </div>
  );
}

function listRow(model: ViewModel, compilation: Compilation, graph: Graph, index: number, node: Node): Row {
  const operands = node.operands.map((operand) => (operand === null ? "none" : `%${operand}`)).join(", ");
  const kernel = graph.kernels.find((candidate) => candidate.nodes.includes(node.id));
  return {
    key: String(node.id),
    spans: [spanOfLine(compilation.file, node.line)],
    pending: !model.world.value.nodes.has(nodeKey(index, node.id)),
    content: (
      <>
        <span class="tb-dim">{`%${node.id}`.padStart(4)}</span> <b>{node.op}</b>
        {node.op === "input" || node.op === "constant" ? ` ${titleOf(graph, node)}` : `(${operands})`}{" "}
        <span class="tb-meta">{metaOf(node)}</span>
        {graph.outputs.includes(node.id) && <span class="tb-tag">output</span>}
        {kernel && <span class="tb-dim"> {kernel.name}</span>}
      </>
    ),
  };
}
