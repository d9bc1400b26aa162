// See record.h.
#include "interpret/record.h"

#include "graph/print.h"
#include "interpret/compile.h"
#include "interpret/policy.h"
#include "kernel/executable.h"
#include "python/graph_object.h"

namespace thirdbook {

namespace {

std::vector<std::shared_ptr<CompilationRecord>>& Records() {
  static std::vector<std::shared_ptr<CompilationRecord>>& records =
      *new std::vector<std::shared_ptr<CompilationRecord>>();
  return records;
}
int next_id = 1;
constexpr char kWholeFrame[] = " The whole frame runs as it is.";

// Small builders of plain data; each takes over the reference it is given.
PyObject* Text(const std::string& s) {
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}
PyObject* Int(int64_t i) { return PyLong_FromLongLong(i); }
PyObject* LineOrNone(int line) { return line > 0 ? Int(line) : Py_NewRef(Py_None); }
PyObject* ColumnOrNone(int column) { return column >= 0 ? Int(column) : Py_NewRef(Py_None); }
void Set(PyObject* dict, const char* key, PyObject* value) {
  if (value == nullptr) {
    PyErr_Clear();
    value = Py_NewRef(Py_None);
  }
  PyDict_SetItemString(dict, key, value);
  Py_DECREF(value);
}
void Append(PyObject* list, PyObject* value) {
  PyList_Append(list, value);
  Py_DECREF(value);
}

PyObject* SiteDict(const Site& s) {
  PyObject* d = PyDict_New();
  Set(d, "file", Text(s.file));
  Set(d, "line", LineOrNone(s.line));
  Set(d, "col", ColumnOrNone(s.column));
  Set(d, "endLine", LineOrNone(s.end_line));
  Set(d, "endCol", ColumnOrNone(s.end_column));
  return d;
}

PyObject* GraphDict(PyObject* graph_object) {
  const Graph* graph = GraphOf(graph_object);
  PyObject* d = PyDict_New();
  PyObject* nodes = PyList_New(0);
  PyObject* inputs = PyList_New(0);
  PyObject* outputs = PyList_New(0);
  for (size_t n = 0; n < graph->nodes().size(); n++) {
    const Node& node = graph->nodes()[n];
    PyObject* row = PyDict_New();
    Set(row, "id", Int(static_cast<int64_t>(n)));
    Set(row, "op", Text(std::string(Info(node.op).name)));
    PyObject* operands = PyList_New(0);
    for (const ValueRef& v : node.operands) {
      if (v.defined()) Append(operands, Int(v.node.value));
    }
    Set(row, "operands", operands);
    PyObject* attrs = PyDict_New();
    size_t next = 0;
    for (const Parameter& p : Info(node.op).parameters) {
      bool tensor = p.type == Parameter::Type::kTensor || p.type == Parameter::Type::kTensorList;
      if (tensor || next >= node.attrs.size()) continue;
      std::string key(p.name);
      Set(attrs, key.c_str(), Text(AttrText(node.attrs[next++])));
    }
    Set(row, "attrs", attrs);
    const TensorMeta* meta = node.metas.empty() ? nullptr : &node.metas[0];
    Set(row, "dtype", meta != nullptr ? Text(std::string(DTypeName(meta->dtype))) : Py_NewRef(Py_None));
    PyObject* shape = PyList_New(0);
    if (meta != nullptr) {
      for (int64_t s : meta->sizes) Append(shape, Int(s));
    }
    Set(row, "shape", shape);
    Set(row, "name", Text(node.name));
    Set(row, "line", LineOrNone(node.span.line));
    Append(nodes, row);
  }
  for (NodeId id : graph->inputs()) Append(inputs, Int(id.value));
  for (const ValueRef& v : graph->outputs()) Append(outputs, Int(v.node.value));
  Set(d, "nodes", nodes);
  Set(d, "inputs", inputs);
  Set(d, "outputs", outputs);
  Set(d, "text", Text(Print(*graph)));
  PyObject* kernels = PyList_New(0);
  Executable* executable = ExecutableOf(graph_object);
  if (executable != nullptr) {
    for (const KernelReport& k : executable->Kernels()) {
      PyObject* row = PyDict_New();
      Set(row, "name", Text(k.name));
      Set(row, "loops", Text(k.loops));
      Set(row, "text", Text(k.text));
      PyObject* ids = PyList_New(0);
      for (NodeId id : k.nodes) Append(ids, Int(id.value));
      Set(row, "nodes", ids);
      Append(kernels, row);
    }
  }
  Set(d, "kernels", kernels);
  return d;
}

// Instructions of a code object with names resolved.
PyObject* CodeDict(PyObject* code_object, const std::vector<Role>* roles) {
  PyCodeObject* code = reinterpret_cast<PyCodeObject*>(code_object);
  PyObject* d = PyDict_New();
  PyObject* list = PyList_New(0);
  std::string text;
  const CodeParts* parts = PartsOf(code);
  if (parts == nullptr) PyErr_Clear();
  for (size_t n = 0; parts != nullptr && n < parts->image.instructions.size(); n++) {
    const Instruction& i = parts->image.instructions[n];
    std::string repr;
    uint16_t flags = OpcodeFlags(i.op);
    auto name_of = [](PyObject* o) {
      const char* s = o != nullptr && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
      PyErr_Clear();
      return std::string(s != nullptr ? s : "?");
    };
    if (IsJump(i.op)) {
      repr = "to " + std::to_string(i.arg);
    } else if (i.op == Opcode::LOAD_CONST) {
      PyObject* constant = PyList_GET_ITEM(parts->consts, i.arg);
      bool plain = constant == Py_None || PyLong_CheckExact(constant) || PyFloat_CheckExact(constant) ||
                   PyUnicode_CheckExact(constant) || PyBool_Check(constant);
      if (plain) {
        PyRef r = PyRef::Steal(PyObject_Repr(constant));
        repr = name_of(r.get());
      } else if (GraphOf(constant) != nullptr) {
        repr = "<graph>";
      } else if (PyFunction_Check(constant)) {
        repr = "<function " + name_of(reinterpret_cast<PyFunctionObject*>(constant)->func_qualname) + ">";
      } else if (PyType_Check(constant)) {
        repr = std::string("<class ") + reinterpret_cast<PyTypeObject*>(constant)->tp_name + ">";
      } else if (Py_TYPE(constant) == &PyMethodDescr_Type || Py_TYPE(constant) == &PyWrapperDescr_Type) {
        PyDescrObject* descriptor = reinterpret_cast<PyDescrObject*>(constant);
        repr = std::string(descriptor->d_type->tp_name) + "." + name_of(descriptor->d_name);
      } else if (PyCFunction_Check(constant)) {
        repr = reinterpret_cast<PyCFunctionObject*>(constant)->m_ml->ml_name;
      } else if (PyCode_Check(constant)) {
        repr = "<code " + name_of(reinterpret_cast<PyCodeObject*>(constant)->co_name) + ">";
      } else {
        repr = std::string("<") + Py_TYPE(constant)->tp_name + ">";
      }
    } else if (i.op == Opcode::LOAD_GLOBAL || i.op == Opcode::LOAD_ATTR) {
      repr = name_of(PyList_GET_ITEM(parts->names, i.arg >> 1));
    } else if (i.op == Opcode::LOAD_SUPER_ATTR) {
      repr = name_of(PyList_GET_ITEM(parts->names, i.arg >> 2));
    } else if (i.op == Opcode::STORE_ATTR || i.op == Opcode::DELETE_ATTR || i.op == Opcode::STORE_GLOBAL ||
               i.op == Opcode::IMPORT_NAME || i.op == Opcode::IMPORT_FROM) {
      repr = name_of(PyList_GET_ITEM(parts->names, i.arg));
    } else if ((flags & opcode_flag::kLocalPair) != 0) {
      repr = name_of(parts->locals[static_cast<size_t>(i.arg >> 4)]) + ", " +
             name_of(parts->locals[static_cast<size_t>(i.arg & 15)]);
    } else if ((flags & (opcode_flag::kLocal | opcode_flag::kCell)) != 0) {
      repr = name_of(parts->locals[static_cast<size_t>(i.arg)]);
    } else if (i.op == Opcode::BINARY_OP) {
      repr = std::string(BinaryOperatorText(i.arg)) + (i.arg >= 13 && i.arg < 26 ? "=" : "");
    } else if (i.op == Opcode::COMPARE_OP) {
      repr = CompareOperatorText(i.arg >> 5);
    }
    PyObject* row = PyDict_New();
    Set(row, "offset", Int(static_cast<int64_t>(n)));
    Set(row, "op", Text(OpcodeName(i.op)));
    Set(row, "arg", Int(i.arg));
    Set(row, "argrepr", Text(repr));
    Set(row, "line", LineOrNone(i.position.line));
    Set(row, "endLine", LineOrNone(i.position.end_line));
    Set(row, "col", ColumnOrNone(i.position.column));
    Set(row, "endCol", ColumnOrNone(i.position.end_column));
    std::string role;
    if (roles != nullptr && n < roles->size()) role = RoleText((*roles)[n]);
    Set(row, "role", role.empty() ? Py_NewRef(Py_None) : Text(role));
    Append(list, row);
    char line[256];
    std::snprintf(line, sizeof line, "%4d  %-8s %-34s %s\n", static_cast<int>(n), role.c_str(),
                  OpcodeName(i.op), repr.c_str());
    text += line;
  }
  Set(d, "text", Text(text));
  Set(d, "instructions", list);
  return d;
}

}  // namespace

CompilationRecord::CompilationRecord(const FrameView& frame) {
  id = next_id++;
  PyCodeObject* origin = ResumeOrigin(frame.code);
  original = PyRef::Borrow(reinterpret_cast<PyObject*>(frame.code));
  function = PyUnicode_AsUTF8(frame.code->co_qualname);
  file = PyUnicode_AsUTF8(frame.code->co_filename);
  line = frame.code->co_firstlineno;
  trigger = origin != nullptr ? "resume" : "call";
}

PyObject* CompilationRecord::LedgerRows() const {
  PyObject* rows = PyList_New(0);
  for (const Mutation& m : ledger) {
    PyObject* row = PyDict_New();
    Set(row, "order", Int(m.order));
    Set(row, "kind", Text(MutationKindText(m.kind)));
    Set(row, "source", Text(m.source));
    Set(row, "operation", Text(m.operation));
    if (!m.before.empty()) Set(row, "before", Text(m.before));
    Set(row, "after", Text(m.after));
    PyObject* sites = PyList_New(0);
    for (const Site& s : m.sites) Append(sites, SiteDict(s));
    Set(row, "sites", sites);
    Set(row, "settledAt", Text(m.settled_at));
    Append(rows, row);
  }
  return rows;
}

PyObject* CompilationRecord::ToDict() const {
  PyObject* d = PyDict_New();
  Set(d, "id", Int(id));
  Set(d, "function", Text(function));
  Set(d, "file", Text(file));
  Set(d, "line", Int(line));
  Set(d, "trigger", Text(trigger));
  PyObject* miss_list = PyList_New(0);
  for (const GuardMiss& m : misses) {
    PyObject* row = PyDict_New();
    Set(row, "compilation", Int(m.compilation));
    Set(row, "guard", Text(m.guard));
    Set(row, "line", LineOrNone(m.line));
    Set(row, "was", Text(m.was));
    Set(row, "now", Text(m.now));
    Append(miss_list, row);
  }
  Set(d, "misses", miss_list);
  PyObject* timings = PyDict_New();
  Set(timings, "trace", PyFloat_FromDouble(times.trace));
  Set(timings, "emit", PyFloat_FromDouble(times.emit));
  Set(timings, "graph", PyFloat_FromDouble(times.graph));
  Set(d, "timings", timings);
  Set(d, "status", Text(status));
  PyObject* graphs = PyList_New(0);
  if (graph_object) Append(graphs, GraphDict(graph_object.get()));
  Set(d, "graphs", graphs);
  PyObject* guard_list = PyList_New(0);
  if (guards != nullptr) {
    std::vector<int> costs = guards->Costs();
    for (size_t i = 0; i < guards->guards().size(); i++) {
      const Guard& g = guards->guards()[i];
      PyObject* row = PyDict_New();
      Set(row, "source", Text(g.kind == GuardKind::kTypeLookup ? g.text : guards->sources().Print(g.source)));
      Set(row, "kind", Text(GuardKindText(g.kind)));
      Set(row, "text", Text(guards->Text(g)));
      Set(row, "line", LineOrNone(g.line));
      Set(row, "hits", Int(static_cast<int64_t>(guards->hits(i))));
      Set(row, "cost", Int(costs[i]));
      Append(guard_list, row);
    }
  }
  Set(d, "guards", guard_list);
  Set(d, "ledger", LedgerRows());
  PyObject* break_list = PyList_New(0);
  for (const BreakReason& b : breaks) {
    if (b.leaves_by_exception) continue;
    PyObject* row = PyDict_New();
    Set(row, "reason", Text(b.reason));
    Set(row, "code", Text(CodeOf(b.kind)));
    Set(row, "explanation", Text(WhyOf(b.kind) + (b.skip_frame ? kWholeFrame : "")));
    Set(row, "hint", Text(HintOf(b.kind)));
    Set(row, "file", Text(b.stack.empty() ? file : b.stack.back().file));
    Set(row, "line", LineOrNone(b.stack.empty() ? line : b.stack.back().line));
    PyObject* stack = PyList_New(0);
    for (size_t i = 0; i < b.stack.size(); i++) {
      Append(stack,
             Text(b.functions[i] + " (" + b.stack[i].file + ":" + std::to_string(b.stack[i].line) + ")"));
    }
    Set(row, "stack", stack);
    Append(break_list, row);
  }
  Set(d, "breaks", break_list);
  PyObject* bytecode = PyDict_New();
  Set(bytecode, "original", CodeDict(original.get(), nullptr));
  Set(bytecode, "rewritten", rewritten ? CodeDict(rewritten.get(), &roles) : Py_NewRef(Py_None));
  Set(d, "bytecode", bytecode);
  return d;
}

void AddRecord(std::shared_ptr<CompilationRecord> record) { Records().push_back(std::move(record)); }

static PyObject* GetRecords(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const auto& record : Records()) {
    PyObject* d = record->ToDict();
    if (d == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    Append(list, d);
  }
  return list;
}

static PyObject* ResetRecords(PyObject*, PyObject*) {
  Records().clear();
  next_id = 1;
  TracerCounters() = TraceCounters{};
  Py_RETURN_NONE;
}

static PyObject* GetTracerCounters(PyObject*, PyObject*) {
  const TraceCounters& c = TracerCounters();
  return Py_BuildValue("{sKsKsK}", "graphs", static_cast<unsigned long long>(c.graphs), "breaks",
                       static_cast<unsigned long long>(c.breaks), "replays",
                       static_cast<unsigned long long>(c.replays));
}

static PyObject* GraphBreakFunction(PyObject*, PyObject*) { Py_RETURN_NONE; }
static PyObject* IsCompilingFunction(PyObject*, PyObject*) { Py_RETURN_FALSE; }

bool InitRecords(PyObject* module) {
  static PyMethodDef methods[] = {
      {"_records", GetRecords, METH_NOARGS,
       "The compilations since the last reset, after the report schema."},
      {"_reset_records", ResetRecords, METH_NOARGS, "Forgets them."},
      {"_tracer_counters", GetTracerCounters, METH_NOARGS, "graphs, breaks, replays."},
      {"graph_break", GraphBreakFunction, METH_NOARGS,
       "graph_break()\n\nInside a compiled function: the graph ends here and goes on after it. Elsewhere: "
       "nothing."},
      {"is_compiling", IsCompilingFunction, METH_NOARGS,
       "is_compiling()\n\nTrue inside a compiled function, else False."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0 && InitPolicy(module);
}

}  // namespace thirdbook
