// The deterministic text of a graph: one line a node, attributes only where they differ from their defaults.
//
//   %0 = input L['x'] f32[4, 3]
//   %1 = constant 2 (weak int64)
//   %2 = mul(%0, %1) f32[4, 3]
//   %3:2 = max_dim(%2, dim=1) f32[4], i64[4]
//   return %3.0, %3.1
#include "graph/print.h"

#include <cmath>
#include <cstring>

#include "graph/shape.h"

namespace thirdbook {
namespace {

const char* ShortName(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "bool";
    case DType::kUInt8: return "u8";
    case DType::kInt32: return "i32";
    case DType::kInt64: return "i64";
    case DType::kFloat32: return "f32";
    case DType::kFloat64: return "f64";
  }
  return "?";
}

// The shortest text that reads back as the same number, as Python writes it.
std::string FloatText(double value, bool single) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    double back = std::strtod(buffer, nullptr);
    if (single ? static_cast<float>(back) == static_cast<float>(value) : back == value) break;
  }
  std::string text = buffer;
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <typename T>
std::string ElementText(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "True" : "False";
  else if constexpr (std::is_floating_point_v<T>)
    return FloatText(value, sizeof(T) == 4);
  else
    return std::to_string(static_cast<long long>(value));
}

std::string ElementAt(const Tensor& t, int64_t position) {
  const char* at = static_cast<const char*>(t.storage()->data()) + position * ItemSize(t.dtype());
  switch (t.dtype()) {
    case DType::kBool: return ElementText(*at != 0);
    case DType::kUInt8: return ElementText(*reinterpret_cast<const uint8_t*>(at));
    case DType::kInt32: return ElementText(*reinterpret_cast<const int32_t*>(at));
    case DType::kInt64: return ElementText(*reinterpret_cast<const int64_t*>(at));
    case DType::kFloat32: return ElementText(*reinterpret_cast<const float*>(at));
    case DType::kFloat64: return ElementText(*reinterpret_cast<const double*>(at));
  }
  return "?";
}

void Elements(const Tensor& t, size_t dim, int64_t position, std::string* text) {
  if (dim == t.sizes().size()) {
    *text += ElementAt(t, position);
    return;
  }
  *text += "[";
  for (int64_t i = 0; i < t.sizes()[dim]; ++i) {
    if (i > 0) *text += ", ";
    Elements(t, dim + 1, position + i * t.meta().strides[dim], text);
  }
  *text += "]";
}

std::string RefText(const Graph& graph, ValueRef v) {
  if (!v.defined()) return "None";
  std::string text = "%" + std::to_string(v.node.value);
  if (graph.node(v.node).metas.size() > 1) text += "." + std::to_string(v.output);
  return text;
}

std::string AttributeText(const Graph& graph, const Node& node, size_t attr) {
  std::vector<std::string> parts;
  const Sizes* list = std::get_if<Sizes>(&node.attrs[attr]);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) parts.push_back(std::to_string((*list)[i]));
  bool symbolic = false;
  for (const SymbolicInt& s : node.symbolic) {
    if (static_cast<size_t>(s.attr) != attr) continue;
    std::string input = "%" + std::to_string(graph.inputs()[static_cast<size_t>(s.input)].value);
    if (s.element < 0) return input;
    parts[static_cast<size_t>(s.element)] = std::move(input);
    symbolic = true;
  }
  if (!symbolic) return AttrText(node.attrs[attr]);
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "[" : ", ") + part;
  return text + "]";
}

std::string ArgumentsText(const Graph& graph, const Node& node) {
  std::string text;
  auto append = [&](const std::string& piece) { text += (text.empty() ? "" : ", ") + piece; };
  const std::vector<Parameter>& parameters = Info(node.op).parameters;
  size_t fixed = 0;
  for (const Parameter& p : parameters) fixed += p.type == Parameter::Type::kTensor;
  size_t operand = 0, attr = 0;
  for (const Parameter& p : parameters) {
    if (p.type == Parameter::Type::kTensorList) {
      std::string list = "[";
      size_t length = node.operands.size() - fixed;
      for (size_t i = 0; i < length; ++i)
        list += (i > 0 ? ", " : "") + RefText(graph, node.operands[operand++]);
      append(list + "]");
    } else if (p.type == Parameter::Type::kTensor) {
      ValueRef v = node.operands[operand++];
      if (!p.optional)
        append(RefText(graph, v));
      else if (v.defined())
        append(std::string(p.name) + "=" + RefText(graph, v));
    } else if (attr < node.attrs.size()) {
      if (!p.has_default || node.attrs[attr] != p.default_value)
        append(std::string(p.name) + "=" + AttributeText(graph, node, attr));
      ++attr;
    }
  }
  return text;
}

}  // namespace

std::string MetaText(const TensorMeta& meta) {
  std::string text = std::string(ShortName(meta.dtype)) + SizesText(meta.sizes);
  if (!meta.IsContiguous()) text += " strides " + SizesText(meta.strides);
  if (meta.offset != 0) text += " offset " + std::to_string(meta.offset);
  if (meta.weak) text += " weak";
  return text;
}

std::string AttrText(const Attr& attr) {
  if (const auto* b = std::get_if<bool>(&attr)) return ElementText(*b);
  if (const auto* i = std::get_if<int64_t>(&attr)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&attr)) return FloatText(*d, false);
  if (const auto* t = std::get_if<DType>(&attr)) return std::string(DTypeName(*t));
  if (const auto* l = std::get_if<Sizes>(&attr)) return SizesText(*l);
  if (const auto* s = std::get_if<std::string>(&attr)) return "'" + *s + "'";
  return "None";
}

std::string ConstantText(const Tensor& value) {
  if (value.meta().numel() > 8) return "[...]";
  std::string text;
  Elements(value, 0, value.meta().offset, &text);
  return text;
}

std::string NodeText(const Graph& graph, size_t index) {
  const Node& node = graph.nodes()[index];
  std::string text = "%" + std::to_string(index);
  if (node.metas.size() > 1) text += ":" + std::to_string(node.metas.size());
  text += " = ";
  if (node.op == Op::k_input) {
    const TensorMeta& meta = node.metas[0];
    if (meta.weak) return text + "input " + node.name + " (weak " + std::string(DTypeName(meta.dtype)) + ")";
    return text + "input " + node.name + " " + MetaText(meta);
  }
  if (node.op == Op::k_constant) {
    const TensorMeta& meta = node.metas[0];
    text += "constant " + ConstantText(node.constant);
    return text + (meta.weak ? " (weak " + std::string(DTypeName(meta.dtype)) + ")" : " " + MetaText(meta));
  }
  text += std::string(Info(node.op).name) + "(" + ArgumentsText(graph, node) + ")";
  for (size_t i = 0; i < node.metas.size(); ++i) text += (i > 0 ? ", " : " ") + MetaText(node.metas[i]);
  return text;
}

std::string Print(const Graph& graph) {
  std::string text;
  for (size_t i = 0; i < graph.nodes().size(); ++i) text += NodeText(graph, i) + "\n";
  text += "return";
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    text += (i > 0 ? ", " : " ") + RefText(graph, graph.outputs()[i]);
  return text + "\n";
}

}  // namespace thirdbook
