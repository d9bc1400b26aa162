// Variables and failures of a trace: making, looking, specialising, shadows. See trace.h.
#include "interpret/trace.h"

#include "python/tensor_object.h"

namespace thirdbook {

Trace* current_trace = nullptr;

Trace::Trace(const FrameView& frame, int break_at, const SizePolicy& policy)
    : frame_(frame), break_at_(break_at), policy_(policy) {}

Trace::~Trace() {
  // Proxies may outlive the trace inside of objects that wait for the collector: cut them loose.
  for (Variable& v : variables_) {
    v.value = PyRef();
    v.shadow = PyRef();
    v.initial = PyRef();
  }
  for (Variable& v : variables_) {
    if (v.handle != nullptr) {
      PyObject* handle = v.handle;
      v.handle = nullptr;
      DetachProxy(handle);
      Py_DECREF(handle);
    }
  }
}

// ---- attributes written on a variable
// -------------------------------------------------------------------------------

Var Variable::FindAttribute(PyObject* name, bool* deleted) const {
  *deleted = false;
  for (const auto& [key, var] : attributes) {
    if (key.get() == name || PyUnicode_Compare(key.get(), name) == 0) {
      *deleted = var == nullptr;
      return var;
    }
  }
  return nullptr;
}

bool Variable::HasAttributeWrite(PyObject* name) const {
  bool deleted;
  return FindAttribute(name, &deleted) != nullptr || deleted;
}

// ---- objects and sources
// ------------------------------------------------------------------------------------------------

ObjectIndex Trace::ObjectOf(PyObject* object) {
  auto [it, inserted] = object_index_.emplace(object, static_cast<ObjectIndex>(objects_.size()));
  if (inserted) objects_.push_back(PyRef::Borrow(object));
  return it->second;
}

static std::string ObjectName(PyObject* object) {
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  if (PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || object == Py_None) {
    PyRef repr = PyRef::Steal(PyObject_Repr(object));
    if (repr) {
      const char* text = PyUnicode_AsUTF8(repr.get());
      if (text != nullptr) return text;
    }
    PyErr_Clear();
  }
  if (PyFunction_Check(object))
    return PyUnicode_AsUTF8(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  if (PyCode_Check(object))
    return "<code " + std::string(PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(object)->co_name)) + ">";
  if (PyModule_Check(object)) {
    const char* name = PyModule_GetName(object);
    if (name != nullptr) return name;
    PyErr_Clear();
  }
  return std::string("<") + Py_TYPE(object)->tp_name + ">";
}

SourceId Trace::ObjectSource(PyObject* object) {
  return Expression(SourceKind::kObject, {}, ObjectOf(object),
                    object == frame_.globals    ? "G"
                    : object == frame_.builtins ? "builtins"
                                                : ObjectName(object));
}

SourceId Trace::Expression(SourceKind kind, std::initializer_list<SourceId> operands, ObjectIndex object,
                           std::string_view name, int32_t detail) {
  Source source{kind, detail};
  source.operands = operands;
  source.object = object;
  source.name = name;
  return sources_.Intern(std::move(source));
}

void Trace::AddGuard(GuardKind kind, SourceId source, PyObject* object, std::string_view fact,
                     SourceId other) {
  Guard g{kind, source, other};
  if (object != nullptr) g.object = ObjectOf(object);
  g.line = CurrentLine();
  g.text = fact;
  guards_.Add(std::move(g));
}

void Trace::GuardTruth(SourceId source, bool truth, std::string_view fact) {
  Guard g{GuardKind::kTruth, source};
  g.detail = truth ? 1 : 0;
  g.line = CurrentLine();
  g.text = fact;
  guards_.Add(std::move(g));
}

void Trace::GuardLength(SourceId source, Py_ssize_t length) {
  Var size = ConstSteal(PyLong_FromSsize_t(length));
  AddGuard(GuardKind::kConstant, Expression(SourceKind::kLength, {source}), size->value.get(),
           "== " + std::to_string(length));
}

// ---- making variables
// ---------------------------------------------------------------------------------------------------

// Types whose exact instances are constants through and through.
static bool IsPlainConstant(PyObject* o) {
  return o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis || o == Py_NotImplemented ||
         PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ||
         PyComplex_CheckExact(o) || PyCode_Check(o);
}

bool IsConstant(PyObject* o, int depth) {
  DType dtype;
  if (IsPlainConstant(o) || AsDType(o, &dtype) || PyRange_Check(o) || IsForeignDType(o)) return true;
  if (depth > 20) return false;
  if (depth == 0 && IsLibraryValue(o)) return true;
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
      if (!IsConstant(PyTuple_GET_ITEM(o, i), depth + 1)) return false;
    }
    return true;
  }
  if (PyFrozenSet_CheckExact(o)) {
    PyRef items = PyRef::Steal(PySequence_Tuple(o));
    return items && IsConstant(items.get(), depth + 1);
  }
  if (PySlice_Check(o)) {
    PySliceObject* s = reinterpret_cast<PySliceObject*>(o);
    return IsConstant(s->start, depth + 1) && IsConstant(s->stop, depth + 1) &&
           IsConstant(s->step, depth + 1);
  }
  return false;
}

Var Trace::New(PyTypeObject* type) {
  variables_.emplace_back();
  Var v = &variables_.back();
  v->kind = VariableKind::kNew;
  v->type = type;
  v->step = root_step_;
  return v;
}

Var Trace::Const(PyObject* value) {
  auto it = consts_.find(value);
  if (it != consts_.end()) return it->second;
  Var v = New(Py_TYPE(value));
  v->kind = VariableKind::kConst;
  v->value = PyRef::Borrow(value);
  consts_[value] = v;
  return v;
}

Var Trace::ConstSteal(PyObject* value) {
  if (value == nullptr) return RaiseFromPython();
  PyRef owner = PyRef::Steal(value);
  return FromShadow(value);
}

Var Trace::Fixed(PyObject* object) {
  if (IsConstant(object)) return Const(object);
  auto it = known_.find(object);
  if (it != known_.end()) return it->second;
  return Look(Lazy(object, ObjectSource(object)));
}

Var Trace::Lazy(PyObject* value, SourceId source) {
  auto it = by_source_.find(source.value);
  if (it != by_source_.end()) return it->second;
  Var v = New(nullptr);
  v->kind = VariableKind::kLazy;
  v->value = PyRef::Borrow(value);
  v->source = source;
  by_source_[source.value] = v;
  return v;
}

Var Trace::Scalar(PyTypeObject* type, SourceId source, PyObject* value_stolen) {
  Var v = New(type);
  v->kind = VariableKind::kScalar;
  v->source = source;
  v->value = PyRef::Steal(value_stolen);
  return v;
}

Var Trace::NewTuple(std::vector<Var> items) {
  Var v = New(&PyTuple_Type);
  v->items = std::move(items);
  return v;
}

Var Trace::NewContainer(PyTypeObject* type, PyObject* shadow_stolen) {
  if (shadow_stolen == nullptr) return RaiseFromPython();
  Var v = New(type);
  v->shadow = PyRef::Steal(shadow_stolen);
  shadows_[shadow_stolen] = v;
  return v;
}

Var Trace::NewMethod(Var function, Var self) {
  Var v = New(&PyMethod_Type);
  v->items = {function, self};
  return v;
}

// ---- looking
// ------------------------------------------------------------------------------------------------------------

Var Trace::Look(Var v) {
  while (v->forward != nullptr) v = v->forward;
  if (v->by_code) {
    v->by_code = false;
    AddIdentityGuard(v->source, v->value.get());
  }
  if (v->kind != VariableKind::kLazy) return v;
  return LookAtObject(v);
}

void Trace::AddIdentityGuard(SourceId source, PyObject* object) {
  AddGuard(GuardKind::kIdentity, source, object, ObjectName(object));
}

// Functions that come with the call are often made anew for each: closures, lambdas, the bodies of generator
// expressions. As long as one is only called, its code and globals are the premise, and its cells are read.
Var Trace::LookCallable(Var v) {
  while (v->forward != nullptr) v = v->forward;
  if (v->by_code) return v;
  if (v->kind != VariableKind::kLazy || !PyFunction_Check(v->value.get()) || known_.contains(v->value.get()))
    return Look(v);
  SourceId root = v->source;
  while (!sources_.at(root).operands.empty()) root = sources_.at(root).operands[0];
  const SourceKind kind = sources_.at(root).kind;
  if (kind != SourceKind::kLocal && kind != SourceKind::kClosureCell) return Look(v);
  v->kind = VariableKind::kObject;
  v->type = &PyFunction_Type;
  v->by_code = true;
  known_[v->value.get()] = v;
  existing_.push_back(v);
  AddGuard(GuardKind::kType, v->source, reinterpret_cast<PyObject*>(&PyFunction_Type),
           ObjectName(reinterpret_cast<PyObject*>(&PyFunction_Type)));
  AddIdentityGuard(PartOfFunction(v->source, FunctionPart::kGlobals, "__globals__"),
                   reinterpret_cast<PyFunctionObject*>(v->value.get())->func_globals);
  return v;
}

// Whether a constant equals no other object.
bool IsUnique(PyObject* o) {
  DType dtype;
  return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyCode_Check(o) ||
         AsDType(o, &dtype) || IsForeignDType(o);
}

Var Trace::LookAtObject(Var v) {
  PyObject* o = v->value.get();
  bool fixed = sources_.at(v->source).kind == SourceKind::kObject;
  auto guard = [&](GuardKind kind, PyObject* object) {
    if (fixed) return;
    AddGuard(kind, v->source, object, ObjectName(object));
  };
  v->type = Py_TYPE(o);
  if (!fixed && (o == Py_True || o == Py_False || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
                 PyUnicode_CheckExact(o))) {
    guard(GuardKind::kType, reinterpret_cast<PyObject*>(Py_TYPE(o)));
    v->kind = VariableKind::kScalar;
    return v;
  }
  if (IsConstant(o) && (fixed || !IsLibraryValue(o))) {
    guard(IsUnique(o) ? GuardKind::kIdentity : GuardKind::kConstant, o);
    v->kind = VariableKind::kConst;
    if (PyTuple_CheckExact(o) || PyFrozenSet_CheckExact(o))
      consts_.emplace(o, v);  // an equal one of a later call is another object
    return v;
  }
  auto it = known_.find(o);
  if (it != known_.end() && it->second != v) {
    Var other = it->second;
    while (other->forward != nullptr) other = other->forward;
    if (!fixed && !(other->source == v->source)) {
      AddGuard(GuardKind::kSame, v->source, nullptr, "is " + sources_.Print(other->source), other->source);
    }
    v->forward = other;
    return other;
  }
  known_[o] = v;
  existing_.push_back(v);
  ArrayView array;
  if (const ArrayAdapter* library = ReadArray(o, &array)) {
    for (TensorBase* base : WrittenInputs()) {
      ArrayView written;
      ReadArray(base->input->value.get(), &written);
      if (SharesMemory(written, array)) {
        Break("a tensor is read that shares memory with one that was written", BreakKind::kSharedMemory);
      }
    }
    Guard g{GuardKind::kTensor, v->source, {}};
    g.object = ObjectOf(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    g.meta = array.meta;
    g.array_flags = array.flags;
    g.dynamic.assign(array.meta.sizes.size(), false);
    g.line = CurrentLine();
    bases_.push_back({{}, array.meta, 0, v, false, false, {}, {}});
    v->kind = VariableKind::kTensor;
    v->tensor = std::make_unique<TensorState>();
    v->tensor->base = &bases_.back();
    v->tensor->meta = std::move(array.meta);
    v->tensor->requires_grad = (array.flags & kRequiresGrad) != 0;
    if (library != TensorLibrary()) {
      v->tensor->form = {library, (array.flags & kScalarNumber) != 0};
    } else {
      FreeSizes(v, &g);
    }
    guards_.Add(std::move(g));
    return v;
  }
  v->kind = VariableKind::kObject;
  auto owner = dict_owner_.find(o);
  if (owner != dict_owner_.end()) v->dict_of = owner->second;
  bool by_identity = PyType_Check(o) || PyModule_Check(o) || PyCFunction_Check(o) || PyFunction_Check(o) ||
                     Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type ||
                     Py_TYPE(o) == &PyGetSetDescr_Type || Py_TYPE(o) == &PyMemberDescr_Type ||
                     Py_TYPE(o) == &PyClassMethodDescr_Type || IsOpFunction(o) ||
                     Py_TYPE(o) == &PyProperty_Type || IsGetterType(Py_TYPE(o)) ||
                     IsCacheWrapperType(Py_TYPE(o)) || ArrayModel(o) != nullptr;
  if (by_identity) {
    guard(GuardKind::kIdentity, o);
  } else {
    guard(GuardKind::kType, reinterpret_cast<PyObject*>(Py_TYPE(o)));
  }
  return v;
}

void Trace::GuardUnlooked() {
  for (Variable& v : variables_) {
    if (v.kind != VariableKind::kLazy || v.forward != nullptr) continue;
    const Source& s = sources_.at(v.source);
    PyTypeObject* owner = s.kind == SourceKind::kItem ? SourceType(s.operands[0]) : nullptr;
    if (s.kind == SourceKind::kAttribute || s.kind == SourceKind::kTypeAttribute ||
        s.kind == SourceKind::kCellContents ||
        (owner != nullptr && PyType_IsSubtype(owner, &PyDict_Type) != 0))
      guards_.Add(Guard{GuardKind::kExists, v.source});
  }
  for (Var v : items_reached_) {
    if (v->kind == VariableKind::kLazy && v->forward == nullptr)
      guards_.Add(Guard{GuardKind::kExists, v->source});
  }
}

// An item of a list or tuple, whose length is no premise.
Var Trace::ItemAt(Var container, Var key, PyObject* item) {
  Var v = Lazy(item, Expression(SourceKind::kItem, {SourceOf(container), SourceOf(key)}));
  items_reached_.push_back(v);
  return v;
}

bool Trace::Specialize(Var v) {
  v = Look(v);
  if (v->kind != VariableKind::kScalar) return true;
  if (!v->value) {
    Break("the value of a tensor decides what the program does", BreakKind::kDataDecides);
    return false;
  }
  AddGuard(GuardKind::kConstant, v->source, v->value.get(), "== " + ObjectName(v->value.get()));
  for (size_t k = 0; k < symbols_.size(); k++) {
    if (symbols_[k].source == v->source) PinSize(k);
  }
  v->kind = VariableKind::kConst;
  return true;
}

PyObject* Trace::TryConst(Var v) {
  Nesting nesting;
  if (Nesting::Deep()) return nullptr;
  v = Look(v);
  if (v->kind == VariableKind::kConst) return v->value.get();
  if (v->kind == VariableKind::kNew && v->type == &PyTuple_Type) {
    PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
    for (size_t i = 0; i < v->items.size(); i++) {
      PyObject* item = TryConst(v->items[i]);
      if (item == nullptr) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(item));
    }
    keep_alive_.push_back(tuple);
    return tuple.get();
  }
  if (v->kind == VariableKind::kObject && (PyType_Check(v->value.get()) || PyFunction_Check(v->value.get()) ||
                                           PyCFunction_Check(v->value.get()))) {
    return v->value.get();
  }
  return nullptr;
}

PyObject* Trace::ConstValue(Var v) {
  Nesting nesting;
  if (Nesting::Deep())
    return Break("a tuple that is nested too deep is needed as a constant", BreakKind::kLimit);
  v = Look(v);
  if (v->kind == VariableKind::kScalar && !Specialize(v)) return nullptr;
  if (v->kind == VariableKind::kNew && v->type == &PyTuple_Type) {
    for (Var item : v->items) {
      if (ConstValue(item) == nullptr) return nullptr;
    }
  }
  if (v->kind == VariableKind::kObject && PyTuple_CheckExact(v->value.get())) {
    std::vector<Var> items;
    if (!Iterate(v, &items)) return nullptr;
    return ConstValue(NewTuple(items));
  }
  PyObject* value = TryConst(v);
  if (value == nullptr) Break({"a constant is needed here: the value is ", Describe(v)});
  return value;
}

SourceId Trace::SourceOf(Var v) {
  v = Look(v);
  switch (v->kind) {
    case VariableKind::kConst: return ObjectSource(v->value.get());
    case VariableKind::kScalar:
    case VariableKind::kObject:
    case VariableKind::kTensor: return v->source;
    default: return SourceId{};
  }
}

// ---- places
// ---------------------------------------------------------------------------------------------------------------

// Whether a file belongs to this package: its lines are no places of the user's.
static bool IsPackageFile(PyObject* filename) {
  static std::string directory = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook"));
    PyRef file = module ? PyRef::Steal(PyObject_GetAttrString(module.get(), "__file__")) : PyRef();
    PyErr_Clear();
    std::string path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : "";
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string("/nowhere/") : path.substr(0, slash + 1);
  }();
  const char* text = PyUnicode_AsUTF8(filename);
  return text != nullptr && strncmp(text, directory.c_str(), directory.size()) == 0;
}

SymbolicFrame* Trace::UserFrame(PyObject* other_than) {
  for (auto it = frame_stack_.rbegin(); it != frame_stack_.rend(); ++it) {
    PyObject* file = (*it)->code->co_filename;
    if (!IsPackageFile(file) && (other_than == nullptr || PyUnicode_Compare(file, other_than) != 0))
      return *it;
  }
  return nullptr;
}

Site Trace::CurrentSite() {
  Site site;
  if (frame_stack_.empty()) return site;
  SymbolicFrame* f = UserFrame();
  if (f == nullptr) f = frame_stack_.back();
  const Position& p = f->parts->image.instructions[static_cast<size_t>(f->pc)].position;
  site.file = PyUnicode_AsUTF8(f->code->co_filename);
  site.line = p.line;
  site.column = p.column;
  site.end_line = p.end_line;
  site.end_column = p.end_column;
  return site;
}

int Trace::CurrentLine() { return frame_stack_.empty() ? frame_.code->co_firstlineno : CurrentSite().line; }

std::string Trace::Describe(Var v) {
  if (v == nullptr) return "";
  while (v->forward != nullptr) v = v->forward;
  switch (v->kind) {
    case VariableKind::kNull: return "NULL";
    case VariableKind::kConst: {
      PyRef repr = PyRef::Steal(PyObject_Repr(v->value.get()));
      const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
      PyErr_Clear();
      return text != nullptr ? text : "?";
    }
    case VariableKind::kLazy:
    case VariableKind::kScalar:
    case VariableKind::kObject: return sources_.Print(v->source);
    case VariableKind::kTensor: {
      if (v->source.defined()) return sources_.Print(v->source);
      std::string text = std::string("tensor ") + std::string(DTypeName(v->tensor->meta.dtype)) + "[";
      for (size_t i = 0; i < v->tensor->meta.sizes.size(); i++)
        text += (i != 0 ? ", " : "") + std::to_string(v->tensor->meta.sizes[i]);
      return text + "]";
    }
    case VariableKind::kNew: return std::string("new ") + (v->type != nullptr ? v->type->tp_name : "object");
  }
  return "?";
}

const CodeParts* PartsOf(PyCodeObject* code) {
  static std::unordered_map<PyCodeObject*, CodeParts*> cache;
  auto it = cache.find(code);
  if (it != cache.end()) return it->second;
  CodeParts* parts = new CodeParts();
  if (!ReadCode(code, parts)) {
    delete parts;
    return nullptr;
  }
  Py_INCREF(code);
  cache[code] = parts;
  return parts;
}

}  // namespace thirdbook
