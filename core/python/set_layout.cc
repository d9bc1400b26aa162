// See set_layout.h.
#include "python/set_layout.h"

#include "python/py_ref.h"

namespace thirdbook {

namespace {

PySetObject* Table(PyObject* set) { return reinterpret_cast<PySetObject*>(set); }

bool IsElement(const setentry& entry) { return entry.key != nullptr && entry.hash != -1; }

PyObject* Placeholder(PyObject*, void*) { return Py_NewRef(Py_None); }

struct Elements {
  PyObject* const* next;
};
PyObject* NextElement(PyObject*, void* context) {
  return Py_NewRef(*static_cast<Elements*>(context)->next++);
}

// Whether each element has the hash that the template has in its place; -1: hashing failed.
int HashesFit(PyObject* set_template, PyObject* const* elements, Py_ssize_t n) {
  PySetObject* so = Table(set_template);
  Py_ssize_t at = 0;
  for (Py_ssize_t slot = 0; slot <= so->mask; slot++) {
    if (!IsElement(so->table[slot])) continue;
    Py_hash_t hash = PyObject_Hash(elements[at]);
    if (hash == -1) return -1;
    if (hash != so->table[slot].hash) return 0;
    at++;
  }
  return at == n ? 1 : 0;
}

PyObject* SetLike(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 1 || !PyAnySet_Check(args[0]) || Table(args[0])->used != nargs - 1) {
    PyErr_SetString(PyExc_TypeError, "_set_like() wants a template and its number of elements");
    return nullptr;
  }
  int fit = HashesFit(args[0], args + 1, nargs - 1);
  if (fit < 0) return nullptr;
  if (fit == 1) {
    Elements elements{args + 1};
    return CloneSet(args[0], NextElement, &elements);
  }
  PyRef set = PyRef::Steal(PySet_New(nullptr));
  for (Py_ssize_t i = 1; set && i < nargs; i++) {
    if (PySet_Add(set.get(), args[i]) != 0) return nullptr;
  }
  return PyFrozenSet_Check(args[0]) && set ? PyFrozenSet_New(set.get()) : set.release();
}

PyMethodDef kSetLikeMethod = {
    "_set_like", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(SetLike)), METH_FASTCALL,
    "_set_like(template, *elements): what replacement code makes sets with."};

}  // namespace

PyObject* CloneSet(PyObject* set, SetElement element, void* context) {
  PySetObject* from = Table(set);
  PyRef made = PyRef::Steal(PyFrozenSet_Check(set) ? PyFrozenSet_New(nullptr) : PySet_New(nullptr));
  if (made && PyFrozenSet_Check(set)) {  // the empty frozenset may be shared
    PyRef one = PyRef::Steal(PyTuple_Pack(1, Py_None));
    made = one ? PyRef::Steal(PyFrozenSet_New(one.get())) : PyRef();
    if (made) {
      PySetObject* so = Table(made.get());
      for (Py_ssize_t i = 0; i <= so->mask; i++) {
        Py_CLEAR(so->table[i].key);
        so->table[i].hash = 0;
      }
      so->fill = so->used = 0;
    }
  }
  if (!made) return nullptr;
  PySetObject* so = Table(made.get());
  if (from->mask != so->mask) {
    setentry* table = PyMem_New(setentry, static_cast<size_t>(from->mask) + 1);
    if (table == nullptr) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i <= from->mask; i++) table[i] = setentry{nullptr, 0};
    so->table = table;
    so->mask = from->mask;
  }
  for (Py_ssize_t i = 0; i <= from->mask; i++) {
    const setentry& entry = from->table[i];
    if (entry.key == nullptr) continue;
    PyObject* key = IsElement(entry) ? element(entry.key, context) : entry.key;  // dummies are not counted
    if (key == nullptr) return nullptr;
    so->table[i] = setentry{key, entry.hash};
    so->fill++;
    if (IsElement(entry)) so->used++;
  }
  so->finger = from->finger;
  return made.release();
}

PyObject* SetTemplate(PyObject* set) { return CloneSet(set, Placeholder, nullptr); }

bool SameSetLayout(PyObject* a, PyObject* b) {
  PySetObject *x = Table(a), *y = Table(b);
  if (x->mask != y->mask || x->fill != y->fill || x->used != y->used || x->finger != y->finger) return false;
  for (Py_ssize_t i = 0; i <= x->mask; i++) {
    if ((x->table[i].key == nullptr) != (y->table[i].key == nullptr) || x->table[i].hash != y->table[i].hash)
      return false;
  }
  return true;
}

PyObject* SetLikeCallable() {
  static PyObject* callable = PyCFunction_NewEx(&kSetLikeMethod, nullptr, nullptr);
  return callable;
}

}  // namespace thirdbook
