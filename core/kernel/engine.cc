#include "kernel/engine.h"

#include <unordered_map>

#include "kernel/loop_interpreter.h"
#include "kernel/math_expand.h"
#include "kernel/wasm_emit.h"
#include "kernel/wasm_product.h"

namespace thirdbook {
namespace {

struct Fault {
  int next = -1;  // events until the one that fails
  int counted = 0;
  bool Strikes() {
    ++counted;
    return next >= 0 && next-- == 0;
  }
  int Arm(int nth) {
    const int before = counted;
    counted = 0;
    next = nth;
    return before;
  }
};

Engine g_engine;
Fault g_instantiation, g_dispatch;
std::unordered_map<std::string, std::shared_ptr<const CompiledKernel>>& Cache() {
  static auto* cache = new std::unordered_map<std::string, std::shared_ptr<const CompiledKernel>>;
  return *cache;
}

}  // namespace

void SetEngine(const Engine& engine) {
  g_engine = engine;
  Cache().clear();
  ForgetGeneratedBands();
}
const Engine& CurrentEngine() { return g_engine; }

int SetInstantiationFault(int nth) {
  if (nth >= 0) Cache().clear();  // so that there is something to instantiate
  return g_instantiation.Arm(nth);
}
int SetDispatchFault(int nth) { return g_dispatch.Arm(nth); }
bool DispatchFault() { return g_dispatch.Strikes(); }

KernelFunction Instantiate(const FunctionWriter::Module& module) {
  if (g_instantiation.Strikes() || !g_engine.instantiate) return nullptr;
  const int address = g_engine.instantiate(module.bytes.data(), static_cast<int>(module.bytes.size()));
  return reinterpret_cast<KernelFunction>(static_cast<intptr_t>(address));
}

std::shared_ptr<const CompiledKernel> CompileKernel(const LoopKernel& loops) {
  std::string key = Key(loops);
  const auto it = Cache().find(key);
  if (it != Cache().end()) return it->second;
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->loops = loops;
  kernel->expanded = ExpandMath(loops);
  kernel->function = Instantiate(EmitWasm(kernel->expanded, {.relaxed = g_engine.relaxed}));
  return Cache()[std::move(key)] = kernel;
}

void RunKernel(const CompiledKernel& kernel, const Cell* cells) {
  if (kernel.function)
    kernel.function(cells);
  else
    InterpretLoops(kernel.expanded, cells);
}

int CompiledKernelCount() { return static_cast<int>(Cache().size()); }

}  // namespace thirdbook
