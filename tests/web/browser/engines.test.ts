// The start, the first example and a shared link in Firefox ESR and WebKitGTK, which have no GPU; WebKit has no JSPI either.
import { existsSync } from "node:fs";
import { launch, type Browser, type Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeHash } from "../../../web/lib/share.js";
import { kDay16Output } from "../examples.js";
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

/** What both drivers can do. */
interface Remote {
  run<T>(body: string): Promise<T>;
  until<T>(body: string): Promise<T>;
}

async function runFirstExample(remote: Remote): Promise<void> {
  await remote.until(kReady.replace("return", `if (${kFailure.replace("return", "")}) return true; return`));
  expect(await remote.run(kFailure)).toBe("");
  await remote.run(kRun);
  await remote.until(kDone);
  expect(await remote.run(kPrinted)).toBe(kDay16Output);
  expect(await remote.run(kOps)).toMatch(/mul/);
}

async function openSharedLink(remote: Remote): Promise<void> {
  await remote.until(kReady);
  expect(await remote.run(kPrinted)).toBe("");
  await remote.run(kRun);
  await remote.until(kDone);
  expect(await remote.run(kPrinted)).toBe("shared\n");
}

const kShared = encodeHash({ file: "theirs.py", source: "print('shared')\n" });

let site: Site;
beforeAll(async () => {
  site = await Site.open();
});
afterAll(() => site.close());

describe.skipIf(!existsSync(kFirefox))("Firefox ESR", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch({ browser: "firefox", executablePath: kFirefox, headless: true });
  });
  afterAll(() => browser.close());

  const remoteOf = (page: Page): Remote => ({
    run: <T>(body: string) => page.evaluate(`(() => { ${body} })()`) as Promise<T>,
    until: <T>(body: string) =>
      page.waitForFunction(`(() => { ${body} })()`, { timeout: 120_000 }) as unknown as Promise<T>,
  });

  test("runs the first example", async () => {
    const page = await browser.newPage();
    await page.goto(site.url);
    await runFirstExample(remoteOf(page));
  });

  test("shows a shared link and runs it on Run only", async () => {
    const page = await browser.newPage();
    await page.goto(site.url + (await kShared));
    await openSharedLink(remoteOf(page));
  });
});

describe.skipIf(!webkitAvailable)("WebKitGTK", () => {
  test("runs the first example", async () => {
    const page = await WebKitPage.open(site.url);
    try {
      await runFirstExample(page);
    } finally {
      await page.close();
    }
  });

  test("shows a shared link and runs it on Run only", async () => {
    const page = await WebKitPage.open(site.url + (await kShared));
    try {
      await openSharedLink(page);
    } finally {
      await page.close();
    }
  });
});
