// The suite in headless Chromium: bundles the page, serves it, reads the result.
import { createServer } from "node:http";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";
import { build as bundle } from "vite";
import { findChromium } from "../../../wasm/toolchain/browser.mjs";
import { build, kBuild, kPyodide } from "../../../wasm/toolchain/places.mjs";
import { buildLimits } from "../limits/build.mjs";
import { installPeers, kPeerFolder, kPeers } from "../peers.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const kTypes = {
  ".mjs": "text/javascript",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".py": "text/plain",
  ".html": "text/html",
};

const kGpuFlags = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];

/** Calls `work` with a function that runs one group of contenders in a fresh page. */
export async function withChromium(options, work) {
  const chromium = findChromium();
  if (!chromium) return null;
  installPeers();
  const site = join(kBuild, "bench", "site");
  await bundle({
    root: here,
    configFile: false,
    logLevel: "error",
    build: {
      outDir: site,
      emptyOutDir: true,
      target: "esnext",
      chunkSizeWarningLimit: 1e5,
      minify: false,
      lib: { entry: join(here, "page.mjs"), formats: ["es"], fileName: () => "page.mjs" },
    },
    resolve: { alias: { "thirdbook-bench-peers": join(kPeerFolder, "load.js") } },
  });
  const limits = buildLimits();
  const wheels = options.wheel ?? build.wheel;
  const wheel = join(
    wheels,
    readdirSync(wheels).find((name) => name.endsWith(".whl")),
  );
  const modules = join(kPeerFolder, "node_modules");
  const find = (path) => {
    if (path === "/") return null;
    if (path === "/thirdbook.whl") return wheel;
    if (path === "/programs.py") return join(here, "../contenders/programs.py");
    if (path === "/limits.wasm") return limits.plain;
    if (path === "/limits-relaxed.wasm") return limits.relaxed;
    for (const [prefix, folder] of [
      ["/pyodide/", kPyodide],
      ["/lib/", join(kBuild, "npm", "lib")],
      ["/tfjs/", join(modules, "@tensorflow/tfjs-backend-wasm/dist")],
      ["/ort/", join(modules, "onnxruntime-web/dist")],
    ]) {
      if (path.startsWith(prefix)) return join(folder, path.slice(prefix.length));
    }
    return join(site, path);
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    const file = find(path);
    if (file === null) {
      response.setHeader("content-type", "text/html");
      return response.end(
        '<!doctype html><title>bench</title><script type="module" src="/page.mjs"></script>',
      );
    }
    if (path.includes("..") || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader("content-type", kTypes[extname(file)] ?? "application/octet-stream");
    response.end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ["--no-sandbox", ...(options.gpu ? kGpuFlags : [])],
    protocolTimeout: 3600000,
  });
  try {
    const host = (await browser.version()).replace(/^(Headless)?Chrome\//, "Chromium ");
    return await work(async (group) => {
      const page = await browser.newPage();
      page.on("console", (message) => console.error(`  ${message.text()}`));
      await page.goto(`http://127.0.0.1:${server.address().port}/`);
      await page.waitForFunction(() => typeof window.runBench === "function");
      const result = await page.evaluate((o) => window.runBench(o), {
        ...options,
        ...group,
        relaxed: true,
        versions: kPeers,
      });
      await page.close();
      return { host, relaxed: true, ...result };
    });
  } finally {
    await browser.close();
    server.close();
  }
}
