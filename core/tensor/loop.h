// Makes inner loops from functions on elements: for float32 one pass for contiguous arrays, which the
// compiler vectorises; one for any strides.
#pragma once

#include "tensor/element.h"
#include "tensor/pointwise.h"

namespace thirdbook {

// There are some three hundred of these loops: those for integers are compiled for size.
#if defined(__clang__)
#define TB_SMALL __attribute__((minsize, noinline))
#else
#define TB_SMALL
#endif

template <typename Out, typename In, auto F>
inline void StridedUnaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState*) {
  char* out = at[0];
  const char* in = at[1];
  for (int64_t i = 0; i < count; ++i, out += strides[0], in += strides[1])
    StoreElement<Out>(out, F(LoadElement<In>(in)));
}

template <typename Out, typename In, auto F>
TB_SMALL void SmallUnaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  StridedUnaryLoop<Out, In, F>(at, strides, count, state);
}

// Contiguous with contiguous.
template <typename Out, auto F>
void FloatUnaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  constexpr int64_t kOut = sizeof(Out), kIn = sizeof(float);
  if (strides[0] != kOut || strides[1] != kIn)
    return StridedUnaryLoop<Out, float, F>(at, strides, count, state);
  for (int64_t i = 0; i < count; ++i)
    StoreElement<Out>(at[0] + i * kOut, F(LoadElement<float>(at[1] + i * kIn)));
}

template <typename Out, typename In, auto F>
constexpr PointwiseLoop UnaryLoop() {
  if constexpr (std::is_same_v<In, float>)
    return &FloatUnaryLoop<Out, F>;
  else if constexpr (std::is_floating_point_v<In>)
    return &StridedUnaryLoop<Out, In, F>;
  else
    return &SmallUnaryLoop<Out, In, F>;
}

template <typename Out, typename T, auto F>
inline void StridedBinaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState*) {
  char* out = at[0];
  const char *a = at[1], *b = at[2];
  for (int64_t i = 0; i < count; ++i, out += strides[0], a += strides[1], b += strides[2])
    StoreElement<Out>(out, F(LoadElement<T>(a), LoadElement<T>(b)));
}

template <typename Out, typename T, auto F>
TB_SMALL void SmallBinaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  StridedBinaryLoop<Out, T, F>(at, strides, count, state);
}

// Contiguous with contiguous, and with a number on either side.
template <typename Out, auto F>
void FloatBinaryLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  constexpr int64_t kOut = sizeof(Out), kIn = sizeof(float);
  char* out = at[0];
  const char *a = at[1], *b = at[2];
  const bool fast = strides[0] == kOut;
  if (fast && strides[1] == kIn && strides[2] == kIn) {
    for (int64_t i = 0; i < count; ++i)
      StoreElement<Out>(out + i * kOut, F(LoadElement<float>(a + i * kIn), LoadElement<float>(b + i * kIn)));
  } else if (fast && strides[1] == kIn && strides[2] == 0) {
    const float y = LoadElement<float>(b);
    for (int64_t i = 0; i < count; ++i)
      StoreElement<Out>(out + i * kOut, F(LoadElement<float>(a + i * kIn), y));
  } else if (fast && strides[1] == 0 && strides[2] == kIn) {
    const float x = LoadElement<float>(a);
    for (int64_t i = 0; i < count; ++i)
      StoreElement<Out>(out + i * kOut, F(x, LoadElement<float>(b + i * kIn)));
  } else {
    StridedBinaryLoop<Out, float, F>(at, strides, count, state);
  }
}

template <typename Out, typename T, auto F>
constexpr PointwiseLoop BinaryLoop() {
  if constexpr (std::is_same_v<T, float>)
    return &FloatBinaryLoop<Out, F>;
  else if constexpr (std::is_floating_point_v<T>)
    return &StridedBinaryLoop<Out, T, F>;
  else
    return &SmallBinaryLoop<Out, T, F>;
}

// F(a, b, state), for what a loop cannot do without its state.
template <typename Out, typename T, auto F>
TB_SMALL void StatefulLoop(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  char* out = at[0];
  const char *a = at[1], *b = at[2];
  for (int64_t i = 0; i < count; ++i, out += strides[0], a += strides[1], b += strides[2]) {
    StoreElement<Out>(out, F(LoadElement<T>(a), LoadElement<T>(b), state));
  }
}

}  // namespace thirdbook
