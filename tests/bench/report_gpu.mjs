// The WebGPU half of the benchmark as a page of Markdown: times on one adapter, and what each contender asks of it.
import { cases } from "./cases.mjs";
import { cell, times } from "./report.mjs";

/** What the project asks for on the software adapter. */
function goals(run, peers, inMemory) {
  const rows = Object.entries(run.results).filter(([, row]) => row.Thirdbook);
  const ofBest = (id) => {
    const row = run.results[id];
    return (
      row?.Thirdbook && Math.min(...peers.map((name) => row[name]?.median ?? Infinity)) / row.Thirdbook.median
    );
  };
  const list = ["chain-1000000", "softmax-1024"].map((id) => {
    const ratio = ofBest(id);
    return `| ${id} ≥ 1.5 × the best peer | ${times(ratio)} | ${ratio >= 1.5 ? "reached" : "missed"} |`;
  });
  const more = rows.filter(([, row]) =>
    peers.some((name) => row[name] && row[name].counts.dispatches < row.Thirdbook.counts.dispatches),
  );
  const which = more.map(([id]) => id).join(", ");
  list.push(`| fewest dispatches of all | ${which || "in every case"} | ${which ? "missed" : "reached"} |`);
  const loss = rows.flatMap(([id, row]) => {
    const auto = inMemory?.results[id]?.Thirdbook?.median;
    return auto === undefined ? [] : [auto / Math.min(auto, row.Thirdbook.median)];
  });
  if (loss.length > 0) {
    const most = Math.max(...loss);
    const word = most <= 1.1 ? "reached" : "missed";
    list.push(`| backend="auto" at most 1.1 × the better of wasm and WebGPU | ${times(most)} | ${word} |`);
  }
  return ["| goal | measured | |", "|---|---|---|", ...list];
}

/** `inMemory`: the run of the same cases in the same browser with the default backend="auto" and inputs in memory, if there was one. */
export function gpuReport(run, date, inMemory) {
  const names = Object.keys(run.versions);
  const peers = names.filter((name) => name !== "Thirdbook");
  const lines = [
    "# Benchmarks on WebGPU",
    "",
    `Written by \`npm run bench\` on ${date}: ${run.host} with the software adapter (SwiftShader), so times compare the contenders with each other,`,
    "not with a GPU's. Inputs stay on the device; a run ends when the device has done the work. Dispatches and bytes written to the device are",
    `those of one run and do not depend on the adapter. Versions: ${names.map((name) => `${name} ${run.versions[name]}`).join(", ")}.`,
    "",
    `| case | ${names.join(" | ")} | backend="auto" (it takes wasm) | best peer ÷ Thirdbook | dispatches: ${names.join(" / ")} | bytes written: ${names.join(" / ")} |`,
    `|${"---|".repeat(names.length + 5)}`,
  ];
  for (const spec of cases) {
    const row = run.results[spec.id];
    const own = row?.Thirdbook;
    if (!own) continue;
    const best = Math.min(...peers.map((name) => row[name]?.median ?? Infinity));
    const counts = (key) => names.map((name) => row[name]?.counts[key] ?? "–").join(" / ");
    lines.push(
      `| ${spec.title} | ${names.map((name) => cell(row[name])).join(" | ")} | ${cell(inMemory?.results[spec.id]?.Thirdbook)} | ${best < Infinity ? times(best / own.median) : "–"} | ` +
        `${counts("dispatches")} | ${counts("bytesWritten")} |`,
    );
  }
  lines.push("", ...goals(run, peers, inMemory), "");
  for (const error of run.errors) lines.push(`- not timed: ${error}`);
  if (run.errors.length) lines.push("");
  return lines.join("\n");
}
