import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { encodeHash } from "../../../web/lib/share.js";
import { openExample, run, Site, write } from "./site.js";

// Axe is evaluated by the tests' own connection, which the page's policy does not bind.
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let site: Site;
beforeAll(async () => {
  site = await Site.open();
});
afterEach(() => site.closePages());
afterAll(() => site.close());

/** What axe finds in both colour schemes. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const results = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
    for (const { id, nodes } of results.violations)
      for (const node of nodes)
        found.push(`${colorScheme}: ${id}: ${node.target.join(" ")}: ${node.failureSummary}`);
  }
  return found;
}

const kNarrow = { width: 360, height: 740 };
const kWide = { width: 1280, height: 720 };

describe("axe finds nothing", () => {
  test("before Python is there, with a selection, as a list, at a step", async () => {
    const { page } = await site.page("", { reducedMotion: "reduce" });
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("listbox", { name: "Ledger, in replay order" }).getByRole("option").first().click();
    expect(await violations(page)).toEqual([]);
    for (const form of ["Graph: form", "Objects: form"])
      await page.getByRole("group", { name: form }).getByRole("button", { name: "List" }).click();
    await page.getByRole("slider", { name: "Step of the story" }).fill("2");
    expect(await violations(page)).toEqual([]);
  });

  test.each(["recompile.py", "graph_break.py", "export_graph.py"])("with the report of %s", async (file) => {
    const { page } = await site.warm();
    await openExample(page, file);
    expect(await violations(page)).toEqual([]);
  });

  test("on the page of the catalogue", async () => {
    const { page } = await site.page("graph-breaks.html");
    expect(await violations(page)).toEqual([]);
  });

  test("compared with eager, while a program runs, after it was stopped, while it is searched", async () => {
    const { page } = await site.warm();
    await openExample(page, "day16.py");
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
    await page.getByRole("textbox", { name: "Program" }).click();
    await page.keyboard.press("Control+F");
    await page.getByRole("textbox", { name: "Find" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
  });

  test("after an error, with a field for input, on a narrow screen", async () => {
    const { page } = await site.warm();
    await page.setViewportSize(kNarrow);
    await write(page, "input()\n");
    await run(page);
    await page.locator(".cm-lint-marker-error").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("with a notice, embedded, and where Python cannot start", async () => {
    const { page } = await site.page(await encodeHash({ file: "a.py", source: "1 / 0\n" }), {
      viewport: kNarrow,
    });
    await page.getByText(/came with a link/).waitFor();
    expect(await violations(page)).toEqual([]);
    const embedded = await site.page("?embed=1");
    await embedded.page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(await violations(embedded.page)).toEqual([]);
    const broken = await site.page("", {}, (page) => page.route("**/pyodide/**", (route) => route.abort()));
    await broken.page.getByRole("alert").waitFor();
    expect(await violations(broken.page)).toEqual([]);
  });
});

test("nothing is wider than a screen of 360 pixels", async () => {
  const { page } = await site.warm();
  await page.setViewportSize(kNarrow);
  const width = (other: Page) => other.evaluate(() => document.documentElement.scrollWidth);
  for (const file of ["inference.py", "recompile.py", "export_graph.py"]) {
    await openExample(page, file);
    expect(await width(page), file).toBeLessThanOrEqual(kNarrow.width);
  }
  const catalogue = await site.page("graph-breaks.html", { viewport: kNarrow });
  expect(await width(catalogue.page)).toBeLessThanOrEqual(kNarrow.width);
});

test("nothing moves for those who asked for less motion", async () => {
  const { page } = await site.page("", { reducedMotion: "reduce" });
  await page.getByRole("heading", { name: "Ledger" }).waitFor();
  const moving = () =>
    page.evaluate(
      () =>
        [...document.querySelectorAll("*")].filter((element) => {
          const { transitionDuration, animationName } = getComputedStyle(element);
          return /[1-9]/.test(transitionDuration) || animationName !== "none";
        }).length,
    );
  const still = await moving();
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await moving()).toBeGreaterThan(still);
  expect(still).toBe(0);
});

test("everything can be reached and left with the keyboard", async () => {
  const { page } = await site.warm();
  await page.setViewportSize(kWide);
  await openExample(page, "day16.py");
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const reached = new Set<string>();
  for (let i = 0; i < 40; ++i) {
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
