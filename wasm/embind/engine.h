// Generated kernels in a module that has a memory and a function table of its own.
//
// Out: from ConnectEngine on, kernels are compiled by the page's WebAssembly. Invariant: a module that the
// engine refuses gives 0, and that kernel runs through the loop interpreter.
#pragma once

namespace thirdbook {

void ConnectEngine();

}  // namespace thirdbook
