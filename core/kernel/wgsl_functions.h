// Functions in WGSL that generated shaders call: float32 functions with the edge cases that the library
// kernels have, and 64-bit integers as vec2<u32> (low word, high word).
//
// In: the text of a shader. Out: the functions that it calls, and those that they call. Invariant: names
// start with "tb_"; the first cell of the uniform `p` is 0, which is how infinities and NaN, that no WGSL
// constant may be, are made at run time.
//
// float32 functions are within a few ulp wherever + - * / and fma are IEEE; adapters may be looser
// (division 2.5 ulp).
#pragma once

#include <string>

namespace thirdbook {

std::string WgslFunctions(const std::string& code);

}  // namespace thirdbook
