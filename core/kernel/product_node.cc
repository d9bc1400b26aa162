#include "kernel/product_node.h"

#include "graph/attrs.h"

namespace thirdbook {
namespace {

class Reader {
 public:
  Reader(const Graph& graph, const ValueMetas& metas, bool small) : g_(graph), m_(metas), small_(small) {}

  bool AsProduct(NodeId id, ProductNode* out) const {
    const Node& node = g_.node(id);
    const TensorMeta& result = m_[static_cast<size_t>(id.value)][0];
    if (result.dtype != DType::kFloat32 || result.numel() == 0) return false;
    switch (node.op) {
      case Op::k_mm:
      case Op::k_bmm:
      case Op::k_matmul: return AsMatmul(node.operands[0], node.operands[1], result, out);
      case Op::k_mv:
      case Op::k_dot: return small_ && AsMatmul(node.operands[0], node.operands[1], result, out);
      case Op::k_addmm:
        if (NumberOf(node.attrs[0]) != 1 || NumberOf(node.attrs[1]) != 1) return false;
        if (!AsMatmul(node.operands[1], node.operands[2], result, out)) return false;
        return SetBias(node.operands[0], result, out);
      case Op::k_linear: {
        const TensorMeta& weight = Meta(node.operands[1]);
        if (weight.rank() != 2) return false;
        TensorMeta turned = weight;
        std::swap(turned.sizes[0], turned.sizes[1]);
        std::swap(turned.strides[0], turned.strides[1]);
        if (!AsMatmul(node.operands[0], node.operands[1], result, out, &turned)) return false;
        return node.operands.size() < 3 || !node.operands[2].defined() ||
               SetBias(node.operands[2], result, out);
      }
      case Op::k_conv1d:
      case Op::k_conv2d: return AsConvolution(node, result, out);
      default: return false;
    }
  }
  bool SetBias(ValueRef bias, const TensorMeta& result, ProductNode* out) const {
    const TensorMeta& meta = Meta(bias);
    if (meta.dtype != DType::kFloat32 || meta.rank() > result.rank()) return false;
    out->bias = bias;
    for (int64_t d = result.rank() - meta.rank(); d < result.rank(); ++d)
      out->bias_dims.push_back(static_cast<int>(d));
    return true;
  }
  bool AsMatmul(ValueRef a, ValueRef b, const TensorMeta& whole, ProductNode* out,
                const TensorMeta* b_meta = nullptr) const {
    TensorMeta ma = Meta(a), mb = b_meta ? *b_meta : Meta(b), result = whole;
    if (small_) {  // a vector is a row on the left, a column on the right
      if (ma.rank() == 1) {
        const auto at = result.sizes.end() - (mb.rank() > 1);
        result.sizes.insert(at, 1);
        ma.sizes.insert(ma.sizes.begin(), 1), ma.strides.insert(ma.strides.begin(), 0);
      }
      if (mb.rank() == 1) result.sizes.push_back(1), mb.sizes.push_back(1), mb.strides.push_back(0);
    }
    if (ma.rank() < 2 || mb.rank() < 2 || ma.dtype != DType::kFloat32 || mb.dtype != DType::kFloat32)
      return false;
    const size_t rank = result.sizes.size();
    ProductShape& s = out->shape;
    s.m = result.sizes[rank - 2], s.n = result.sizes[rank - 1], s.k = ma.sizes.back();
    if (!small_ && (s.m < 2 || s.n < 4 || s.m * s.n * s.k < 512))
      return false;  // the library's loop does as well
    s.a_row = ma.strides[ma.strides.size() - 2], s.a_column = ma.strides.back();
    s.b_row = mb.strides[mb.strides.size() - 2], s.b_column = mb.strides.back();
    s.c_row = s.n;
    int64_t batches = 1;
    for (size_t d = 0; d + 2 < rank; ++d) batches *= result.sizes[d];
    s.a_batch.clear(), s.b_batch.clear(), s.c_batch.clear();
    for (int64_t i = 0; i < batches; ++i) {
      const auto offset = [&](const TensorMeta& meta) {
        int64_t rest = i, total = 0;
        for (size_t d = rank - 2; d-- > 0;) {
          const int64_t index = rest % result.sizes[d];
          rest /= result.sizes[d];
          const auto own = static_cast<int64_t>(d) - (static_cast<int64_t>(rank) - meta.rank());
          if (own >= 0 && meta.sizes[static_cast<size_t>(own)] != 1)
            total += index * meta.strides[static_cast<size_t>(own)];
        }
        return total;
      };
      s.a_batch.push_back(offset(ma)), s.b_batch.push_back(offset(mb)), s.c_batch.push_back(i * s.m * s.n);
    }
    out->a = a, out->b = b;
    out->row_dim = static_cast<int>(rank) - 2;
    return true;
  }
  bool AsConvolution(const Node& node, const TensorMeta& result, ProductNode* out) const {
    const TensorMeta& image = Meta(node.operands[0]);
    const TensorMeta& weight = Meta(node.operands[1]);
    const size_t spatial = node.op == Op::k_conv1d ? 1 : 2;
    if (!image.IsContiguous() || !weight.IsContiguous() || image.dtype != DType::kFloat32) return false;
    const bool batched = image.sizes.size() == spatial + 2;
    const int64_t batch = batched ? image.sizes[0] : 1, channels = image.sizes[batched ? 1 : 0];
    const int64_t groups = IntAttr(node.attrs, 3);
    const Sizes &stride = ListAttr(node.attrs, 0), &padding = ListAttr(node.attrs, 1),
                &dilation = ListAttr(node.attrs, 2);
    ProductShape& s = out->shape;
    ConvolutionShape& c = s.image;
    s.convolution = true;
    c.channels = channels / groups;
    c.width = image.sizes.back(), c.height = spatial == 2 ? image.sizes[image.sizes.size() - 2] : 1;
    c.kernel_w = weight.sizes.back(), c.kernel_h = spatial == 2 ? weight.sizes[2] : 1;
    c.stride_w = stride.back(), c.stride_h = spatial == 2 ? stride[0] : 1;
    c.padding_w = padding.back(), c.padding_h = spatial == 2 ? padding[0] : 0;
    c.dilation_w = dilation.back(), c.dilation_h = spatial == 2 ? dilation[0] : 1;
    c.out_w = result.sizes.back(), c.out_h = spatial == 2 ? result.sizes[result.sizes.size() - 2] : 1;
    const int64_t filters = weight.sizes[0];
    s.m = filters / groups, s.n = c.out_h * c.out_w, s.k = c.channels * c.kernel_h * c.kernel_w;
    if (!small_ && s.m * s.n * s.k < 512) return false;
    s.a_row = s.k, s.a_column = 1, s.c_row = s.n;
    s.a_batch.clear(), s.b_batch.clear(), s.c_batch.clear();
    for (int64_t i = 0; i < batch; ++i) {
      for (int64_t g = 0; g < groups; ++g) {
        s.a_batch.push_back(g * s.m * s.k);
        s.b_batch.push_back((i * groups + g) * c.channels * c.height * c.width);
        s.c_batch.push_back((i * groups + g) * s.m * s.n);
      }
    }
    out->a = node.operands[1], out->b = node.operands[0];
    out->row_dim = batched ? 1 : 0;
    out->groups = static_cast<int>(groups);
    if (node.operands.size() > 2 && node.operands[2].defined()) {
      if (Meta(node.operands[2]).dtype != DType::kFloat32) return false;
      out->bias = node.operands[2];
      out->bias_dims = {out->row_dim};
    }
    return true;
  }

 private:
  const TensorMeta& Meta(ValueRef v) const {
    return m_[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  }

  const Graph& g_;
  const ValueMetas& m_;
  const bool small_;
};

}  // namespace

bool AsProduct(const Graph& graph, const ValueMetas& metas, NodeId id, bool small, ProductNode* out) {
  return Reader(graph, metas, small).AsProduct(id, out);
}

}  // namespace thirdbook
