// What the page weighs and how long it keeps a person waiting, printed beside its budget. Only the weight is a demand: times depend on the
// machine.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kBuild } from "../../../wasm/toolchain/places.mjs";
import { examples } from "../examples.js";
import { ready, run, Site } from "./site.js";

const kShell = 200_000;
const kTask = 50;
const kRetrace = 150;
const kTyped = examples.find(({ file }) => file === "class_counter.py")?.source ?? "";

let site: Site;
beforeAll(async () => {
  site = await Site.open();
});
afterAll(() => site.close());

function tell(what: string, value: string, budget: string): void {
  process.stdout.write(`budget: ${what}: ${value} of ${budget}\n`);
}

test("the shell without Pyodide stays under 200 kB compressed", async () => {
  const { page } = await site.page();
  const names = await page.evaluate(() =>
    performance.getEntriesByType("resource").map((entry) => entry.name),
  );
  const own = names.filter((name) => /\/assets\/[^/]+\.(js|css)$/.test(name));
  const sizes = own.map(
    (name) => gzipSync(readFileSync(`${kBuild}/site/assets/${name.split("/").at(-1)}`)).length,
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  tell("shell, compressed", `${(total / 1000).toFixed(0)} kB`, `${kShell / 1000} kB`);
  expect(sizes.length).toBeGreaterThan(1);
  expect(total).toBeLessThan(kShell);
});

test("typing an example and running it again are timed", async () => {
  const { page } = await site.page();
  await ready(page);
  await run(page);
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) =>
      tasks.push(...list.getEntries().map((entry) => entry.duration)),
    ).observe({
      entryTypes: ["longtask"],
    });
  });
  await page.getByRole("textbox", { name: "Program" }).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type(kTyped.slice(0, 400), { delay: 5 });
  const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
  tell("longest task while typing", `${Math.max(0, ...tasks).toFixed(0)} ms`, `${kTask} ms`);

  await page.getByRole("combobox", { name: "Examples" }).selectOption("day16.py");
  const times: number[] = [];
  for (let i = 0; i < 5; ++i) {
    await run(page);
    times.push(parseFloat((await page.getByText(/^Done in /).innerText()).slice("Done in ".length)));
  }
  const [, , median = NaN] = times.sort((a, b) => a - b);
  tell("first example traced and run again", `${median.toFixed(0)} ms`, `${kRetrace} ms`);
  expect(median).toBeGreaterThan(0);
});
