// In: a fresh clone on a machine with Node 20+, Python 3, a C++ compiler. Out: everything that build and tests need.
// Invariant: each step is skipped when its result is there, so a second run only looks and needs no network.
// Usage: node wasm/toolchain/setup.mjs [STEP…]      steps: npm node tools emscripten twin headers gtest lint browser

import { mkdirSync } from "node:fs";
import { setUpBrowser } from "./browser.mjs";
import { setUpEmscripten } from "./emscripten.mjs";
import { withLock } from "./lock.mjs";
import { setUpBuildTools, setUpGtest, setUpLint } from "./native.mjs";
import { setUpNode, setUpNodeModules } from "./node.mjs";
import { kCache } from "./places.mjs";
import { setUpHeaders } from "./headers.mjs";
import { SetupError, runMain } from "./say.mjs";
import { setUpTwin } from "./twin.mjs";

const kSteps = {
  npm: setUpNodeModules,
  node: setUpNode,
  tools: setUpBuildTools,
  emscripten: setUpEmscripten,
  twin: setUpTwin,
  headers: setUpHeaders,
  gtest: setUpGtest,
  lint: setUpLint,
  browser: setUpBrowser,
};

await runMain(async () => {
  const names = process.argv.slice(2);
  for (const name of names) {
    if (!(name in kSteps))
      throw new SetupError(
        `no set-up step "${name}"`,
        "setup.mjs",
        `one of ${Object.keys(kSteps).join(" ")}`,
      );
  }
  mkdirSync(kCache, { recursive: true });
  await withLock("setup", kCache, async () => {
    for (const [name, step] of Object.entries(kSteps)) {
      if (names.length === 0 || names.includes(name)) await step();
    }
  });
});
