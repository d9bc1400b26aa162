// In: a program, or the hash of an address. Out: the hash, or the program.
// Invariant: opening a hash never runs anything; anything that is not a whole, small, version-1 hash is a reason, not an exception.

export interface SharedProgram {
  file: string;
  source: string;
}

export type Decoded =
  { kind: "none" } | { kind: "program"; program: SharedProgram } | { kind: "damaged"; reason: string };

const kPrefix = "#v1=";
const kMaxHash = 200_000;
const kMaxBytes = 1_000_000;

export async function encodeHash(program: SharedProgram): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify({ file: program.file, source: program.source }));
  const packed = await through(bytes, new CompressionStream("deflate-raw"), Infinity);
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return kPrefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export async function decodeHash(hash: string): Promise<Decoded> {
  if (hash === "" || hash === "#") return { kind: "none" };
  if (!hash.startsWith(kPrefix)) return damaged("its version is not known here");
  if (hash.length > kMaxHash) return damaged("it is too long");
  try {
    const binary = atob(hash.slice(kPrefix.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const bytes = await through(packed, new DecompressionStream("deflate-raw"), kMaxBytes);
    return programOf(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch (error) {
    return damaged(error instanceof RangeError ? error.message : "its data is broken");
  }
}

function programOf(value: unknown): Decoded {
  const { file, source } = (value ?? {}) as Partial<Record<keyof SharedProgram, unknown>>;
  if (typeof file !== "string" || typeof source !== "string") return damaged("it holds no program");
  return { kind: "program", program: { file: safeFileName(file), source } };
}

/** A plain name ending in .py, whatever was asked for. */
export function safeFileName(name: string): string {
  const plain = name
    .replace(/[^\w.-]/g, "")
    .replace(/^\.+/, "")
    .slice(0, 60);
  return /^[A-Za-z_][\w-]*\.py$/.test(plain) ? plain : "program.py";
}

function damaged(reason: string): Decoded {
  return { kind: "damaged", reason };
}

async function through(
  bytes: Uint8Array,
  transform: CompressionStream | DecompressionStream,
  limit: number,
): Promise<Uint8Array> {
  const reader = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(transform).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new RangeError("it unpacks to too much");
    }
    parts.push(value);
  }
  const result = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
