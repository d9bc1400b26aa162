// In: the built site, and headers to serve it with. Out: a server in a sub-folder of localhost, and Chromium pages on it.
// Invariant: only script-src 'self' 'wasm-unsafe-eval' is allowed unless a test says otherwise; what is opened is closed; a page has a
// service worker where a test asks for one, as filling its cache takes longer than most tests.

import { existsSync } from "node:fs";
import { join, normalize } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { kBuild } from "../../../wasm/toolchain/places.mjs";
import { fileAnswer, launchChromium, serve, type Server } from "./serve.js";

const kSite = join(kBuild, "site");
const kFolder = "/some/folder/";
export const kPolicy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; object-src 'none'";

export interface Opened {
  page: Page;
  complaints: string[];
}

export class Site {
  readonly url: string;
  /** Files that are served otherwise than they are, by name. */
  readonly changed: Map<string, (text: string) => string>;
  readonly #server: Server;
  readonly #browser: Browser;
  #warm: Promise<Opened> | undefined;

  private constructor(server: Server, browser: Browser, changed: Site["changed"]) {
    this.url = server.url + kFolder;
    this.#server = server;
    this.#browser = browser;
    this.changed = changed;
  }

  static async open({ policy = kPolicy, flags = [] as string[] } = {}): Promise<Site> {
    if (!existsSync(join(kSite, "index.html"))) throw new Error("build/site is missing: run npm run build");
    const changed: Site["changed"] = new Map();
    const server = await serve((path) => {
      if (!path.startsWith(kFolder)) return undefined;
      const inside = normalize(path.slice(kFolder.length) || "index.html");
      const file = join(kSite, inside);
      const found = file.startsWith(kSite)
        ? fileAnswer(file, { "content-security-policy": policy })
        : undefined;
      const change = changed.get(inside);
      return found && change ? { ...found, body: change(found.body.toString()) } : found;
    });
    return new Site(server, await launchChromium(flags), changed);
  }

  /** A page in a context of its own; complaints of the page are collected. */
  async page(
    path = "",
    options: BrowserContextOptions = {},
    prepare?: (page: Page) => Promise<void>,
  ): Promise<Opened> {
    const context = await this.#browser.newContext({ serviceWorkers: "block", ...options });
    const page = await context.newPage();
    await prepare?.(page);
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(this.url + path);
    return { page, complaints };
  }

  /** The one page that tests share in which Python is ready; as the tests before have left it. */
  async warm(): Promise<Opened> {
    this.#warm ??= this.page();
    const warm = await this.#warm;
    warm.complaints.length = 0;
    await ready(warm.page);
    return warm;
  }

  /** Ends every page but the shared one: each holds a Python of its own. */
  async closePages(): Promise<void> {
    const shared = (await this.#warm)?.page.context();
    const own = this.#browser.contexts().filter((context) => context !== shared);
    await Promise.all(own.map((context) => context.close()));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#server.close();
  }
}

export async function ready(page: Page): Promise<void> {
  await page
    .getByRole("status")
    .getByText("Ready", { exact: true })
    .or(page.getByText("Ready", { exact: true }))
    .first()
    .waitFor({ timeout: 120_000 });
}

/** Replaces the program as a person would: click, select all, type. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Program" }).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

export async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await ended(page);
}

/** Opens an example from the menu, which runs it. */
export async function openExample(page: Page, file: string): Promise<void> {
  await page.getByRole("combobox", { name: "Examples" }).selectOption(file);
  await ended(page);
}

/** The program has run to its end. */
export async function ended(page: Page): Promise<void> {
  await page.getByText(/^(Done|Exit status \d+) in /).waitFor({ timeout: 60_000 });
}

export function output(page: Page): Promise<string> {
  return page
    .locator(".output pre.stdout")
    .allInnerTexts()
    .then((parts) => parts.join(""));
}
