// Small graphs for tests.
#pragma once

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "tensor/convert.h"

namespace thirdbook {

class Build {
 public:
  ValueRef Input(const char* name, DType dtype, Sizes sizes) {
    return graph.AddInput(name, ContiguousMeta(dtype, std::move(sizes)));
  }
  ValueRef Number(int64_t x) { return graph.AddConstant(Tensor::WeakInt(x), true); }
  ValueRef Number(double x) { return graph.AddConstant(Tensor::WeakFloat(x), true); }
  ValueRef Do(Op op, std::vector<ValueRef> operands, Attrs attrs = {}) {
    Result<ValueRef> v = graph.AddNode(op, std::move(operands), std::move(attrs));
    EXPECT_TRUE(v.ok()) << v.status().message();
    return v.ok() ? *v : ValueRef{};
  }
  void Out(ValueRef v) { graph.AddOutput(v); }

  Graph graph;
};

inline Tensor FloatTensor(Sizes sizes, const std::vector<float>& values) {
  Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes)).value();
  for (size_t i = 0; i < values.size(); ++i) t.data<float>()[i] = values[i];
  return t;
}
inline std::vector<float> FloatValues(const Tensor& t) {
  Tensor dense = ToContiguous(t, DType::kFloat32).value();
  return std::vector<float>(dense.data<float>(), dense.data<float>() + dense.meta().numel());
}

}  // namespace thirdbook
