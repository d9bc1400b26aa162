// In: the built site, and headers to serve it with. Out: a server in a sub-folder of localhost, and Chromium pages on it.
// Invariant: only script-src 'self' 'wasm-unsafe-eval' is allowed unless a test says otherwise; what is opened is closed.

import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { kBuild } from "../../../wasm/toolchain/places.mjs";

const kSite = join(kBuild, "site");
const kFolder = "/some/folder/";
export const kPolicy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; object-src 'none'";
export const kTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

export class Site {
  readonly url: string;
  /** Files that are served otherwise than they are, by name. */
  readonly changed = new Map<string, (text: string) => string>();
  readonly #server: Server;
  readonly #browser: Browser;

  private constructor(server: Server, browser: Browser) {
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    this.url = `http://localhost:${port}${kFolder}`;
    this.#server = server;
    this.#browser = browser;
  }

  static async open(policy = kPolicy): Promise<Site> {
    if (!existsSync(join(kSite, "index.html"))) throw new Error("build/site is missing: run npm run build");
    const changes: { current?: Site } = {};
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://localhost").pathname;
      const inside = path.startsWith(kFolder) ? normalize(path.slice(kFolder.length)) || "index.html" : "";
      const file = join(kSite, inside === "." ? "index.html" : inside);
      if (inside === "" || !file.startsWith(kSite) || !existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, {
        "content-type": kTypes[extname(file)] ?? "application/octet-stream",
        "content-security-policy": policy,
      });
      const change = changes.current?.changed.get(inside);
      response.end(change ? change(readFileSync(file, "utf8")) : readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const browser = await chromium.launch({
      executablePath: process.env["THIRDBOOK_CHROMIUM"] || "/usr/bin/chromium",
      args: ["--no-sandbox"],
    });
    return (changes.current = new Site(server, browser));
  }

  /** A page in a context of its own; complaints of the page are collected. */
  async page(path = "", options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
    const context = await this.#browser.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(this.url + path);
    return { page, complaints };
  }

  /** Ends every page: each holds a Python of its own. */
  async closePages(): Promise<void> {
    await Promise.all(this.#browser.contexts().map((context) => context.close()));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await new Promise((resolve) => this.#server.close(resolve));
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
  await page.getByText(/^(Done|Exit status \d+) in /).waitFor({ timeout: 60_000 });
}

export function output(page: Page): Promise<string> {
  return page
    .locator(".output pre.stdout")
    .allInnerTexts()
    .then((parts) => parts.join(""));
}
