// Source table: interning and printing. See source.h.
#include "guards/source.h"

#include <algorithm>
#include <cstdio>

namespace thirdbook {

namespace {

const char* const kBinaryText[] = {"+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"};
const char* const kCompareText[] = {"<", "<=", "==", "!=", ">", ">="};
const char* const kUnaryText[] = {"-", "+", "~", "not "};
constexpr int32_t kLongText = 100;  // nodes

}  // namespace

const char* BinaryOperatorText(int code) {
  // 13..25 are the in-place forms of 0..12; 26 is subscription.
  if (code >= 13 && code < 26) code -= 13;
  return code >= 0 && code < 13 ? kBinaryText[code] : "[]";
}

const char* CompareOperatorText(int code) { return code >= 0 && code < 6 ? kCompareText[code] : "?"; }

SourceId SourceTable::Intern(Source source) {
  std::string key;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%d:%d:%d", static_cast<int>(source.kind), source.detail,
                source.object);
  key = buffer;
  for (SourceId operand : source.operands) key += "," + std::to_string(operand.value);
  for (SourceId operand : source.operands) {
    if (operand.defined()) source.weight = std::min(source.weight + at(operand).weight, kLongText + 1);
  }
  auto [it, inserted] = index_.emplace(std::move(key), size());
  if (inserted) sources_.push_back(std::move(source));
  return SourceId{it->second};
}

std::string SourceTable::Print(SourceId id) const {
  if (!id.defined()) return "<new>";
  const Source& s = at(id);
  // An expression may use another many times over, and that another: as text they would never end.
  auto operand = [&](size_t i) {
    const SourceId of = s.operands[i];
    return of.defined() && at(of).weight > kLongText ? "<" + std::to_string(of.value) + ">" : Print(of);
  };
  auto wrapped = [&](size_t i) {
    SourceKind kind = at(s.operands[i]).kind;
    bool compound = kind == SourceKind::kBinary || kind == SourceKind::kCompare || kind == SourceKind::kUnary;
    return compound ? "(" + operand(i) + ")" : operand(i);
  };
  switch (s.kind) {
    case SourceKind::kLocal: return "L['" + s.name + "']";
    case SourceKind::kClosureCell: return "C['" + s.name + "']";
    case SourceKind::kObject: return s.name;
    case SourceKind::kCellContents: return operand(0) + ".cell_contents";
    case SourceKind::kAttribute: return operand(0) + "." + s.name;
    case SourceKind::kTypeAttribute: return operand(0) + "." + s.name;
    case SourceKind::kItem: return operand(0) + "[" + operand(1) + "]";
    case SourceKind::kLength: return "len(" + operand(0) + ")";
    case SourceKind::kFunction: return operand(0) + "." + s.name;
    case SourceKind::kBinary: return wrapped(0) + " " + BinaryOperatorText(s.detail) + " " + wrapped(1);
    case SourceKind::kUnary: return kUnaryText[s.detail] + wrapped(0);
    case SourceKind::kCompare: return wrapped(0) + " " + CompareOperatorText(s.detail) + " " + wrapped(1);
    case SourceKind::kContains: return wrapped(0) + " in " + wrapped(1);
    case SourceKind::kCall: {
      std::string text = s.name + "(";
      for (size_t i = 0; i < s.operands.size(); i++) text += (i != 0 ? ", " : "") + operand(i);
      return text + ")";
    }
    case SourceKind::kGraphTensor: return "graph_tensor[" + std::to_string(s.detail) + "]";
    case SourceKind::kSize: return operand(0) + ".size(" + std::to_string(s.detail) + ")";
  }
  return "?";
}

}  // namespace thirdbook
