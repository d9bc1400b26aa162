// Objects that are worth a value: instances of subclasses of numbers and texts (members of an IntEnum, say),
// dates, compiled patterns and their matches. See trace.h.
//
// In: a variable. Out: the constant that the methods of its built-in base compute with. Invariant: such an
// object never changes, so its identity is the premise; methods that its class writes in Python come first
// and are not asked here.
#include "interpret/attributes.h"
#include "interpret/containers.h"
#include "interpret/trace.h"

namespace thirdbook {

namespace {

// The number or text that instances of a subclass are; null: of none.
PyTypeObject* ValueBase(PyTypeObject* type) {
  for (PyTypeObject* base : {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyBytes_Type, &PyComplex_Type}) {
    if (type != base && PyType_IsSubtype(type, base) != 0) return base;
  }
  return nullptr;
}

// Whether C code that wants a number takes the one that the object is.
bool ConvertsAs(PyTypeObject* type, PyTypeObject* base) {
  const PyNumberMethods* own = type->tp_as_number;
  const PyNumberMethods* plain = base->tp_as_number;
  return own == nullptr || plain == nullptr ||
         (own->nb_index == plain->nb_index && own->nb_int == plain->nb_int &&
          own->nb_float == plain->nb_float);
}

PyRef Field(PyObject* o, const char* name) {
  PyRef value = PyRef::Steal(PyObject_GetAttrString(o, name));
  PyErr_Clear();
  return value;
}

}  // namespace

bool IsLibraryValueType(PyTypeObject* type) {
  static const char* const kNames[] = {
      "datetime.date",     "datetime.datetime", "datetime.time", "datetime.timedelta",
      "datetime.timezone", "re.Pattern",        "re.Match"};
  if (!IsImmutableType(type)) return false;
  for (const char* name : kNames) {
    if (strcmp(type->tp_name, name) == 0) return true;
  }
  return false;
}

bool IsLibraryValue(PyObject* o) {
  if (!IsLibraryValueType(Py_TYPE(o))) return false;
  const char* name = Py_TYPE(o)->tp_name;
  if (strcmp(name, "re.Match") == 0) {
    PyRef text = Field(o, "string");
    return text && (PyUnicode_CheckExact(text.get()) || PyBytes_CheckExact(text.get()));
  }
  if (strcmp(name, "datetime.datetime") != 0 && strcmp(name, "datetime.time") != 0) return true;
  PyRef zone = Field(o, "tzinfo");  // one of the program's own runs its code
  return zone && (zone.get() == Py_None || IsLibraryValueType(Py_TYPE(zone.get())));
}

Var Trace::PlainValue(Var v, bool converts) {
  v = Look(v);
  PyTypeObject* base = ValueBase(v->type);
  if (converts && base != nullptr && !ConvertsAs(v->type, base)) return nullptr;
  if (v->kind == VariableKind::kNew) return base != nullptr && v->initial ? Const(v->initial.get()) : nullptr;
  if (v->kind != VariableKind::kObject) return nullptr;
  PyRef value = PyRef::Borrow(v->value.get());
  if (base != nullptr) {
    PyRef getter = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__getnewargs__"));
    PyRef args = getter ? PyRef::Steal(PyObject_CallOneArg(getter.get(), value.get())) : PyRef();
    if (!args) return RaiseFromPython();
    value = PyRef::Borrow(PyTuple_GET_ITEM(args.get(), 0));
  } else if (!IsLibraryValue(value.get())) {
    return nullptr;
  }
  if (sources_.at(v->source).kind != SourceKind::kObject) AddIdentityGuard(v->source, v->value.get());
  return Const(value.get());
}

Var Trace::PlainValue(Var v) { return PlainValue(v, false); }

// What stands for an int where one is needed: an int of any class is one already.
Var Trace::IndexOf(Var v) {
  v = Look(v);
  if (IsValue(v)) return v;
  Var plain = PyType_IsSubtype(v->type, &PyLong_Type) != 0 ? PlainValue(v) : nullptr;
  return plain != nullptr ? plain : CallMethod(v, "__index__", {});
}

// An instance of a class of the program's that is a number or text; null without failure: the base is none.
Var Trace::NewValue(Var cls, PyTypeObject* base, const std::vector<Var>& args, PyObject* kwnames) {
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls->value.get());
  if (ValueBase(type) != base) return nullptr;
  Var value = CallPure(reinterpret_cast<PyObject*>(base), args, kwnames, false);
  PyObject* plain = value != nullptr ? ConstValue(value) : nullptr;
  if (plain == nullptr) return nullptr;
  PyRef maker = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__new__"));
  Var v = New(type);
  v->initial = PyRef::Borrow(plain);
  v->construct_callable = Fixed(maker.get());
  v->construct_args = {cls, value};
  return v;
}

// Methods of library values that read more than the value: the clock, the zone or the locale.
bool ReadsTheWorld(PyTypeObject* type, const char* method) {
  return strncmp(type->tp_name, "datetime.", 9) == 0 &&
         IsOneOf(method, {"timestamp", "astimezone", "strftime", "__format__"});
}

}  // namespace thirdbook
