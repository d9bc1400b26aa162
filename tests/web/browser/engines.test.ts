// The start, every example and a shared link in Firefox ESR and WebKitGTK, which have no GPU; WebKit has no JSPI either.
// What the tracer finds must not depend on the engine: Chromium's counters are the measure.
import { existsSync } from "node:fs";
import { launch, type Browser } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeHash } from "../../../web/lib/share.js";
import { examples, kDay16Output } from "../examples.js";
import { Site } from "./site.js";
import { available as webkitAvailable, WebKitPage } from "./webkit.js";

const kFirefox = process.env["THIRDBOOK_FIREFOX"] || "/usr/bin/firefox-esr";
const kReady = "return document.querySelector('.engine')?.textContent.startsWith('Ready')";
const kRun =
  "[...document.querySelectorAll('button')].find((button) => button.textContent === 'Run').click()";
const kDone = "return /(Done|Exit status \\d+) in /.test(document.querySelector('.output')?.textContent)";
const kPrinted =
  "return [...document.querySelectorAll('.output pre.stdout')].map((part) => part.textContent).join('')";
const kFailure = "return document.querySelector('.engine.is-failed')?.textContent ?? ''";
const kOps =
  "return [...document.querySelectorAll('.tb-box .tb-title')].map((title) => title.textContent).join(' ')";

const kCounters =
  "return [...document.querySelectorAll('.tb-figures dl:first-child > div')].map((row) => row.textContent).join(', ')";

/** What the drivers can do: evaluate the body of a function in the page. */
interface Remote {
  run<T>(body: string): Promise<T>;
}

async function until(remote: Remote, body: string, milliseconds = 120_000): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!(await remote.run(body))) {
    if (Date.now() > end) throw new Error(`waited ${milliseconds} ms for: ${body}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const remoteOf = (page: { evaluate(code: string): Promise<unknown> }): Remote => ({
  run: <T>(body: string) => page.evaluate(`(() => { ${body} })()`) as Promise<T>,
});

async function runFirstExample(remote: Remote): Promise<void> {
  await until(remote, kReady.replace("return", `if (${kFailure.replace("return", "")}) return true; return`));
  expect(await remote.run(kFailure)).toBe("");
  await remote.run(kRun);
  await until(remote, kDone);
  expect(await remote.run(kPrinted)).toBe(kDay16Output);
  expect(await remote.run(kOps)).toMatch(/mul/);
}

/** The counters after each example, chosen from the menu. */
async function countersOfExamples(remote: Remote): Promise<Record<string, string>> {
  await until(remote, kReady);
  const counters: Record<string, string> = {};
  for (const { file } of examples) {
    await remote.run(
      `const menu = document.querySelector('.examples select'); menu.value = '${file}'; ` +
        "menu.dispatchEvent(new Event('change', { bubbles: true }))",
    );
    await until(remote, kDone);
    counters[file] = await remote.run<string>(kCounters);
  }
  return counters;
}

async function openSharedLink(remote: Remote): Promise<void> {
  await until(remote, kReady);
  expect(await remote.run(kPrinted)).toBe("");
  await remote.run(kRun);
  await until(remote, kDone);
  expect(await remote.run(kPrinted)).toBe("shared\n");
}

const kShared = encodeHash({ file: "theirs.py", source: "print('shared')\n" });

let site: Site;
let expected: Record<string, string>;
beforeAll(async () => {
  site = await Site.open();
  const { page } = await site.warm();
  expected = await countersOfExamples(remoteOf(page));
});
afterAll(() => site.close());

describe.skipIf(!existsSync(kFirefox))("Firefox ESR", () => {
  let browser: Browser;
  let remote: Remote;
  beforeAll(async () => {
    browser = await launch({ browser: "firefox", executablePath: kFirefox, headless: true });
    const page = await browser.newPage();
    await page.goto(site.url);
    remote = remoteOf(page);
  });
  afterAll(() => browser.close());

  test("runs the first example", () => runFirstExample(remote));

  test("traces every example as Chromium does", async () => {
    expect(await countersOfExamples(remote)).toEqual(expected);
  });

  test("shows a shared link and runs it on Run only", async () => {
    const page = await browser.newPage();
    await page.goto(site.url + (await kShared));
    await openSharedLink(remoteOf(page));
  });
});

describe.skipIf(!webkitAvailable)("WebKitGTK", () => {
  let page: WebKitPage;
  beforeAll(async () => {
    page = await WebKitPage.open(site.url);
  });
  afterAll(() => page.close());

  test("runs the first example", () => runFirstExample(page));

  test("traces every example as Chromium does", async () => {
    expect(await countersOfExamples(page)).toEqual(expected);
  });

  test("shows a shared link and runs it on Run only", async () => {
    await page.go(`${site.url}?shared${await kShared}`);
    await openSharedLink(page);
  });
});
