// In: the files that git tracks. Out: whether clang-format, ESLint, Prettier and TypeScript agree with them; with
// --write, they are brought into form. Invariant: a checker that is missing is skipped aloud; exit status 1 on a finding.
// Usage: node wasm/toolchain/lint.mjs [--write] [PATH…]      a PATH limits the first three to what lies below it

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findNode } from "./node.mjs";
import { findClangFormat } from "./native.mjs";
import { kNodeModules, kRepo } from "./places.mjs";
import { passThrough, run } from "./process.mjs";
import { runMain, say } from "./say.mjs";

const kIgnored = ["package-lock.json"];
const kPaths = process.argv.slice(2).filter((word) => !word.startsWith("--"));

function tracked(...endings) {
  const names = run("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...kPaths], {
    cwd: kRepo,
  }).split("\n");
  return names.filter(
    (name) =>
      endings.some((one) => name.endsWith(one)) &&
      existsSync(join(kRepo, name)) &&
      !kIgnored.some((one) => name.endsWith(one)),
  );
}

const node = (script, ...args) =>
  passThrough(findNode(), [join(kNodeModules, script), ...args], { cwd: kRepo });

async function clangFormat(write) {
  const program = findClangFormat();
  if (!program) return say("lint: clang-format-19 not found; C++ is not checked") ?? 0;
  const files = tracked(".cc", ".h");
  return files.length === 0
    ? 0
    : passThrough(program, [...(write ? ["-i"] : ["--dry-run", "-Werror"]), ...files], { cwd: kRepo });
}

async function eslint(write) {
  const files = tracked(".mjs", ".ts", ".tsx");
  const args = [
    "--config",
    "wasm/toolchain/eslint.config.mjs",
    "--max-warnings=0",
    "--no-warn-ignored",
    ...(write ? ["--fix"] : []),
  ];
  return files.length === 0 ? 0 : node("eslint/bin/eslint.js", ...args, ...files);
}

async function prettier(write) {
  const files = tracked(".mjs", ".ts", ".tsx", ".css", ".html", ".json");
  return files.length === 0
    ? 0
    : node("prettier/bin/prettier.cjs", write ? "--write" : "--check", "--log-level=warn", ...files);
}

/** Every tsconfig.json or tsconfig.NAME.json of web/ and tests/web, but bases. */
async function typescript() {
  let status = 0;
  for (const folder of ["web", "web/app", "web/vitest", "tests/web"]) {
    const path = join(kRepo, folder);
    const names = existsSync(path)
      ? readdirSync(path).filter(
          (name) => /^tsconfig(\.\w+)?\.json$/.test(name) && name !== "tsconfig.base.json",
        )
      : [];
    for (const name of names) status ||= await node("typescript/bin/tsc", "--noEmit", "-p", join(path, name));
  }
  return status;
}

await runMain(async () => {
  const write = process.argv.includes("--write");
  const findings = [];
  for (const [name, check] of Object.entries({ clangFormat, eslint, prettier, typescript })) {
    say(`lint: ${name}`);
    if ((await check(write)) !== 0) findings.push(name);
  }
  if (findings.length > 0)
    say(
      `lint: findings of ${findings.join(", ")}${write ? "" : "; npm run format mends what can be mended"}`,
    );
  return findings.length > 0 ? 1 : 0;
});
