// Tensors from literals, and back, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/kernels.h"

namespace thirdbook {

// bool is given as vector<bool>, stored as bytes.
template <typename T>
Tensor Make(Sizes sizes, const std::vector<T>& values) {
  Tensor t = Tensor::Empty(kDTypeOf<T>, std::move(sizes)).value();
  EXPECT_EQ(static_cast<size_t>(t.meta().numel()), values.size());
  for (size_t i = 0; i < values.size(); ++i) StoreElement<T>(t.data<T>() + i, values[i]);
  return t;
}
template <typename T>
Tensor Vector(const std::vector<T>& values) {
  return Make<T>({static_cast<int64_t>(values.size())}, values);
}

// Elements in row-major order.
template <typename T>
std::vector<T> Values(const Tensor& t) {
  EXPECT_EQ(t.dtype(), kDTypeOf<T>);
  Tensor dense = ToContiguous(t, t.dtype()).value();
  std::vector<T> out;
  for (int64_t i = 0; i < dense.meta().numel(); ++i) out.push_back(LoadElement<T>(dense.data<T>() + i));
  return out;
}

inline std::vector<Tensor> EagerAll(Op op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  Result<std::vector<Tensor>> result = Execute(op, operands, attrs);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : std::vector<Tensor>(3);
}
inline Tensor Eager(Op op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  return EagerAll(op, operands, attrs)[0];
}

// The message; fails the test when the kind is another one or nothing is wrong.
inline std::string ErrorOf(Op op, const std::vector<Tensor>& operands, const Attrs& attrs, ErrorKind kind) {
  Result<std::vector<Tensor>> result = Execute(op, operands, attrs);
  EXPECT_FALSE(result.ok());
  if (result.ok()) return "";
  EXPECT_EQ(result.status().kind(), kind) << result.status().message();
  return result.status().message();
}

}  // namespace thirdbook
