// The types of wasm/pyodide/thirdbook/_kernel_bridge.mjs, which web/build.mjs copies beside the compiled modules as kernel_bridge.js.

/** Connects the core to this engine's WebAssembly compiler; throws where Pyodide does not share its memory. */
export function connectKernels(pyodide: object): { instantiate: number; relaxed: boolean };
