// In: what is on the page. Out: files for the user: the program, the report and the graph as JSON, the drawn graph as SVG with its style
// inside, and what the program itself has written. Invariant: what is saved is what is shown.

import type { ProgramFile } from "../lib/protocol.js";
import type { AppState } from "./state.js";

export function saveReport(state: AppState): void {
  const report = state.view.report.peek();
  if (report) save(`${stem(state)}.report.json`, "application/json", json(report));
}

export function saveProgram(state: AppState): void {
  save(state.file.peek(), "text/x-python", state.source.peek());
}

export function saveGraph(state: AppState): void {
  const graphs = state.view.compilation.peek()?.graphs ?? [];
  save(`${stem(state)}.graph.json`, "application/json", json(graphs));
}

export function saveFile({ name, bytes }: ProgramFile): void {
  save(name, "application/octet-stream", bytes);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function saveDrawing(state: AppState): void {
  const drawing = document.querySelector<SVGSVGElement>(".tb-drawing");
  if (!drawing) {
    state.notice.value = "Show the graph as a drawing first; then it can be saved.";
    return;
  }
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  inlineStyle(drawing, copy);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const box = copy.viewBox.baseVal;
  copy.setAttribute("width", String(Math.ceil(box.width)));
  copy.setAttribute("height", String(Math.ceil(box.height)));
  copy.removeAttribute("style");
  save(`${stem(state)}.graph.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

const kProperties = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font",
  "text-anchor",
];

function inlineStyle(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const property of kProperties) {
    const value = style.getPropertyValue(property);
    if (value) (to as SVGElement).style.setProperty(property, value);
  }
  to.removeAttribute("class");
  [...from.children].forEach((child, index) => {
    const other = to.children[index];
    if (other) inlineStyle(child, other);
  });
}

export async function saveForRuntime(state: AppState): Promise<void> {
  const file = await state.exportGraph();
  if (file) saveFile(file);
}

/** A program's name without its ending. */
export function stemOf(file: string): string {
  return file.replace(/\.py$/, "");
}

function stem(state: AppState): string {
  return stemOf(state.file.peek());
}

function save(name: string, type: string, content: string | Uint8Array): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
