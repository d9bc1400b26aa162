// Validates a call against its schema and hands it to the inference of its class.
#include "graph/infer.h"

namespace thirdbook {
namespace {

using Type = Parameter::Type;

bool AttrFits(const Attr& attr, const Parameter& p) {
  if (std::holds_alternative<None>(attr)) return p.optional;
  bool is_int = std::holds_alternative<int64_t>(attr);
  bool is_bool = std::holds_alternative<bool>(attr);
  switch (p.type) {
    case Type::kScalar:
    case Type::kFloat: return is_int || is_bool || std::holds_alternative<double>(attr);
    case Type::kInt:
    case Type::kBool: return is_int || is_bool;
    case Type::kIntList: return std::holds_alternative<Sizes>(attr);
    case Type::kDType: return std::holds_alternative<DType>(attr);
    case Type::kString: return std::holds_alternative<std::string>(attr);
    default: return false;
  }
}

Status Validate(const OpInfo& info, const std::vector<const TensorMeta*>& operands, const Attrs& attrs) {
  size_t fixed = 0, attr = 0;
  const Parameter* list = nullptr;
  for (const Parameter& p : info.parameters) {
    if (p.type == Type::kTensorList)
      list = &p;
    else if (p.type == Type::kTensor)
      ++fixed;
    else {
      if (attr >= attrs.size())
        return TypeError(std::string(info.name) + "(): missing argument '" + std::string(p.name) + "'");
      if (!AttrFits(attrs[attr], p)) {
        return TypeError(std::string(info.name) + "(): argument '" + std::string(p.name) +
                         "' has the wrong type");
      }
      ++attr;
    }
  }
  if (attr != attrs.size()) return TypeError(std::string(info.name) + "(): too many arguments");
  if (operands.size() < fixed || (!list && operands.size() != fixed)) {
    return TypeError(Format("%s(): expected %zu tensors, got %zu", std::string(info.name).c_str(), fixed,
                            operands.size()));
  }
  // A missing operand is allowed where the schema says so.
  size_t i = 0, list_length = operands.size() - fixed;
  for (const Parameter& p : info.parameters) {
    if (!p.is_operand()) continue;
    size_t count = p.type == Type::kTensorList ? list_length : 1;
    bool may_miss = p.type == Type::kTensorList ? p.optional_elements : p.optional;
    for (size_t k = 0; k < count; ++k, ++i) {
      if (operands[i] == nullptr && !may_miss) {
        return TypeError(std::string(info.name) + "(): argument '" + std::string(p.name) +
                         "' must be Tensor, not None");
      }
    }
  }
  return Status::Ok();
}

Result<Metas> InferBernoulli(const Call& call) {
  if (!HasAttr(call.attrs, 0) && !IsFloating(call.in(0).dtype)) {
    return NotImplementedFor("bernoulli_tensor_cpu_p_", call.in(0).dtype);
  }
  if (HasAttr(call.attrs, 0) && !(FloatAttr(call.attrs, 0) >= 0 && FloatAttr(call.attrs, 0) <= 1)) {
    return RuntimeError(
        Format("bernoulli_ expects p to be in [0, 1], but got p=%g", FloatAttr(call.attrs, 0)));
  }
  return Fresh(call.in(0).dtype, call.in(0).sizes);
}

}  // namespace

Status NotImplementedFor(std::string_view kernel, DType dtype) {
  return NotImplementedError("\"" + std::string(kernel) + "\" not implemented for '" +
                             std::string(DTypeScalarName(dtype)) + "'");
}

const char* CTypeName(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "bool";
    case DType::kUInt8: return "unsigned char";
    case DType::kInt32: return "int";
    case DType::kInt64: return "long int";
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
  }
  return "";
}

Result<Metas> Fresh(DType dtype, Sizes sizes) {
  TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t numel, CheckedNumel(sizes));
  return Metas{ContiguousMeta(dtype, std::move(sizes))};
}

Status CheckArguments(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs) {
  return Validate(Info(op), operands, attrs);
}

bool IsDataDependent(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs) {
  if (Info(op).op_class == OpClass::kDataDependent) return true;
  if (op == Op::k_one_hot) return attrs.empty() || IntAttr(attrs, 0) == -1;
  if (op != Op::k_index) return false;
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] && (operands[i]->dtype == DType::kBool || operands[i]->dtype == DType::kUInt8))
      return true;
  }
  return false;
}

namespace {

Result<Metas> InferByClass(const OpInfo& info, const Call& call) {
  switch (info.op_class) {
    case OpClass::kSource: return InferCreation(call);
    case OpClass::kPointwise: return InferPointwise(call);
    case OpClass::kReduction: return InferReduction(call);
    case OpClass::kView:
    case OpClass::kMaybeView: return InferView(call);
    case OpClass::kAlong: return InferAlongDim(call);
    case OpClass::kLinearAlgebra: return InferLinearAlgebra(call);
    case OpClass::kRearrange: return InferRearrange(call);
    case OpClass::kIndexing: return InferIndexing(call);
    case OpClass::kSpatial: return InferSpatial(call);
    case OpClass::kRandom: return call.op == Op::k_bernoulli ? InferBernoulli(call) : InferCreation(call);
    case OpClass::kDataDependent: break;
  }
  return RuntimeError("no inference for " + std::string(call.name()));
}

}  // namespace

Device DeviceOf(const std::vector<const TensorMeta*>& operands) {
  for (const TensorMeta* m : operands) {
    if (m && m->device != Device::kCpu) return m->device;
  }
  return Device::kCpu;
}

Result<Metas> Infer(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs) {
  const OpInfo& info = Info(op);
  Attrs completed;
  size_t expected = 0;
  for (const Parameter& p : info.parameters) expected += !p.is_operand();
  bool complete = attrs.size() >= expected;
  if (!complete) completed = CompleteAttrs(op, attrs);
  const Attrs& all = complete ? attrs : completed;
  TB_RETURN_IF_ERROR(Validate(info, operands, all));
  if (IsDataDependent(op, operands, all)) {
    return NotImplementedError("the sizes of " + std::string(info.name) + " depend on the data");
  }
  TB_ASSIGN_OR_RETURN(Metas outputs, InferByClass(info, {op, operands, all}));
  const Device device = DeviceOf(operands);
  if (device != Device::kCpu) {
    for (TensorMeta& meta : outputs) meta.device = device;
  }
  return outputs;
}

Attrs CompleteAttrs(Op op, Attrs attrs) {
  size_t i = 0;
  for (const Parameter& p : Info(op).parameters) {
    if (p.is_operand()) continue;
    if (i >= attrs.size()) {
      if (!p.has_default) break;
      attrs.push_back(p.default_value);
    }
    ++i;
  }
  return attrs;
}

Status CheckInPlace(const TensorMeta& target, const TensorMeta& result) {
  if (!CanCast(result.dtype, target.dtype)) {
    return RuntimeError(Format("result type %s can't be cast to the desired output type %s",
                               DTypeScalarName(result.dtype).data(), DTypeScalarName(target.dtype).data()));
  }
  if (result.sizes != target.sizes) {
    return RuntimeError("output with shape " + SizesText(target.sizes) +
                        " doesn't match the broadcast shape " + SizesText(result.sizes));
  }
  return Status::Ok();
}

}  // namespace thirdbook
