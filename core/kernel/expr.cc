#include "kernel/expr.h"

#include <bit>

#include "base/status.h"

namespace thirdbook {

int ExprPool::Add(Expr expr) {
  const auto key = std::make_tuple(static_cast<int>(expr.prim), static_cast<int>(expr.type), expr.args[0],
                                   expr.args[1], expr.args[2], expr.args[3], expr.imm);
  const auto [it, fresh] = known_.try_emplace(key, static_cast<int>(exprs_.size()));
  if (fresh) exprs_.push_back(expr);
  return it->second;
}

int ExprPool::ConstantBits(LaneType type, uint64_t bits) {
  Expr expr{Prim::k_constant, type};
  expr.imm = bits;
  return Add(expr);
}
int ExprPool::Constant(LaneType type, double value) {
  switch (type) {
    case LaneType::kF32: return ConstantBits(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
    case LaneType::kF64: return ConstantBits(type, std::bit_cast<uint64_t>(value));
    case LaneType::kBool: return ConstantBits(type, value != 0);
    case LaneType::kI32: return ConstantBits(type, static_cast<uint32_t>(static_cast<int64_t>(value)));
    case LaneType::kI64: return ConstantBits(type, static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  TB_CHECK(false);
}

int ExprPool::Load(int access, LaneType type, bool element) {
  Expr expr{Prim::k_load, type};
  expr.imm = static_cast<uint64_t>(access);
  expr.element = element;
  expr.cost = 1;
  return Add(expr);
}

int ExprPool::Op(Prim prim, LaneType type, int a, int b, int c, uint64_t imm) {
  Expr expr{prim, type, {a, b, c, -1}, imm};
  expr.cost = ClassOf(prim) == PrimClass::kMath ? 20 : prim == Prim::k_bits ? 0 : 1;
  for (int k = 0; k < PrimArity(prim); ++k) {
    const Expr& arg = at(expr.args[k]);
    expr.element |= arg.element;
    if (arg.epoch > expr.epoch) expr.epoch = arg.epoch;
    if (arg.element) expr.cost += arg.cost;
  }
  return Add(expr);
}

int ExprPool::Fold(FoldKind kind, LaneType type, int value) {
  Expr expr{Prim::k_fold, type, {value, -1, -1, -1}, static_cast<uint64_t>(kind)};
  expr.epoch = at(value).epoch + 1;
  return Add(expr);
}

int ExprPool::Count(LaneType type) { return Add(Expr{Prim::k_count, type}); }

TypedExpr CastExpr(ExprPool& pool, TypedExpr value, DType to) {
  if (value.dtype == to) return value;
  const LaneType from_type = LaneTypeOf(value.dtype), to_type = LaneTypeOf(to);
  int id = value.id;
  const Expr& expr = pool.at(id);
  if (expr.prim == Prim::k_constant) {  // numbers written in the program
    const double number = from_type == LaneType::kF32
                              ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(expr.imm)))
                          : from_type == LaneType::kF64 ? std::bit_cast<double>(expr.imm)
                          : from_type == LaneType::kI32 ? static_cast<double>(static_cast<int32_t>(expr.imm))
                                                        : static_cast<double>(static_cast<int64_t>(expr.imm));
    const bool exact = from_type != LaneType::kI64 || (number < 9e15 && number > -9e15);
    const bool fits = IsFloat(to_type) || to_type == LaneType::kBool || (number > -2e9 && number < 2e9);
    if (exact && fits && to != DType::kUInt8) return {pool.Constant(to_type, number), to};
  }
  if (from_type != to_type) id = pool.Op(Prim::k_cast, to_type, id);
  if (to == DType::kUInt8 && value.dtype != DType::kBool) {
    id = pool.Op(Prim::k_and_, LaneType::kI32, id, pool.Constant(LaneType::kI32, 255));
  }
  return {id, to};
}

}  // namespace thirdbook
