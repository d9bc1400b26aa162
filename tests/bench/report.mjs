// Results as a page of Markdown: a table per host, ratios to each peer and to the hand kernel, shares of the machine's limits.
import { cases } from "./cases.mjs";
import { kNative } from "./contenders/native.mjs";

export function time(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  return `${(seconds * 1e3).toPrecision(3)} ms`;
}
export function cell(m) {
  if (!m) return "–";
  const spread = Math.round(((m.high - m.low) / 2 / m.median) * 100);
  return `${time(m.median)} ±${spread} %`;
}
export const times = (x) => (x === undefined ? "–" : `${x >= 10 ? x.toFixed(0) : x.toFixed(2)} ×`);
const percent = (x) => (x === undefined || !Number.isFinite(x) ? "–" : `${Math.round(x * 100)} %`);

function share(spec, seconds, limits) {
  if (spec.flops) return percent(spec.flops / seconds / 1e9 / limits.peak?.rate);
  if (spec.bytes) return percent(spec.bytes / seconds / 1e9 / limits["read 1,000,000"]?.rate);
  return "";
}

const kOurs = ["hand", "Thirdbook", "Thirdbook eager"];
const others = (run) => Object.keys(run.versions).filter((name) => !kOurs.includes(name));
/** Those that run where Thirdbook does. */
const peersOf = (run) => others(run).filter((name) => !name.endsWith(kNative));

function hostTable(run) {
  const peers = others(run);
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
    const best = Math.min(...peersOf(run).map((p) => row[p]?.median ?? Infinity));
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
  if (run.ledger) lines.push(ledgerTable(run.ledger));
  if (cases.every((c) => run.results[c.id]) && run.limits.peak) lines.push(goals(run));
  for (const error of run.errors) lines.push(`- not timed: ${error}`);
  if (run.errors.length) lines.push("");
  return lines.join("\n");
}

// Changes that a call makes: made by plain Python bytecode, and replayed by the compiled function.
function ledgerTable({ rows, lists }) {
  const lines = [
    "| changes replayed by a call | number | plain Python | compiled | of plain |",
    `|${"---|".repeat(5)}`,
  ];
  for (const r of rows)
    lines.push(
      `| ${r.case} | ${r.changes.toLocaleString("en")} | ${time(r.plain)} | ${time(r.compiled)} | ${times(r.ratio)} ±${Math.round(r.spread * 100)} % |`,
    );
  lines.push("");
  for (const l of lists)
    lines.push(
      `Append to a list of ${l.length.toLocaleString("en")}: first call, traced and compiled, ${time(l.first)}; later calls ${time(l.later)}.`,
    );
  lines.push("");
  return lines.join("\n");
}

function ledgerGoals({ rows, lists }, add) {
  const of = (name, n) => rows.find((r) => r.case === name && r.changes === n);
  const hundred = of("append to one list", 100);
  add("100 appends to one list ≤ 1.0 × plain Python", 1 / hundred.ratio, 1, times(hundred.ratio));
  for (const r of rows.filter((row) => row.changes >= 100))
    add(
      `${r.changes.toLocaleString("en")} changes, ${r.case}: ≤ 1.3 × plain Python`,
      1.3 / r.ratio,
      1,
      times(r.ratio),
    );
  const [empty, long] = lists;
  add(
    "append to 1,000,000 elements, first call as on an empty list",
    (1.5 * empty.first) / long.first,
    1,
    times(long.first / empty.first),
  );
  add(
    "append to 1,000,000 elements, later calls as on an empty list",
    (1.2 * empty.later) / long.later,
    1,
    times(long.later / empty.later),
  );
}

// What the project asks for, and why a goal may be missed.
function goals(run) {
  const median = (id, name) => run.results[id]?.[name]?.median;
  const peers = peersOf(run);
  const ofHand = (id) => median(id, "hand") / median(id, "Thirdbook");
  const ofPeers = (id) => Math.min(...peers.map((p) => median(id, p) ?? Infinity)) / median(id, "Thirdbook");
  const read = run.limits["read 1,000,000"]?.rate;
  const slowSoftmax =
    "the exponential errs by at most 1.1 ulp; a polynomial one degree shorter, as the hand kernel has it, is 12 % faster and errs by 2.3";
  const list = [];
  const add = (what, value, goal, text, why = "") => list.push({ what, ok: value >= goal, text, why });
  for (const n of [1e5, 1e6, 1e7]) {
    add(
      `chain n = ${n.toLocaleString("en")} ≥ 80 % of hand`,
      ofHand(`chain-${n}`),
      0.8,
      percent(ofHand(`chain-${n}`)),
    );
    add(
      `chain n = ${n.toLocaleString("en")} ≥ 6 × the best peer`,
      ofPeers(`chain-${n}`),
      6,
      times(ofPeers(`chain-${n}`)),
    );
  }
  for (const n of [256, 512, 1024])
    add(`matmul ${n} ≥ 85 % of hand`, ofHand(`matmul-${n}`), 0.85, percent(ofHand(`matmul-${n}`)));
  for (const id of ["softmax-1024", "layernorm-1024"]) {
    const why = id.startsWith("softmax") ? slowSoftmax : "";
    add(`${id} ≥ 80 % of hand`, ofHand(id), 0.8, percent(ofHand(id)), why);
    add(`${id} at least the best peer`, ofPeers(id), 1, times(ofPeers(id)), why);
  }
  const sum = 4e6 / median("sum-1000000", "Thirdbook") / 1e9 / read;
  add(
    "sum ≥ 90 % of read bandwidth",
    sum,
    0.9,
    percent(sum),
    "about 2 µs are the call from Python; outside Pyodide the same kernel runs at the hand kernel's speed",
  );
  add(
    "MLP ≥ 90 % of hand",
    ofHand("mlp"),
    0.9,
    percent(ofHand("mlp")),
    "weights may change between calls, so each call packs them (3 %), which the hand kernel does beforehand; the call from Python is another 1 %",
  );
  add(
    "n = 8 chain from Python ≤ 3 µs",
    3e-6 / median("chain-8", "Thirdbook"),
    1,
    time(median("chain-8", "Thirdbook")),
  );
  if (run.cold) {
    add("a new function ≤ 5 ms", 5e-3 / run.cold[0], 1, time(run.cold[0]));
    add("a new size makes no kernel", 5e-4 / run.cold[2], 1, time(run.cold[2]));
  }
  if (run.ledger) ledgerGoals(run.ledger, add);
  return [
    `| goal | measured | |`,
    `|---|---|---|`,
    ...list.map((g) => `| ${g.what} | ${g.text} | ${g.ok ? "reached" : `missed: ${g.why}`} |`),
    "",
  ].join("\n");
}

export function report(runs, date) {
  const versions = Object.entries(runs[0].versions).map(([name, version]) => `${name} ${version}`.trim());
  return [
    "# Benchmarks",
    "",
    `Written by \`npm run bench\` on ${date}, one thread. Medians with half the distance of the quartiles; Thirdbook's times include the call`,
    "from Python, the others' the call from JavaScript (ORT's also its copies in and out). “hand” are the kernels of",
    "`tests/bench/limits/kernels.c`: they skip what a library must not skip (tails, NaN, exact tanh). Columns marked native are PyTorch in a native",
    "CPython on one thread, where it is installed; they are no peers in the ratios. Values of all contenders are compared",
    `before they are timed. Versions: ${versions.join(", ")}.`,
    "",
    ...runs.map(hostTable),
  ].join("\n");
}
