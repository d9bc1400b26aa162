// The one door to every kernel: check, infer, dispatch by class.
#include "tensor/kernels.h"

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/families.h"
#include "tensor/pointwise.h"
#include "tensor/reduction.h"

namespace thirdbook {
namespace {

Result<Tensors> ExecuteView(Op op, const Tensor& self, const Attrs& attrs, const TensorMeta& output) {
  if (!AliasesOperand(op, self.meta(),
                      attrs)) {  // reshape or contiguous of something scattered: copy, then shape
    TB_ASSIGN_OR_RETURN(Tensor copy, ToContiguous(self, self.dtype()));
    return Tensors{copy.WithMeta(output)};
  }
  if (op == Op::k_as_strided) {
    int64_t low, high, item = ItemSize(self.dtype());
    Extent(output, &low, &high);
    if (output.numel() > 0 && high * item > static_cast<int64_t>(self.storage()->bytes())) {
      return RuntimeError("setStorage: sizes " + SizesText(output.sizes) + ", strides " +
                          SizesText(output.strides) + ", storage offset " + std::to_string(output.offset) +
                          ", and itemsize " + std::to_string(item) + " requiring a storage size of " +
                          std::to_string(high * item) + " are out of bounds for storage of size " +
                          std::to_string(self.storage()->bytes()));
    }
  }
  return Tensors{self.WithMeta(output)};
}

Result<Tensors> Dispatch(const KernelCall& call) {
  switch (Info(call.op).op_class) {
    case OpClass::kSource: return ExecuteCreation(call);
    case OpClass::kRandom: return ExecuteRandom(call);
    case OpClass::kPointwise: return ExecutePointwise(call.op, call.operands, call.attrs, call.outputs[0]);
    case OpClass::kReduction: return ExecuteReduction(call.op, call.operands, call.attrs, call.outputs);
    case OpClass::kView:
    case OpClass::kMaybeView: return ExecuteView(call.op, call.in(0), call.attrs, call.outputs[0]);
    default: break;
  }
  switch (call.op) {
    case Op::k_softmax:
    case Op::k_log_softmax:
    case Op::k_layer_norm:
    case Op::k_cumsum:
    case Op::k_cumprod: return ExecuteAlongDim(call);
    case Op::k_sort:
    case Op::k_argsort:
    case Op::k_topk: return ExecuteOrder(call);
    case Op::k_matmul:
    case Op::k_mm:
    case Op::k_mv:
    case Op::k_bmm:
    case Op::k_addmm:
    case Op::k_linear:
    case Op::k_dot:
    case Op::k_outer: return ExecuteProduct(call);
    case Op::k_linalg_solve:
    case Op::k_linalg_inv:
    case Op::k_linalg_cholesky:
    case Op::k_linalg_det: return ExecuteSolver(call);
    case Op::k_conv1d:
    case Op::k_conv2d: return ExecuteConvolution(call);
    case Op::k_max_pool2d:
    case Op::k_avg_pool2d:
    case Op::k_adaptive_avg_pool2d:
    case Op::k_upsample_nearest2d:
    case Op::k_upsample_bilinear2d: return ExecuteSpatial(call);
    case Op::k_cat:
    case Op::k_stack: {
      // The pieces may have other dtypes than the result: copying converts.
      return ExecuteRearrange(call);
    }
    case Op::k_flip:
    case Op::k_roll:
    case Op::k_repeat:
    case Op::k_tril:
    case Op::k_triu:
    case Op::k_constant_pad_nd:
    case Op::k_slice_scatter:
    case Op::k_select_scatter:
    case Op::k_as_strided_scatter: return ExecuteRearrange(call);
    default: return ExecuteIndexing(call);
  }
}

}  // namespace

Result<std::vector<Tensor>> OnDevice(Result<std::vector<Tensor>> results, Device device) {
  if (device == Device::kCpu || !results.ok()) return results;
  for (Tensor& t : *results) {
    TensorMeta meta = t.meta();
    meta.device = device;
    t = t.WithMeta(std::move(meta));
  }
  return results;
}

Result<std::vector<Tensor>> Execute(Op op, const std::vector<Tensor>& operands, const Attrs& attrs) {
  std::vector<const TensorMeta*> metas;
  metas.reserve(operands.size());
  for (const Tensor& t : operands) metas.push_back(t.defined() ? &t.meta() : nullptr);
  const Device device = DeviceOf(metas);
  if (Info(op).op_class != OpClass::kView) {  // a view touches no element
    for (const Tensor& t : operands) TB_RETURN_IF_ERROR(t.ToHost());
  }
  Attrs all = CompleteAttrs(op, attrs);
  if (IsDataDependent(op, metas, all)) {
    TB_RETURN_IF_ERROR(CheckArguments(op, metas, all));
    return OnDevice(ExecuteDataDependent({op, operands, all, {}}), device);
  }
  TB_ASSIGN_OR_RETURN(std::vector<TensorMeta> outputs, Infer(op, metas, all));
  return OnDevice(Dispatch({op, operands, all, outputs}), device);
}

}  // namespace thirdbook
