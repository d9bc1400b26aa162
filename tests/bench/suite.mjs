// Runs every case with every contender, in Node or in a page.
//
// In: contenders, options, digests of the results of contenders that ran before. Out: { limits, results: {case: {contender:
// measurement}}, versions, errors, cold, ledger, digests }. Invariant: results are compared before they are timed; a contender whose values
// differ is reported, not timed.
import { cases } from "./cases.mjs";
import { measure } from "./measure.mjs";

/** Length, and 257 elements evenly spread. */
function digest(values) {
  const count = Math.min(257, values.length);
  return [
    values.length,
    ...Array.from(
      { length: count },
      (_, i) => values[Math.floor((i * (values.length - 1)) / Math.max(1, count - 1))],
    ),
  ];
}
function worst(got, want) {
  if (got[0] !== want[0]) return Infinity;
  let most = 0;
  for (let i = 1; i < want.length; ++i)
    most = Math.max(most, Math.abs(got[i] - want[i]) / (1 + Math.abs(want[i])));
  return most;
}

/** What one run adds to the counters, once everything is warm. */
async function countsOf(task, counts) {
  const before = { ...counts };
  await task.runMany(1);
  return Object.fromEntries(Object.keys(counts).map((name) => [name, counts[name] - before[name]]));
}

export async function runSuite({
  contenders,
  digests = {},
  filter = () => true,
  ledger = null, // the source of ledger.py
  quick = false,
  counts,
  say = () => {},
}) {
  const out = { versions: {}, limits: {}, results: {}, errors: [], cold: null, digests };
  const options = quick ? { seconds: 0.15, samples: 5 } : { seconds: 0.6, samples: 15 };
  const hand = contenders.find((c) => c.limits);
  if (hand && filter("limits")) {
    for (const [name, { task, amount, unit }] of Object.entries(hand.limits())) {
      const m = await measure(task, options);
      out.limits[name] = {
        rate: amount / m.median / 1e9,
        unit,
        spread: [amount / m.high / 1e9, amount / m.low / 1e9],
      };
      say(`${name}: ${out.limits[name].rate.toFixed(1)} ${unit}`);
    }
  }
  for (const c of contenders) out.versions[c.name] = c.version;
  for (const spec of cases) {
    if (!filter(spec.id)) continue;
    const row = (out.results[spec.id] = {});
    const inputs = spec.inputs();
    for (const c of contenders) {
      if (c.name === "plain JS" && spec.kind === "matmul" && spec.n > 512) continue; // takes minutes
      let task;
      try {
        task = await c.task({ ...spec, inputs });
        if (!task) continue;
        const got = digest(await task.result());
        digests[spec.id] ??= got;
        const difference = worst(got, digests[spec.id]);
        if (!(difference < 2e-4)) throw new Error(`its result differs by ${difference}`);
        row[c.name] = { ...(await measure(task, options)), difference };
        if (counts) row[c.name].counts = await countsOf(task, counts);
        say(`${spec.id} ${c.name}: ${(row[c.name].median * 1e6).toFixed(2)} µs`);
      } catch (error) {
        out.errors.push(`${spec.id}, ${c.name}: ${String(error?.message ?? error).slice(0, 200)}`);
        say(out.errors.at(-1));
      }
      try {
        task?.close?.();
      } catch {
        // a peer that cannot let go keeps its memory
      }
    }
  }
  const compiled = contenders.find((c) => c.cold);
  if (compiled && filter("cold")) out.cold = compiled.cold();
  if (compiled && ledger && filter("ledger"))
    out.ledger = compiled.ledger(ledger, options.seconds, options.samples);
  return out;
}
