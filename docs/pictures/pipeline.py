"""Draws pipeline.svg: what happens to a call of a compiled function.

In: nothing. Out: pipeline.svg beside this file. Invariant: one column of boxes per row, coordinates computed, light and dark in one
file. Usage: python3 docs/pictures/pipeline.py
"""

from pathlib import Path

WIDTH, ROW, HEIGHT, GAP = 880, 92, 52, 24

STYLE = """
text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328; text-anchor: middle }
.small { font-size: 11.5px; fill: #5b626a }
.label { font-size: 11.5px; fill: #5b626a; text-anchor: start }
rect { fill: #ffffff; stroke: #8b8f94; stroke-width: 1.2 }
.graph rect { stroke: #1d4f91 } .guards rect { stroke: #6b3fa0 } .ledger rect { stroke: #a06b00 } .world rect { stroke: #1e6b3c }
path { fill: none; stroke: #8b8f94; stroke-width: 1.3 }
.head { fill: #8b8f94; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e3e1db } .small, .label { fill: #a0a5ab } rect { fill: #1b1e22; stroke: #6c727a }
  .graph rect { stroke: #8fb8f2 } .guards rect { stroke: #c4a5ec } .ledger rect { stroke: #e6b566 } .world rect { stroke: #7fc998 }
  path { stroke: #6c727a } .head { fill: #6c727a }
}
"""


class Drawing:
    """Collects boxes and arrows by name."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.boxes: dict[str, tuple[float, float, float]] = {}

    def row(self, number: int, *boxes: tuple[str, str, str, str]) -> None:
        """Boxes (name, class, title, detail) spread over the width."""
        width = (WIDTH - GAP * (len(boxes) + 1)) / max(len(boxes), 2)
        left = (WIDTH - width * len(boxes) - GAP * (len(boxes) - 1)) / 2
        for index, (name, kind, title, detail) in enumerate(boxes):
            x, y = left + index * (width + GAP), GAP + number * ROW
            middle = x + width / 2
            self.boxes[name] = (x, y, width)
            self.parts.append(
                f'<g class="{kind}"><rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" rx="8"/>'
                f'<text x="{middle:.0f}" y="{y + 23}">{title}</text>'
                f'<text class="small" x="{middle:.0f}" y="{y + 41}">{detail}</text></g>'
            )

    def arrow(self, start: str, end: str, label: str = "") -> None:
        """From the bottom of one box to the top of another."""
        x0, y0, w0 = self.boxes[start]
        x1, y1, w1 = self.boxes[end]
        a, b = x0 + w0 / 2, x1 + w1 / 2
        top, bottom = y0 + HEIGHT, y1 - 7
        middle = (top + bottom) / 2
        self.parts.append(f'<path d="M{a:.0f} {top} C{a:.0f} {middle:.0f} {b:.0f} {middle:.0f} {b:.0f} {bottom}"/>')
        self.parts.append(f'<path class="head" d="M{b - 5:.0f} {bottom} h10 l-5 7 z"/>')
        if label:
            self.parts.append(f'<text class="label" x="{(a + b) / 2 + 9:.0f}" y="{middle + 4:.0f}">{label}</text>')

    def text(self) -> str:
        height = max(y for _, y, _ in self.boxes.values()) + HEIGHT + GAP
        title = "A call is caught by the frame hook, traced into graph, guards and ledger, assembled, run and replayed."
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(self.parts) + "\n</svg>\n"
        )


def main() -> None:
    drawing = Drawing()
    drawing.row(0, ("call", "", "Python calls a compiled function", "the frame hook takes the frame (PEP 523)"))
    drawing.row(1, ("trace", "", "Decode and interpret symbolically", "bytecode of CPython 3.14; nothing real is touched"))
    drawing.row(
        2,
        ("graph", "graph", "Graph", "tensor operations, pure"),
        ("guards", "guards", "Guards", "the premises of this trace"),
        ("ledger", "ledger", "Ledger", "every mutation, in order"),
    )
    drawing.row(3, ("code", "", "Assembled code object", "load · graph · rebuild · replay · return"))
    drawing.row(4, ("run", "graph", "Kernels run", "fused wasm SIMD, in Pyodide's memory"), ("replay", "ledger", "Replay", "after the graph has succeeded, once, in order"))
    drawing.row(5, ("world", "world", "The world is as plain Python would have left it", "objects, lists, globals, cells, printed text"))
    drawing.arrow("call", "trace", "first call, or a guard failed")
    for book in ("graph", "guards", "ledger"):
        drawing.arrow("trace", book)
        drawing.arrow(book, "code")
    drawing.arrow("code", "run")
    drawing.arrow("code", "replay")
    drawing.arrow("run", "world")
    drawing.arrow("replay", "world")
    Path(__file__).with_name("pipeline.svg").write_text(drawing.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
