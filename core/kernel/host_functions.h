// Scalar functions that generated kernels call per lane, by index. In a wasm side module the address of a C
// function is its index in the shared function table, which is what the emitted `call_indirect` takes.
//
// In: an index from HostFunctionIndex. Out: name, arity, addresses of the float32 and the float64 form.
#pragma once

#include <cstdint>

namespace thirdbook {

struct HostFunction {
  const char* name;
  int arity;
  float (*f32_1)(float);
  double (*f64_1)(double);
  float (*f32_2)(float, float);
  double (*f64_2)(double, double);
};

int HostFunctionIndex(const char* name);  // -1 when there is none
const HostFunction& GetHostFunction(int index);
int HostFunctionCount();
inline const char* HostFunctionName(int index) { return GetHostFunction(index).name; }

}  // namespace thirdbook
