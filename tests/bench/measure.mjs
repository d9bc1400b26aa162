// In: a task { runMany(n) } that runs the work n times and gives seconds (or a promise). Out: median, quartiles, sample count.
// Invariant: a sample lasts at least a few milliseconds, so that the clock's resolution does not show.

export async function measure(task, { seconds = 0.6, samples = 15 } = {}) {
  const once = async (n) => await task.runMany(n);
  let reps = 1;
  let time = await once(1);
  while (time < 0.004 && reps < 1e6) {
    reps = Math.max(reps * 2, Math.min(reps * 10, Math.ceil((reps * 0.006) / Math.max(time, 1e-6))));
    time = await once(reps);
  }
  const warm = performance.now();
  while (performance.now() - warm < seconds * 250) await once(reps);
  let times = [];
  for (let attempt = 0; attempt < 4; ++attempt) {
    times = [];
    const start = performance.now();
    while (times.length < samples || (performance.now() - start < seconds * 1000 && times.length < 200)) {
      times.push((await once(reps)) / reps);
      if (times.length >= 5 && performance.now() - start > seconds * 4000) break;
    }
    // The first runs may have been slow for reasons of their own: a sample that is too short is taken again, longer.
    const middle = [...times].sort((a, b) => a - b)[times.length >> 1] * reps;
    if (middle >= 0.002) break;
    reps = Math.ceil(reps * Math.min(20, 0.006 / Math.max(middle, 3e-4)));
  }
  times.sort((a, b) => a - b);
  const at = (q) => times[Math.min(times.length - 1, Math.floor(q * times.length))];
  return { median: at(0.5), low: at(0.25), high: at(0.75), best: times[0], samples: times.length };
}

/** A task of a synchronous function. */
export function sync(run) {
  return {
    runMany(n) {
      const start = performance.now();
      for (let i = 0; i < n; ++i) run();
      return (performance.now() - start) / 1000;
    },
  };
}
/** A task of a function that gives a promise. */
export function async_(run) {
  return {
    async runMany(n) {
      const start = performance.now();
      for (let i = 0; i < n; ++i) await run();
      return (performance.now() - start) / 1000;
    },
  };
}
