// CPython code objects ⇄ CodeParts.
//
// In: a code object, or parts. Out: the other. Invariant: MakeCode(ReadCode(code)) is a code object that
// runs, reports positions, handlers and variable kinds as `code` does.
#include "python/code_object.h"

#include <string>
#include <utility>

#include "python/py_ref.h"

namespace thirdbook {
namespace {

constexpr uint8_t kAllKinds = kLocalHidden | kLocalLocal | kLocalCell | kLocalFree;

std::string BytesOf(PyObject* bytes) {
  return std::string(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
}

PyObject* ToBytes(const std::string& s) {
  return PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* Raise(const Status& status) {
  PyErr_SetString(PyExc_SystemError, status.message().c_str());
  return nullptr;
}

// Names of the slots that have all the bits of `kind`, in slot order.
PyObject* NamesOf(const CodeParts& parts, uint8_t kind) {
  PyRef list = PyRef::Steal(PyList_New(0));
  if (!list) return nullptr;
  for (size_t i = 0; i < parts.locals.size(); ++i) {
    if ((parts.local_kinds[i] & kind) != 0 && PyList_Append(list.get(), parts.locals[i]) < 0) return nullptr;
  }
  return PyList_AsTuple(list.get());
}

// Locals, then cells that are no locals, then free variables.
Status CheckSlotOrder(const CodeParts& parts) {
  if (parts.locals.size() != parts.local_kinds.size())
    return ValueError("code: names and kinds differ in number");
  int group = 0;
  int arguments = parts.argcount + parts.kwonlyargcount + ((parts.flags & CO_VARARGS) != 0) +
                  ((parts.flags & CO_VARKEYWORDS) != 0);
  int locals = 0;
  for (uint8_t kind : parts.local_kinds) {
    int own = (kind & kLocalLocal) != 0 ? 0 : (kind & kLocalCell) != 0 ? 1 : (kind & kLocalFree) != 0 ? 2 : 3;
    if (own == 3) return ValueError("code: a slot is neither local nor cell nor free");
    if (own < group) return ValueError("code: slots are not in the order locals, cells, free variables");
    group = own;
    locals += own == 0;
  }
  if (locals < arguments) return ValueError("code: fewer locals than arguments");
  return Status::Ok();
}

// CPython's constructor interns texts that look like names; a constant that came about otherwise stays
// itself.
void KeepConstants(PyCodeObject* code, const CodeParts& parts) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
    PyObject* own = PyList_GET_ITEM(parts.consts, i);
    PyObject* kept = PyTuple_GET_ITEM(code->co_consts, i);
    if (own == kept) continue;
    PyTuple_SET_ITEM(code->co_consts, i, Py_NewRef(own));
    Py_DECREF(kept);
  }
}

// CPython's constructor knows no hidden slots: mark them in the fresh code object's own bytes.
void MarkHidden(PyCodeObject* code, const CodeParts& parts) {
  char* kinds = PyBytes_AS_STRING(code->co_localspluskinds);
  for (size_t i = 0; i < parts.local_kinds.size(); ++i) {
    if ((parts.local_kinds[i] & kLocalHidden) != 0) kinds[i] = static_cast<char>(kinds[i] | kLocalHidden);
  }
}

}  // namespace

bool ReadCode(PyCodeObject* code, CodeParts* out) {
  *out = CodeParts();
  PyRef bytes = PyRef::Steal(PyCode_GetCode(code));
  if (!bytes) return false;
  Result<CodeImage> image = Decode(BytesOf(bytes.get()), BytesOf(code->co_linetable),
                                   BytesOf(code->co_exceptiontable), code->co_firstlineno);
  if (!image.ok()) {
    Raise(image.status());
    return false;
  }
  out->consts = PySequence_List(code->co_consts);
  out->names = PySequence_List(code->co_names);
  if (out->consts == nullptr || out->names == nullptr) {
    ClearParts(out);
    return false;
  }
  out->image = std::move(*image);
  out->image.stack_size = code->co_stacksize;
  out->argcount = code->co_argcount;
  out->posonlyargcount = code->co_posonlyargcount;
  out->kwonlyargcount = code->co_kwonlyargcount;
  out->flags = code->co_flags;
  const char* kinds = PyBytes_AS_STRING(code->co_localspluskinds);
  for (int i = 0; i < code->co_nlocalsplus; ++i) {
    out->locals.push_back(Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, i)));
    out->local_kinds.push_back(static_cast<uint8_t>(kinds[i]) & kAllKinds);
  }
  out->filename = Py_NewRef(code->co_filename);
  out->name = Py_NewRef(code->co_name);
  out->qualname = Py_NewRef(code->co_qualname);
  return true;
}

PyCodeObject* MakeCode(const CodeParts& parts) {
  Status order = CheckSlotOrder(parts);
  if (!order.ok()) return reinterpret_cast<PyCodeObject*>(Raise(order));
  Result<EncodedCode> encoded = Encode(parts.image);
  if (!encoded.ok()) return reinterpret_cast<PyCodeObject*>(Raise(encoded.status()));

  PyRef code = PyRef::Steal(ToBytes(encoded->code)), lines = PyRef::Steal(ToBytes(encoded->line_table)),
        exceptions = PyRef::Steal(ToBytes(encoded->exception_table));
  PyRef consts = PyRef::Steal(PyList_AsTuple(parts.consts)),
        names = PyRef::Steal(PyList_AsTuple(parts.names));
  PyRef locals = PyRef::Steal(NamesOf(parts, kLocalLocal)), cells = PyRef::Steal(NamesOf(parts, kLocalCell)),
        free = PyRef::Steal(NamesOf(parts, kLocalFree));
  if (!code || !lines || !exceptions || !consts || !names || !locals || !cells || !free) return nullptr;
  PyCodeObject* made = PyUnstable_Code_NewWithPosOnlyArgs(
      parts.argcount, parts.posonlyargcount, parts.kwonlyargcount,
      static_cast<int>(PyTuple_GET_SIZE(locals.get())), encoded->stack_size, parts.flags, code.get(),
      consts.get(), names.get(), locals.get(), free.get(), cells.get(), parts.filename, parts.name,
      parts.qualname, parts.image.first_line, lines.get(), exceptions.get());
  if (made == nullptr) return nullptr;
  if (made->co_nlocalsplus != static_cast<int>(parts.locals.size())) {
    Py_DECREF(made);
    return reinterpret_cast<PyCodeObject*>(Raise(ValueError("code: two slots have the same name")));
  }
  KeepConstants(made, parts);
  MarkHidden(made, parts);
  return made;
}

void ClearParts(CodeParts* parts) {
  Py_CLEAR(parts->consts);
  Py_CLEAR(parts->names);
  for (PyObject* name : parts->locals) Py_DECREF(name);
  parts->locals.clear();
  parts->local_kinds.clear();
  Py_CLEAR(parts->filename);
  Py_CLEAR(parts->name);
  Py_CLEAR(parts->qualname);
}

}  // namespace thirdbook
