// What the traced code changes: rows of the ledger and the order of replay; cells and globals. See trace.h.
//
// In: a change to a variable. Out: the variable's state knows it, and (for objects that were there before) a
// Write and a ledger row. Invariant: the real objects stay untouched; reads go through the state.
#include "interpret/containers.h"
#include "interpret/finalizers.h"
#include "interpret/trace.h"

namespace thirdbook {

namespace {

constexpr int kShort = 60;

// A value that was there, as short text: constants as they are written, others by their type; empty when
// there was none.
std::string ShortText(PyObject* old) {
  if (old == nullptr) return "";
  bool is_short_text = PyUnicode_CheckExact(old) && PyUnicode_GET_LENGTH(old) <= kShort;
  if (PyLong_CheckExact(old) || PyFloat_CheckExact(old) || is_short_text || PyBool_Check(old) ||
      old == Py_None) {
    PyRef repr = PyRef::Steal(PyObject_Repr(old));
    const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
    PyErr_Clear();
    return text != nullptr ? text : "?";
  }
  return std::string("<") + Py_TYPE(old)->tp_name + ">";
}

// What a container held, its first elements as short text: "[1, 'a', ...]"; those of sets sorted, as hashes
// of texts differ from run to run. Runs nothing of the user's.
std::string ShortContents(PyObject* container) {
  PyTypeObject* base = BaseContainer(Py_TYPE(container));
  PyRef keys = base != nullptr ? PyRef::Steal(base->tp_iter(container)) : PyRef();
  if (!keys) return "";
  bool is_set = base == &PySet_Type, is_sequence = base == &PyList_Type || base == DequeType();
  std::vector<std::string> parts;
  size_t size = 0;
  while (PyRef key = PyRef::Steal(PyIter_Next(keys.get()))) {
    if (size > size_t{kShort}) {
      parts.push_back("...");
      break;
    }
    std::string text = ShortText(key.get());
    if (IsDict(base))
      text +=
          ": " + (IsSafeKey(key.get()) ? ShortText(PyDict_GetItemWithError(container, key.get())) : "...");
    size += text.size();
    parts.push_back(std::move(text));
    for (size_t i = parts.size() - 1; is_set && i > 0 && parts[i] < parts[i - 1]; i--)
      std::swap(parts[i], parts[i - 1]);
  }
  PyErr_Clear();
  if (is_set && parts.empty()) return "set()";
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return is_sequence ? "[" + joined + "]" : "{" + joined + "}";
}

}  // namespace

// ---- what dies
// ----------------------------------------------------------------------------------------------------------------

void Trace::AddQuietGuard(SourceId source) {
  auto seen = by_source_.find(source.value);
  if (seen != by_source_.end()) {
    Var v = seen->second;
    while (v->forward != nullptr) v = v->forward;
    // Its type is guarded.
    if (v->kind != VariableKind::kLazy && v->kind != VariableKind::kObject) return;
  }
  AddGuard(GuardKind::kQuiet, source);
}

bool Trace::DropsQuietly(PyObject* old, SourceId source) {
  if (old != nullptr && !DiesQuietly(old)) {
    Break({"a '", Py_TYPE(old)->tp_name, "' may die here, which runs code"}, BreakKind::kFinalizer);
    return false;
  }
  AddQuietGuard(source);
  return true;
}

bool Trace::LosesElementsQuietly(Var container) {
  return container->kind != VariableKind::kObject || DropsQuietly(container->value.get(), container->source);
}

// Whether the root frame holds it: directly, or in a tuple, method or cell.
bool Trace::RootHolds(Var wanted) const {
  auto reaches = [](auto& self, Var from, Var to, int depth) -> bool {
    while (from != nullptr && from->forward != nullptr) from = from->forward;
    if (from == nullptr || from == to || depth > 8) return from == to;
    for (Var item : from->items) {
      if (self(self, item, to, depth + 1)) return true;
    }
    return false;
  };
  while (wanted->forward != nullptr) wanted = wanted->forward;
  for (Var v : root_.locals) {
    if (reaches(reaches, v, wanted, 0)) return true;
  }
  for (Var v : root_.stack) {
    if (reaches(reaches, v, wanted, 0)) return true;
  }
  return false;
}

// After a step of the root: false with a break when it let go of an argument that may be loud.
bool Trace::KeepsLoudArguments() {
  for (Var v : loud_arguments_) {
    if (!RootHolds(v) && !DropsQuietly(v->value.get(), v->source)) return false;
  }
  return true;
}

// Arguments that the frame let go of before its end, and that were quiet this time.
void Trace::GuardDroppedArguments() {
  for (int32_t id = 0, n = sources_.size(); id < n; id++) {
    auto known = by_source_.find(id);
    if (known != by_source_.end() && sources_.at(SourceId{id}).kind == SourceKind::kLocal &&
        !RootHolds(known->second))
      AddQuietGuard(SourceId{id});
  }
}

void Trace::NoteContents(Var container, const std::string& operation, const std::string& after) {
  container->edits++;
  bool adds = PyType_HasFeature(container->type, Py_TPFLAGS_DICT_SUBCLASS) != 0 &&
              (operation == "update" || operation == "setdefault" || operation == "|=" ||
               operation == "__ior__" || operation == "__init__" || operation == "__missing__");
  container->reshaped = container->reshaped || !(adds || operation.starts_with("setitem"));
  if (container->kind != VariableKind::kObject) return;
  bool is_globals =
      container->value.get() == frame_.globals || (PyDict_CheckExact(container->value.get()) &&
                                                   container->source.defined() && container == root_.globals);
  bool first = !container->contents_noted;
  container->contents_noted = true;
  std::string source = sources_.Print(container->source);
  std::string key = source + (is_globals ? operation : "");
  Mutation& row =
      ledger_.Row("contents " + key, is_globals ? MutationKind::kGlobal : MutationKind::kValueExisting);
  row.source = source;
  if (first && !is_globals) row.before = ShortContents(container->value.get());
  if (is_globals) {
    // "setitem 'n'" of the module's names is a write of G['n'].
    size_t space = operation.find(' ');
    std::string name = space != std::string::npos ? operation.substr(space + 1) : "";
    if (name.size() > 2 && name.front() == '\'' && name.back() == '\'') {
      row.source += "[" + name + "]";
      PyObject* old = row.sites.empty() ? PyDict_GetItemString(container->value.get(),
                                                               name.substr(1, name.size() - 2).c_str())
                                        : nullptr;
      if (old != nullptr) row.before = ShortText(old);
    }
  }
  std::string full = std::string(container->type->tp_name) + "." + operation;
  if (row.operation.empty()) {
    row.operation = is_globals ? operation : full;
  } else if (!is_globals && row.operation.find(full) == std::string::npos && row.operation.size() < 160) {
    row.operation += ", " + full;
  }
  if (!after.empty()) {
    if (row.after.empty() || is_globals) {
      row.after = after;
    } else if (row.after.size() < 160) {
      row.after += ", " + after;
    }
  }
  ledger_.AddSite(row, CurrentSite());
  if (first)
    writes_.push_back({Write::Kind::kContents, container, PyRef(), {}, {}, ledger_.rows().size() - 1});
}

void Trace::NoteAttribute(Var object, PyObject* name, Var value) {
  bool is_new = object->kind != VariableKind::kObject &&
                (object->kind != VariableKind::kTensor || !object->source.defined());
  std::string before;
  if (!is_new) {
    Var own = nullptr;
    bool deleted;
    own = object->FindAttribute(name, &deleted);
    if (own == nullptr && !deleted && !PyType_Check(object->value.get())) {
      PyObject* dict = PyModule_Check(object->value.get()) ? PyModule_GetDict(object->value.get()) : nullptr;
      if (dict == nullptr &&
          (object->type->tp_dictoffset != 0 || PyType_HasFeature(object->type, Py_TPFLAGS_MANAGED_DICT))) {
        PyRef held = PyRef::Steal(PyObject_GenericGetDict(object->value.get(), nullptr));
        dict = held.get();
      }
      PyErr_Clear();
      PyObject* old = dict != nullptr ? PyDict_GetItemWithError(dict, name) : nullptr;
      before = ShortText(old);
      PyObject* slot = TypeLookup(object->type, name, false);
      bool in_slot = slot != nullptr && Py_TYPE(slot) == &PyMemberDescr_Type;
      PyRef held;
      if (in_slot) {
        held = PyRef::Steal(Py_TYPE(slot)->tp_descr_get(slot, object->value.get(), nullptr));
        PyErr_Clear();
        old = held.get();
      }
      if (!DropsQuietly(old,
                        Expression(SourceKind::kAttribute, {object->source}, ObjectOf(in_slot ? slot : name),
                                   PyUnicode_AsUTF8(name), in_slot ? 1 : 0)))
        return;
    }
  }
  bool found = false;
  for (auto& [key, var] : object->attributes) {
    if (PyUnicode_Compare(key.get(), name) == 0) {
      bool was_deleted = var == nullptr;
      // What was only stored so far is deleted by replay where the object had it before.
      if (!is_new && !was_deleted && value == nullptr && !GuardPresence(object, name)) return;
      var = value;
      found = true;
      if (was_deleted && value != nullptr) {
        // Deleted, then stored again: it moves to the end of the dict.
        auto entry = std::make_pair(key, var);
        for (size_t i = 0; i < object->attributes.size(); i++) {
          if (object->attributes[i].first.get() == key.get()) {
            object->attributes.erase(object->attributes.begin() + static_cast<long>(i));
            break;
          }
        }
        object->reordered.push_back(entry.first.get());
        object->attributes.push_back(std::move(entry));
        // Its replay comes now, not where it was first written.
        for (size_t i = 0; i < writes_.size(); i++) {
          if (writes_[i].kind == Write::Kind::kAttribute && writes_[i].target == object &&
              PyUnicode_Compare(writes_[i].name.get(), name) == 0) {
            Write moved = writes_[i];
            writes_.erase(writes_.begin() + static_cast<long>(i));
            writes_.push_back(std::move(moved));
            break;
          }
        }
      }
      break;
    }
  }
  if (!found) object->attributes.emplace_back(PyRef::Borrow(name), value);
  if (is_new) {
    if (value == nullptr) {
      for (size_t i = 0; i < object->attributes.size(); i++) {
        if (object->attributes[i].second == nullptr) {
          object->attributes.erase(object->attributes.begin() + static_cast<long>(i));
          break;
        }
      }
    }
    return;
  }
  std::string source = sources_.Print(object->source);
  Mutation& row =
      ledger_.Row("attribute " + source + "." + PyUnicode_AsUTF8(name), MutationKind::kAttributeExisting);
  bool first = row.sites.empty();
  row.source = source;
  row.operation = std::string(value != nullptr ? "setattr " : "delattr ") + PyUnicode_AsUTF8(name);
  if (first) row.before = before;
  row.after = value != nullptr ? Describe(value) : "";
  ledger_.AddSite(row, CurrentSite());
  if (first)
    writes_.push_back(
        {Write::Kind::kAttribute, object, PyRef::Borrow(name), {}, {}, ledger_.rows().size() - 1});
}

void Trace::AddEffect(Var callable, std::vector<Var> args, std::vector<std::pair<PyRef, Var>> kwargs,
                      const std::string& operation) {
  Mutation& row =
      ledger_.Row("effect " + std::to_string(writes_.size()) + "." + std::to_string(instructions_),
                  MutationKind::kEffect);
  row.source = Describe(callable);
  row.operation = operation;
  for (size_t i = 0; i < args.size(); i++) row.after += (i != 0 ? ", " : "") + Describe(args[i]);
  ledger_.AddSite(row, CurrentSite());
  writes_.push_back({Write::Kind::kEffect, callable, PyRef(), std::move(args), std::move(kwargs),
                     ledger_.rows().size() - 1});
}

// ---- cells
// ----------------------------------------------------------------------------------------------------------------

static PyObject* CellKey() {
  static PyObject* name = PyUnicode_InternFromString("cell_contents");
  return name;
}

Var Trace::CellContents(Var cell_in, PyObject* name) {
  Var cell = Look(cell_in);
  if (cell->kind == VariableKind::kNew) {
    if (cell->items.empty() || cell->items[0] == nullptr) {
      return RaiseNew(PyExc_NameError, {"cannot access free variable '", PyUnicode_AsUTF8(name),
                                        "' where it is not associated with a value in enclosing scope"});
    }
    return cell->items[0];
  }
  bool deleted;
  if (Var written = cell->FindAttribute(CellKey(), &deleted)) return written;
  PyObject* value = deleted ? nullptr : PyCell_GET(cell->value.get());
  if (value == nullptr) {
    if (!deleted) {
      AddGuard(GuardKind::kEmptyCell, cell->source, nullptr, "empty");
    }
    return RaiseNew(PyExc_NameError, {"cannot access free variable '", PyUnicode_AsUTF8(name),
                                      "' where it is not associated with a value in enclosing scope"});
  }
  return Lazy(value, Expression(SourceKind::kCellContents, {cell->source}));
}

bool Trace::SetCell(Var cell_in, Var value) {
  Var cell = Look(cell_in);
  if (cell->kind == VariableKind::kNew) {
    cell->items = {value};
    return true;
  }
  if (cell->type != &PyCell_Type) {
    Break("a closure variable whose cell is unusual", BreakKind::kKeptByPython);
    return false;
  }
  if (cell->attributes.empty()) {
    if (!DropsQuietly(PyCell_GET(cell->value.get()), Expression(SourceKind::kCellContents, {cell->source})))
      return false;
  }
  std::string source = sources_.Print(cell->source);
  Mutation& row = ledger_.Row("cell " + source, MutationKind::kCell);
  bool first = row.sites.empty();
  row.source = source;
  row.operation = value != nullptr ? "cell contents" : "empty the cell";
  if (first) row.before = ShortText(PyCell_GET(cell->value.get()));
  row.after = value != nullptr ? Describe(value) : "";
  ledger_.AddSite(row, CurrentSite());
  bool found = false;
  for (auto& [key, var] : cell->attributes) {
    var = value;
    found = true;
  }
  if (!found) cell->attributes.emplace_back(PyRef::Borrow(CellKey()), value);
  if (first) writes_.push_back({Write::Kind::kCell, cell, PyRef(), {}, {}, ledger_.rows().size() - 1});
  return true;
}

// ---- globals
// ----------------------------------------------------------------------------------------------------------------

Var Trace::GlobalLookup(Var globals, PyObject* name) {
  globals = Look(globals);
  keep_alive_.push_back(PyRef::Borrow(name));
  if (globals->kind != VariableKind::kObject || !PyDict_Check(globals->value.get()))
    return Break("globals that are no dict");
  Var key = Const(name);
  // This package's own modules are constant: no guards on their names.
  static PyObject* module_name = PyUnicode_InternFromString("__name__");
  PyObject* owner = PyDict_GetItemWithError(globals->value.get(), module_name);
  if (owner != nullptr && PyUnicode_Check(owner) && strncmp(PyUnicode_AsUTF8(owner), "thirdbook", 9) == 0 &&
      globals->delta.empty() && !globals->shadow) {
    PyObject* own = PyDict_GetItemWithError(globals->value.get(), name);
    if (own != nullptr &&
        (PyFunction_Check(own) || PyType_Check(own) || PyModule_Check(own) || PyCFunction_Check(own)))
      return Fixed(own);
    if (own == nullptr) {
      PyObject* from_builtins = PyDict_GetItemWithError(PyEval_GetBuiltins(), name);
      if (from_builtins != nullptr) return Fixed(from_builtins);
    }
  }
  if (globals->shadow) {
    PyObject* value = PyDict_GetItemWithError(globals->shadow.get(), name);
    if (value != nullptr) return FromShadow(value);
  } else {
    Var found = DictLookup(globals, key);
    if (found != nullptr || failure_ != Failure::kNone) return found;
  }
  static PyObject* builtins_name = PyUnicode_InternFromString("__builtins__");
  PyObject* builtins = frame_.builtins;
  PyObject* own = PyDict_GetItemWithError(globals->value.get(), builtins_name);
  if (own != nullptr) builtins = PyModule_Check(own) ? PyModule_GetDict(own) : own;
  PyErr_Clear();
  if (!PyDict_Check(builtins)) return Break("builtins that are no dict");
  PyObject* value = PyDict_GetItemWithError(builtins, name);
  if (value == nullptr) return nullptr;
  Var b = Fixed(builtins);
  return DictLookup(b, key);
}

}  // namespace thirdbook
