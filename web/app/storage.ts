// In: the program on the page. Out: the last one, on the next visit; after a reload, the last one of this tab.
// Invariant: works where storage is forbidden (then nothing is remembered); `?safe` restores nothing.

import { safeFileName, type SharedProgram } from "../lib/share.js";

const kKey = "thirdbook.program.1";
const kThemeKey = "thirdbook.theme.1";

export type Theme = "auto" | "light" | "dark";

export function loadProgram(): SharedProgram | null {
  if (new URLSearchParams(location.search).has("safe")) return null;
  const { file, source } = (parse(read(tab, kKey) ?? read(always, kKey)) ?? {}) as Partial<
    Record<keyof SharedProgram, unknown>
  >;
  return typeof file === "string" && typeof source === "string" ? { file: safeFileName(file), source } : null;
}

export function saveProgram(program: SharedProgram): void {
  for (const where of [tab, always]) write(where, kKey, JSON.stringify(program));
}

export function loadTheme(): Theme {
  const theme = read(always, kThemeKey);
  return theme === "light" || theme === "dark" ? theme : "auto";
}

export function saveTheme(theme: Theme): void {
  write(always, kThemeKey, theme);
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

// Where storage is forbidden, even naming it throws.
const always = () => localStorage;
const tab = () => sessionStorage;

function read(where: () => Storage, key: string): string | null {
  try {
    return where().getItem(key);
  } catch {
    return null;
  }
}

function write(where: () => Storage, key: string, value: string): void {
  try {
    where().setItem(key, value);
  } catch {
    // Full or forbidden: the page works without.
  }
}
