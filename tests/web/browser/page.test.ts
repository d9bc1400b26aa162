import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { load } from "../../../build/npm/lib/runtime.js";
import { encodeHash } from "../../../web/lib/share.js";
import { examples, kDay16Output } from "../examples.js";
import { violationsOf } from "../schema.js";
import { kGpuFlags } from "./gpu.js";
import { openExample, output, ready, run, Site, write } from "./site.js";

let site: Site;
beforeAll(async () => {
  site = await Site.open();
});
afterEach(() => site.closePages());
afterAll(() => site.close());

describe("the first visit", () => {
  test("shows the first example's report before Python is there, and the editor takes text", async () => {
    const { page, complaints } = await site.page();
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(await page.getByRole("option", { name: /self.*calls/ }).count()).toBeGreaterThan(0);
    expect(await page.getByText("Ready", { exact: true }).count()).toBe(0);
    await write(page, "print('typed early')\n");
    await page.getByText("The report below is of the text before your last edit.").waitFor();
    await ready(page);
    expect(await output(page)).toBe(kDay16Output);
    expect(complaints).toEqual([]);
  });

  test("says what it loads, how much of it, and what it does then", async () => {
    const said: string[] = [];
    const { page } = await site.page("", {}, async (other) => {
      await other.exposeFunction("said", (text: string) => said.push(text));
      await other.addInitScript(() => {
        const tell = () => {
          const text = document.querySelector(".engine")?.textContent ?? "";
          void (globalThis as unknown as { said(text: string): void }).said(text);
        };
        const all = { subtree: true, childList: true, characterData: true };
        new MutationObserver(tell).observe(document, all);
      });
    });
    await ready(page);
    const seen = said.join("\n");
    expect(seen).toMatch(/Downloading Python[\d.]+ of 1\d\.\d MB/);
    const stages = [
      "Downloading Python",
      "Compiling Python",
      "Starting Python",
      "Installing Thirdbook",
      "Ready",
    ];
    expect(stages.map((stage) => seen.indexOf(stage))).toEqual(
      stages.map((stage) => seen.indexOf(stage)).sort((a, b) => a - b),
    );
    expect(stages.filter((stage) => !seen.includes(stage))).toEqual([]);
  });

  test("runs day16 in the worker and shows graph, guards, ledger and both bytecodes", async () => {
    const { page, complaints } = await site.warm();
    await openExample(page, "day16.py");
    expect(await output(page)).toBe(kDay16Output);
    for (const name of ["Guards", "Ledger, in replay order", "Bytecode, original", "Bytecode, rewritten"]) {
      const list = page.getByRole("listbox", { name, exact: true });
      expect(await list.getByRole("option").count(), name).toBeGreaterThan(0);
    }
    expect(await page.locator(".tb-box .tb-title").allTextContents()).toContain("mul");
    expect(complaints).toEqual([]);
  });
});

describe("one selection", () => {
  test("links ledger, source, guards and bytecode, by mouse, text cursor and keyboard", async () => {
    const { page } = await site.page();
    const original = page.getByRole("listbox", { name: "Bytecode, original" });
    const ledger = page.getByRole("listbox", { name: "Ledger, in replay order" });
    await ledger.getByRole("option", { name: /calls/ }).first().click();
    const marked = (text: string) => page.locator(".cm-linked-line", { hasText: text }).waitFor();
    await marked("self.calls += 1");
    const selected = await original.getByRole("option", { selected: true }).allInnerTexts();
    expect(selected.join(" ")).toMatch(/STORE_ATTR/);
    expect(selected.join(" ")).not.toMatch(/RETURN_VALUE/);

    await page.locator(".cm-line", { hasText: "return x * 2" }).click();
    await original.getByRole("option", { name: /RETURN_VALUE/, selected: true }).waitFor();
    const byCursor = await original.getByRole("option", { selected: true }).allInnerTexts();
    expect(byCursor.join(" ")).toMatch(/RETURN_VALUE/);
    expect(await ledger.getByRole("option", { selected: true }).count()).toBe(0);

    await ledger.focus();
    await page.keyboard.press("End");
    await marked("log.append");
    await page.keyboard.press("Home");
    await marked("self.calls += 1");
  });
});

describe("the stepper", () => {
  test("leaves the objects alone during the trace and changes them one by one during the replay", async () => {
    const { page } = await site.page();
    const slider = page.getByRole("slider", { name: "Step of the story" });
    await slider.waitFor();
    await slider.focus();
    await page.keyboard.press("Home");
    const states = () => page.locator(".tb-state").allInnerTexts();
    expect(await states()).toEqual(["not yet", "not yet"]);
    const last = Number(await slider.getAttribute("max"));
    const seen: string[] = [];
    for (let i = 0; i <= last; ++i) {
      seen.push((await states()).join(", "));
      await page.keyboard.press("ArrowRight");
    }
    const inOrder = seen.filter((text, index) => text !== seen[index - 1]);
    expect(inOrder).toEqual([
      "not yet, not yet",
      "recorded, not yet",
      "recorded, recorded",
      "replayed, recorded",
      "replayed, replayed",
    ]);
  });
});

test("the diagram of objects draws an arrow when the replay has made one hold another", async () => {
  const { page } = await site.warm();
  await write(
    page,
    "import torch\nclass Box: pass\na, b = Box(), Box()\n@torch.compile\ndef f(x):\n    a.inner = b\n    b.seen = 1\n    return x + 1\nf(torch.ones(2))\n",
  );
  await run(page);
  const diagram = page.getByRole("group", { name: "Diagram of the objects" });
  const drawn = async () => ({
    texts: await diagram
      .locator(".tb-field text")
      .evaluateAll((all) => all.map((text) => text.lastChild?.textContent)),
    arrows: await diagram.locator("path[marker-end]").count(),
  });
  expect(await drawn()).toEqual({ texts: ["✓ .inner → b", "✓ .seen: 1"], arrows: 1 });
  const slider = page.getByRole("slider", { name: "Step of the story" });
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  expect(await drawn()).toEqual({ texts: ["✓ .inner → b", ".seen: as it was", "ledger: 1"], arrows: 1 });
  await page.keyboard.press("ArrowLeft");
  expect((await drawn()).arrows).toBe(0);
  await diagram.locator(".tb-field", { hasText: ".seen" }).click();
  await page.locator(".cm-linked-line", { hasText: "b.seen = 1" }).waitFor();
  await page.getByRole("group", { name: "Objects: form" }).getByRole("button", { name: "List" }).click();
  await page.locator(".tb-object", { hasText: "G['a']" }).waitFor();
});

test("a drawn graph is moved, zoomed, searched and collapsed; as a list it says the same", async () => {
  const { page } = await site.warm();
  await openExample(page, "fused_chain.py");
  const drawing = page.getByRole("img", { name: /^Graph: \d+ nodes in layers/ });
  const number = (index: number) => async () =>
    Number(((await drawing.getAttribute("viewBox")) ?? "").split(" ")[index]);
  const [x, w] = [number(0), number(2)];
  const [left, width] = [await x(), await w()];
  await drawing.focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(x).toBeGreaterThan(left);
  await page.keyboard.press("+");
  await expect.poll(w).toBeLessThan(width);
  await page.keyboard.press("0");
  await expect.poll(x).toBe(left);
  expect(await w()).toBe(width);
  await page.getByRole("button", { name: "Zoom out" }).click();
  await expect.poll(w).toBeGreaterThan(width);
  await page.getByRole("button", { name: "Show the whole graph" }).click();
  await expect.poll(w).toBe(width);
  const place = (await drawing.boundingBox()) ?? { x: 0, y: 0 };
  await page.mouse.move(place.x + 5, place.y + 5);
  await page.mouse.down();
  await page.mouse.move(place.x + 45, place.y + 5);
  await page.mouse.up();
  await expect.poll(x).toBeLessThan(left);

  const boxes = drawing.locator(".tb-box");
  const all = await boxes.count();
  const search = page.getByRole("searchbox", { name: "Graph: find a node" });
  await search.fill("mul");
  const unmatched = await drawing.locator(".is-unmatched").count();
  expect(unmatched).toBeGreaterThan(0);
  expect(unmatched).toBeLessThan(all);
  await page.getByRole("group", { name: "Graph: form" }).getByRole("button", { name: "List" }).click();
  const list = page.getByRole("listbox", { name: "Graph: nodes" }).getByRole("option");
  expect(await list.count()).toBe(all - unmatched);
  await search.fill("");
  expect(await list.count()).toBe(all);
  await page.getByRole("group", { name: "Graph: form" }).getByRole("button", { name: "Drawing" }).click();
  await page.getByRole("button", { name: "Collapse kernels" }).click();
  expect(await boxes.count()).toBeLessThan(all);
  await page
    .getByText(/^Code of k0/)
    .first()
    .click();
  expect(
    await page
      .getByLabel(/^Code of k0/)
      .first()
      .innerText(),
  ).toMatch(/local\.get|v128|f32x4/);
});

describe("a person's own program", () => {
  test("runs while typing once it has been run, and keeps errors in the margin", async () => {
    const { page } = await site.warm();
    await write(page, "print('one')\n");
    await run(page);
    expect(await output(page)).toBe("one\n");
    await write(page, "print('two')\nraise ValueError('boom')\n");
    await page.getByText(/^Exit status 1 in /).waitFor();
    expect(await output(page)).toBe("two\n");
    expect(await page.locator(".output pre.stderr").innerText()).toMatch(/ValueError: boom/);
    expect(await page.locator(".cm-lint-marker-error").count()).toBe(1);
  });

  test("is searched with Ctrl+F", async () => {
    const { page } = await site.page();
    await page.getByRole("textbox", { name: "Program" }).click();
    await page.keyboard.press("Control+F");
    const field = page.getByRole("textbox", { name: "Find" });
    await field.pressSequentially("calls");
    await field.press("Enter");
    await page.locator(".cm-searchMatch-selected", { hasText: "calls" }).waitFor();
  });

  test("is stopped when it runs away; text and report stay and Python starts again", async () => {
    const { page } = await site.warm();
    await write(page, "while True: pass\n");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^Stopped\./).waitFor();
    expect(await page.locator(".cm-content").innerText()).toMatch(/while True: pass/);
    await ready(page);
    await write(page, "print('alive')\n");
    await run(page);
    expect(await output(page)).toBe("alive\n");
  });

  test("is stopped when it prints on both streams without end, and only the newest is shown", async () => {
    const { page } = await site.warm();
    await write(page, "import sys\nwhile True:\n    print('out')\n    print('err', file=sys.stderr)\n");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Earlier output is left out here.").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^Stopped\./).waitFor();
    await ready(page);
    expect((await page.getByRole("log", { name: "Output" }).innerText()).length).toBeLessThan(60_000);
  });

  test("ends when an example is chosen, which then runs", async () => {
    const { page, complaints } = await site.warm();
    await write(page, "while True: pass\n");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await openExample(page, "day16.py");
    expect(await output(page)).toBe(kDay16Output);
    expect(complaints).toEqual([]);
  });

  test("runs again when it was edited while it ran", async () => {
    const { page } = await site.warm();
    await write(page, "import time\ntime.sleep(1.5)\nprint('slow')\n");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await write(page, "print('quick')\n");
    await expect.poll(() => output(page), { timeout: 20_000 }).toBe("quick\n");
  });

  test("reads from the field for its input", async () => {
    const { page } = await site.warm();
    await write(page, "print('hello', input('name? '), int(input()) + 1)\n");
    await page.getByRole("textbox", { name: "Input" }).fill("Ada\n41\n");
    await run(page);
    expect(await output(page)).toBe("name? hello Ada 42\n");
  });

  test("finds the interpreter whole, whatever the one before it did", async () => {
    const { page } = await site.warm();
    await write(
      page,
      "import builtins, sys, torch\ntorch.set_default_dtype(torch.float64)\nsys.path.clear()\nsys.setrecursionlimit(60)\nsys.stdout = None\ndel builtins.print, builtins.len\nbuiltins.left = 1\n",
    );
    await run(page);
    await write(
      page,
      "import colorsys, torch\nprint(len('four'), 'left' in dir(__builtins__), torch.ones(1).dtype)\n",
    );
    await run(page);
    expect(await output(page)).toBe("4 False torch.float32\n");
    await write(page, "import os\nos._exit(1)\n");
    await run(page);
    await page.getByText(/^The interpreter failed: .* Python starts again\.$/).waitFor();
    await write(page, "import torch\nprint(torch.ones(1))\n");
    await ready(page);
    await run(page);
    expect(await output(page)).toBe("tensor([1.])\n");
  });

  test("is there again on the next visit, but not in safe mode", async () => {
    const { page } = await site.page();
    await write(page, "print('mine')\n");
    await page.reload();
    expect(await page.locator(".cm-content").innerText()).toMatch(/print\('mine'\)/);
    await page.goto(`${site.url}?safe`);
    expect(await page.locator(".cm-content").innerText()).toMatch(/class Model/);
  });

  test("stays that of its tab when there are two", async () => {
    const { page } = await site.page();
    await write(page, "print('first tab')\n");
    const other = await page.context().newPage();
    await other.goto(site.url);
    await write(other, "print('second tab')\n");
    await page.reload();
    expect(await page.locator(".cm-content").innerText()).toMatch(/first tab/);
    const third = await page.context().newPage();
    await third.goto(site.url);
    expect(await third.locator(".cm-content").innerText()).toMatch(/second tab/);
  });
});

test("Reset shows the first example with the run that came with the page", async () => {
  const { page } = await site.warm();
  await write(page, "print('mine')\n");
  await run(page);
  await page.getByRole("button", { name: "Reset" }).click();
  expect(await page.locator(".cm-content").innerText()).toMatch(/class Model/);
  expect(await output(page)).toBe(kDay16Output);
  await page.getByText("This run was made when the page was built.").waitFor();
  expect(await page.getByRole("option", { name: /self.*calls/ }).count()).toBeGreaterThan(0);
  await ready(page);
});

describe("a shared link", () => {
  test("shows its program and runs nothing until Run", async () => {
    const hash = await encodeHash({ file: "theirs.py", source: "print('ran')\n" });
    const { page, complaints } = await site.page(hash);
    await ready(page);
    await page.getByText(/came with a link/).waitFor();
    await page.waitForTimeout(500);
    expect(await output(page)).toBe("");
    await run(page);
    expect(await output(page)).toBe("ran\n");
    expect(complaints).toEqual([]);
  });

  test("leaves the own program for the way back, and names the program shown or none", async () => {
    const theirs = await encodeHash({ file: "theirs.py", source: "print('theirs')\n" });
    const { page } = await site.page();
    const text = () => page.locator(".cm-content").innerText();
    await write(page, "print('mine')\n");
    await page.goto(site.url + theirs);
    await page.getByText(/came with a link/).waitFor();
    expect(await text()).toMatch(/print\('theirs'\)/);
    await page.goBack();
    await expect.poll(text).toMatch(/print\('mine'\)/);
    await page.goForward();
    await expect.poll(text).toMatch(/print\('theirs'\)/);
    await write(page, "print('edited')\n");
    await page.waitForURL((url) => url.hash === "");
    await page.reload();
    await expect.poll(text).toMatch(/print\('edited'\)/);
  });

  test("made by Share opens as the same program", async () => {
    const { page } = await site.page();
    await write(page, "print('shared')\n");
    await page.getByRole("button", { name: "Share" }).click();
    await page.waitForURL(/#v1=/);
    const other = await site.page(new URL(page.url()).hash);
    expect(await other.page.locator(".cm-content").innerText()).toMatch(/print\('shared'\)/);
  });

  test.each([
    [
      "script in its strings",
      encodeHash({
        file: "a.py",
        source: "'</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'",
      }),
    ],
    ["a huge hash", Promise.resolve(`#v1=${"A".repeat(250_000)}`)],
    ["broken data", Promise.resolve("#v1=not!base64")],
    ["another version", Promise.resolve("#v9=AAAA")],
  ])("with %s does no harm", async (_, hash) => {
    const { page, complaints } = await site.page(await hash);
    await page.getByRole("textbox", { name: "Program" }).waitFor();
    await page.waitForTimeout(300);
    expect(await page.evaluate(() => "hacked" in window)).toBe(false);
    expect(complaints).toEqual([]);
  });
});

describe("each example", () => {
  test("prints the same compiled as in plain Python, chosen from the menu", async () => {
    const { page, complaints } = await site.warm();
    for (const { file, source } of examples) {
      await openExample(page, file);
      expect((await page.locator(".cm-content").innerText()).slice(0, 20), file).toBe(source.slice(0, 20));
      await page.getByRole("button", { name: "Compare with eager" }).click();
      const verdict = page.locator(".output .note", { hasText: /Plain Python/ });
      await verdict.waitFor({ timeout: 60_000 });
      expect(await verdict.innerText(), file).toMatch(/print the same.*Verify mode found the same/);
    }
    expect(complaints).toEqual([]);
  });
});

async function savedBy(page: Page, act: () => Promise<unknown>): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

describe("what the report says", () => {
  test("why a function was compiled again: the guard, the value it asks for and the one it met", async () => {
    const { page } = await site.warm();
    await openExample(page, "recompile.py");
    const table = page.getByRole("table", { name: /Layer\.forward was compiled 2 times/ });
    expect(await table.getByRole("row").last().innerText()).toMatch(
      /#2\s+not \(L\['self'\]\.double\) line 12\s+False → True/,
    );
    await page.getByRole("option", { name: /double.*failed \d×/s }).waitFor();
    await table.getByRole("button", { name: "Show version 2" }).click();
    await page.locator(".tb-box .tb-title", { hasText: "mul" }).waitFor();
  });

  test("at the line of a break its reason and what to do, by mouse and by keyboard", async () => {
    const { page } = await site.warm();
    await openExample(page, "graph_break.py");
    const said = /Graph break, .*graph_break\(\)/;
    await page.locator(".cm-lint-marker-warning").hover();
    await page.locator(".cm-tooltip", { hasText: said }).waitFor();
    await page.mouse.move(0, 0);
    await page.locator(".cm-tooltip").waitFor({ state: "detached" });
    await page.locator(".cm-line").first().click();
    await page.keyboard.press("F8");
    await page.locator(".cm-tooltip", { hasText: said }).waitFor();
  });

  test("what each instruction of the rewritten code is for", async () => {
    const { page } = await site.warm();
    await openExample(page, "graph_break.py");
    const roles = page.getByRole("listbox", { name: "Bytecode, rewritten" }).locator(".tb-role");
    expect([...new Set(await roles.allTextContents())]).toEqual(
      expect.arrayContaining(["load", "graph", "replay", "resume"]),
    );
  });

  test("which entry of the catalogue a break belongs to, with a page that opens its program", async () => {
    const { page, complaints } = await site.warm();
    await openExample(page, "graph_break.py");
    const [catalogue] = await Promise.all([
      page.context().waitForEvent("page"),
      page.getByRole("link", { name: "asked-for" }).click(),
    ]);
    const article = catalogue.locator("#asked-for");
    await article.getByRole("link", { name: "Open in the playground" }).click();
    await catalogue.getByText(/came with a link/).waitFor();
    expect(await catalogue.locator(".cm-content").innerText()).toMatch(/graph_break\(\)/);
    await catalogue.close();
    expect(complaints).toEqual([]);
  });
});

describe("on a page with a GPU", async () => {
  const gpuSite = await Site.open({ flags: kGpuFlags });
  afterAll(() => gpuSite.close());
  const { page, complaints } = await gpuSite.page();
  const hasAdapter = await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));

  test.skipIf(!hasAdapter)("the example of the GPU runs there, and its shaders are shown", async () => {
    await ready(page);
    await openExample(page, "gpu_running_mean.py");
    expect(await output(page)).toMatch(/^webgpu webgpu 3\n/);
    const shaders = page.getByRole("heading", { name: /On the GPU, in WGSL/ });
    await shaders.waitFor();
    await page.getByText("Code of mul", { exact: true }).first().click();
    expect(await page.getByLabel("Code of mul", { exact: true }).first().innerText()).toMatch(/@compute/);
    expect(complaints).toEqual([]);
  });
});

describe("Compare with eager", () => {
  test("runs plain, verified and compiled, and times them", async () => {
    const { page } = await site.warm();
    await openExample(page, "class_counter.py");
    await page.getByRole("button", { name: "Compare with eager" }).click();
    await page.getByText(/Verify mode found the same values and effects/).waitFor({ timeout: 60_000 });
    const timing = page.locator(".tb-figures");
    expect(await timing.innerText()).toMatch(/plain Python\s+[\d.]+ ms\s+compiled, with tracing\s+[\d.]+ ms/);
    expect(await page.getByRole("option", { name: /calls/ }).count()).toBeGreaterThan(0);
  });
});

describe("Save", () => {
  test("gives the program, the report, and the graph as a drawing and as data", async () => {
    const { page } = await site.page();
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    const menu = page.getByRole("combobox", { name: "Save" });
    const saved = (value: string) => savedBy(page, () => menu.selectOption(value));
    const program = await saved("program");
    expect([program.name, program.bytes.toString()]).toEqual([
      "day16.py",
      examples.find(({ file }) => file === "day16.py")?.source,
    ]);
    const report = await saved("report");
    expect(report.name).toBe("day16.report.json");
    expect(violationsOf(JSON.parse(report.bytes.toString()))).toEqual([]);
    const drawing = await saved("drawing");
    expect([drawing.name, drawing.bytes.toString()]).toEqual([
      "day16.graph.svg",
      expect.stringMatching(/^<svg .*mul/s),
    ]);
    const graph = JSON.parse((await saved("graph")).bytes.toString()) as { nodes: { op: string }[] }[];
    expect(graph[0]?.nodes.map((node) => node.op)).toContain("mul");
  });

  test("gives a file of the graph that runs without Python, or says why there is none", async () => {
    const { page } = await site.warm();
    await openExample(page, "day16.py");
    const menu = page.getByRole("combobox", { name: "Save" });
    const file = await savedBy(page, () => menu.selectOption("runtime"));
    expect(file.name).toBe("day16.tbexport");
    const graph = await load(file.bytes);
    const x = { dtype: "float32", shape: [4], data: Float32Array.of(1, 2, 3, 4) };
    const { outputs, effects } = await graph.run({ "L['x']": x });
    expect(outputs[0]?.data).toEqual(Float32Array.of(2, 4, 6, 8));
    expect(effects).toHaveLength(2);
    expect(await output(page)).toBe(kDay16Output);
    await openExample(page, "graph_break.py");
    await menu.selectOption("runtime");
    await page.getByText(/^There is no file of this graph: graph_break\(\)/).waitFor();
  });

  test("gives a file that the program has written, such as an exported graph", async () => {
    const { page } = await site.warm();
    await openExample(page, "export_graph.py");
    const file = await savedBy(page, () => page.getByRole("button", { name: "Save model.tbexport" }).click());
    expect([file.name, file.bytes.subarray(0, 8).toString()]).toEqual(["model.tbexport", "TBEXPORT"]);
    await openExample(page, "day16.py");
    expect(await page.getByRole("button", { name: /Save model/ }).count()).toBe(0);
  });
});

describe("without a network", () => {
  test("the page works after the first visit", async () => {
    const { page } = await site.page("", { serviceWorkers: "allow" });
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.context().setOffline(true);
    await page.reload();
    await ready(page);
    await run(page);
    expect(await output(page)).toBe(kDay16Output);
    await page.goto(`${site.url}graph-breaks.html`);
    await page.getByRole("heading", { name: "Graph breaks" }).waitFor();
  });
});

test("a new version throws the files of the old one away and says that it is there", async () => {
  const { page } = await site.page("", { serviceWorkers: "allow" });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => caches.open("somebody-else")));
  await page.reload();
  site.changed.set("service_worker.js", (text) => text.replace(/"[0-9a-f]{16}"/, '"0123456789abcdef"'));
  await page.reload();
  await page.getByText("A newer version of this page has been fetched. Reload to use it.").waitFor();
  site.changed.clear();
  const names = () => page.evaluate(() => caches.keys());
  await expect
    .poll(names, { timeout: 30_000 })
    .toEqual(expect.not.arrayContaining([expect.stringMatching(/^thirdbook-(?!0123456789abcdef)/)]));
  expect(await names()).toEqual(expect.arrayContaining(["somebody-else", "thirdbook-0123456789abcdef"]));
});

test("?embed=1 leaves out what belongs to the whole page, and runs", async () => {
  const { page } = await site.page("?embed=1");
  expect(await page.getByRole("button", { name: "Share" }).isVisible()).toBe(false);
  await ready(page);
  await run(page);
  expect(await output(page)).toBe(kDay16Output);
});

describe("a page that may not compile WebAssembly", () => {
  test("says so in one sentence with the remedy, and does not hang", async () => {
    const strict = await Site.open({ policy: "script-src 'self'" });
    try {
      const { page } = await strict.page();
      const alert = page.getByRole("alert");
      await alert.waitFor({ timeout: 30_000 });
      expect(await alert.innerText()).toMatch(/'wasm-unsafe-eval'/);
      await alert.getByRole("button", { name: "Try again" }).waitFor();
    } finally {
      await strict.close();
    }
  });
});
