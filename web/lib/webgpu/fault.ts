// Why a graph did not run on the GPU. Whoever catches one runs the graph on the CPU: nothing has been changed.

export type FaultReason =
  "no-adapter" | "device-lost" | "shader-refused" | "limit" | "out-of-memory" | "validation" | "index";

export class GpuFault extends Error {
  readonly reason: FaultReason;
  override name = "GpuFault";

  constructor(reason: FaultReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
