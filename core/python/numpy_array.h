// NumPy's row of the array adapters; only array_adapter.cc includes it.
#pragma once

#include "python/array_adapter.h"

namespace thirdbook {

// Imports thirdbook._numpy (NumPy is imported already); null when this NumPy is not understood.
const ArrayAdapter* ConnectNumpy();

}  // namespace thirdbook
