// The values of a loop kernel before they are put into stages: a pool of expressions, equal ones shared.
//
// In: node by node from lower_ops.cc. Out: read by lower.cc. Each expression knows whether it changes inside
// a row (`element`) and its *epoch*: how many folds, one after another, stand before it.
//
//   softmax:   m = fold max x            x   element 0
//              e = exp(x - m)            m   row     1     e   element 1
//              y = e / fold sum e        sum row     2     y   element 2
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "graph/dtype.h"
#include "kernel/loops.h"

namespace thirdbook {

struct Expr {
  Prim prim;
  LaneType type;
  int args[4] = {-1, -1, -1, -1};
  uint64_t imm = 0;  // as Instr; k_load: index of the access; k_fold: FoldKind
  bool element = false;
  int epoch = 0;
  int cost = 0;  // of computing it again, roughly in instructions
};

class ExprPool {
 public:
  int Constant(LaneType type, double value);
  int ConstantBits(LaneType type, uint64_t bits);
  // `element`: the address changes inside the row; `scalar`: it never changes, and the load converts to
  // `type`.
  int Load(int access, LaneType type, bool element);
  int Op(Prim prim, LaneType type, int a, int b = -1, int c = -1, uint64_t imm = 0);
  int Fold(FoldKind kind, LaneType type, int value);
  int Count(LaneType type);
  const Expr& at(int id) const { return exprs_[static_cast<size_t>(id)]; }
  size_t size() const { return exprs_.size(); }

 private:
  int Add(Expr expr);
  std::vector<Expr> exprs_;
  std::map<std::tuple<int, int, int, int, int, int, uint64_t>, int> known_;
};

// A value with its dtype (uint8 computes as kI32, kept within 0..255).
struct TypedExpr {
  int id = -1;
  DType dtype = DType::kFloat32;
};
TypedExpr CastExpr(ExprPool& pool, TypedExpr value, DType to);

}  // namespace thirdbook
