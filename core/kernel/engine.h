// The bridge to the engine that compiles generated modules, and the cache of kernels.
//
// In: loop forms. Out: kernels ready to call; each structure is generated once per process. Where there is no
// engine (native), or it refuses a module, the kernel runs through the loop interpreter: never an error. The
// host registers the engine at start-up (web: through wasm/pyodide/thirdbook/_kernel_bridge.py).
//
// Fault injection for tests: the n-th event (0-based) counted from the call fails once; a negative n disarms.
// The calls return how many events were counted since the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernel/loops.h"
#include "kernel/wasm_writer.h"

namespace thirdbook {

using KernelFunction = void (*)(const Cell* cells);

struct Engine {
  // Compiles a module that imports the process's memory ("e.m") and function table ("e.t"): the address of
  // its function "k", or 0.
  int (*instantiate)(const uint8_t* bytes, int size) = nullptr;
  bool relaxed = false;  // has relaxed SIMD
};
void SetEngine(const Engine& engine);
const Engine& CurrentEngine();

// A module in the engine; nullptr when there is none or it refuses. Counts as a "kernel" event.
KernelFunction Instantiate(const FunctionWriter::Module& module);

struct CompiledKernel {
  LoopKernel loops;  // with kMath rows: what emitters take
  LoopKernel expanded;
  KernelFunction function = nullptr;
};
// From the cache, or made now.
std::shared_ptr<const CompiledKernel> CompileKernel(const LoopKernel& loops);
void RunKernel(const CompiledKernel& kernel, const Cell* cells);
int CompiledKernelCount();  // structures in the cache

int SetInstantiationFault(int nth);
int SetDispatchFault(int nth);
bool DispatchFault();  // counts one dispatch; true: this one has to fail

}  // namespace thirdbook
