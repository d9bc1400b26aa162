import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { encodeHash } from "../../../web/lib/share.js";
import { ready, run, Site, write } from "./site.js";

// Axe is evaluated by the tests' own connection, which the page's policy does not bind.
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let site: Site;
beforeAll(async () => {
  site = await Site.open();
});
afterEach(() => site.closePages());
afterAll(() => site.close());

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  const results = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return results.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.target.join(" ")}: ${node.failureSummary ?? ""}`),
  );
}

describe.each(["light", "dark"] as const)("axe finds nothing, %s", (colorScheme) => {
  test("before Python is there, with a selection, as a list, at a step", async () => {
    const { page } = await site.page("", { colorScheme });
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("listbox", { name: "Ledger, in replay order" }).getByRole("option").first().click();
    expect(await violations(page)).toEqual([]);
    for (const form of ["Graph: form", "Objects: form"])
      await page.getByRole("group", { name: form }).getByRole("button", { name: "List" }).click();
    await page.getByRole("slider", { name: "Step of the story" }).fill("2");
    await page.waitForTimeout(400);
    expect(await violations(page)).toEqual([]);
  });

  test("with recompilations, with a graph break, with a file, and on the page of the catalogue", async () => {
    const { page } = await site.page("", { colorScheme });
    await ready(page);
    for (const file of ["recompile.py", "graph_break.py", "export_graph.py"]) {
      await page.getByRole("combobox", { name: "Examples" }).selectOption(file);
      await page.getByText(/^Done in /).waitFor();
      expect(await violations(page), file).toEqual([]);
    }
    await page.goto(`${site.url}graph-breaks.html`);
    expect(await violations(page)).toEqual([]);
  });

  test("while a program runs, after it was stopped, and compared with eager", async () => {
    const { page } = await site.page("", { colorScheme });
    await ready(page);
    await page.getByRole("button", { name: "Compare with eager" }).click();
    await page.getByText(/Verify mode found/).waitFor();
    expect(await violations(page)).toEqual([]);
    await write(page, "while True: pass\n");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^Stopped\./).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("after an error, with a notice, on a narrow screen", async () => {
    const hash = await encodeHash({ file: "a.py", source: "1 / 0\n" });
    const { page } = await site.page(hash, { colorScheme, viewport: { width: 360, height: 740 } });
    await ready(page);
    await run(page);
    expect(await violations(page)).toEqual([]);
  });
});

test("nothing is wider than a screen of 360 pixels", async () => {
  const { page } = await site.page("", { viewport: { width: 360, height: 740 } });
  await page.getByRole("heading", { name: "Ledger" }).waitFor();
  await ready(page);
  for (const file of ["inference.py", "recompile.py", "export_graph.py"]) {
    await page.getByRole("combobox", { name: "Examples" }).selectOption(file);
    await page.getByText(/^Done in /).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth), file).toBeLessThanOrEqual(360);
  }
  await page.goto(`${site.url}graph-breaks.html`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test("everything can be reached and left with the keyboard", async () => {
  const { page } = await site.page();
  await ready(page);
  const reached = new Set<string>();
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute("aria-label") ?? element?.textContent?.trim().slice(0, 30) ?? "";
    });
    if (name === "Program") await page.keyboard.press("Escape");
    reached.add(name);
  }
  for (const name of [
    "Run",
    "Program",
    "Share",
    "Ledger, in replay order",
    "Guards",
    "Step of the story",
    "Output",
  ]) {
    expect([...reached], name).toContain(name);
  }
});

test("a person can write in the editor while the page says what it is doing", async () => {
  const { page } = await site.page();
  await write(page, "x = 1\n");
  await page
    .getByRole("status")
    .filter({ hasText: /Downloading|Compiling|Starting|Installing|Ready/ })
    .first()
    .waitFor();
});
