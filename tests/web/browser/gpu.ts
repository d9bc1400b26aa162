// In: build/npm. Out: a Chromium page with the software WebGPU adapter, in which exported files run on both devices.
// Invariant: what crosses to the page and back is plain data; an adapter that is missing is said, never passed over.

import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import type { DType } from "../../../web/lib/export_file.ts";

export const kGpuFlags = [
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
];

export type Input =
  { dtype: DType; shape: number[]; data: (number | "NaN" | "Infinity" | "-Infinity")[] } | number;
export interface Case {
  name: string;
  file: Uint8Array;
  inputs: Record<string, Input>;
}
export interface Tensor {
  dtype: string;
  shape: number[];
  data: (number | string)[];
}
export interface Outcome {
  /** What wasm gives, or the error's text. */
  wasm: Tensor[] | string;
  webgpu: Tensor[] | string;
  /** Where the second one ran, and why on wasm. */
  device: string;
  fault: string | null;
  dispatches: number;
  hostSteps: string[];
}

export type FaultKind = "none" | "lost" | "invalid" | "limits";
export interface FaultyRuns {
  runs: { outputs: Tensor[]; device: string; fault: string | null }[];
  /** Calls of WebGPU that were watched. */
  calls: number;
  /** Rejections that nobody handled. */
  errors: string[];
}

/** What can cross to the page. */
function crossing({ file, inputs }: Case): { file: string; inputs: Record<string, Input> } {
  return { inputs, file: Buffer.from(file).toString("base64") };
}

const kPageScript = fileURLToPath(new URL("gpu_page.mjs", import.meta.url));
const kHtml = '<title>gpu</title><script type="module" src="gpu_page.mjs"></script>';
const kTypes: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

export class GpuPage {
  readonly page: Page;
  readonly #server: Server;
  readonly #browser: Browser;

  private constructor(page: Page, server: Server, browser: Browser) {
    this.page = page;
    this.#server = server;
    this.#browser = browser;
  }

  static async open(): Promise<GpuPage> {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost");
      const file = pathname === "/gpu_page.mjs" ? kPageScript : join("build/npm", pathname);
      if (pathname === "/") return response.writeHead(200, { "content-type": "text/html" }).end(kHtml);
      if (!existsSync(file)) return response.writeHead(404).end();
      const headers = { "content-type": kTypes[extname(file)] ?? "application/octet-stream" };
      return response.writeHead(200, headers).end(readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const address = server.address();
    const browser = await chromium.launch({
      executablePath: process.env["THIRDBOOK_CHROMIUM"] || "/usr/bin/chromium",
      args: kGpuFlags,
    });
    const page = await browser.newPage();
    await page.goto(`http://localhost:${typeof address === "object" && address ? address.port : 0}/`);
    await page.waitForFunction(() => "runCases" in globalThis);
    return new GpuPage(page, server, browser);
  }

  hasAdapter(): Promise<boolean> {
    return this.page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
  }

  /** Runs each case on wasm and on WebGPU. */
  run(cases: Case[]): Promise<Outcome[]> {
    const plain = cases.map(crossing);
    return this.page.evaluate(
      (all) => (globalThis as unknown as { runCases(all: unknown): Promise<Outcome[]> }).runCases(all),
      plain,
    );
  }

  /** Runs a case twice on a WebGPU that meets a fault at its `at`-th call. */
  runFaulty(one: Case, kind: FaultKind, at = 0): Promise<FaultyRuns> {
    return this.page.evaluate(
      ([plain, faultKind, call]) =>
        (globalThis as unknown as { runFaulty(...args: unknown[]): Promise<FaultyRuns> }).runFaulty(
          plain,
          faultKind,
          call,
        ),
      [crossing(one), kind, at] as const,
    );
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
