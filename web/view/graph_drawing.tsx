// In: one graph. Out: it drawn in layers, with pan and zoom by mouse, touch and keys; its boxes select their lines.
// Invariant: the drawing keeps its own camera; nothing lies over the boxes.

import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Compilation, Graph, Node } from "../report/types.js";
import { ArrowMarker } from "./arrow_marker.js";
import { layoutGraph, matches, metaOf, titleOf, type Box, type Drawing } from "./graph_layout.js";
import type { ViewModel } from "./model.js";
import { spanOfLine } from "./span.js";
import { nodeKey } from "./steps.js";

interface DrawingProps {
  model: ViewModel;
  compilation: Compilation;
  graph: Graph;
  index: number;
  collapsed: boolean;
  search: string;
  name: string;
}

interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export function GraphDrawing({ model, compilation, graph, index, collapsed, search, name }: DrawingProps) {
  const collapse = useSignal(collapsed);
  collapse.value = collapsed;
  const shown = useSignal(graph);
  shown.value = graph;
  const drawing = useComputed<Drawing>(() => layoutGraph(shown.value, collapse.value)).value;
  const camera = useSignal<Camera>({ x: 0, y: 0, zoom: 1 });
  const svg = useRef<SVGSVGElement>(null);
  const { x, y, zoom } = camera.value;
  const move = (change: Partial<Camera>) => (camera.value = { ...camera.value, ...change });
  const zoomBy = (factor: number) => move({ zoom: Math.min(6, Math.max(0.25, zoom * factor)) });
  const width = drawing.width / zoom;
  const height = drawing.height / zoom;
  const left = x + (drawing.width - width) / 2;
  const top = y + (drawing.height - height) / 2;

  const onKeyDown = (event: KeyboardEvent) => {
    const step = 40 / zoom;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => move({ x: x - step }),
      ArrowRight: () => move({ x: x + step }),
      ArrowUp: () => move({ y: y - step }),
      ArrowDown: () => move({ y: y + step }),
      "+": () => zoomBy(1.25),
      "-": () => zoomBy(0.8),
      "0": () => move({ x: 0, y: 0, zoom: 1 }),
    };
    const action = moves[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  const onPointerMove = (event: PointerEvent) => {
    if (event.buttons !== 1 || !svg.current) return;
    const scale = width / svg.current.clientWidth;
    move({ x: camera.value.x - event.movementX * scale, y: camera.value.y - event.movementY * scale });
  };
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  };

  return (
    <div class="tb-canvas">
      <svg
        ref={svg}
        class="tb-drawing"
        style={{
          maxHeight: `${Math.min(drawing.height, 420)}px`,
          maxWidth: `${Math.max(drawing.width, 240) * 1.25}px`,
        }}
        viewBox={`${left} ${top} ${width} ${height}`}
        role="img"
        tabindex={0} // in SVG, attributes are told apart by case
        aria-label={`${name}: ${graph.nodes.length} nodes in layers. Arrow keys move, plus and minus zoom, 0 resets; the list form has the same content.`}
        onKeyDown={onKeyDown}
        onPointerMove={onPointerMove}
        onWheel={onWheel}
      >
        <defs>
          <ArrowMarker id={`tb-arrow-${index}`} />
        </defs>
        {drawing.groups.map((group) => (
          <g key={group.key} class="tb-group">
            <rect x={group.x} y={group.y} width={group.width} height={group.height} rx="8" />
            <text x={group.x + 8} y={group.y + 13}>
              {group.title}
            </text>
          </g>
        ))}
        {drawing.edges.map((edge) => (
          <path
            key={edge.key}
            class="tb-edge"
            d={pathOf(edge.points)}
            marker-end={`url(#tb-arrow-${index})`}
          />
        ))}
        {drawing.boxes.map((box) => (
          <GraphBox
            key={box.key}
            model={model}
            compilation={compilation}
            graph={graph}
            index={index}
            box={box}
            search={search}
          />
        ))}
      </svg>
      <div class="tb-zoom" role="group" aria-label={`${name}: zoom`}>
        <button type="button" aria-label="Zoom in" onClick={() => zoomBy(1.25)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomBy(0.8)}>
          −
        </button>
        <button type="button" aria-label="Show the whole graph" onClick={() => move({ x: 0, y: 0, zoom: 1 })}>
          ⤢
        </button>
      </div>
    </div>
  );
}

type GraphBoxProps = Omit<DrawingProps, "collapsed" | "name"> & { box: Box };

function GraphBox({ model, compilation, graph, index, box, search }: GraphBoxProps) {
  const spans = box.nodes.map((node) => spanOfLine(compilation.file, node.line));
  const first = box.nodes[0] as Node;
  const classes = [
    "tb-box",
    first.op === "input" && "is-input",
    first.op === "constant" && "is-constant",
    box.output && "is-output",
    model.linked(spans) && "is-linked",
    !box.nodes.some((node) => model.world.value.nodes.has(nodeKey(index, node.id))) && "is-pending",
    search !== "" && !box.nodes.some((node) => matches(graph, node, search)) && "is-unmatched",
  ];
  const middle = box.x + box.width / 2;
  return (
    <g
      class={classes.filter(Boolean).join(" ")}
      onClick={() => model.select(spans.find((span) => span !== null) ?? null, "graph")}
    >
      <title>
        {box.nodes.map((node) => `%${node.id} ${titleOf(graph, node)} ${metaOf(node)}`).join("\n")}
      </title>
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={first.op === "input" ? 20 : 6} />
      {box.output && (
        <path class="tb-out" d={`M${box.x + 8} ${box.y + box.height - 3} H${box.x + box.width - 8}`} />
      )}
      <text class="tb-title" x={middle} y={box.y + 17}>
        {box.title}
      </text>
      <text class="tb-detail" x={middle} y={box.y + 31}>
        {box.detail}
      </text>
    </g>
  );
}

function pathOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = [`M${first.x} ${first.y}`];
  for (let i = 0; i < rest.length - 1; ++i) {
    const a = rest[i] as { x: number; y: number };
    const b = rest[i + 1] as { x: number; y: number };
    const last = i === rest.length - 2;
    parts.push(
      last ? `Q${a.x} ${a.y} ${b.x} ${b.y}` : `Q${a.x} ${a.y} ${(a.x + b.x) / 2} ${(a.y + b.y) / 2}`,
    );
  }
  if (rest.length === 1) parts.push(`L${rest[0]?.x} ${rest[0]?.y}`);
  return parts.join(" ");
}
