// In: nothing yet. Out: the runtime's version. Invariant: knows no Python.
#include <emscripten/bind.h>

#include <string>

namespace {

std::string Version() { return THIRDBOOK_VERSION; }

}  // namespace

EMSCRIPTEN_BINDINGS(thirdbook_runtime) { emscripten::function("version", &Version); }
