// In: the name of a set-up step and its recipe's number. Out: what the step noted when it last finished, or null.
// Invariant: a stamp is written after everything it vouches for, so a step that was interrupted runs again.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cache } from "./places.mjs";

const placeOf = (name) => join(cache.stamps, `${name}.json`);

export function readStamp(name, recipe) {
  if (!existsSync(placeOf(name))) return null;
  const stamp = JSON.parse(readFileSync(placeOf(name), "utf8"));
  return stamp.recipe === recipe ? stamp.notes : null;
}

export function writeStamp(name, recipe, notes) {
  mkdirSync(cache.stamps, { recursive: true });
  writeFileSync(`${placeOf(name)}.new`, JSON.stringify({ recipe, notes }, null, 1));
  renameSync(`${placeOf(name)}.new`, placeOf(name));
}
