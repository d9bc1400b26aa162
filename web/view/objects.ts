// In: a compilation's ledger and a step's world. Out: the objects that the ledger writes, as they stand at that step.
// Invariant: an object shows `before` until an entry has been replayed and `after` from then on, never anything in between.

import type { Compilation, Mutation } from "../report/types.js";
import type { World } from "./steps.js";

export interface FieldState {
  name: string;
  value: string;
  /** Changes of the contents that the replay has carried out: append('x'). */
  applied: string[];
  /** What the ledger holds for it and the replay has not carried out yet. */
  waiting: string[];
  changed: boolean;
  entries: Mutation[];
}

export interface ObjectState {
  name: string;
  fields: FieldState[];
}

/** Which object an entry writes, which part of it, and whether the part gets a whole new value. */
function placeIn(entry: Mutation): { object: string; field: string; whole: boolean } {
  const [, verb, key] = /^(setattr|delattr|setitem|delitem) (.+)$/.exec(entry.operation) ?? [];
  if (verb?.endsWith("attr")) return { object: entry.source, field: `.${key}`, whole: true };
  if (entry.kind === "global")
    return { object: "module globals", field: plainName(key ?? entry.source), whole: true };
  if (entry.kind === "cell") return { object: "closure", field: entry.source, whole: true };
  return { object: entry.source, field: "contents", whole: false };
}

function plainName(key: string): string {
  return key.replace(/^'(.*)'$/, "$1");
}

/** What is done to a container: "append('x')" for list.append of 'x', "['a'] = 1" for dict.setitem 'a'. */
function changeOf(entry: Mutation): string {
  const [head = ""] = entry.operation.split(" ");
  const type = head.slice(0, head.lastIndexOf(".") + 1); // "list."
  const steps = entry.operation.slice(type.length).split(`, ${type}`);
  const [only = ""] = steps;
  if (steps.length > 1) return `${steps.join(", ")}${entry.after === "" ? "" : `: ${entry.after}`}`;
  const [, verb, key] = /^(setitem|delitem) (.+)$/.exec(only) ?? [];
  if (verb === "setitem") return `[${key}] = ${entry.after}`;
  if (verb === "delitem") return `del [${key}]`;
  return only.endsWith("=") ? `${only} ${entry.after}` : `${only}(${entry.after})`;
}

/** What an entry makes of its place. */
export function afterOf(entry: Mutation): string {
  if (/^del(attr|item) /.test(entry.operation)) return "deleted";
  return entry.kind === "value-existing" ? changeOf(entry) : entry.after;
}

/** The objects that the ledger names: each part with its value at this step and what waits for it. */
export function objectsAt(compilation: Compilation, world: World): ObjectState[] {
  const objects = new Map<string, Map<string, FieldState>>();
  compilation.ledger.forEach((entry, index) => {
    if (entry.kind === "effect") return;
    const place = placeIn(entry);
    const fields = objects.get(place.object) ?? new Map<string, FieldState>();
    objects.set(place.object, fields);
    const value = entry.before ?? "as it was";
    const field = fields.get(place.field) ?? {
      name: place.field,
      value,
      applied: [],
      waiting: [],
      changed: false,
      entries: [],
    };
    fields.set(place.field, field);
    field.entries.push(entry);
    const after = afterOf(entry);
    if (world.replayed.has(index)) {
      field.changed = true;
      if (place.whole) field.value = after;
      else field.applied.push(after);
    } else if (world.recorded.has(index)) {
      field.waiting.push(after);
    }
  });
  return [...objects].map(([name, fields]) => ({ name, fields: [...fields.values()] }));
}

export interface Reference {
  from: string;
  to: string;
  /** How `from` holds it: ".child", "['a']". */
  field: string;
}

/** Which of these objects hold others: those that are reached through them, and those that a field's value names. */
export function referencesOf(objects: readonly ObjectState[]): Reference[] {
  const names = objects.map(({ name }) => name);
  const within = names.flatMap((to) => {
    const holders = names.filter(
      (name) => name !== to && /^[.[]/.test(to.startsWith(name) ? to.slice(name.length) : ""),
    );
    const from = holders.sort((a, b) => b.length - a.length)[0];
    return from === undefined ? [] : [{ from, to, field: to.slice(from.length) }];
  });
  const stored = objects.flatMap(({ name, fields }) =>
    fields
      .filter(({ value }) => names.includes(value))
      .map((field) => ({ from: name, to: field.value, field: field.name })),
  );
  const keys = new Set<string>();
  return [...within, ...stored].filter(({ from, to, field }) => {
    const key = `${from} ${field} ${to}`;
    return !keys.has(key) && keys.add(key);
  });
}
