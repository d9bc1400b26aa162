// What publint and Are the Types Wrong? say of the tarball: nothing.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, test } from "vitest";

let folder: string;
let tarball: Buffer;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "thirdbook-tarball-"));
  const words = ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const [packed] = JSON.parse(execFileSync("npm", words, { encoding: "utf8" })) as { filename: string }[];
  tarball = readFileSync(join(folder, packed?.filename ?? ""));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("publint has no message", async () => {
  const bytes = tarball.buffer.slice(
    tarball.byteOffset,
    tarball.byteOffset + tarball.byteLength,
  ) as ArrayBuffer;
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

// CommonJS is not offered, as Pyodide's own module is ESM too; the modes that ask for it are left out.
test("the types of every entry point are right for bundlers and for Node's ESM", async () => {
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)), {
    excludeEntrypoints: ["./wheel/*", "./manifest.json", "./report.schema.json", "./package.json"],
  });
  if (!analysis.types) throw new Error("the package has no types");
  expect(Object.keys(analysis.entrypoints)).toEqual(
    expect.arrayContaining([".", "./worker", "./runtime", "./view", "./vitest"]),
  );
  const ofEsm = analysis.problems.filter(
    (problem) =>
      !("resolutionKind" in problem) ||
      problem.resolutionKind === "bundler" ||
      problem.resolutionKind === "node16-esm",
  );
  expect(ofEsm).toEqual([]);
});
