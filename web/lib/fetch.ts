// In: an address (http, https, file, blob, data; in Node also a path's file: URL). Out: its bytes, with progress.
// Invariant: a failed fetch is one error that names the address; nothing hangs past the watchdog.

import { messageOf, ThirdbookError } from "./errors.js";

export type FetchProgress = (loaded: number, total: number) => void;

export async function fetchBytes(
  url: string,
  progress: FetchProgress,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (url.startsWith("file:") && isNode()) return readFileURL(url, progress);
  let response: Response;
  try {
    response = await fetch(url, signal ? { signal } : {});
  } catch (error) {
    throw missing(url, messageOf(error), error);
  }
  if (!response.ok) throw missing(url, `HTTP status ${response.status}`);
  const total = response.headers.get("content-encoding")
    ? 0
    : Number(response.headers.get("content-length") ?? 0);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  const parts: Uint8Array[] = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    loaded += value.length;
    progress(loaded, total);
  }
  const bytes = new Uint8Array(loaded);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function missing(url: string, why: string, cause?: unknown): ThirdbookError {
  return new ThirdbookError(
    "wheel-missing",
    `${url} cannot be fetched (${why}): check the address, or pass {wheelURL} to install()`,
    cause === undefined ? undefined : { cause },
  );
}

export function isNode(): boolean {
  return (
    typeof process === "object" &&
    typeof process.versions === "object" &&
    typeof process.versions.node === "string"
  );
}

async function readFileURL(url: string, progress: FetchProgress): Promise<Uint8Array> {
  const { readFile } = await import(/* @vite-ignore */ "node:fs/promises");
  try {
    const bytes = new Uint8Array(await readFile(new URL(url)));
    progress(bytes.length, bytes.length);
    return bytes;
  } catch (error) {
    throw missing(url, messageOf(error), error);
  }
}
