// Written by web/build.mjs as wheel_file.js beside the compiled modules: which wheel this package ships.
// Invariant: `wheel.url` is found from the module's own address, so that bundlers treat the wheel as an asset.

export interface WheelFile {
  url: string;
  name: string;
  bytes: number;
  /** Hexadecimal SHA-256. */
  sha256: string;
}

/** null in a checkout whose wheel has not been built. */
export const wheel: WheelFile | null;
export const version: string;
