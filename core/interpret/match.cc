// The instructions of `match`: keys of a mapping pattern, attributes of a class pattern. See run.h.
//
// In: the subject and the pattern's parts on the stack. Out: a tuple of what was found, or None. Invariant: a
// pattern that asks for too much, or for a thing twice, is CPython's own error with CPython's words.
#include <set>

#include "interpret/run.h"

namespace thirdbook {

namespace {

std::string Text(PyRef object) {
  const char* text = object ? PyUnicode_AsUTF8(object.get()) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : "?";
}

}  // namespace

// subject, keys → and the values under them, or None.
Step Interpreter::MatchKeys() {
  std::vector<Var> keys, values;
  Var subject = Peek(2);
  if (!t_.Iterate(Peek(1), &keys)) return Step::kFailed;
  static PyObject* get_name = PyUnicode_InternFromString("get");
  Var get = keys.empty() ? nullptr : t_.GetAttr(subject, get_name);
  if (get == nullptr && !keys.empty()) return Step::kFailed;
  Var missing = t_.New(&PyBaseObject_Type);
  PyRef seen = PyRef::Steal(PySet_New(nullptr));
  for (Var key : keys) {
    PyObject* constant = t_.ConstValue(key);
    if (constant == nullptr) return Step::kFailed;
    if (PySet_Contains(seen.get(), constant) == 1) {
      t_.RaiseNew(PyExc_ValueError, {"mapping pattern checks duplicate key (",
                                     Text(PyRef::Steal(PyObject_Repr(constant))), ")"});
      return Step::kFailed;
    }
    if (PySet_Add(seen.get(), constant) != 0) return t_.RaiseFromPython(), Step::kFailed;
    Var value = t_.Call(get, {key, missing});
    if (value == nullptr) return Step::kFailed;
    if (value == missing) return Push(t_.None());
    values.push_back(value);
  }
  return Push(t_.NewTuple(std::move(values)));
}

// subject, class, attribute names → tuple of attributes, or None.
Step Interpreter::MatchClass(int32_t positional) {
  Var names = Pop();
  Var cls = t_.Look(Pop());
  Var subject = Pop();
  if (cls->kind != VariableKind::kObject || !PyType_Check(cls->value.get())) {
    t_.RaiseNew(PyExc_TypeError, "called match pattern must be a class");
    return Step::kFailed;
  }
  Var matches = t_.IsInstance(subject, cls);
  int truth = matches != nullptr ? t_.Truth(matches) : -1;
  if (truth < 0) return Step::kFailed;
  if (truth == 0) return Push(t_.None());
  const std::string class_name = reinterpret_cast<PyTypeObject*>(cls->value.get())->tp_name;
  auto refuse = [&](const std::string& message) {
    t_.RaiseNew(PyExc_TypeError, {message});
    return Step::kFailed;
  };
  std::vector<Var> attributes, wanted;
  if (positional > 0) {
    static PyObject* match_args = PyUnicode_InternFromString("__match_args__");
    Var args = t_.GetAttr(cls, match_args);
    bool itself = false;
    std::vector<Var> fields;
    if (args == nullptr) {
      if (!t_.RaisedMatches(PyExc_AttributeError)) return Step::kFailed;
      t_.ClearFailure();
      itself = PyType_HasFeature(reinterpret_cast<PyTypeObject*>(cls->value.get()), _Py_TPFLAGS_MATCH_SELF);
    } else if (t_.TypeOf(args) != &PyTuple_Type) {
      return refuse(class_name + ".__match_args__ must be a tuple (got " + t_.TypeOf(args)->tp_name + ")");
    } else if (!t_.Iterate(args, &fields)) {
      return Step::kFailed;
    }
    size_t allowed = itself ? 1 : fields.size();
    if (allowed < static_cast<size_t>(positional)) {
      return refuse(class_name + "() accepts " + std::to_string(allowed) + " positional sub-pattern" +
                    (allowed == 1 ? "" : "s") + " (" + std::to_string(positional) + " given)");
    }
    if (itself) {
      attributes.push_back(subject);
    } else {
      wanted.assign(fields.begin(), fields.begin() + positional);
    }
  }
  size_t from_match_args = wanted.size();
  std::vector<Var> keywords;
  if (!t_.Iterate(names, &keywords)) return Step::kFailed;
  wanted.insert(wanted.end(), keywords.begin(), keywords.end());
  std::set<std::string> seen;
  for (size_t i = 0; i < wanted.size(); i++) {
    if (i < from_match_args && t_.TypeOf(wanted[i]) != &PyUnicode_Type)
      return refuse(std::string("__match_args__ elements must be strings (got ") +
                    t_.TypeOf(wanted[i])->tp_name + ")");
    PyObject* name = t_.ConstValue(wanted[i]);
    if (name == nullptr || !t_.IsName(name)) return Step::kFailed;
    if (!seen.insert(PyUnicode_AsUTF8(name)).second) {
      return refuse(class_name + "() got multiple sub-patterns for attribute " +
                    Text(PyRef::Steal(PyObject_Repr(name))));
    }
    Var value = t_.GetAttr(subject, name);
    if (value == nullptr) {
      if (!t_.RaisedMatches(PyExc_AttributeError)) return Step::kFailed;
      t_.ClearFailure();
      return Push(t_.None());
    }
    attributes.push_back(value);
  }
  return Push(t_.NewTuple(std::move(attributes)));
}

}  // namespace thirdbook
