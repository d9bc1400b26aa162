// In: build/site. Out: docs/pictures/playground.png: the first example at the step at which its first mutation is replayed.
// Invariant: taken from the real page. Usage: node docs/pictures/playground.mjs (after npm run build)

import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "../../wasm/toolchain/browser.mjs";

const kServe = fileURLToPath(new URL("../../wasm/toolchain/serve.mjs", import.meta.url));
const server = spawn(process.execPath, [kServe, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((resolve) =>
  server.stdout.on("data", (text) => resolve(/http:\S+/.exec(String(text))[0])),
);
const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
try {
  const viewport = { width: 1360, height: 780 };
  const page = await browser.newPage({ viewport, colorScheme: "light" });
  await page.goto(address);
  const slider = page.getByRole("slider", { name: "Step of the story" });
  await slider.waitFor();
  await page.getByText("Ready", { exact: true }).first().waitFor({ timeout: 120_000 });
  await slider.fill(String(Number(await slider.getAttribute("max")) - 1));
  await slider.blur();
  await page.screenshot({ path: fileURLToPath(new URL("playground.png", import.meta.url)) });
} finally {
  await browser.close();
  server.kill();
}
