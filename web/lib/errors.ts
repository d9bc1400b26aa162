// In: a code, what happened, and what to do about it. Out: the one error type that the package throws.
// Invariant: the message is one line that names the thing and the remedy; `code` is stable and may be switched on.

export type ErrorCode =
  | "not-pyodide"
  | "wrong-python"
  | "wrong-abi"
  | "wheel-missing"
  | "wheel-corrupt"
  | "wasm-corrupt"
  | "wasm-blocked"
  | "import-failed"
  | "timeout"
  | "worker-failed";

export class ThirdbookError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message.replace(/\s+/g, " ").trim(), options);
    this.name = "ThirdbookError";
    this.code = code;
  }
}

/** The text of anything thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const lines = text.trim().split("\n");
  return (lines.at(-1) ?? text).trim();
}
