// Makes inner loops from functions on elements: one pass for contiguous arrays, which the compiler
// vectorises, one for any strides.
#pragma once

#include "tensor/element.h"
#include "tensor/pointwise.h"

namespace thirdbook {

template <typename Out, typename In, auto F>
void UnaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState*) {
  char* out = at[0];
  const char* in = at[1];
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
    for (int64_t i = 0; i < count; ++i) {
      StoreElement<Out>(out + i * static_cast<int64_t>(sizeof(Out)),
                        F(LoadElement<In>(in + i * static_cast<int64_t>(sizeof(In)))));
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i, out += strides[0], in += strides[1])
    StoreElement<Out>(out, F(LoadElement<In>(in)));
}

// Fast passes for float32 only: contiguous with contiguous, and with a number on either side.
template <typename Out, typename T, auto F>
void BinaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState*) {
  char* out = at[0];
  const char *a = at[1], *b = at[2];
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kOut = sizeof(Out), kIn = sizeof(T);
    if (strides[0] == kOut && strides[1] == kIn && strides[2] == kIn) {
      for (int64_t i = 0; i < count; ++i) {
        StoreElement<Out>(out + i * kOut, F(LoadElement<T>(a + i * kIn), LoadElement<T>(b + i * kIn)));
      }
      return;
    }
    if (strides[0] == kOut && strides[1] == kIn && strides[2] == 0) {
      T y = LoadElement<T>(b);
      for (int64_t i = 0; i < count; ++i)
        StoreElement<Out>(out + i * kOut, F(LoadElement<T>(a + i * kIn), y));
      return;
    }
    if (strides[0] == kOut && strides[1] == 0 && strides[2] == kIn) {
      T x = LoadElement<T>(a);
      for (int64_t i = 0; i < count; ++i)
        StoreElement<Out>(out + i * kOut, F(x, LoadElement<T>(b + i * kIn)));
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i, out += strides[0], a += strides[1], b += strides[2]) {
    StoreElement<Out>(out, F(LoadElement<T>(a), LoadElement<T>(b)));
  }
}

// F(a, b, state), for what a loop cannot do without its state.
template <typename Out, typename T, auto F>
void StatefulLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  char* out = at[0];
  const char *a = at[1], *b = at[2];
  for (int64_t i = 0; i < count; ++i, out += strides[0], a += strides[1], b += strides[2]) {
    StoreElement<Out>(out, F(LoadElement<T>(a), LoadElement<T>(b), state));
  }
}

}  // namespace thirdbook
