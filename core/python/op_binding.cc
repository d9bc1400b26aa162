// Arguments of a call to the schema of its op.
//
//   f(*args, **kwargs) ──► a slot for each parameter ──► operands (resolver handles) + attributes
//
// In: a vectorcall argument vector. Out: BoundCall, the same for eager calls and for the tracer. Invariant:
// every attribute of the schema has a value (a default where none was given), every operand a handle or -1.
// Errors are PyTorch's in kind and gist.
#include <cstring>

#include "python/tensor_internal.h"

namespace thirdbook {
namespace {

constexpr size_t kMaxParameters = 12;

// Where a parameter's value comes from.
struct Slot {
  PyObject* object = nullptr;       // borrowed
  PyObject* const* rest = nullptr;  // view(2, 3): the ints from here on stand for one list
  Py_ssize_t rest_count = 0;
};

const char* ExpectedName(const Parameter& parameter) {
  switch (parameter.type) {
    case Parameter::Type::kTensor: return "Tensor";
    case Parameter::Type::kTensorList: return "tuple of Tensors";
    case Parameter::Type::kScalar: return "Number";
    case Parameter::Type::kInt: return "int";
    case Parameter::Type::kIntList: return "tuple of ints";
    case Parameter::Type::kFloat: return "float";
    case Parameter::Type::kBool: return "bool";
    case Parameter::Type::kDType: return "torch.dtype";
    case Parameter::Type::kString: return "str";
  }
  return "object";
}

std::string ShownName(const Parameter& parameter) {
  return parameter.name == "self" ? "input" : std::string(parameter.name);
}

bool WrongType(const OpFunctionObject* function, const Parameter& parameter, size_t position, PyObject* got) {
  std::string name = ShownName(parameter);
  if (parameter.keyword_only) {
    PyErr_Format(PyExc_TypeError, "%U(): argument '%s' must be %s, not %s", function->name, name.c_str(),
                 ExpectedName(parameter), Py_TYPE(got)->tp_name);
  } else {
    PyErr_Format(PyExc_TypeError, "%U(): argument '%s' (position %zu) must be %s, not %s", function->name,
                 name.c_str(), position + 1, ExpectedName(parameter), Py_TYPE(got)->tp_name);
  }
  return false;
}

size_t PositionalCount(const std::vector<Parameter>& parameters) {
  size_t count = 0;
  while (count < parameters.size() && !parameters[count].keyword_only) ++count;
  return count;
}

// Whether ints may follow one another in place of a list at this parameter: it is the only positional one
// beside a leading tensor.
bool TakesLooseInts(const std::vector<Parameter>& parameters, size_t index, size_t positional) {
  if (parameters[index].type != Parameter::Type::kIntList || index + 1 != positional) return false;
  return index == 0 || (index == 1 && parameters[0].type == Parameter::Type::kTensor);
}

bool PlacePositional(const OpFunctionObject* function, PyObject* const* args, Py_ssize_t nargs, Slot* slots) {
  const std::vector<Parameter>& parameters = function->info->parameters;
  size_t positional = PositionalCount(parameters);
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    size_t index = static_cast<size_t>(i);
    if (index < positional) {
      int64_t unused;
      if (TakesLooseInts(parameters, index, positional) && AsInt(args[i], &unused)) {
        slots[index].rest = args + i;
        slots[index].rest_count = nargs - i;
        return true;
      }
      slots[index].object = args[i];
      continue;
    }
    PyErr_Format(PyExc_TypeError, "%U() takes %zu positional argument%s but %zd were given", function->name,
                 positional, positional == 1 ? "" : "s", nargs);
    return false;
  }
  return true;
}

// PyTorch's second spelling of some parameter names.
bool Matches(std::string_view parameter, std::string_view keyword) {
  if (parameter == keyword) return true;
  if (keyword == "input") return parameter == "self";
  if (keyword == "axis") return parameter == "dim";
  if (keyword == "keepdims") return parameter == "keepdim";
  if (keyword == "size") return parameter == "shape";
  if (keyword == "value") return parameter == "src";
  return false;
}

// Keywords that every op, or every creation op, takes beside its schema. False with an exception set; *taken
// says whether it was one.
bool PlaceCommonKeyword(const OpFunctionObject* function, std::string_view keyword, PyObject* value,
                        OperandResolver& resolver, BoundCall* out, bool* taken) {
  *taken = true;
  OpClass op_class = function->info->op_class;
  if (keyword == "out") {
    if (value == Py_None) return true;
    if (resolver.Resolve(value, &out->out)) return true;
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "%U(): argument 'out' must be Tensor, not %s", function->name,
                   Py_TYPE(value)->tp_name);
    }
    return false;
  }
  if (keyword == "memory_format") {
    if (value == Py_None) return true;
    PyRef text = PyRef::Steal(PyObject_Str(value));
    const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (chars == nullptr) return false;
    if (std::strcmp(chars, "torch.contiguous_format") == 0 ||
        std::strcmp(chars, "torch.preserve_format") == 0)
      return true;
    PyErr_Format(PyExc_NotImplementedError, "%U(): memory format %s is not supported by Thirdbook",
                 function->name, chars);
    return false;
  }
  if (op_class == OpClass::kSource || op_class == OpClass::kRandom) {
    if (keyword == "device") {
      return AsDevice(value, &out->device);
    }
    if (keyword == "requires_grad") {
      int truth = PyObject_IsTrue(value);
      out->requires_grad = truth == 1;
      return truth >= 0;
    }
    if (keyword == "layout" || keyword == "pin_memory") return true;
    if (keyword == "generator") {
      out->generator = value == Py_None ? nullptr : value;
      return true;
    }
  } else if (keyword == "generator" && op_class == OpClass::kRandom) {
    out->generator = value == Py_None ? nullptr : value;
    return true;
  }
  *taken = false;
  return true;
}

bool PlaceKeywords(const OpFunctionObject* function, PyObject* const* values, PyObject* kwnames,
                   OperandResolver& resolver, BoundCall* out, Slot* slots) {
  const std::vector<Parameter>& parameters = function->info->parameters;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
    Py_ssize_t length = 0;
    const char* chars = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(kwnames, k), &length);
    if (chars == nullptr) return false;
    std::string_view keyword(chars, static_cast<size_t>(length));
    size_t index = 0;
    while (index < parameters.size() && !Matches(parameters[index].name, keyword)) ++index;
    if (index < parameters.size()) {
      if (slots[index].object != nullptr || slots[index].rest != nullptr) {
        PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%s'", function->name, chars);
        return false;
      }
      slots[index].object = values[k];
      continue;
    }
    bool taken = false;
    if (!PlaceCommonKeyword(function, keyword, values[k], resolver, out, &taken)) return false;
    if (!taken) {
      PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%s'", function->name, chars);
      return false;
    }
  }
  return true;
}

bool BindTensor(const OpFunctionObject* function, size_t index, PyObject* object, OperandResolver& resolver,
                BoundCall* out) {
  const Parameter& parameter = function->info->parameters[index];
  OperandHandle handle = -1;
  if (resolver.Resolve(object, &handle)) {
    if (!parameter.takes_number && resolver.Meta(handle).weak)
      return WrongType(function, parameter, index, object);
    out->operands.push_back(handle);
    return true;
  }
  if (PyErr_Occurred()) return false;
  if (parameter.takes_number && IsNumber(object)) {
    handle = resolver.WeakConstant(object);
    if (handle < 0) return false;
    out->operands.push_back(handle);
    return true;
  }
  return WrongType(function, parameter, index, object);
}

bool BindTensorList(const OpFunctionObject* function, size_t index, PyObject* object,
                    OperandResolver& resolver, BoundCall* out) {
  const Parameter& parameter = function->info->parameters[index];
  if (!PyList_Check(object) && !PyTuple_Check(object)) return WrongType(function, parameter, index, object);
  PyRef items = PyRef::Steal(PySequence_Tuple(object));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    OperandHandle handle = -1;
    if (resolver.Resolve(item, &handle) || (item == Py_None && parameter.optional_elements)) {
      out->operands.push_back(handle);
      continue;
    }
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %zu, but got %s", i, index,
                   Py_TYPE(item)->tp_name);
    }
    return false;
  }
  return true;
}

bool ScalarAttr(PyObject* object, Attr* out) {
  if (PyBool_Check(object)) {
    *out = object == Py_True;
    return true;
  }
  if (PyFloat_Check(object)) {
    *out = PyFloat_AS_DOUBLE(object);
    return true;
  }
  int64_t number;
  if (AsInt(object, &number)) {
    *out = number;
    return true;
  }
  if (PyErr_Occurred()) return false;
  bool convertible = IsTensor(object) ? AsTensor(object).meta().rank() == 0 : IsNumber(object);
  if (!convertible) return false;
  PyRef value = PyRef::Steal(IsTensor(object) ? ItemOf(AsTensor(object))
                                              : PyObject_CallMethod(object, "item", nullptr));
  return value && !IsTensor(value.get()) &&
         (PyBool_Check(value.get()) || PyFloat_Check(value.get()) || PyLong_Check(value.get())) &&
         ScalarAttr(value.get(), out);
}

// False where the object is not of the parameter's type (no exception) or with an exception set.
bool ConvertAttr(const Parameter& parameter, PyObject* object, Attr* out) {
  if (object == Py_None && parameter.optional) {
    *out = None();
    return true;
  }
  switch (parameter.type) {
    case Parameter::Type::kScalar: return ScalarAttr(object, out);
    case Parameter::Type::kInt: {
      int64_t number;
      if (!AsInt(object, &number)) return false;
      *out = number;
      return true;
    }
    case Parameter::Type::kIntList: {
      Sizes sizes;
      int64_t number;
      if (AsInt(object, &number)) {
        sizes.assign(static_cast<size_t>(parameter.list_size > 0 ? parameter.list_size : 1), number);
      } else if (PyErr_Occurred() || !AsSizes(object, &sizes)) {
        return false;
      } else if (parameter.list_size > 1 && sizes.size() == 1) {
        number = sizes[0];  // assign() must not be given an element of the vector itself
        sizes.assign(static_cast<size_t>(parameter.list_size), number);
      }
      *out = std::move(sizes);
      return true;
    }
    case Parameter::Type::kFloat: {
      if (PyBool_Check(object)) return false;
      Attr number;
      if (!ScalarAttr(object, &number)) return false;
      if (auto* i = std::get_if<int64_t>(&number)) *out = static_cast<double>(*i);
      if (auto* d = std::get_if<double>(&number)) *out = *d;
      return !std::holds_alternative<bool>(number);
    }
    case Parameter::Type::kBool: {
      if (PyBool_Check(object)) {
        *out = object == Py_True;
        return true;
      }
      Attr number;
      if (!IsNumber(object) || PyLong_Check(object) || PyFloat_Check(object) || !ScalarAttr(object, &number))
        return false;
      *out = number;
      return std::holds_alternative<bool>(number);
    }
    case Parameter::Type::kDType: {
      DType dtype;
      if (!AsDTypeOrPythonType(object, &dtype)) return false;
      *out = dtype;
      return true;
    }
    case Parameter::Type::kString: {
      Py_ssize_t length = 0;
      const char* chars = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &length) : nullptr;
      if (chars == nullptr) return false;
      *out = std::string(chars, static_cast<size_t>(length));
      return true;
    }
    case Parameter::Type::kTensor:
    case Parameter::Type::kTensorList: break;
  }
  return false;
}

bool MissingArguments(const OpFunctionObject* function, const Slot* slots) {
  const std::vector<Parameter>& parameters = function->info->parameters;
  std::string names;
  int count = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (slots[i].object != nullptr || slots[i].rest != nullptr || p.has_default ||
        (p.optional && p.is_operand()))
      continue;
    if (count++ != 0) names += ", ";
    names += '"' + ShownName(p) + '"';
  }
  PyErr_Format(PyExc_TypeError, "%U() missing %d required positional arguments: %s", function->name, count,
               names.c_str());
  return false;
}

}  // namespace

bool AsInt(PyObject* object, int64_t* out) {
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    *out = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return true;
    PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long");
    return false;
  }
  if (PyBool_Check(object) || PyFloat_Check(object) || !PyIndex_Check(object)) return false;
  if (IsTensor(object)) {
    const Tensor& tensor = AsTensor(object);
    if (tensor.meta().rank() != 0 || Category(tensor.dtype()) != DTypeCategory::kInteger) return false;
  } else if (IsArray(object)) {
    return false;
  }
  PyRef number = PyRef::Steal(PyNumber_Index(object));
  if (!number) {
    PyErr_Clear();
    return false;
  }
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return true;
  PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long");
  return false;
}

bool AsSizes(PyObject* object, Sizes* out) {
  bool is_list = PyList_Check(object);
  if (!is_list && !PyTuple_Check(object)) return false;
  out->clear();
  Py_ssize_t count = is_list ? PyList_GET_SIZE(object) : PyTuple_GET_SIZE(object);
  out->reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < (is_list ? PyList_GET_SIZE(object) : count); ++i) {
    int64_t number;
    if (!AsInt(is_list ? PyList_GET_ITEM(object, i) : PyTuple_GET_ITEM(object, i), &number)) return false;
    out->push_back(number);
  }
  return true;
}

bool BindOp(const OpFunctionObject* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
            OperandResolver& resolver, BoundCall* out) {
  const std::vector<Parameter>& parameters = function->info->parameters;
  TB_CHECK(parameters.size() <= kMaxParameters);
  Slot slots[kMaxParameters];
  PyObject* swapped[2];
  PyObject* const* keyword_values = args + nargs;
  out->op = function->info->op;
  if (function->reflected && nargs == 2) {
    swapped[0] = args[1];
    swapped[1] = args[0];
    args = swapped;
  }
  if (!PlacePositional(function, args, nargs, slots)) return false;
  if (kwnames != nullptr && !PlaceKeywords(function, keyword_values, kwnames, resolver, out, slots))
    return false;
  out->operands.reserve(parameters.size());
  out->attrs.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    PyObject* object = slots[i].object;
    if (parameter.is_operand()) {
      if (object == nullptr || (object == Py_None && parameter.optional)) {
        if (!parameter.optional && !parameter.has_default) return MissingArguments(function, slots);
        out->operands.push_back(-1);
      } else if (parameter.type == Parameter::Type::kTensor) {
        if (!BindTensor(function, i, object, resolver, out)) return false;
      } else if (!BindTensorList(function, i, object, resolver, out)) {
        return false;
      }
      continue;
    }
    if (slots[i].rest != nullptr) {
      Sizes sizes;
      sizes.reserve(static_cast<size_t>(slots[i].rest_count));
      for (Py_ssize_t k = 0; k < slots[i].rest_count; ++k) {
        int64_t number;
        if (!AsInt(slots[i].rest[k], &number)) {
          return PyErr_Occurred() ? false : WrongType(function, parameter, i, slots[i].rest[k]);
        }
        sizes.push_back(number);
      }
      out->attrs.emplace_back(std::move(sizes));
      continue;
    }
    if (object == nullptr) {
      if (!parameter.has_default) return MissingArguments(function, slots);
      out->attrs.push_back(parameter.default_value);
      continue;
    }
    Attr attr;
    PyObject* known = resolver.Known(object);
    if (known == nullptr) return false;
    if (!ConvertAttr(parameter, known, &attr))
      return PyErr_Occurred() ? false : WrongType(function, parameter, i, known);
    out->attrs.push_back(std::move(attr));
  }
  if (function->info->op_class != OpClass::kPointwise) return true;
  for (OperandHandle handle : out->operands) {
    if (handle >= 0 && !resolver.Meta(handle).weak) return true;
  }
  return WrongType(function, parameters[0], 0, slots[0].object);
}

}  // namespace thirdbook
