// In: Debian's package of CPython 3.14's own tests. Out: the folder that holds its `test` package, in the cache.
// Invariant: fetched once, unpacked only, never committed; null where it cannot be had (not Debian, or no network).

import { existsSync } from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackFromFirst } from "./apt.mjs";
import { cache, kPython } from "./places.mjs";
import { SetupError, say } from "./say.mjs";

const kPackage = `libpython${kPython}-testsuite`;
const kFolder = join(cache.testsuite, `usr/lib/python${kPython}`);

/** Folder whose `test/` is CPython's test package, or null when it has not been fetched. */
export function findTestsuite() {
  return existsSync(join(kFolder, "test")) ? kFolder : null;
}

export function ensureTestsuite() {
  if (findTestsuite() || !aptUsable()) return findTestsuite();
  say(`testsuite: fetching CPython's own tests (${kPackage}) into ${cache.testsuite}`);
  try {
    unpackFromFirst(["sid", "forky"], [kPackage], cache.testsuite);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`testsuite: ${error.message}`);
  }
  return findTestsuite();
}
