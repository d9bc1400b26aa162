// Sources: how a value is reached again from a frame, as an expression without side effects.
//
// A leaf is an argument, a closure cell or a fixed object; inner nodes read attributes, items and lengths or
// compute with numbers and text. The same node is evaluated by the guard program (C++), emitted as bytecode
// (assemble) and printed ("L['self'].calls + 1"). Invariant: nodes are hash-consed (equal expression = equal
// id) and operands have smaller ids than their users. Evaluating a source runs no user code: the guards
// recorded before it make sure of that.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thirdbook {

struct SourceId {
  int32_t value = -1;
  bool defined() const { return value >= 0; }
  friend bool operator==(SourceId, SourceId) = default;
};

enum class SourceKind : uint8_t {
#define TB_SOURCE(name, doc) k##name,
#include "guards/sources.def"
#undef TB_SOURCE
};

// Index of a Python object that the cache entry keeps alive (the core knows no Python objects).
using ObjectIndex = int32_t;

// What a kFunction source reads of a function or method.
enum class FunctionPart : int32_t {
  kDefaults,
  kKwdefaults,
  kMethodSelf,
  kMethodFunction,
  kCode,
  kGlobals,
  kClosure = 100 /* + index */
};

struct Source {
  Source() = default;
  explicit Source(SourceKind source_kind, int32_t source_detail = 0)
      : kind(source_kind), detail(source_detail) {}
  SourceKind kind = SourceKind::kLocal;
  int32_t detail = 0;       // slot, cell index, operator code (see sources.def)
  ObjectIndex object = -1;  // kObject; the callable of kCall; the name of kAttribute (a str object)
  std::vector<SourceId> operands;
  std::string name;    // for printing
  int32_t weight = 1;  // how many nodes its text would name, up to a bound
};

class SourceTable {
 public:
  SourceId Intern(Source source);
  const Source& at(SourceId id) const { return sources_[static_cast<size_t>(id.value)]; }
  int32_t size() const { return static_cast<int32_t>(sources_.size()); }
  std::string Print(SourceId id) const;

 private:
  std::vector<Source> sources_;
  std::unordered_map<std::string, int32_t> index_;
};

// Text of an operator code: NB_* of BINARY_OP, Py_LT.. of COMPARE_OP, unary codes below.
const char* BinaryOperatorText(int code);
const char* CompareOperatorText(int code);
enum UnaryCode : int { kUnaryNegative, kUnaryPositive, kUnaryInvert, kUnaryNot };

}  // namespace thirdbook
