// In: the folder where the host serves this package's wheel. Out: the entry for a custom pyodide-lock.json.
// Invariant: the entry carries the wheel's checksum, so that Pyodide refuses any other file.

import { ThirdbookError } from "./errors.js";
import { version, wheel } from "./wheel_file.js";

export interface LockEntry {
  name: string;
  version: string;
  file_name: string;
  install_dir: "site";
  sha256: string;
  package_type: "package";
  imports: string[];
  depends: string[];
  unvendored_tests: boolean;
}

/** `{packages: {...lock.packages, thirdbook: lockEntry("https://example.org/wheels/")}}` makes `loadPackage("thirdbook")` work. */
export function lockEntry(baseURL: string): LockEntry {
  if (!wheel) {
    throw new ThirdbookError("wheel-missing", "this checkout has no wheel yet: run npm run build");
  }
  return {
    name: "thirdbook",
    version,
    file_name: `${baseURL.replace(/\/?$/, "/")}${wheel.name}`,
    install_dir: "site",
    sha256: wheel.sha256,
    package_type: "package",
    imports: ["thirdbook"],
    depends: [],
    unvendored_tests: false,
  };
}
