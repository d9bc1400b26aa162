// Bytecode as Python data, for tests, reports and the page.
//
// In: code objects. Out: dicts, text, code objects made anew. Invariant: nothing here changes the code object
// it is given.
#pragma once

#include <Python.h>

namespace thirdbook {

bool InitBytecodeModule(
    PyObject* module);  // _opcode_table, _stack_effect, _read_code, _make_code, _resume_code, ...

}  // namespace thirdbook
