// See compiled_function.h.
//
// Fast path of a compiled call: a plain function, called with exactly its positional parameters, has an entry
// whose guards hold. Then the replacement is called with the caller's arguments and the original's frame is
// never made.
#include "python/compiled_function.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "python/code_state.h"
#include "python/cpython_internal.h"
#include "python/frame_cache.h"
#include "python/frame_hook.h"
#include "python/nesting.h"
#include "python/py_ref.h"
#include "python/region.h"
#include "python/trampoline.h"

namespace thirdbook {

PyTypeObject* CompiledFunctionType = nullptr;
PyTypeObject* DisabledFunctionType = nullptr;

namespace {

struct Wrapper {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* wrapped;
  PyObject* config;  // NULL for a DisabledFunction
  PyObject* dict;
  PyObject* weakrefs;
  PyObject*
      replacement;  // function of the last entry on the fast path; kept here where the collector sees it
  uint64_t entry_serial;     // that entry
  Wrapper *previous, *next;  // list of all that have a replacement
};

Wrapper* with_replacement = nullptr;

Wrapper* AsWrapper(PyObject* object) { return reinterpret_cast<Wrapper*>(object); }

// Empty, or what the caller has to let go of: that may run finalizers.
PyRef TakeReplacement(Wrapper* self) {
  if (self->replacement == nullptr) return PyRef();
  (self->previous != nullptr ? self->previous->next : with_replacement) = self->next;
  if (self->next != nullptr) self->next->previous = self->previous;
  self->entry_serial = 0;
  return PyRef::Steal(std::exchange(self->replacement, nullptr));
}

void KeepReplacement(Wrapper* self, PyObject* replacement, uint64_t serial) {
  PyRef old = TakeReplacement(self);
  self->replacement = Py_NewRef(replacement);
  self->entry_serial = serial;
  self->previous = nullptr;
  self->next = with_replacement;
  if (self->next != nullptr) self->next->previous = self;
  with_replacement = self;
}

class RegionScope {
 public:
  RegionScope(PyThreadState* thread, PyObject* config) : token_(EnterRegion(thread, config)) {}
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;
  ~RegionScope() { LeaveRegion(token_); }

 private:
  RegionToken token_;
};

// The replacement for this call when the fast path applies; else empty, without an exception.
PyRef FastReplacement(PyThreadState* thread, Wrapper* self, PyObject* const* args, Py_ssize_t nargs) {
  constexpr int kStars = CO_VARARGS | CO_VARKEYWORDS;
  if (!PyFunction_Check(self->wrapped)) return PyRef();
  PyFunctionObject* function = reinterpret_cast<PyFunctionObject*>(self->wrapped);
  PyCodeObject* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (nargs != code->co_argcount || code->co_kwonlyargcount != 0 || (code->co_flags & kStars) != 0)
    return PyRef();
  CodeState* state = FindState(code);
  if (state == nullptr || state->caches.empty()) return PyRef();
  state = ClassifiedState(code);
  if (state == nullptr || state->kind != CodeState::Kind::kCandidate || IsObserved(thread, code))
    return PyRef();
  FrameView view{code, self->wrapped,          function->func_globals, function->func_builtins,
                 args, function->func_closure, static_cast<int>(nargs)};
  CacheEntry* entry = FindEntry(state->FindCache(self->config), view);
  if (entry == nullptr) return PyRef();
  if (entry->serial() == self->entry_serial) return PyRef::Borrow(self->replacement);
  uint64_t serial = entry->serial();
  PyRef replacement = MakeReplacement(*entry, view);
  if (!replacement) {
    PyErr_Clear();
    return PyRef();
  }
  KeepReplacement(self, replacement.get(), serial);
  return replacement;
}

PyObject* CallSlowly(Wrapper* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return PyObject_Vectorcall(self->wrapped, args, nargsf, kwnames);
}

PyObject* CallCompiled(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Wrapper* self = AsWrapper(object);
  PyThreadState* thread = PyThreadState_Get();
  NestingScope nesting;
  if (NestingScope::AtHardLimit()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded in a compiled function");
    return nullptr;
  }
  if (InDisabledRegion(thread)) return CallSlowly(self, args, nargsf, kwnames);
  if (Py_EnterRecursiveCall(" in a compiled function") != 0) return nullptr;
  PyRef kept = PyRef::Borrow(object);
  PyObject* result;
  {
    RegionScope region(thread, self->config);
    PyRef replacement;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (kwnames == nullptr) replacement = FastReplacement(thread, self, args, nargs);
    if (replacement) {
      ++Counters().frames;
      {
        ReplacedFrame none(nullptr, 0, self->wrapped, object);
        result = PyObject_Vectorcall(replacement.get(), args, static_cast<size_t>(nargs), nullptr);
      }
      if (result == kFallback) {
        Py_DECREF(result);
        ++Counters().fallbacks;
        LeaveClaim(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(self->wrapped)), Claim::kRunEagerly);
        result = CallSlowly(self, args, nargsf, kwnames);
        LeaveClaim(nullptr, Claim::kNone);  // where no frame was made
      } else {
        result = RunTrampoline(result);
      }
    } else {
      result = CallSlowly(self, args, nargsf, kwnames);
    }
  }
  Py_LeaveRecursiveCall();
  return result;
}

PyObject* CallDisabled(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Wrapper* self = AsWrapper(object);
  PyRef kept = PyRef::Borrow(object);
  NestingScope nesting;
  if (NestingScope::AtHardLimit()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded in a disabled function");
    return nullptr;
  }
  DisabledRegion region(PyThreadState_Get());
  return CallSlowly(self, args, nargsf, kwnames);
}

// ---- the two types
// ------------------------------------------------------------------------------------------------

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Wrapper* self = AsWrapper(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->wrapped);
  Py_VISIT(self->config);
  Py_VISIT(self->dict);
  Py_VISIT(self->replacement);
  return 0;
}

int Clear(PyObject* object) {
  Wrapper* self = AsWrapper(object);
  Py_CLEAR(self->wrapped);
  Py_CLEAR(self->config);
  Py_CLEAR(self->dict);
  TakeReplacement(self);
  return 0;
}

void Dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (AsWrapper(object)->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  Clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* Get(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

// What it has not itself is the wrapped callable's: __defaults__, __code__, attributes set on it later.
PyObject* GetAttribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyRef missing = PyRef::Steal(PyErr_GetRaisedException());
  PyObject* value;
  if (PyObject_GetOptionalAttr(AsWrapper(self)->wrapped, name, &value) == 0)
    PyErr_SetRaisedException(missing.release());
  return value;
}

PyObject* Repr(PyObject* self) {
  return PyUnicode_FromFormat("<thirdbook %s %R>",
                              Py_IS_TYPE(self, CompiledFunctionType) ? "compiled" : "disabled",
                              AsWrapper(self)->wrapped);
}

PyMemberDef kMembers[] = {
    {"__wrapped__", Py_T_OBJECT_EX, offsetof(Wrapper, wrapped), Py_READONLY, "The callable that is wrapped."},
    {"_config", Py_T_OBJECT_EX, offsetof(Wrapper, config), Py_READONLY,
     "The options object (compiled functions only)."},
    {"__dictoffset__", Py_T_PYSSIZET, offsetof(Wrapper, dict), Py_READONLY, nullptr},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(Wrapper, weakrefs), Py_READONLY, nullptr},
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Wrapper, vectorcall), Py_READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kGetSets[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

#define TB_WRAPPER_SLOTS(doc)                                   \
  {                                                             \
      {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},        \
      {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},      \
      {Py_tp_clear, reinterpret_cast<void*>(Clear)},            \
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)}, \
      {Py_tp_descr_get, reinterpret_cast<void*>(Get)},          \
      {Py_tp_repr, reinterpret_cast<void*>(Repr)},              \
      {Py_tp_getattro, reinterpret_cast<void*>(GetAttribute)},  \
      {Py_tp_members, kMembers},                                \
      {Py_tp_getset, kGetSets},                                 \
      {Py_tp_doc, const_cast<char*>(doc)},                      \
      {0, nullptr},                                             \
  }
PyType_Slot kCompiledSlots[] =
    TB_WRAPPER_SLOTS("A callable whose calls are compiled; made by thirdbook.compile.");
PyType_Slot kDisabledSlots[] =
    TB_WRAPPER_SLOTS("A callable inside whose calls nothing is compiled; made by thirdbook.disable.");
#undef TB_WRAPPER_SLOTS

constexpr unsigned int kTypeFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_METHOD_DESCRIPTOR;
PyType_Spec kCompiledSpec = {"thirdbook._core.CompiledFunction", sizeof(Wrapper), 0, kTypeFlags,
                             kCompiledSlots};
PyType_Spec kDisabledSpec = {"thirdbook._core.DisabledFunction", sizeof(Wrapper), 0, kTypeFlags,
                             kDisabledSlots};

// What functools.update_wrapper copies.
bool CopyDescription(PyObject* from, PyObject* dict) {
  for (const char* name :
       {"__module__", "__name__", "__qualname__", "__doc__", "__annotate__", "__type_params__"}) {
    PyObject* value;
    int found = PyObject_GetOptionalAttrString(from, name, &value);
    if (found < 0) return false;
    if (found == 0) continue;
    PyRef owner = PyRef::Steal(value);
    if (PyDict_SetItemString(dict, name, value) < 0) return false;
  }
  PyObject* attributes;
  int found = PyObject_GetOptionalAttrString(from, "__dict__", &attributes);
  if (found <= 0) return found == 0;
  PyRef owner = PyRef::Steal(attributes);
  return !PyFunction_Check(from) || PyDict_Merge(dict, attributes, 0) == 0;
}

PyObject* MakeWrapper(PyTypeObject* type, vectorcallfunc call, PyObject* wrapped, PyObject* config) {
  if (!PyCallable_Check(wrapped)) {
    PyErr_Format(PyExc_TypeError, "expected a callable, got %T", wrapped);
    return nullptr;
  }
  PyRef object = PyRef::Steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  Wrapper* self = AsWrapper(object.get());
  self->vectorcall = call;
  self->wrapped = Py_NewRef(wrapped);
  self->config = Py_XNewRef(config);
  self->dict = PyDict_New();
  if (self->dict == nullptr || !CopyDescription(wrapped, self->dict)) return nullptr;
  return object.release();
}

PyObject* MakeCompiled(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "compile(callable, config) takes two arguments");
    return nullptr;
  }
  return MakeWrapper(CompiledFunctionType, CallCompiled, args[0], args[1]);
}

PyObject* MakeDisabled(PyObject*, PyObject* wrapped) {
  return MakeWrapper(DisabledFunctionType, CallDisabled, wrapped, nullptr);
}

PyObject* RegionDepthOf(PyObject*, PyObject*) { return PyLong_FromLong(RegionDepth()); }

PyObject* SetNestingLimits(PyObject*, PyObject* args) {
  int soft, hard;
  if (!PyArg_ParseTuple(args, "ii", &soft, &hard)) return nullptr;
  NestingScope::SetLimits(soft, hard);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"compile", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(MakeCompiled)), METH_FASTCALL,
     "compile(callable, config): a CompiledFunction. Cache entries belong to the options object: callables "
     "that are "
     "to share them must be given the same one."},
    {"disable", MakeDisabled, METH_O,
     "disable(callable): a DisabledFunction; nothing is compiled while it runs."},
    {"_set_nesting_limits", SetNestingLimits, METH_VARARGS,
     "_set_nesting_limits(soft, hard): how many calls may be nested in C before frames run with the hook off "
     "(soft) and "
     "before compiled calls raise RecursionError (hard). For hosts that know how deep their stack is: about "
     "6 kB each."},
    {"_region_depth", RegionDepthOf, METH_NOARGS, "How many regions are open; 0 outside of compiled calls."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void DropReplacements() {
  while (with_replacement != nullptr) TakeReplacement(with_replacement);
}

PyObject* CompiledTarget(PyObject* object) {
  return Py_IS_TYPE(object, CompiledFunctionType) ? AsWrapper(object)->wrapped : nullptr;
}

PyObject* DisabledTarget(PyObject* object) {
  return Py_IS_TYPE(object, DisabledFunctionType) ? AsWrapper(object)->wrapped : nullptr;
}

bool InitCompiledFunction(PyObject* module) {
  CompiledFunctionType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kCompiledSpec));
  DisabledFunctionType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kDisabledSpec));
  return CompiledFunctionType != nullptr && DisabledFunctionType != nullptr &&
         PyModule_AddType(module, CompiledFunctionType) == 0 &&
         PyModule_AddType(module, DisabledFunctionType) == 0 && PyModule_AddFunctions(module, kMethods) == 0;
}

}  // namespace thirdbook
