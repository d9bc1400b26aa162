#include "engine.h"

#include <emscripten/em_js.h>

#include <cstdint>

#include "kernel/engine.h"

// The memory may have grown: HEAPU8 is looked up at each call. slice() copies: compilers take no growable
// memory.
EM_JS(int, thirdbook_instantiate, (const uint8_t* bytes, int size), {
  try {
    const module = new WebAssembly.Module(HEAPU8.slice(bytes, bytes + size));
    const instance = new WebAssembly.Instance(module, {"e" : {"m" : wasmMemory, "t" : wasmTable}});
    const index = wasmTable.length;
    wasmTable.grow(1);
    wasmTable.set(index, instance["exports"]["k"]);
    return index;
  } catch (error) {
    return 0;
  }
});

// (v128) -> v128 with f32x4.relaxed_madd.
EM_JS(int, thirdbook_has_relaxed_simd, (), {
  return WebAssembly.validate(new Uint8Array([
    0, 97, 115, 109, 1, 0,  0, 0,  1, 6,  1, 96, 1, 123, 1,   123, 3, 2,
    1, 0,  10,  13,  1, 11, 0, 32, 0, 32, 0, 32, 0, 253, 133, 2,   11
  ]));
});

namespace thirdbook {

void ConnectEngine() {
  static bool done = false;
  if (done) return;
  done = true;
  Engine engine;
  engine.instantiate = thirdbook_instantiate;
  engine.relaxed = thirdbook_has_relaxed_simd() != 0;
  SetEngine(engine);
}

}  // namespace thirdbook
