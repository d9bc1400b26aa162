// See trampoline.h.
#include "python/trampoline.h"

#include "python/frame_hook.h"
#include "python/py_ref.h"

namespace thirdbook {

PyObject* kFallback = nullptr;
PyTypeObject* ResumeRequestType = nullptr;

namespace {

PyObject* resume_callable = nullptr;
PyObject* release_callable = nullptr;

// Lives from the replacement's return to the resume function's frame.
struct ResumeRequest {
  PyObject_VAR_HEAD PyObject* function;
  PyObject* held;     // the object of the frame that ended, where somebody has it
  PyObject* args[1];  // ob_size of them
};

void DropArguments(ResumeRequest* request) {
  for (Py_ssize_t i = 0; i < Py_SIZE(request); ++i) Py_CLEAR(request->args[i]);
}

void ResumeRequestDealloc(PyObject* self) {
  ResumeRequest* request = reinterpret_cast<ResumeRequest*>(self);
  PyTypeObject* type = Py_TYPE(self);
  DropArguments(request);
  Py_XDECREF(request->function);
  Py_XDECREF(request->held);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* Resume(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 1 || !PyFunction_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_resume() wants a function and its arguments");
    return nullptr;
  }
  ResumeRequest* request = PyObject_NewVar(ResumeRequest, ResumeRequestType, nargs - 1);
  if (request == nullptr) return nullptr;
  request->function = Py_NewRef(args[0]);
  for (Py_ssize_t i = 1; i < nargs; ++i) request->args[i - 1] = Py_NewRef(args[i]);
  // A traceback may keep the frame that ends here.
  request->held =
      SettleHeldFrame(PyThreadState_Get(), reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(args[0])));
  return reinterpret_cast<PyObject*>(request);
}

PyMethodDef kResumeMethod = {"_resume", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Resume)),
                             METH_FASTCALL,
                             "_resume(function, *args): what replacement code returns at a graph break. Only "
                             "the frame hook may call it."};

PyObject* Release(PyObject*, PyObject*) {
  ReplacedFrame::Release();
  Py_RETURN_NONE;
}

PyMethodDef kReleaseMethod = {
    "_release", Release, METH_NOARGS,
    "_release(): only replacement code may call it, after its last chance to fall back."};

PyType_Slot kResumeRequestSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(ResumeRequestDealloc)},
    {Py_tp_doc, const_cast<char*>("A function and arguments that go on after a graph break.")},
    {0, nullptr},
};
PyType_Spec kResumeRequestSpec = {
    "thirdbook._core.ResumeRequest", offsetof(ResumeRequest, args), sizeof(PyObject*),
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, kResumeRequestSlots};

PyObject* FallbackRepr(PyObject*) { return PyUnicode_FromString("<thirdbook fallback>"); }

PyType_Slot kFallbackSlots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(FallbackRepr)},
    {Py_tp_doc,
     const_cast<char*>("The type of `_fallback`: nothing has happened yet, run the original frame.")},
    {0, nullptr},
};
PyType_Spec kFallbackSpec = {
    "thirdbook._core.Fallback", sizeof(PyObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, kFallbackSlots};

PyCodeObject* claimed_code = nullptr;
Claim claim_kind = Claim::kNone;
ResumeRequest* claiming_request = nullptr;  // borrowed: the loop below owns it
PyRef* claimed_frame = nullptr;

}  // namespace

static thread_local ReplacedFrame* innermost = nullptr;

ReplacedFrame::ReplacedFrame(InterpreterFrame* frame, int count, PyObject* function, PyObject* wrapper)
    : frame_(frame),
      count_(count),
      function_(function),
      wrapper_(wrapper),
      caller_(PyThreadState_Get()->current_frame),
      outer_(innermost) {
  innermost = this;
}

ReplacedFrame::~ReplacedFrame() { innermost = outer_; }

void ReplacedFrame::Release() {
  const ReplacedFrame* self = innermost;
  if (self == nullptr) return;
  if (self->frame_ != nullptr) ClearFrameLocals(self->frame_, self->count_);
  ClearCallArguments(PyThreadState_Get(), self->caller_, self->function_, self->wrapper_);
}

PyObject* ResumeCallable() { return resume_callable; }
PyObject* ReleaseCallable() { return release_callable; }

void LeaveClaim(PyCodeObject* code, Claim claim, PyRef* frame_object) {
  claimed_code = code;
  claim_kind = claim;
  claimed_frame = frame_object;
  claiming_request = nullptr;
}

Claim TakeClaim(PyCodeObject* code, PyRef** frame_object) {
  *frame_object = nullptr;
  if (claimed_code != code || code == nullptr) return Claim::kNone;
  Claim kind = claim_kind;
  ResumeRequest* request = claiming_request;
  *frame_object = claimed_frame;
  LeaveClaim(nullptr, Claim::kNone);
  if (request != nullptr) DropArguments(request);
  return kind;
}

PyObject* RunTrampoline(PyObject* result) {
  while (result != nullptr && Py_IS_TYPE(result, ResumeRequestType)) {
    PyRef owner = PyRef::Steal(result);
    ResumeRequest* request = reinterpret_cast<ResumeRequest*>(result);
    PyRef function = PyRef::Borrow(request->function);
    PyRef rest;
    LeaveClaim(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(request->function)),
               Claim::kFromTrampoline, request->held != nullptr ? &rest : nullptr);
    claiming_request = request;
    result =
        PyObject_Vectorcall(function.get(), request->args, static_cast<size_t>(Py_SIZE(request)), nullptr);
    LeaveClaim(nullptr, Claim::kNone);  // where no hook was on, nobody took it
    if (rest) {
      SettleEndedFrame(rest.get(), reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(request->function)),
                       result != nullptr);
      if (Py_REFCNT(request->held) > 1) KeepWithFrame(request->held, rest.get());
    }
  }
  return result;
}

bool InitTrampoline(PyObject* module) {
  ResumeRequestType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kResumeRequestSpec));
  PyRef fallback_type = PyRef::Steal(PyType_FromSpec(&kFallbackSpec));
  resume_callable = PyCFunction_NewEx(&kResumeMethod, nullptr, nullptr);
  release_callable = PyCFunction_NewEx(&kReleaseMethod, nullptr, nullptr);
  if (ResumeRequestType == nullptr || !fallback_type || resume_callable == nullptr ||
      release_callable == nullptr)
    return false;
  kFallback = PyObject_New(PyObject, reinterpret_cast<PyTypeObject*>(fallback_type.get()));
  return kFallback != nullptr && PyModule_AddObjectRef(module, "_resume", resume_callable) == 0 &&
         PyModule_AddObjectRef(module, "_fallback", kFallback) == 0;
}

}  // namespace thirdbook
