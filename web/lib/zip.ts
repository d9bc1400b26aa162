// In: the bytes of a zip file. Out: its entries, each unpacked and checked against its CRC-32.
// Invariant: any damage (cut short, flipped bits, foreign format) is an error with a reason, never a partial result.

export class ZipError extends Error {}

const kEndOfDirectory = 0x06054b50;
const kDirectoryEntry = 0x02014b50;
const kLocalHeader = 0x04034b50;

export interface ZipEntry {
  name: string;
  method: number;
  crc: number;
  size: number;
  compressed: Uint8Array;
}

/** The directory of a zip file without zip64 (wheels of this project are far below 4 GiB). */
export function readDirectory(bytes: Uint8Array): ZipEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const entries: ZipEntry[] = [];
  for (let i = 0; i < count; ++i) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== kDirectoryEntry)
      throw new ZipError("its directory is damaged");
    const compressedSize = view.getUint32(at + 20, true);
    const nameLength = view.getUint16(at + 28, true);
    const local = view.getUint32(at + 42, true);
    if (local + 30 > bytes.length || view.getUint32(local, true) !== kLocalHeader)
      throw new ZipError("a file header is damaged");
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + compressedSize > bytes.length) throw new ZipError("it is cut short");
    entries.push({
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      size: view.getUint32(at + 24, true),
      compressed: bytes.subarray(start, start + compressedSize),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

function findEnd(view: DataView): number {
  const lowest = Math.max(0, view.byteLength - 22 - 0xffff);
  for (let at = view.byteLength - 22; at >= lowest; --at) {
    if (view.getUint32(at, true) === kEndOfDirectory) return at;
  }
  throw new ZipError("it is not a zip file, or is cut short");
}

export async function unpack(entry: ZipEntry): Promise<Uint8Array> {
  const data = entry.method === 0 ? entry.compressed : await inflate(entry);
  if (data.length !== entry.size || crc32(data) !== entry.crc)
    throw new ZipError(`${entry.name} fails its checksum`);
  return data;
}

async function inflate(entry: ZipEntry): Promise<Uint8Array> {
  if (entry.method !== 8) throw new ZipError(`${entry.name} is packed by an unknown method`);
  const stream = new Blob([entry.compressed as Uint8Array<ArrayBuffer>]).stream();
  try {
    const body = stream.pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(body).arrayBuffer());
  } catch (error) {
    throw new ZipError(`${entry.name} does not unpack`, { cause: error });
  }
}

const kTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

export function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (kTable[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
