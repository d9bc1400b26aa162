// Typed access to the attributes of a call that has been validated.
#pragma once

#include <optional>

#include "graph/op.h"

namespace thirdbook {

inline bool HasAttr(const Attrs& attrs, size_t i) { return !std::holds_alternative<None>(attrs[i]); }

inline double NumberOf(const Attr& attr) {
  if (const auto* i = std::get_if<int64_t>(&attr)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&attr)) return *b ? 1.0 : 0.0;
  const auto* d = std::get_if<double>(&attr);
  TB_CHECK(d != nullptr);
  return *d;
}
inline int64_t IntAttr(const Attrs& attrs, size_t i) {
  if (const auto* b = std::get_if<bool>(&attrs[i])) return *b;
  const auto* value = std::get_if<int64_t>(&attrs[i]);
  TB_CHECK(value != nullptr);
  return *value;
}
inline int64_t IntAttrOr(const Attrs& attrs, size_t i, int64_t otherwise) {
  return HasAttr(attrs, i) ? IntAttr(attrs, i) : otherwise;
}
inline double FloatAttr(const Attrs& attrs, size_t i) { return NumberOf(attrs[i]); }
inline bool BoolAttr(const Attrs& attrs, size_t i) { return IntAttr(attrs, i) != 0; }
inline const Sizes& ListAttr(const Attrs& attrs, size_t i) {
  const auto* value = std::get_if<Sizes>(&attrs[i]);
  TB_CHECK(value != nullptr);
  return *value;
}
inline Sizes ListAttrOrEmpty(const Attrs& attrs, size_t i) {
  return HasAttr(attrs, i) ? ListAttr(attrs, i) : Sizes();
}
inline std::optional<DType> DTypeAttr(const Attrs& attrs, size_t i) {
  const auto* value = std::get_if<DType>(&attrs[i]);
  return value ? std::optional<DType>(*value) : std::nullopt;
}
inline const std::string* StringAttr(const Attrs& attrs, size_t i) {
  return std::get_if<std::string>(&attrs[i]);
}

// Whether a Scalar attribute is a Python float.
inline bool IsFloatAttr(const Attr& attr) { return std::holds_alternative<double>(attr); }

}  // namespace thirdbook
