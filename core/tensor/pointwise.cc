// Runs pointwise ops: converts operands to the compute dtype, walks them together, writes a fresh contiguous
// output.
#include "tensor/pointwise.h"

#include <cmath>

#include "graph/attrs.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/strided.h"

namespace thirdbook {
namespace {

using Tensors = std::vector<Tensor>;

Status RunLoop(PointwiseLoop loop, const Tensor& out, const Tensors& operands, LoopState* state) {
  if (!loop) return RuntimeError("no kernel for these dtypes");
  StridedLoop strided(out.sizes());
  strided.Add(out);
  for (const Tensor& t : operands) strided.Add(t);
  strided.Run([loop, state](char* const* at, const int64_t* strides, int64_t count) {
    loop(at, strides, count, state);
  });
  return state->zero_division ? RuntimeError("ZeroDivisionError") : Status::Ok();
}

// condition ? a : b; a and b are of the output's dtype.
Status Select(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  StridedLoop loop(out.sizes());
  loop.Add(out);
  loop.Add(condition);
  loop.Add(a);
  loop.Add(b);
  DispatchBytes(out.dtype(), [&loop]<typename T>() {
    loop.Run([](char* const* at, const int64_t* s, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        bool c = *reinterpret_cast<const uint8_t*>(at[1] + i * s[1]) != 0;
        *reinterpret_cast<T*>(at[0] + i * s[0]) =
            *reinterpret_cast<const T*>(c ? at[2] + i * s[2] : at[3] + i * s[3]);
      }
    });
  });
  return Status::Ok();
}

template <typename T>
void LerpLoop(char* const* at, const int64_t* s, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T start = *reinterpret_cast<const T*>(at[1] + i * s[1]),
      end = *reinterpret_cast<const T*>(at[2] + i * s[2]);
    T weight = *reinterpret_cast<const T*>(at[3] + i * s[3]);
    *reinterpret_cast<T*>(at[0] + i * s[0]) =
        std::fabs(weight) < T(0.5) ? start + weight * (end - start) : end - (end - start) * (T(1) - weight);
  }
}

Status Clamp(const Tensor& out, const Tensors& operands, DType compute) {
  LoopState state;
  Tensor current = operands[0];
  if (operands[1].defined()) {
    TB_RETURN_IF_ERROR(RunLoop(FindBinaryLoop(Op::k_maximum, compute), out, {current, operands[1]}, &state));
    current = out;
  }
  if (!operands[2].defined()) return Status::Ok();
  return RunLoop(FindBinaryLoop(Op::k_minimum, compute), out, {current, operands[2]}, &state);
}

PointwiseLoop FindLoop(Op op, const Tensors& operands, const Attrs& attrs, DType compute, LoopState* state) {
  switch (op) {
    case Op::k_add:
    case Op::k_sub: {
      double alpha = NumberOf(attrs[0]);
      if (alpha == 1) break;
      bool minus = op == Op::k_sub;
      state->number = minus ? 0 - alpha : alpha;  // never -0
      state->integer = IsFloatAttr(attrs[0]) ? static_cast<int64_t>(alpha) : IntAttr(attrs, 0);
      if (minus) state->integer = WrapSub<int64_t>(0, state->integer);
      return FindAddScaledLoop(compute);
    }
    case Op::k_div: {
      const std::string* mode = StringAttr(attrs, 0);
      if (!mode) break;
      return *mode == "floor" ? FindBinaryLoop(Op::k_floor_divide, compute) : FindTruncDivideLoop(compute);
    }
    case Op::k_round: {
      int64_t decimals = IntAttr(attrs, 0);
      if (decimals == 0) break;
      state->number = std::pow(10.0, static_cast<double>(std::abs(decimals))) * (decimals < 0 ? -1 : 1);
      return FindRoundDecimalsLoop(compute);
    }
    default: break;
  }
  return operands.size() == 1 ? FindUnaryLoop(op, compute) : FindBinaryLoop(op, compute);
}

}  // namespace

Result<Tensors> ExecutePointwise(Op op, const Tensors& operands, const Attrs& attrs,
                                 const TensorMeta& output) {
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(output.dtype, output.sizes));
  if (output.weak) {
    TensorMeta meta = out.meta();
    meta.weak = true;
    out = out.WithMeta(std::move(meta));
  }
  switch (op) {  // copies
    case Op::k_to:
    case Op::k_clone: CopyElements(out, operands[0]); return Tensors{out};
    case Op::k_copy:
    case Op::k_fill: CopyElements(out, operands[1]); return Tensors{out};
    default: break;
  }
  std::vector<const TensorMeta*> metas;
  for (const Tensor& t : operands) metas.push_back(t.defined() ? &t.meta() : nullptr);
  DType compute = ComputeDType(op, metas, attrs);
  Tensors converted;
  for (size_t i = 0; i < operands.size(); ++i) {
    bool is_condition = (op == Op::k_where && i == 0) || (op == Op::k_masked_fill && i == 1);
    if (!operands[i].defined() || is_condition) {
      converted.push_back(operands[i]);
    } else {
      TB_ASSIGN_OR_RETURN(Tensor t, AsDType(operands[i], compute));
      converted.push_back(std::move(t));
    }
  }
  LoopState state;
  switch (op) {
    case Op::k_where:
      TB_RETURN_IF_ERROR(Select(out, converted[0], converted[1], converted[2]));
      return Tensors{out};
    case Op::k_masked_fill:
      TB_RETURN_IF_ERROR(Select(out, converted[1], converted[2], converted[0]));
      return Tensors{out};
    case Op::k_clamp: TB_RETURN_IF_ERROR(Clamp(out, converted, compute)); return Tensors{out};
    case Op::k_lerp: {
      StridedLoop loop(out.sizes());
      loop.Add(out);
      for (const Tensor& t : converted) loop.Add(t);
      DispatchFloating(compute, [&loop]<typename T>() { loop.Run(&LerpLoop<T>); });
      return Tensors{out};
    }
    case Op::k_pow:
      if (operands[1].meta().weak) {
        if (compute == DType::kBool) {  // x ** True is x, x ** False is 1
          CopyElements(out, ScalarAsInt64(operands[1]) ? converted[0] : Tensor::WeakBool(true));
          return Tensors{out};
        }
        if (!IsFloating(compute) && ScalarAsInt64(operands[1]) < 0) {
          return RuntimeError("Integers to negative integer powers are not allowed.");
        }
        if (PointwiseLoop loop = FindPowNumberLoop(ScalarAsDouble(operands[1]), compute)) {
          TB_RETURN_IF_ERROR(RunLoop(loop, out, {converted[0]}, &state));
          return Tensors{out};
        }
      }
      break;
    default: break;
  }
  PointwiseLoop loop = FindLoop(op, converted, attrs, compute, &state);
  TB_RETURN_IF_ERROR(RunLoop(loop, out, converted, &state));
  return Tensors{out};
}

}  // namespace thirdbook
