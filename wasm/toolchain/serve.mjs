// In: build/site (the playground as static files). Out: an HTTP server on this machine only, and its address.
// Invariant: cross-origin isolation headers on every answer, so that threads and precise clocks work; no path leaves
// the folder. Usage: node wasm/toolchain/serve.mjs [--port N] [FOLDER]

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, resolve } from "node:path";
import { kBuild } from "./places.mjs";
import { SetupError, runMain } from "./say.mjs";

const kFirstPort = 8016;
const kTries = 20;
const kTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".py": "text/x-python; charset=utf-8",
  ".woff2": "font/woff2",
  ".whl": "application/zip",
  ".zip": "application/zip",
};

function answer(folder, request, response) {
  const isolation = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-cache",
  };
  const fail = (status, text) =>
    response.writeHead(status, { ...isolation, "Content-Type": "text/plain" }).end(`${text}\n`);
  if (request.method !== "GET" && request.method !== "HEAD") return fail(405, "only GET and HEAD");
  let path;
  try {
    path = join(folder, normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname)));
  } catch {
    return fail(400, "malformed address");
  }
  if (path !== folder && !path.startsWith(join(folder, "/"))) return fail(404, "not found");
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  if (!existsSync(path)) return fail(404, "not found");
  const type = kTypes[extname(path)] ?? "application/octet-stream";
  response.writeHead(200, { ...isolation, "Content-Type": type, "Content-Length": statSync(path).size });
  if (request.method === "HEAD") response.end();
  else createReadStream(path).pipe(response);
}

/** Listens on the first free port from `port` on; resolves to it. */
function listen(server, port, tries) {
  return new Promise((settle, reject) => {
    server.once("error", (error) => {
      if (error.code !== "EADDRINUSE" || tries <= 1)
        reject(new SetupError(`port ${port} cannot be used`, error.code, "give another one with --port"));
      else listen(server, port + 1, tries - 1).then(settle, reject);
    });
    server.listen(port, "127.0.0.1", () => settle(port));
  });
}

await runMain(async () => {
  const args = process.argv.slice(2);
  const at = args.indexOf("--port");
  const asked = at >= 0 ? Number(args.splice(at, 2)[1]) : null;
  if (asked !== null && !(asked >= 0 && asked < 65536))
    throw new SetupError("no such port", "--port", "give a number from 0 to 65535");
  const folder = resolve(args[0] ?? join(kBuild, "site"));
  if (!existsSync(join(folder, "index.html")))
    throw new SetupError(
      "the playground is not built",
      folder,
      "run: node wasm/toolchain/build.mjs pyodide lib app",
    );
  const server = createServer((request, response) => answer(folder, request, response));
  const port = await listen(server, asked ?? kFirstPort, asked === null ? kTries : 1);
  process.stdout.write(
    `Thirdbook's playground: http://localhost:${server.address()?.port ?? port}/   (Ctrl-C ends it)\n`,
  );
});
