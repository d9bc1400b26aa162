// An owning reference to a Python object. Move-only in spirit; copying takes a new reference.
#pragma once

#include <Python.h>

#include <utility>

namespace thirdbook {

class PyRef {
 public:
  PyRef() = default;
  static PyRef Steal(PyObject* o) {
    PyRef r;
    r.object_ = o;
    return r;
  }
  static PyRef Borrow(PyObject* o) {
    Py_XINCREF(o);
    return Steal(o);
  }
  PyRef(const PyRef& other) : object_(other.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// After Python code of ours that may fail was asked something: its error is nobody's business, but an
// interrupt that has come meanwhile is the program's, and comes again.
inline void DropError() {
  if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0)
    PyErr_SetInterrupt();
  PyErr_Clear();
}

}  // namespace thirdbook
