// One loop over several strided arrays of the same (broadcast) sizes.
//
// In: sizes, and per array an address and strides in elements. Out: `inner` is called with addresses, strides
// in bytes and a count, for runs that are as long as the layouts allow. Invariant: runs come in row-major
// order of the sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/meta.h"
#include "tensor/tensor.h"

namespace thirdbook {

inline constexpr int kMaxArrays = 4;

class StridedLoop {
 public:
  explicit StridedLoop(const Sizes& sizes);
  // Dimensions align at the end; missing ones and those of size 1 are repeated.
  void Add(const Tensor& tensor);
  void Add(void* data, const Sizes& sizes, const Sizes& strides, int item_size);

  // inner(char* const* addresses, const int64_t* byte_strides, int64_t count)
  template <typename Inner>
  void Run(Inner inner) {
    RunErased([](void* f, char* const* at, const int64_t* strides,
                 int64_t count) { (*static_cast<Inner*>(f))(at, strides, count); },
              &inner);
  }

 private:
  // One copy of the loop, not one for every inner function: the side module has to stay small.
  void RunErased(void (*call)(void* inner, char* const* at, const int64_t* strides, int64_t count),
                 void* inner);
  void Coalesce();  // drops dimensions of size 1, merges those that lie evenly in every array

  Sizes sizes_;
  size_t rank_ = 0;
  bool empty_ = false;
  int arrays_ = 0;
  char* data_[kMaxArrays] = {};
  std::vector<int64_t> strides_[kMaxArrays];  // bytes
};

}  // namespace thirdbook
