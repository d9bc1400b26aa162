// Reads ops.def once: schema text to parameters.
//
// The table is ours, so a schema that does not parse is a failed CHECK at start-up, seen by every test.
#include "graph/op.h"

#include <cstdlib>

#include "base/lines.h"

namespace thirdbook {
namespace {

constexpr size_t kNumOps = static_cast<size_t>(Op::kCount);

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "int[2]?" to the fields of Parameter.
void ParseType(std::string_view text, Parameter* p) {
  using Type = Parameter::Type;
  bool list = false;
  if (text.ends_with('?')) {
    p->optional = true;
    text.remove_suffix(1);
  }
  if (text.ends_with(']')) {
    list = true;
    size_t open = text.rfind('[');
    std::string_view count = text.substr(open + 1, text.size() - open - 2);
    if (!count.empty()) p->list_size = count[0] - '0';
    text = text.substr(0, open);
    if (text.ends_with('?')) {
      p->optional_elements = true;
      text.remove_suffix(1);
    }
  }
  p->takes_number = text == "Tensor|Number";
  if (text == "Tensor" || p->takes_number)
    p->type = list ? Type::kTensorList : Type::kTensor;
  else if (text == "Scalar")
    p->type = Type::kScalar;
  else if (text == "int")
    p->type = list ? Type::kIntList : Type::kInt;
  else if (text == "float")
    p->type = Type::kFloat;
  else if (text == "bool")
    p->type = Type::kBool;
  else if (text == "ScalarType")
    p->type = Type::kDType;
  else if (text == "str")
    p->type = Type::kString;
  else
    TB_CHECK(!"unknown parameter type in ops.def");
}

Attr ParseDefault(std::string_view text, const Parameter& p) {
  using Type = Parameter::Type;
  if (text == "None") return None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text == "[]") return Sizes{};
  std::string number(text);
  if (p.type == Type::kFloat || number.find_first_of(".e") != std::string::npos)
    return std::strtod(number.c_str(), nullptr);
  int64_t value = std::strtoll(number.c_str(), nullptr, 10);
  if (p.type == Type::kIntList) return Sizes(static_cast<size_t>(p.list_size), value);
  return value;
}

std::vector<Parameter> ParseParameters(std::string_view schema) {
  std::vector<Parameter> parameters;
  size_t open = schema.find('(');
  TB_CHECK(open != std::string_view::npos && schema.ends_with(')'));
  std::string_view rest = schema.substr(open + 1, schema.size() - open - 2);
  bool keyword_only = false;
  while (!rest.empty()) {
    size_t comma = rest.find(", ");
    std::string_view piece = Trim(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
    if (piece == "*") {
      keyword_only = true;
      continue;
    }
    Parameter p{};
    p.keyword_only = keyword_only;
    size_t space = piece.find(' ');
    TB_CHECK(space != std::string_view::npos);
    ParseType(piece.substr(0, space), &p);
    std::string_view name = piece.substr(space + 1);
    size_t equals = name.find('=');
    if (equals != std::string_view::npos) {
      p.has_default = true;
      p.default_value = ParseDefault(name.substr(equals + 1), p);
      name = name.substr(0, equals);
    }
    p.name = name;
    parameters.push_back(std::move(p));
  }
  return parameters;
}

constexpr OpClass kClasses[] = {
#define TB_OP(name, op_class, schema) OpClass::op_class,
#include "graph/ops.def"
#undef TB_OP
};

constexpr std::string_view kRows =
#define TB_OP(name, op_class, schema) #name " " schema "\n"
#include "graph/ops.def"
#undef TB_OP
    "";

const std::vector<OpInfo>& Table() {
  static const std::vector<OpInfo>* table = [] {
    auto* rows = new std::vector<OpInfo>();
    rows->reserve(kNumOps);
    std::string_view lines = kRows;
    for (size_t i = 0; i < kNumOps; i++) {
      std::string_view row = TakeLine(&lines);
      const size_t space = row.find(' ');
      std::string_view schema = row.substr(space + 1);
      rows->push_back(
          OpInfo{static_cast<Op>(i), row.substr(0, space), kClasses[i], schema, ParseParameters(schema)});
    }
    return rows;
  }();
  return *table;
}

}  // namespace

const OpInfo& Info(Op op) { return Table()[static_cast<size_t>(op)]; }

const OpInfo* FindOp(std::string_view name) {
  for (const OpInfo& info : Table()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace thirdbook
