// In: sizes. Out: storage buffers, used again by size class. Invariant: a buffer is in the pool or with one owner; what the pool
// keeps is bounded.

/** GPUBufferUsage and GPUMapMode by number: Node has no such globals. */
export const kUsage = { mapRead: 1, copyFrom: 4, copyTo: 8, uniform: 64, storage: 128 } as const;
export const kMapForReading = 1;

const kSmallest = 256;
const kKeptBytes = 256 << 20;

export class BufferPool {
  readonly #device: GPUDevice;
  readonly #free = new Map<number, GPUBuffer[]>();
  #keptBytes = 0;
  #created = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Buffers made so far: a graph that runs again makes none. */
  get created(): number {
    return this.#created;
  }

  acquire(bytes: number): GPUBuffer {
    const size = Math.min(sizeClass(bytes), Math.max(this.#device.limits.maxBufferSize, bytes));
    const buffer = this.#free.get(size)?.pop();
    if (buffer !== undefined) {
      this.#keptBytes -= size;
      return buffer;
    }
    this.#created++;
    return this.#device.createBuffer({ size, usage: kUsage.storage | kUsage.copyFrom | kUsage.copyTo });
  }

  release(buffer: GPUBuffer): void {
    if (this.#keptBytes + buffer.size > kKeptBytes) {
      buffer.destroy();
      return;
    }
    this.#keptBytes += buffer.size;
    const free = this.#free.get(buffer.size);
    if (free === undefined) this.#free.set(buffer.size, [buffer]);
    else free.push(buffer);
  }
}

/** The next size of the form 2^n or 3 * 2^(n-1). */
function sizeClass(bytes: number): number {
  let size = kSmallest;
  while (size < bytes) size *= 2;
  const between = size * 0.75;
  return between >= bytes && between >= kSmallest ? between : size;
}
