// Every include inside core/ is one that core/CMakeLists.txt allows.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kRepo } from "../../wasm/toolchain/places.mjs";

const kCore = join(kRepo, "core");
const rules = readFileSync(join(kCore, "CMakeLists.txt"), "utf8");

/** Folder → the folders that it uses, through others too. */
function allowed() {
  const direct = new Map();
  const pure = /set\(pure_folders ([^)]*)\)/.exec(rules)[1].split(/\s+/);
  direct.set("core", pure);
  for (const [, folders] of rules.matchAll(/foreach\(folder ((?:interpret|python)[^)]*)\)/g))
    for (const folder of folders.split(/\s+/)) direct.set(folder, ["core"]);
  for (const [, words] of rules.matchAll(/^ *thirdbook_uses\(([a-z][^)]*)\)/gm)) {
    const [folder, ...used] = words.split(/\s+/);
    direct.set(folder, [...(direct.get(folder) ?? []), ...used]);
  }
  const reach = (folder, seen) => {
    for (const used of direct.get(folder) ?? []) {
      if (seen.has(used)) continue;
      seen.add(used);
      reach(used, seen);
    }
    return seen;
  };
  return (folder) => reach(folder, new Set([folder]));
}

test("a folder of the core includes only what its CMake rules allow", () => {
  const mayUse = allowed();
  const entries = readdirSync(kCore, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = entries.map((entry) => entry.name);
  const wrong = [];
  let seen = 0;
  for (const folder of folders) {
    const fine = mayUse(folder);
    for (const file of readdirSync(join(kCore, folder))) {
      if (!/\.(cc|h|def)$/.test(file)) continue;
      const text = readFileSync(join(kCore, folder, file), "utf8");
      for (const [, target] of text.matchAll(/^#include "([a-z]+)\//gm)) {
        seen += 1;
        if (!folders.includes(target)) continue; // CPython's own headers
        if (!fine.has(target)) wrong.push(`${folder}/${file} includes ${target}/`);
      }
    }
  }
  assert.ok(seen > 300, `only ${seen} includes were read`);
  assert.deepEqual(wrong, []);
});
