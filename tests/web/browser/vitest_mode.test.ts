// The Vitest tools in Vitest's own browser mode: the example project, installed from the tarball, in
// Chromium, with the configuration that docs/tests.md shows.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeProject, runVitest, type FreshProject } from "../packed.js";

let project: FreshProject;
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

test("the example project passes in browser mode as it does in Node", () => {
  copyFileSync("examples/vitest/counter.test.ts", join(project.folder, "counter.test.ts"));
  const [, , config = ""] = [...readFileSync("docs/tests.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
    (match) => match[1],
  );
  const executablePath = process.env["THIRDBOOK_CHROMIUM"] || "/usr/bin/chromium";
  const launchOptions = JSON.stringify({ executablePath, args: ["--no-sandbox"] });
  // Only here are packages links to another folder, which Vite's server would not serve.
  writeFileSync(
    join(project.folder, "vitest.config.ts"),
    config
      .replace("playwright()", `playwright({ launchOptions: ${launchOptions} })`)
      .replace("  test: {", "  server: { fs: { strict: false } },\n  test: {"),
  );
  expect(runVitest(project)).toMatchObject({ status: 0, passed: 7, failed: 0 });
});
