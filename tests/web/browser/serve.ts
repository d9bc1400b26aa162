// In: what a path of the address stands for. Out: a server of this machine only, and Chromium.
// Invariant: what has no answer is 404; whoever opens one closes it.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { chromium, type Browser } from "playwright-core";

const kTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

export interface Answer {
  body: string | Buffer;
  headers: Record<string, string>;
}

export interface Server {
  /** Without a slash at its end. */
  url: string;
  close(): Promise<void>;
}

/** A file's bytes and type; undefined where there is no such file. */
export function fileAnswer(file: string, headers: Record<string, string> = {}): Answer | undefined {
  if (!existsSync(file) || statSync(file).isDirectory()) return undefined;
  const type = kTypes[extname(file)] ?? "application/octet-stream";
  return { body: readFileSync(file), headers: { ...headers, "content-type": type } };
}

export async function serve(answer: (path: string) => Answer | undefined): Promise<Server> {
  const server = createServer((request, response) => {
    const found = answer(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    if (found) response.writeHead(200, found.headers).end(found.body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const address = server.address();
  return {
    url: `http://localhost:${typeof address === "object" && address ? address.port : 0}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export function launchChromium(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["THIRDBOOK_CHROMIUM"] || "/usr/bin/chromium",
    args: ["--no-sandbox", ...flags],
  });
}
