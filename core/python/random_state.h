// A generator object's state in place of the default one's while an op draws from it.
#pragma once

#include <Python.h>

#include <vector>

#include "tensor/generator.h"

namespace thirdbook {

class GeneratorScope {
 public:
  // nullptr: draws come from the default generator. Borrowed.
  explicit GeneratorScope(PyObject* generator);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;
  // False with an exception set when `generator` is not one.
  bool ok() const { return generator_ == nullptr || entered_; }
  // Stores the advanced state in the object; false with an exception set.
  bool Leave();

 private:
  PyObject* generator_;
  bool entered_ = false;
  std::vector<uint8_t> saved_;
};

bool InitRandomState(PyObject* module);

}  // namespace thirdbook
