// In: this repository, built. Out: a fresh project outside of it in which the packed tarball is installed beside Pyodide and friends.
// Invariant: Thirdbook comes from `npm pack`, never from the checkout; nothing is fetched.

import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kNotLinked = new Set([
  ".bin",
  ".package-lock.json",
  ".thirdbook-lock.json",
  ".vite",
  ".vite-temp",
  "thirdbook",
]);

export interface FreshProject {
  folder: string;
  /** Names of the files in the tarball. */
  files: string[];
  remove(): void;
}

export function makeProject(): FreshProject {
  const folder = mkdtempSync(join(tmpdir(), "thirdbook-project-"));
  const answer = execFileSync(
    "npm",
    ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder],
    {
      encoding: "utf8",
    },
  );
  const packed = JSON.parse(answer) as { filename: string; files: { path: string }[] }[];
  const [first] = packed;
  if (!first) throw new Error(`npm pack answered ${answer}`);
  const modules = join(folder, "node_modules");
  const target = join(modules, "thirdbook");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, first.filename), "-C", target, "--strip-components=1"]);
  rmSync(join(folder, first.filename));
  for (const name of readdirSync("node_modules")) {
    if (!kNotLinked.has(name)) symlinkSync(join(process.cwd(), "node_modules", name), join(modules, name));
  }
  writeFileSync(join(folder, "package.json"), '{ "name": "fresh", "private": true, "type": "module" }\n');
  return {
    folder,
    files: first.files.map((file) => file.path),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Runs Vitest in the project; the output is kept for the message of a failed comparison. */
export function runVitest({ folder }: FreshProject): {
  status: number | null;
  passed: number;
  failed: number;
  output: string;
} {
  const report = join(folder, "vitest.json");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=json",
      "--reporter=default",
      `--outputFile.json=${report}`,
    ],
    { cwd: folder, encoding: "utf8" },
  );
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8")) as Record<
    string,
    number
  >;
  return { status, passed: numPassedTests ?? 0, failed: numFailedTests ?? 0, output: stdout + stderr };
}
