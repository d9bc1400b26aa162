// See guard_program.h.
#include "interpret/guard_program.h"

#include <algorithm>
#include <cstring>

#include "interpret/builtins.h"
#include "interpret/finalizers.h"
#include "python/array_adapter.h"
#include "python/set_layout.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr size_t kMostSizes = 1024;  // sets of sizes whose fit is remembered

// Equal as constants: same types all the way down, floats bit for bit.
bool SameConstant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
      if (!SameConstant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    }
    return true;
  }
  if (PyComplex_CheckExact(a)) {
    Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || PyRange_Check(a) ||
      PyFrozenSet_CheckExact(a) || PySlice_Check(a)) {
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal == 1;
  }
  return false;
}

// The instance dict; new reference or nullptr without an exception.
PyObject* DictOf(PyObject* o) {
  if (PyModule_Check(o)) return Py_NewRef(PyModule_GetDict(o));
  if (Py_TYPE(o)->tp_dictoffset == 0 && !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_MANAGED_DICT))
    return nullptr;
  PyObject* dict = PyObject_GenericGetDict(o, nullptr);
  if (dict == nullptr) PyErr_Clear();
  return dict;
}

// The instance's own attribute; new reference or nullptr without an exception. Where the class has nothing of
// the name, CPython's own look-up finds it without making the instance's dict.
PyObject* InstanceAttribute(PyObject* o, PyObject* name) {
  bool plain = !PyType_Check(o) && !PyModule_Check(o) && _PyType_Lookup(Py_TYPE(o), name) == nullptr;
  if (plain) return _PyObject_GenericGetAttrWithDict(o, name, nullptr, 1);
  PyObject* dict = DictOf(o);
  PyObject* value = dict != nullptr ? Py_XNewRef(PyDict_GetItemWithError(dict, name)) : nullptr;
  Py_XDECREF(dict);
  PyErr_Clear();
  return value;
}

PyObject* Number(int code, PyObject* a, PyObject* b) {
  switch (code) {
    case 0: return PyNumber_Add(a, b);
    case 1: return PyNumber_And(a, b);
    case 2: return PyNumber_FloorDivide(a, b);
    case 3: return PyNumber_Lshift(a, b);
    case 5: return PyNumber_Multiply(a, b);
    case 6: return PyNumber_Remainder(a, b);
    case 7: return PyNumber_Or(a, b);
    case 8: return PyNumber_Power(a, b, Py_None);
    case 9: return PyNumber_Rshift(a, b);
    case 10: return PyNumber_Subtract(a, b);
    case 11: return PyNumber_TrueDivide(a, b);
    case 12: return PyNumber_Xor(a, b);
    default: return nullptr;
  }
}

}  // namespace

GuardProgram::GuardProgram(SourceTable sources, std::vector<Guard> guards, std::vector<PyRef> objects,
                           std::shared_ptr<SizePremises> sizes)
    : sources_(std::move(sources)),
      guards_(std::move(guards)),
      objects_(std::move(objects)),
      sizes_(std::move(sizes)) {
  for (PyRef& o : objects_) {
    bool dies = PyFunction_Check(o.get()) ||
                (PyType_Check(o.get()) &&
                 PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o.get()), Py_TPFLAGS_HEAPTYPE) &&
                 !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o.get()), Py_TPFLAGS_IMMUTABLETYPE));
    if (Py_TYPE(o.get()) == &_PyWeakref_RefType) references_.push_back(o);
    if (!dies) continue;
    if (PyRef weak = PyRef::Steal(PyWeakref_NewRef(o.get(), nullptr))) o = weak;
    PyErr_Clear();
  }
  values_.assign(static_cast<size_t>(sources_.size()), nullptr);
  versions_.assign(guards_.size(), 0);
  failures_.assign(guards_.size(), 0);
}

PyObject* GuardProgram::Referent(PyObject* reference) const {
  for (const PyRef& own : references_) {
    if (own.get() == reference) return reference;
  }
  PyObject* o = reinterpret_cast<PyWeakReference*>(reference)->wr_object;  // None once it is dead
  return Py_REFCNT(o) > 0 ? o : Py_None;
}

PyObject* GuardProgram::Evaluate(SourceId id) {
  PyObject*& value = values_[static_cast<size_t>(id.value)];
  if (value == nullptr) {
    value = EvaluateUncached(sources_.at(id));
    if (value == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    touched_.push_back(id.value);
  }
  return value;
}

PyObject* GuardProgram::EvaluateUncached(const Source& s) {
  PyObject* a = nullptr;
  PyObject* b = nullptr;
  if (!s.operands.empty() && (a = Evaluate(s.operands[0])) == nullptr) return nullptr;
  if (s.operands.size() > 1 && (b = Evaluate(s.operands[1])) == nullptr) return nullptr;
  switch (s.kind) {
    case SourceKind::kLocal: return Py_XNewRef(frame_->locals[s.detail]);
    case SourceKind::kClosureCell: return Py_NewRef(PyTuple_GET_ITEM(frame_->closure, s.detail));
    case SourceKind::kObject: return Py_NewRef(object(s.object));
    case SourceKind::kCellContents: return PyCell_Check(a) ? PyCell_Get(a) : nullptr;
    case SourceKind::kAttribute: {
      if (s.detail == 1) {
        PyObject* descriptor = object(s.object);
        if (PyType_IsSubtype(Py_TYPE(a), reinterpret_cast<PyDescrObject*>(descriptor)->d_type) == 0)
          return nullptr;
        return Py_TYPE(descriptor)->tp_descr_get(descriptor, a, reinterpret_cast<PyObject*>(Py_TYPE(a)));
      }
      return s.detail == 2 ? DictOf(a) : InstanceAttribute(a, object(s.object));
    }
    case SourceKind::kTypeAttribute:
      return PyType_Check(a)
                 ? Py_XNewRef(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(a), object(s.object)))
                 : nullptr;
    case SourceKind::kItem: {
      if (PyDict_Check(a)) return Py_XNewRef(PyDict_GetItemWithError(a, b));
      if (PyList_Check(a) || PyTuple_Check(a)) {
        Py_ssize_t i = PyLong_CheckExact(b) ? PyLong_AsSsize_t(b) : PY_SSIZE_T_MAX;
        Py_ssize_t n = Py_SIZE(a);
        if (PyErr_Occurred() != nullptr) return nullptr;
        if (i < 0) i += n;
        if (i < 0 || i >= n) return nullptr;
        return Py_NewRef(PyList_Check(a) ? PyList_GET_ITEM(a, i) : PyTuple_GET_ITEM(a, i));
      }
      return PyObject_GetItem(a, b);
    }
    case SourceKind::kLength: {
      if (PyList_Check(a) || PyTuple_Check(a)) return PyLong_FromSsize_t(Py_SIZE(a));
      if (PyDict_Check(a)) return PyLong_FromSsize_t(PyDict_GET_SIZE(a));
      if (PyAnySet_Check(a)) return PyLong_FromSsize_t(PySet_GET_SIZE(a));
      if (PyUnicode_Check(a)) return PyLong_FromSsize_t(PyUnicode_GET_LENGTH(a));
      PyTypeObject* base = Py_TYPE(a);
      while (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) &&
             !PyType_HasFeature(base, Py_TPFLAGS_IMMUTABLETYPE))
        base = base->tp_base;
      return base->tp_as_sequence != nullptr && base->tp_as_sequence->sq_length != nullptr
                 ? PyLong_FromSsize_t(base->tp_as_sequence->sq_length(a))
                 : nullptr;
    }
    case SourceKind::kFunction: {
      if (PyMethod_Check(a)) {
        return Py_NewRef(s.detail == static_cast<int32_t>(FunctionPart::kMethodSelf)
                             ? PyMethod_GET_SELF(a)
                             : PyMethod_GET_FUNCTION(a));
      }
      if (PyCFunction_Check(a)) return Py_XNewRef(PyCFunction_GET_SELF(a));
      if (!PyFunction_Check(a)) return nullptr;
      PyFunctionObject* f = reinterpret_cast<PyFunctionObject*>(a);
      auto or_none = [](PyObject* o) { return Py_NewRef(o != nullptr ? o : Py_None); };
      if (s.detail == static_cast<int32_t>(FunctionPart::kDefaults)) return or_none(f->func_defaults);
      if (s.detail == static_cast<int32_t>(FunctionPart::kKwdefaults)) return or_none(f->func_kwdefaults);
      if (s.detail == static_cast<int32_t>(FunctionPart::kCode)) return Py_NewRef(f->func_code);
      if (s.detail == static_cast<int32_t>(FunctionPart::kGlobals)) return Py_NewRef(f->func_globals);
      Py_ssize_t i = s.detail - static_cast<int32_t>(FunctionPart::kClosure);
      if (f->func_closure == nullptr || i < 0 || i >= PyTuple_GET_SIZE(f->func_closure)) return nullptr;
      return Py_NewRef(PyTuple_GET_ITEM(f->func_closure, i));
    }
    case SourceKind::kBinary: return Number(s.detail, a, b);
    case SourceKind::kUnary:
      switch (s.detail) {
        case kUnaryNegative: return PyNumber_Negative(a);
        case kUnaryPositive: return PyNumber_Positive(a);
        case kUnaryInvert: return PyNumber_Invert(a);
        default: return PyBool_FromLong(PyObject_Not(a));
      }
    case SourceKind::kCompare: return PyObject_RichCompare(a, b, s.detail);
    case SourceKind::kContains: {
      int found = PyDict_Check(b)     ? PyDict_Contains(b, a)
                  : PyAnySet_Check(b) ? PySet_Contains(b, a)
                                      : PySequence_Contains(b, a);
      return found < 0 ? nullptr : PyBool_FromLong(found);
    }
    case SourceKind::kCall: {
      std::vector<PyObject*> args;
      for (SourceId operand : s.operands) {
        PyObject* value = Evaluate(operand);
        if (value == nullptr) return nullptr;
        args.push_back(value);
      }
      return PyObject_Vectorcall(object(s.object), args.data(), args.size(), nullptr);
    }
    case SourceKind::kSize: {
      if (!IsTensor(a)) return nullptr;
      const Sizes& sizes = AsTensor(a).sizes();
      const size_t d = static_cast<size_t>(s.detail);
      return d < sizes.size() ? PyLong_FromLongLong(sizes[d]) : nullptr;
    }
    case SourceKind::kGraphTensor: return nullptr;
  }
  return nullptr;
}

// The int that a source gives; false when it gives none.
bool GuardProgram::IntOf(SourceId source, int64_t* out) {
  PyObject* value = Evaluate(source);
  if (value == nullptr || !PyLong_CheckExact(value)) return false;
  *out = PyLong_AsLongLong(value);
  return PyErr_Occurred() == nullptr || (PyErr_Clear(), false);
}

bool GuardProgram::SizesHold() {
  SizePremises& p = *sizes_;
  std::string key;
  for (SourceId symbol : p.symbols) {
    int64_t size;
    if (!IntOf(symbol, &size) || size < 0) return false;
    key.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  if (key == p.last) return true;
  auto it = p.known.find(key);
  if (it == p.known.end()) {
    if (p.known.size() >= kMostSizes) p.known.clear();
    it = p.known.emplace(key, SizesFit(p)).first;
  }
  if (it->second) p.last = std::move(key);
  return it->second;
}

// Infers the graph for the sizes at hand and looks at every premise.
bool GuardProgram::SizesFit(const SizePremises& p) {
  std::vector<ResizedInput> inputs;
  for (const SizePremises::Input& input : p.inputs) {
    ResizedInput now{input.meta, 0};
    for (size_t d = 0; d < input.sizes.size(); d++) {
      if (input.sizes[d].defined() && !IntOf(input.sizes[d], &now.meta.sizes[d])) return false;
    }
    if (!input.sizes.empty()) now.meta.strides = ContiguousStrides(now.meta.sizes);
    if (input.number.defined()) IntOf(input.number, &now.number);
    inputs.push_back(std::move(now));
  }
  NodeMetas metas;
  if (!InferResized(p.graph, inputs, &metas).ok()) return false;
  auto meta = [&](ValueRef v) -> const TensorMeta& {
    return metas[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  };
  for (const Node& node : p.graph.nodes()) {
    if (Info(node.op).op_class != OpClass::kMaybeView) continue;
    const ValueRef from = node.operands[0];
    if (AliasesOperand(node.op, meta(from), AttrsFor(node, inputs)) !=
        AliasesOperand(node.op, p.graph.meta(from), node.attrs))
      return false;
  }
  for (const SizePremise& premise : p.premises) {
    int64_t expected;
    if (!IntOf(premise.expected, &expected) || MetaPart(meta(premise.value), premise.part) != expected)
      return false;
  }
  for (const auto& [a, b] : p.same) {
    if (meta(a).sizes != meta(b).sizes || meta(a).strides != meta(b).strides ||
        meta(a).offset != meta(b).offset)
      return false;
  }
  return true;
}

// Whether a tensor's sizes and strides are those of the guard, where free sizes are 2 or more in a contiguous
// tensor.
static bool LayoutHolds(const Guard& g, const TensorMeta& meta) {
  bool any_free = false;
  if (meta.sizes.size() != g.meta.sizes.size()) return false;
  for (size_t d = 0; d < meta.sizes.size(); d++) {
    if (g.dynamic[d]) {
      any_free = true;
      if (meta.sizes[d] < 2) return false;
    } else if (meta.sizes[d] != g.meta.sizes[d]) {
      return false;
    }
  }
  if (!any_free) return meta.strides == g.meta.strides;
  int64_t stride = 1;
  for (size_t d = meta.sizes.size(); d-- > 0;) {
    if (meta.strides[d] != stride) return false;
    stride *= meta.sizes[d] > 1 ? meta.sizes[d] : 1;
  }
  return true;
}

bool GuardProgram::AllDistinct(const Guard& g) {
  std::vector<PyObject*> written;
  for (size_t i = 0; i < g.group.size(); i++) {
    PyObject* v = Evaluate(g.group[i]);
    if (v == nullptr) return false;
    if (i < static_cast<size_t>(g.detail)) {
      written.push_back(v);
      if (written.size() < static_cast<size_t>(g.detail)) continue;
      std::sort(written.begin(), written.end());
      if (std::adjacent_find(written.begin(), written.end()) != written.end()) return false;
    } else if (std::binary_search(written.begin(), written.end(), v)) {
      return false;
    }
  }
  return true;
}

bool GuardProgram::Holds(Guard& g) {
  if (g.kind == GuardKind::kSizes) return SizesHold();
  if (g.kind == GuardKind::kTypeLookup) {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(object(g.object));
    if (!PyType_Check(reinterpret_cast<PyObject*>(type))) return false;
    uint32_t& version = versions_[static_cast<size_t>(&g - guards_.data())];
    if (version != 0 && type->tp_version_tag == version) return true;
    PyObject* found = _PyType_Lookup(type, object(g.name));
    PyErr_Clear();
    if (found != (g.object2 >= 0 ? object(g.object2) : nullptr)) return false;
    version = type->tp_version_tag;
    return true;
  }
  if (g.kind == GuardKind::kGlobalState)
    return g.detail == (grad_enabled ? 1 : 0) + 2 * static_cast<int>(DefaultDType());
  if (g.kind == GuardKind::kAllDistinct) return AllDistinct(g);
  PyObject* v = Evaluate(g.source);
  if (g.kind == GuardKind::kQuiet) return v == nullptr || DiesQuietly(v);
  if (v == nullptr) return false;
  switch (g.kind) {
    case GuardKind::kType: return reinterpret_cast<PyObject*>(Py_TYPE(v)) == object(g.object);
    case GuardKind::kIdentity: return v == object(g.object);
    case GuardKind::kConstant: return SameConstant(v, object(g.object));
    case GuardKind::kTruth: return v == (g.detail != 0 ? Py_True : Py_False);
    case GuardKind::kTensor: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(v)) != object(g.object)) return false;
      if (!IsTensor(v)) return MatchesArray(v, g.meta, g.array_flags);
      const TensorMeta& meta = AsTensor(v).meta();
      return meta.dtype == g.meta.dtype && LayoutHolds(g, meta) && meta.offset == g.meta.offset &&
             meta.device == g.meta.device &&
             reinterpret_cast<TensorObject*>(v)->requires_grad == ((g.array_flags & kRequiresGrad) != 0);
    }
    case GuardKind::kSetLayout: return PyAnySet_Check(v) && SameSetLayout(v, object(g.object));
    case GuardKind::kKeys: {
      PyObject* keys = object(g.object);
      Py_ssize_t n = PyTuple_GET_SIZE(keys), i = 0;
      if (PyDict_Check(v) && !PyObject_TypeCheck(v, &PyODict_Type)) {
        if (PyDict_GET_SIZE(v) != n) return false;
        PyObject *key, *value;
        Py_ssize_t position = 0;
        while (PyDict_Next(v, &position, &key, &value) != 0) {
          if (i >= n || !SameConstant(key, PyTuple_GET_ITEM(keys, i))) return false;
          i++;
        }
        return i == n;
      }
      PyRef now = PyRef::Steal(PyAnySet_Check(v) || PyDict_Check(v) ? PySequence_Tuple(v) : nullptr);
      PyErr_Clear();
      if (!now || PyTuple_GET_SIZE(now.get()) != n) return false;
      for (; i < n; i++) {
        if (!SameConstant(PyTuple_GET_ITEM(now.get(), i), PyTuple_GET_ITEM(keys, i))) return false;
      }
      return true;
    }
    case GuardKind::kHasNoAttribute: {
      if (g.object2 >= 0) {  // a slot
        PyObject* slot = object(g.object2);
        PyRef held = PyRef::Steal(Py_TYPE(slot)->tp_descr_get(slot, v, nullptr));
        PyErr_Clear();
        return !held;
      }
      return !PyRef::Steal(InstanceAttribute(v, object(g.name)));
    }
    case GuardKind::kExists:  // a descriptor on a class would be asked
      return sources_.at(g.source).kind != SourceKind::kTypeAttribute || Py_TYPE(v)->tp_descr_get == nullptr;
    case GuardKind::kEmptyCell: return PyCell_Check(v) && PyCell_GET(v) == nullptr;
    case GuardKind::kSame:
    case GuardKind::kDistinct:
    case GuardKind::kStorage: {
      PyObject* other = Evaluate(g.other);
      if (other == nullptr) return false;
      if (g.kind == GuardKind::kSame) return v == other;
      if (g.kind == GuardKind::kDistinct) return v != other;
      ArrayView a, b;
      return ReadArray(v, &a) != nullptr && ReadArray(other, &b) != nullptr && !SharesMemory(a, b);
    }
    default: return false;
  }
}

// The dimensions of tensors whose size is not what it was in this entry, or is free in it.
// The ints that an expression is made of.
void GuardProgram::ChangedInts(SourceId id, std::vector<std::string>* out) {
  const Source& s = sources_.at(id);
  if (s.kind == SourceKind::kUnary || s.kind == SourceKind::kBinary) {
    for (SourceId operand : s.operands) ChangedInts(operand, out);
  } else {
    out->push_back(sources_.Print(id));
  }
}

void GuardProgram::ChangedSizes(const FrameView& frame, std::vector<std::string>* out) {
  frame_ = &frame;
  for (Guard& g : guards_) {
    bool size_of = g.source.defined() && sources_.at(g.source).kind == SourceKind::kSize;
    if (g.kind == GuardKind::kTensor) {
      PyObject* v = Evaluate(g.source);
      if (v == nullptr || !IsTensor(v) || AsTensor(v).meta().rank() != g.meta.rank()) break;
      const Sizes& sizes = AsTensor(v).sizes();
      for (size_t d = 0; d < sizes.size(); d++) {
        if (g.dynamic[d] || sizes[d] != g.meta.sizes[d])
          out->push_back(sources_.Print(g.source) + "." + std::to_string(d));
      }
    } else if (!size_of && !Holds(g)) {
      PyObject* expected = g.kind == GuardKind::kConstant ? object(g.object) : nullptr;
      if (expected == nullptr || !PyLong_CheckExact(expected)) break;
      ChangedInts(g.source, out);
    }
  }
  for (int32_t id : touched_) Py_CLEAR(values_[static_cast<size_t>(id)]);
  touched_.clear();
}

int GuardProgram::FirstFailure(const FrameView& frame) {
  frame_ = &frame;
  int failed = -1;
  for (size_t i = 0; i < guards_.size() && failed < 0; i++) {
    if (!Holds(guards_[i])) failed = static_cast<int>(i);
  }
  for (int32_t id : touched_) Py_CLEAR(values_[static_cast<size_t>(id)]);
  touched_.clear();
  if (failed >= 0) failures_[static_cast<size_t>(failed)]++;
  return failed;
}

// "float32[2, *]": what a premise holds of a tensor.
static std::string PremiseText(const TensorMeta& m, const std::vector<bool>& any_size = {}) {
  std::string text = std::string(DTypeName(m.dtype)) + "[";
  for (size_t i = 0; i < m.sizes.size(); i++)
    text += (i != 0 ? ", " : "") + (i < any_size.size() && any_size[i] ? "*" : std::to_string(m.sizes[i]));
  return text + "]";
}

std::string GuardProgram::Text(const Guard& g) const {
  std::string text;
  if (g.kind == GuardKind::kTypeLookup) return g.text;
  if (g.kind == GuardKind::kSizes) return "the graph holds for the free sizes";
  if (g.kind == GuardKind::kGlobalState) return "gradients and the default dtype as they were";
  if (g.kind == GuardKind::kAllDistinct)
    return std::to_string(g.detail) + " objects that are written are no other of " +
           std::to_string(g.group.size());
  text = sources_.Print(g.source);
  switch (g.kind) {
    case GuardKind::kType: return "type(" + text + ") is " + g.text;
    case GuardKind::kIdentity: return text + " is " + g.text;
    case GuardKind::kConstant: return text + " " + g.text;
    case GuardKind::kTruth: return (g.detail != 0 ? "" : "not ") + std::string("(") + text + ")";
    case GuardKind::kTensor: {
      text += ": " + PremiseText(g.meta, g.dynamic);
      if (!g.meta.IsContiguous()) text += " strided";
      return text;
    }
    case GuardKind::kKeys: return "keys of " + text + ": " + g.text;
    case GuardKind::kHasNoAttribute: return text + " has " + g.text;
    case GuardKind::kExists: return text + " is there";
    case GuardKind::kSame: return text + " is " + sources_.Print(g.other);
    case GuardKind::kDistinct: return text + " is not " + sources_.Print(g.other);
    case GuardKind::kStorage: return text + " shares no memory with " + sources_.Print(g.other);
    case GuardKind::kEmptyCell: return text + " is empty";
    case GuardKind::kQuiet: return text + " dies without running code";
    case GuardKind::kGlobalState: return "gradients and the default dtype as they were";
    default: return text + " " + g.text;
  }
}

std::string GuardProgram::Wanted(const Guard& g) const {
  switch (g.kind) {
    case GuardKind::kType:
    case GuardKind::kIdentity: return g.text;
    case GuardKind::kConstant: return g.text.starts_with("== ") ? g.text.substr(3) : g.text;
    case GuardKind::kTruth: return g.detail != 0 ? "True" : "False";
    case GuardKind::kTensor: return PremiseText(g.meta, g.dynamic);
    default: return "";
  }
}

static int NewSteps(const SourceTable& sources, SourceId id, std::vector<bool>* known) {
  if (!id.defined() || (*known)[static_cast<size_t>(id.value)]) return 0;
  (*known)[static_cast<size_t>(id.value)] = true;
  int steps = 1;
  for (SourceId operand : sources.at(id).operands) steps += NewSteps(sources, operand, known);
  return steps;
}

std::vector<int> GuardProgram::Costs() const {
  std::vector<bool> known(static_cast<size_t>(sources_.size()));
  std::vector<int> costs;
  for (const Guard& g : guards_)
    costs.push_back(1 + NewSteps(sources_, g.source, &known) + NewSteps(sources_, g.other, &known));
  return costs;
}

GuardMiss GuardProgram::FirstMiss(const FrameView& frame) {
  int failed = FirstFailure(frame);
  if (failed < 0) return {};
  failures_[static_cast<size_t>(failed)]--;  // asking is no call
  Guard& g = guards_[static_cast<size_t>(failed)];
  GuardMiss miss{.guard = Text(g), .was = Wanted(g), .line = g.line};
  if (g.source.defined()) {
    frame_ = &frame;
    PyObject* now = Evaluate(g.source);
    std::string& value = miss.now;
    if (now == nullptr) {
      value = "not there";
    } else if (ArrayView array; ReadArray(now, &array) != nullptr) {
      value = PremiseText(array.meta);
    } else if (g.kind == GuardKind::kType) {
      value = Py_TYPE(now)->tp_name;
    } else if (PyLong_CheckExact(now) || PyFloat_CheckExact(now) || PyUnicode_CheckExact(now) ||
               PyBool_Check(now) || now == Py_None) {
      PyRef repr = PyRef::Steal(PyObject_Repr(now));
      value = repr ? PyUnicode_AsUTF8(repr.get()) : "?";
      PyErr_Clear();
    } else {
      value = std::string("another ") + Py_TYPE(now)->tp_name;
    }
    // Of an expression, the values it is made of.
    const Source& s = sources_.at(g.source);
    if (now != nullptr && (s.kind == SourceKind::kCompare || s.kind == SourceKind::kBinary ||
                           s.kind == SourceKind::kContains)) {
      for (SourceId operand : s.operands) {
        if (sources_.at(operand).kind == SourceKind::kObject) continue;
        PyObject* part = Evaluate(operand);
        if (part == nullptr ||
            !(PyLong_CheckExact(part) || PyFloat_CheckExact(part) || PyUnicode_CheckExact(part)))
          continue;
        PyRef repr = PyRef::Steal(PyObject_Repr(part));
        if (repr) value += ", " + sources_.Print(operand) + " = " + PyUnicode_AsUTF8(repr.get());
        PyErr_Clear();
      }
    }
    for (int32_t id : touched_) Py_CLEAR(values_[static_cast<size_t>(id)]);
    touched_.clear();
  }
  return miss;
}

std::string GuardMiss::Text() const {
  std::string text = guard;
  if (line > 0) text += " (line " + std::to_string(line) + ")";
  if (!now.empty()) text += ", now " + now;
  return text;
}

}  // namespace thirdbook
