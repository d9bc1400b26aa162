// Lets the C++ core instantiate generated wasm kernels in Pyodide's own memory.
//
// In: a loaded Pyodide. Out: the table index of a function (bytes, size) -> table index of the kernel, or 0 when the engine
// refuses it; and whether the engine has relaxed SIMD. Nothing here throws once connected; a kernel that is
// refused runs as a library kernel. The one source for both hosts: pages import it, and where only the wheel is
// loaded _kernel_bridge.py evaluates it.

const kEmptyModule = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

function section(id, ...content) {
  return [id, content.length, ...content];
}
function text(string) {
  return [string.length, ...[...string].map((c) => c.charCodeAt(0))];
}

// A side module that exports the memory it imports.
const kMemoryModule = [
  ...kEmptyModule,
  ...section(0, ...text("dylink.0"), 1, 4, 0, 0, 0, 0),
  ...section(2, 1, ...text("env"), ...text("memory"), 2, 0, 1),
  ...section(7, 1, ...text("m"), 2, 0),
];

// Exports "k": (i32, i32) -> i32, which calls the import "e.f": a JavaScript function as a wasm function.
const kTrampolineModule = [
  ...kEmptyModule,
  ...section(1, 1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f),
  ...section(2, 1, ...text("e"), ...text("f"), 0, 0),
  ...section(3, 1, 0),
  ...section(7, 1, ...text("k"), 0, 1),
  ...section(10, 1, 8, 0, 0x20, 0, 0x20, 1, 0x10, 0, 0x0b),
];

// (v128) -> v128 with f32x4.relaxed_madd.
const kRelaxedModule = [
  ...kEmptyModule,
  ...section(1, 1, 0x60, 1, 0x7b, 1, 0x7b),
  ...section(3, 1, 0),
  ...section(10, 1, 11, 0, 0x20, 0, 0x20, 0, 0x20, 0, 0xfd, 0x85, 0x02, 0x0b),
];

function sharedMemory(module) {
  if (module.wasmMemory instanceof WebAssembly.Memory) return module.wasmMemory;
  const flags = { loadAsync: false, global: false, nodelete: true, allowUndefined: false };
  const exports = module.loadWebAssemblyModule(
    new Uint8Array(kMemoryModule),
    flags,
    "thirdbook_memory",
    {},
    0,
  );
  return exports.m;
}

function compile(bytes) {
  return new WebAssembly.Module(new Uint8Array(bytes));
}

export function connectKernels(pyodide) {
  const module = pyodide._module;
  const memory = sharedMemory(module);
  const table = module.wasmTable;
  if (!(memory instanceof WebAssembly.Memory) || !table)
    throw new Error("Thirdbook: this Pyodide does not share its memory");
  const place = (func) => {
    const index = table.grow(1);
    table.set(index, func);
    return index;
  };
  const imports = { e: { m: memory, t: table } };
  const instantiate = (pointer, size) => {
    try {
      // The memory may have grown: a new view each time. slice() copies: compilers do not take growable memory.
      const bytes = new Uint8Array(memory.buffer, pointer >>> 0, size).slice();
      return place(new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports.k);
    } catch (error) {
      connectKernels.lastError = String(error);
      return 0;
    }
  };
  const trampoline = new WebAssembly.Instance(compile(kTrampolineModule), { e: { f: instantiate } });
  return {
    instantiate: place(trampoline.exports.k),
    relaxed: WebAssembly.validate(new Uint8Array(kRelaxedModule)),
  };
}
