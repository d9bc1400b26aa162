// In: the program on the page. Out: the last one, on the next visit.
// Invariant: works where storage is forbidden (then nothing is remembered); `?safe` restores nothing.

import { safeFileName, type SharedProgram } from "../lib/share.js";

const kKey = "thirdbook.program.1";
const kThemeKey = "thirdbook.theme.1";

export type Theme = "auto" | "light" | "dark";

export function loadProgram(): SharedProgram | null {
  if (new URLSearchParams(location.search).has("safe")) return null;
  const { file, source } = (parse(read(kKey)) ?? {}) as Partial<Record<keyof SharedProgram, unknown>>;
  return typeof file === "string" && typeof source === "string" ? { file: safeFileName(file), source } : null;
}

export function saveProgram(program: SharedProgram): void {
  write(kKey, JSON.stringify(program));
}

export function loadTheme(): Theme {
  const theme = read(kThemeKey);
  return theme === "light" || theme === "dark" ? theme : "auto";
}

export function saveTheme(theme: Theme): void {
  write(kThemeKey, theme);
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Full or forbidden: the page works without.
  }
}
