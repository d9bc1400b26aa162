"""A report as text for people, and as HTML for notebooks.

In: the dict of report(). Out: sections graph, guards, ledger, breaks for each compilation.
"""

from __future__ import annotations

import html


def render(report: dict) -> str:
    lines = []
    for c in report["compilations"]:
        lines.append(f"#{c['id']} {c['function']} ({c['file']}:{c['line']}) {c['status']}")
        for graph in c["graphs"]:
            lines.append("  graph")
            lines += ["    " + line for line in graph["text"].splitlines()]
        if c["guards"]:
            lines.append("  guards")
            lines += [f"    {g['text']}" + (f"  line {g['line']}" if g["line"] else "") for g in c["guards"]]
        if c["ledger"]:
            lines.append("  ledger")
            lines += ["    " + ledger_line(entry) for entry in c["ledger"]]
        for b in c["breaks"]:
            lines.append(f"  break {b['code']}: {b['reason']} (line {b['line']})" + (f"; {b['explanation']}" if b["explanation"] else ""))
            if b["hint"]:
                lines.append(f"    hint: {b['hint']}")
    counters = ", ".join(f"{name} {value}" for name, value in report["counters"].items())
    lines.append(f"counters: {counters}")
    return "\n".join(lines)


def ledger_line(entry: dict) -> str:
    """One entry: order, kind, source, operation, before → after, lines."""
    change = f": {entry['before']} → {entry['after']}" if entry.get("before") else f": {entry['after']}" if entry["after"] else ""
    places = ", ".join(str(site["line"]) for site in entry["sites"])
    return f"{entry['order']} {entry['kind']} {entry['source']} {entry['operation']}{change}  (line {places})"


def render_html(report: dict) -> str:
    parts = []
    for c in report["compilations"]:
        rows = "".join(f"<tr><td>{html.escape(ledger_line(e))}</td></tr>" for e in c["ledger"])
        graphs = "".join(f"<pre>{html.escape(g['text'])}</pre>" for g in c["graphs"])
        breaks = "".join(f"<li>{html.escape(b['code'])}: {html.escape(b['reason'])} (line {b['line']})</li>" for b in c["breaks"])
        parts.append(
            f"<details open><summary>{html.escape(c['function'])}: {html.escape(c['status'])}</summary>{graphs}"
            f"<table>{rows}</table><ul>{breaks}</ul></details>"
        )
    return "<div class='thirdbook-report'>" + "".join(parts) + "</div>"
