// In: build/npm. Out: a Chromium page with the software WebGPU adapter, in which exported files run on both devices.
// Invariant: what crosses to the page and back is plain data; an adapter that is missing is said, never passed over.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { DType } from "../../../web/lib/export_file.ts";
import { fileAnswer, launchChromium, serve, type Server } from "./serve.ts";

export const kGpuFlags = [
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
  /**
   * What each gives, or the error's text: wasm, and WebGPU with the shaders for software, for hardware with and without what adapters
   * may have besides, and with float16 storage.
   */
  wasm: Tensor[] | string;
  software: Tensor[] | string;
  hardware: Tensor[] | string;
  plain: Tensor[] | string;
  halves: Tensor[] | string;
  /** Where they ran, and why on wasm. */
  devices: string[];
  faults: (string | null)[];
  dispatches: number;
  hostSteps: string[];
}

export const kShaders = ["software", "hardware", "plain"] as const;
export type Variant = "wasm" | "halves" | (typeof kShaders)[number];

export type FaultKind = "none" | "lost" | "invalid" | "memory" | "bytes" | "bindings" | "groups";
export interface FaultyRuns {
  runs: { outputs: Tensor[]; device: string; fault: string | null }[];
  /** Calls of WebGPU that were watched. */
  calls: number;
  /** Rejections that nobody handled. */
  errors: string[];
}

export interface CountedRun {
  device: string;
  pipelines: number;
  buffers: number;
  submits: number;
  bytesWritten: number;
}

/** What can cross to the page. */
function crossing({ file, inputs }: Case): { file: string; inputs: Record<string, Input> } {
  return { inputs, file: Buffer.from(file).toString("base64") };
}

/** Where the server's addresses are in the tree; all others in the package. */
const kFolders: [string, string][] = [
  ["/page/", fileURLToPath(new URL(".", import.meta.url))],
  ["/pyodide/", "node_modules/pyodide"],
];
export class GpuPage {
  readonly page: Page;
  readonly #server: Server;
  readonly #browser: Browser;

  private constructor(page: Page, server: Server, browser: Browser) {
    this.page = page;
    this.#server = server;
    this.#browser = browser;
  }

  /** `script` sets globalThis.runCases, or whatever the test calls. */
  static async open(script = "gpu_page.mjs"): Promise<GpuPage> {
    const html = `<title>gpu</title><script type="module" src="/page/${script}"></script>`;
    const server = await serve((path) => {
      if (path === "/") return { body: html, headers: { "content-type": "text/html" } };
      const [prefix, folder] = kFolders.find(([start]) => path.startsWith(start)) ?? ["/", "build/npm"];
      return fileAnswer(join(folder, path.slice(prefix.length)));
    });
    const browser = await launchChromium(kGpuFlags);
    const page = await browser.newPage();
    await page.goto(`${server.url}/`);
    await page.waitForFunction(() => "ready" in globalThis, undefined, { timeout: 120_000 });
    return new GpuPage(page, server, browser);
  }

  /** Whether Chromium has an adapter here, before any test's page is opened. */
  static async isThere(): Promise<boolean> {
    const page = await GpuPage.open();
    const found = await page.hasAdapter();
    await page.close();
    return found;
  }

  hasAdapter(): Promise<boolean> {
    return this.page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
  }

  /** What the adapter has besides. */
  features(): Promise<string[]> {
    return this.page.evaluate(() => (globalThis as unknown as { features(): Promise<string[]> }).features());
  }

  /** Runs each case on wasm and with each kind of shaders on WebGPU. */
  run(cases: Case[], variants: Variant[] = ["wasm", ...kShaders]): Promise<Outcome[]> {
    return this.page.evaluate(
      ([all, devices]) =>
        (globalThis as unknown as { runCases(...args: unknown[]): Promise<Outcome[]> }).runCases(
          all,
          devices,
        ),
      [cases.map(crossing), variants] as const,
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

  /** What each run asks of WebGPU, the file's inputs being each of `inputs` in turn. */
  runCounted(file: Uint8Array, inputs: Record<string, Input>[]): Promise<CountedRun[]> {
    return this.page.evaluate(
      (plain) =>
        (globalThis as unknown as { runCounted(plain: unknown): Promise<CountedRun[]> }).runCounted(plain),
      { file: Buffer.from(file).toString("base64"), inputs },
    );
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#server.close();
  }
}
