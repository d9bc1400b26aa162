// In: WebKitGTK's WebDriver (Debian's webkit2gtk-driver, xvfb). Out: one page in MiniBrowser, by the WebDriver protocol.
// Invariant: the driver and its browser end with close(); where they are not installed, `available` is false.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";

const kDriver = "/usr/bin/WebKitWebDriver";
const kLibraries = "/usr/lib";

function findMiniBrowser(): string | undefined {
  for (const triplet of existsSync(kLibraries) ? readdirSync(kLibraries) : []) {
    const path = `${kLibraries}/${triplet}/webkit2gtk-4.1/MiniBrowser`;
    if (existsSync(path)) return path;
  }
  return undefined;
}

export const available =
  existsSync(kDriver) && existsSync("/usr/bin/xvfb-run") && findMiniBrowser() !== undefined;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

export class WebKitPage {
  readonly #driver: ChildProcess;
  readonly #base: string;
  #session = "";

  private constructor(driver: ChildProcess, base: string) {
    this.#driver = driver;
    this.#base = base;
  }

  static async open(url: string): Promise<WebKitPage> {
    const port = await freePort();
    const words = ["-a", kDriver, `--port=${port}`, "--host=127.0.0.1"];
    const driver = spawn("/usr/bin/xvfb-run", words, {
      stdio: "ignore",
      detached: true,
      env: { ...process.env, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1", LIBGL_ALWAYS_SOFTWARE: "1" },
    });
    const page = new WebKitPage(driver, `http://127.0.0.1:${port}`);
    await page.#start();
    await page.go(url);
    return page;
  }

  go(url: string): Promise<void> {
    return this.#call("POST", "/url", { url });
  }

  async #start(): Promise<void> {
    const options = { binary: findMiniBrowser(), args: ["--automation"] };
    const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": options } };
    for (let attempt = 0; ; ++attempt) {
      try {
        const { sessionId } = await this.#raw<{ sessionId: string }>("POST", "/session", { capabilities });
        this.#session = sessionId;
        return;
      } catch (error) {
        if (attempt >= 50) throw error;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    }
  }

  /** Evaluates the body of a function in the page. */
  run<T>(body: string): Promise<T> {
    return this.#call<T>("POST", "/execute/sync", { script: body, args: [] });
  }

  async close(): Promise<void> {
    await this.#call("DELETE", "").catch(() => undefined);
    if (this.#driver.pid !== undefined) process.kill(-this.#driver.pid, "SIGTERM");
  }

  #call<T>(method: string, path: string, body?: object): Promise<T> {
    return this.#raw<T>(method, `/session/${this.#session}${path}`, body);
  }

  async #raw<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#base + path, {
      method,
      ...(body ? { body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {}),
    });
    const { value } = (await response.json()) as { value: T };
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  }
}
