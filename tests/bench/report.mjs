// Results as a page of Markdown: a table per host, ratios to each peer and to the hand kernel, shares of the machine's limits.
import { cases } from "./cases.mjs";

function time(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  return `${(seconds * 1e3).toPrecision(3)} ms`;
}
function cell(m) {
  if (!m) return "–";
  const spread = Math.round(((m.high - m.low) / 2 / m.median) * 100);
  return `${time(m.median)} ±${spread} %`;
}
const times = (x) => (x === undefined ? "–" : `${x >= 10 ? x.toFixed(0) : x.toFixed(2)} ×`);
const percent = (x) => (x === undefined || !Number.isFinite(x) ? "–" : `${Math.round(x * 100)} %`);

function share(spec, seconds, limits) {
  if (spec.flops) return percent(spec.flops / seconds / 1e9 / limits.peak?.rate);
  if (spec.bytes) return percent(spec.bytes / seconds / 1e9 / limits["read 1,000,000"]?.rate);
  return "";
}

function hostTable(run) {
  const peers = Object.keys(run.versions).filter(
    (name) => !["hand", "Thirdbook", "Thirdbook eager"].includes(name),
  );
  const lines = [`## ${run.host}`, ""];
  const limits = Object.entries(run.limits).map(([name, l]) => `${name} ${l.rate.toFixed(1)} ${l.unit}`);
  if (limits.length)
    lines.push(
      `Limits measured in this run (${run.relaxed ? "with" : "without"} relaxed SIMD): ${limits.join(", ")}.`,
      "",
    );
  lines.push(
    `| case | Thirdbook | eager | hand | ${peers.join(" | ")} | of hand | best peer ÷ Thirdbook | of limit |`,
  );
  lines.push(`|${"---|".repeat(peers.length + 7)}`);
  for (const spec of cases) {
    const row = run.results[spec.id];
    if (!row) continue;
    const own = row.Thirdbook?.median;
    const best = Math.min(...peers.map((p) => row[p]?.median ?? Infinity));
    lines.push(
      `| ${spec.title} | ${cell(row.Thirdbook)} | ${cell(row["Thirdbook eager"])} | ${cell(row.hand)} | ${peers.map((p) => cell(row[p])).join(" | ")} | ` +
        `${own && row.hand ? percent(row.hand.median / own) : "–"} | ${own && best < Infinity ? times(best / own) : "–"} | ${own ? share(spec, own, run.limits) : ""} |`,
    );
  }
  lines.push("");
  if (run.cold) {
    const [first, other, third] = run.cold;
    lines.push(
      `First call of a new function, traced and compiled: ${time(first)}; first call with a second size: ${time(other)}; with a third: ${time(third)}.`,
      "",
    );
  }
  for (const error of run.errors) lines.push(`- not timed: ${error}`);
  if (run.errors.length) lines.push("");
  return lines.join("\n");
}

export function report(runs, date) {
  const versions = Object.entries(runs[0].versions).map(([name, version]) => `${name} ${version}`.trim());
  return [
    "# Benchmarks",
    "",
    `Written by \`npm run bench\` on ${date}, one thread. Medians with half the distance of the quartiles; Thirdbook's times include the call`,
    "from Python, the others' the call from JavaScript (ORT's also its copies in and out). “hand” are the kernels of",
    "`tests/bench/limits/kernels.c`: they skip what a library must not skip (tails, NaN, exact tanh). Values of all contenders are compared",
    `before they are timed. Versions: ${versions.join(", ")}.`,
    "",
    ...runs.map(hostTable),
  ].join("\n");
}
