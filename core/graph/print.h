// Text of graph pieces, shared by everything that prints them.
#pragma once

#include <string>

#include "graph/graph.h"

namespace thirdbook {

std::string MetaText(
    const TensorMeta& meta);  // "f32[4, 3]", with strides when not contiguous: "f32[3, 4] strides [1, 3]"
std::string AttrText(const Attr& attr);                 // as Python would write it
std::string ConstantText(const Tensor& value);          // the value of up to 8 elements, else "[...]"
std::string NodeText(const Graph& graph, size_t node);  // "%2 = mul(%0, %1) f32[4]"

}  // namespace thirdbook
