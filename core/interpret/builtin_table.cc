// The table of built-in callables: which may run during the trace, and which have a model of their own. See
// builtins.h.
//
// Invariant: a name that this CPython does not have is left out; nothing else is told from the outside.
#include <unordered_map>

#include "interpret/builtins.h"

namespace thirdbook {

namespace {

struct NameList {
  const char* module;
  const char* names;  // blank-separated
};

const NameList kProtocolNames[] = {
    {"builtins",
     "all any sum min max sorted enumerate zip map filter reversed list tuple set frozenset dict divmod pow "
     "abs round"},
    {"itertools",
     "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile "
     "filterfalse groupby islice "
     "pairwise permutations product repeat starmap takewhile tee zip_longest"},
    {"_functools", "reduce cmp_to_key"},
    {"_operator",
     "lt le eq ne ge gt not_ truth is_ is_not abs add and_ floordiv index inv invert lshift mod mul matmul "
     "neg or_ pos pow rshift sub "
     "truediv xor concat contains countOf delitem getitem indexOf setitem iadd iand iconcat ifloordiv "
     "ilshift imod imul imatmul ior "
     "ipow irshift isub itruediv ixor"},
    {"_collections", "deque OrderedDict defaultdict _count_elements"},
    {"_bisect", "bisect_left bisect_right"},
    {"math", "prod fsum sumprod dist hypot"},
};

const NameList kMutatingNames[] = {
    {"_heapq",
     "heappush heappop heapify heapreplace heappushpop heapify_max heappop_max heappush_max heapreplace_max "
     "heappushpop_max"},
    {"_bisect", "insort_left insort_right"},
    {"_collections", "_count_elements"},
    {"_operator",
     "setitem delitem iadd iand iconcat ifloordiv ilshift imod imul imatmul ior ipow irshift isub itruediv "
     "ixor"},
};

const NameList kPureNames[] = {
    {"builtins",
     "chr ord bin hex oct ascii abs divmod pow round int float str bool bytes complex range len hash"},
    {"math",
     "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees erf erfc exp exp2 "
     "expm1 fabs factorial floor fma fmod "
     "frexp gamma gcd isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nextafter perm "
     "pow radians "
     "remainder sin sinh sqrt tan tanh trunc ulp isclose"},
    {"_json", "encode_basestring encode_basestring_ascii"},
    {"_struct", "pack unpack calcsize"},
    {"re", "_compile"},
    {"json", "loads"},
    {"cmath",
     "acos acosh asin asinh atan atanh cos cosh exp isclose isfinite isinf isnan log log10 phase polar rect "
     "sin "
     "sinh sqrt tan tanh"},
    {"posix", "fspath _path_splitroot_ex _path_normpath"},
    {"zlib", "crc32 adler32"},
    {"_sre", "unicode_iscased unicode_tolower ascii_iscased ascii_tolower"},
    {"unicodedata", "normalize category east_asian_width"},
    {"binascii", "crc32 hexlify unhexlify a2b_base64 b2a_base64 a2b_hex b2a_hex"},
    {"_string", "formatter_field_name_split"},
};

std::unordered_map<PyObject*, BuiltinClass>& Classes() {
  static std::unordered_map<PyObject*, BuiltinClass> classes;
  return classes;
}

void Fill(const NameList* lists, size_t count, BuiltinClass which) {
  for (size_t i = 0; i < count; i++) {
    PyRef module = PyRef::Steal(PyImport_ImportModule(lists[i].module));
    if (!module) {
      PyErr_Clear();
      continue;
    }
    const char* p = lists[i].names;
    while (*p != 0) {
      const char* end = strchr(p, ' ');
      std::string name = end != nullptr ? std::string(p, end) : std::string(p);
      p = end != nullptr ? end + 1 : p + name.size();
      if (name.empty()) continue;
      PyObject* object = PyObject_GetAttrString(module.get(), name.c_str());
      if (object == nullptr) {
        PyErr_Clear();
        continue;
      }
      Classes()[object] = which;  // kept for good
    }
  }
}

std::unordered_map<PyObject*, Known>& KnownTable() {
  static std::unordered_map<PyObject*, Known> table;
  return table;
}

void Know(PyObject* module, const char* name, Known known) {
  PyObject* o = PyObject_GetAttrString(module, name);
  if (o == nullptr) {
    PyErr_Clear();
    return;
  }
  KnownTable()[o] = known;
}

}  // namespace

Known KnownOf(PyObject* callable) {
  auto it = KnownTable().find(callable);
  return it != KnownTable().end() ? it->second : Known::kNone;
}

bool InitBuiltinTables() {
  if (!KnownTable().empty()) return true;
  Fill(kPureNames, std::size(kPureNames), BuiltinClass::kPure);
  Fill(kProtocolNames, std::size(kProtocolNames), BuiltinClass::kProtocol);
  Fill(kMutatingNames, std::size(kMutatingNames), BuiltinClass::kMutatesFirst);
  PyObject* maketrans = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "maketrans");
  if (maketrans == nullptr) return false;
  Classes()[maketrans] = BuiltinClass::kPure;
  PyRef builtins = PyRef::Steal(PyImport_ImportModule("builtins"));
  if (!builtins) return false;
  const std::pair<const char*, Known> rows[] = {{"isinstance", Known::kIsInstance},
                                                {"issubclass", Known::kIsSubclass},
                                                {"len", Known::kLen},
                                                {"getattr", Known::kGetAttr},
                                                {"setattr", Known::kSetAttr},
                                                {"delattr", Known::kDelAttr},
                                                {"hasattr", Known::kHasAttr},
                                                {"iter", Known::kIter},
                                                {"next", Known::kNext},
                                                {"repr", Known::kRepr},
                                                {"format", Known::kFormat},
                                                {"print", Known::kPrint},
                                                {"callable", Known::kCallable},
                                                {"hash", Known::kHash},
                                                {"vars", Known::kVars},
                                                {"globals", Known::kGlobals},
                                                {"id", Known::kId},
                                                {"type", Known::kType},
                                                {"str", Known::kStr},
                                                {"bool", Known::kBool},
                                                {"int", Known::kInt},
                                                {"float", Known::kFloat},
                                                {"slice", Known::kSlice},
                                                {"super", Known::kSuper},
                                                {"object", Known::kObject},
                                                {"bytes", Known::kBytes},
                                                {"range", Known::kRange},
                                                {"abs", Known::kAbs}};
  for (const auto& [name, known] : rows) Know(builtins.get(), name, known);
  PyRef core = PyRef::Steal(PyImport_ImportModule("thirdbook._core"));
  if (core) {
    Know(core.get(), "graph_break", Known::kGraphBreak);
    Know(core.get(), "is_compiling", Known::kIsCompiling);
    Know(core.get(), "is_grad_enabled", Known::kIsGradEnabled);
    Know(core.get(), "get_default_dtype", Known::kGetDefaultDType);
    Know(core.get(), "_set_grad_enabled", Known::kSetGradEnabled);
    Know(core.get(), "tensor", Known::kTensor);
  }
  Know(PyRef::Steal(PyImport_ImportModule("sys")).get(), "exception", Known::kException);
  PyRef warnings = PyRef::Steal(PyImport_ImportModule("warnings"));
  if (warnings) Know(warnings.get(), "warn", Known::kWarn);
  PyErr_Clear();
  return true;
}

BuiltinClass ClassOf(PyObject* callable) {
  auto it = Classes().find(callable);
  return it != Classes().end() ? it->second : BuiltinClass::kUnknown;
}

bool ResultTypeIsFixed(PyObject* callable, PyTypeObject* result) {
  if (result == &PyFloat_Type || result == &PyUnicode_Type || result == &PyBool_Type) {
    return !(PyCFunction_Check(callable) &&
             (strcmp(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name, "pow") == 0 ||
              strcmp(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name, "abs") == 0));
  }
  return PyCFunction_Check(callable) || Py_TYPE(callable) == &PyMethodDescr_Type || PyType_Check(callable);
}

}  // namespace thirdbook
