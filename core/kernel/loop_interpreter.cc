#include "kernel/loop_interpreter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "base/status.h"
#include "kernel/host_functions.h"

namespace thirdbook {
namespace {

constexpr int kBlock = 128;

// One value for a block of elements. Bools are 0 / 1 in `i`.
union Values {
  float f[kBlock];
  double d[kBlock];
  int32_t i[kBlock];
  int64_t l[kBlock];
};

template <typename T>
T* Lanes(Values& v);
template <>
float* Lanes<float>(Values& v) {
  return v.f;
}
template <>
double* Lanes<double>(Values& v) {
  return v.d;
}
template <>
int32_t* Lanes<int32_t>(Values& v) {
  return v.i;
}
template <>
int64_t* Lanes<int64_t>(Values& v) {
  return v.l;
}

template <typename F>
void ForType(LaneType type, F f) {
  switch (type) {
    case LaneType::kBool:
    case LaneType::kI32: f(int32_t{}); break;
    case LaneType::kI64: f(int64_t{}); break;
    case LaneType::kF32: f(float{}); break;
    case LaneType::kF64: f(double{}); break;
  }
}

// Floating to integer as wasm's trunc_sat: saturates, NaN is 0.
template <typename To, typename From>
To Convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(x == x)) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}
template <typename T>
T NanMin(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <typename T>
T NanMax(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

class Run {
 public:
  Run(const LoopKernel& kernel, const Cell* cells)
      : k_(kernel),
        cells_(cells),
        depths_(Depths(kernel)),
        values_(new Values[kernel.instrs.size()]),
        folds_(new Values[kernel.folds.size() + 1]),
        sums_(kernel.folds.size(), 0.0) {}

  void Whole() {
    count_ = 1;
    for (int d = k_.outer; d < k_.dims(); ++d) count_ *= Size(d);
    int64_t rows = 1;
    for (int d = 0; d < k_.outer; ++d) rows *= Size(d);
    std::vector<int64_t> index(static_cast<size_t>(k_.dims()) + 1, 0);
    row_.assign(k_.buffers.size(), nullptr);
    for (int64_t r = 0; r < rows; ++r) {
      for (size_t b = 0; b < k_.buffers.size(); ++b) {
        char* p = reinterpret_cast<char*>(cells_[b]);
        for (int d = 0; d < k_.outer; ++d)
          p += index[static_cast<size_t>(d)] * Stride(static_cast<int>(b), d);
        row_[b] = p;
      }
      Row();
      for (int d = k_.outer - 1; d >= 0 && ++index[static_cast<size_t>(d)] == Size(d); --d)
        index[static_cast<size_t>(d)] = 0;
    }
  }

 private:
  int64_t Size(int d) const { return cells_[SizeCell(k_, d)]; }
  int64_t Stride(int b, int d) const { return cells_[StrideCell(k_, b, d)]; }
  Values& V(int id) { return values_[static_cast<size_t>(id)]; }

  void Row() {
    for (const Stage& stage : k_.stages) {
      for (int id : stage.body) {
        if (depths_[static_cast<size_t>(id)] != Depth::kElement) Compute(id, 1);
      }
      if (!stage.element) {
        for (const Store& store : stage.stores) Write(store, 1);
        continue;
      }
      for (int f : stage.folds) StartFold(f);
      std::vector<int64_t> index(static_cast<size_t>(k_.inner) + 1, 0);
      for (first_ = 0; first_ < count_; first_ += kBlock) {
        const int n = static_cast<int>(count_ - first_ < kBlock ? count_ - first_ : kBlock);
        Addresses(index, n);
        for (int id : stage.body) {
          if (depths_[static_cast<size_t>(id)] == Depth::kElement) Compute(id, n);
        }
        for (const Store& store : stage.scratch_stores) WriteScratch(store, n);
        for (const Store& store : stage.stores) Write(store, n);
        for (int f : stage.folds) Accumulate(f, n);
      }
    }
  }

  // Offsets of the next n elements of every buffer that varies inside the row.
  void Addresses(std::vector<int64_t>& index, int n) {
    offsets_.resize(k_.buffers.size() * kBlock);
    for (int e = 0; e < n; ++e) {
      for (size_t b = 0; b < k_.buffers.size(); ++b) {
        int64_t offset = 0;
        for (int d = 0; d < k_.inner; ++d) {
          offset += index[static_cast<size_t>(d)] * Stride(static_cast<int>(b), k_.outer + d);
        }
        offsets_[b * kBlock + static_cast<size_t>(e)] = offset;
      }
      for (int d = k_.inner - 1; d >= 0 && ++index[static_cast<size_t>(d)] == Size(k_.outer + d); --d) {
        index[static_cast<size_t>(d)] = 0;
      }
    }
  }
  char* At(size_t buffer, int e) const {
    const bool varies = k_.buffers[buffer].varies >> k_.outer;
    return row_[buffer] + (varies ? offsets_[buffer * kBlock + static_cast<size_t>(e)] : 0);
  }

  template <typename From>
  void ReadAs(size_t buffer, LaneType type, Values& out, int n) {
    ForType(type, [&](auto zero) {
      using T = decltype(zero);
      T* lanes = Lanes<T>(out);
      for (int e = 0; e < n; ++e) {
        From x;
        std::memcpy(&x, At(buffer, e), sizeof x);
        lanes[e] = type == LaneType::kBool ? static_cast<T>(x != From(0)) : Convert<T>(x);
      }
    });
  }
  void Read(const Instr& instr, Values& out, int n) {
    const auto b = static_cast<size_t>(instr.imm);
    switch (k_.buffers[b].dtype) {
      case DType::kBool:
      case DType::kUInt8: ReadAs<uint8_t>(b, instr.type, out, n); break;
      case DType::kInt32: ReadAs<int32_t>(b, instr.type, out, n); break;
      case DType::kInt64: ReadAs<int64_t>(b, instr.type, out, n); break;
      case DType::kFloat32: ReadAs<float>(b, instr.type, out, n); break;
      case DType::kFloat64: ReadAs<double>(b, instr.type, out, n); break;
    }
  }
  template <typename To, typename T>
  void WriteAs(size_t buffer, const T* lanes, bool scalar, int n) {
    for (int e = 0; e < n; ++e) {
      const To x = static_cast<To>(lanes[scalar ? 0 : e]);
      std::memcpy(At(buffer, e), &x, sizeof x);
    }
  }
  void Write(const Store& store, int n) {
    const auto b = static_cast<size_t>(store.buffer);
    Values& v = V(store.value);
    const bool scalar = depths_[static_cast<size_t>(store.value)] != Depth::kElement;
    if (!(k_.buffers[b].varies >> k_.outer)) n = 1;
    switch (k_.buffers[b].dtype) {
      case DType::kBool:
      case DType::kUInt8: WriteAs<uint8_t>(b, v.i, scalar, n); break;
      case DType::kInt32: WriteAs<int32_t>(b, v.i, scalar, n); break;
      case DType::kInt64: WriteAs<int64_t>(b, v.l, scalar, n); break;
      case DType::kFloat32: WriteAs<float>(b, v.f, scalar, n); break;
      case DType::kFloat64: WriteAs<double>(b, v.d, scalar, n); break;
    }
  }
  char* Scratch(int s) const {
    const int width = IsWide(k_.scratch[static_cast<size_t>(s)]) ? 8 : 4;
    return reinterpret_cast<char*>(cells_[ScratchCell(k_, s)]) + first_ * width;
  }
  void WriteScratch(const Store& store, int n) {
    const int width = IsWide(k_.scratch[static_cast<size_t>(store.buffer)]) ? 8 : 4;
    std::memcpy(Scratch(store.buffer), &V(store.value), static_cast<size_t>(n * width));
  }

  // Floating sums are kept in double, one addition a block.
  static bool SumsInDouble(const Fold& fold) { return fold.kind == FoldKind::kSum && IsFloat(fold.type); }

  void StartFold(int f) {
    const Fold& fold = k_.folds[static_cast<size_t>(f)];
    sums_[static_cast<size_t>(f)] = 0;
    ForType(fold.type, [&](auto zero) {
      using T = decltype(zero);
      T start = 0;
      if (fold.kind == FoldKind::kProd || fold.kind == FoldKind::kAll) start = 1;
      if (fold.kind == FoldKind::kMin) {
        start = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::max();
      }
      if (fold.kind == FoldKind::kMax || fold.kind == FoldKind::kMaxNumber) {
        start = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::min();
      }
      Lanes<T>(folds_[static_cast<size_t>(f)])[0] = start;
    });
  }
  void Accumulate(int f, int n) {
    const Fold& fold = k_.folds[static_cast<size_t>(f)];
    const bool scalar = depths_[static_cast<size_t>(fold.value)] != Depth::kElement;
    ForType(fold.type, [&](auto zero) {
      using T = decltype(zero);
      const T* x = Lanes<T>(V(fold.value));
      T& total = Lanes<T>(folds_[static_cast<size_t>(f)])[0];
      T block = fold.kind == FoldKind::kSum ? T(0) : total;  // sums: one partial sum a block
      for (int e = 0; e < n; ++e) {
        const T v = x[scalar ? 0 : e];
        switch (fold.kind) {
          case FoldKind::kSum: block = WrapAdd(block, v); break;
          case FoldKind::kProd: block = WrapMul(block, v); break;
          case FoldKind::kMin: block = NanMin(block, v); break;
          case FoldKind::kMax: block = NanMax(block, v); break;
          case FoldKind::kMaxNumber: block = block < v ? v : block; break;
          case FoldKind::kAny: block = block != T(0) || v != T(0) ? T(1) : T(0); break;
          case FoldKind::kAll: block = block != T(0) && v != T(0) ? T(1) : T(0); break;
        }
      }
      if (SumsInDouble(fold))
        total = static_cast<T>(sums_[static_cast<size_t>(f)] += static_cast<double>(block));
      else
        total = fold.kind == FoldKind::kSum ? WrapAdd(total, block) : block;
    });
  }

  // The operand's lanes; values that do not vary in the row are spread first.
  template <typename T>
  const T* In(int id, int n, T* spread) {
    T* lanes = Lanes<T>(V(id));
    if (n == 1 || depths_[static_cast<size_t>(id)] == Depth::kElement) return lanes;
    for (int e = 0; e < n; ++e) spread[e] = lanes[0];
    return spread;
  }

  template <typename T, typename F>
  void Unary(const Instr& instr, int id, int n, F f) {
    T spread[kBlock];
    const T* a = In<T>(instr.args[0], n, spread);
    T* out = Lanes<T>(V(id));
    for (int e = 0; e < n; ++e) out[e] = f(a[e]);
  }
  template <typename T, typename R, typename F>
  void Binary(const Instr& instr, int id, int n, F f) {
    T sa[kBlock], sb[kBlock];
    const T* a = In<T>(instr.args[0], n, sa);
    const T* b = In<T>(instr.args[1], n, sb);
    R* out = Lanes<R>(V(id));
    for (int e = 0; e < n; ++e) out[e] = f(a[e], b[e]);
  }
  template <typename T, typename F>
  void Ternary(const Instr& instr, int id, int n, F f) {
    T sa[kBlock], sb[kBlock], sc[kBlock];
    const T* a = In<T>(instr.args[0], n, sa);
    const T* b = In<T>(instr.args[1], n, sb);
    const T* c = In<T>(instr.args[2], n, sc);
    T* out = Lanes<T>(V(id));
    for (int e = 0; e < n; ++e) out[e] = f(a[e], b[e], c[e]);
  }

  template <typename T>
  void Call(const Instr& instr, int id, int n) {
    const HostFunction& host = GetHostFunction(static_cast<int>(instr.imm));
    const bool patch = instr.prim == Prim::k_patch1 || instr.prim == Prim::k_patch2;
    const int first = patch ? 2 : 0;
    T sx[kBlock], sy[kBlock], sf[kBlock];
    int32_t sm[kBlock];
    const T* x = In<T>(instr.args[first], n, sx);
    const T* y = host.arity == 2 ? In<T>(instr.args[first + 1], n, sy) : nullptr;
    const T* fast = patch ? In<T>(instr.args[1], n, sf) : nullptr;
    const int32_t* mask = patch ? In<int32_t>(instr.args[0], n, sm) : nullptr;
    T* out = Lanes<T>(V(id));
    for (int e = 0; e < n; ++e) {
      if (patch && !mask[e]) {
        out[e] = fast[e];
      } else if constexpr (std::is_same_v<T, float>) {
        out[e] = y ? host.f32_2(x[e], y[e]) : host.f32_1(x[e]);
      } else {
        out[e] = y ? host.f64_2(x[e], y[e]) : host.f64_1(x[e]);
      }
    }
  }

  template <typename T>
  void FloatOnly(const Instr& instr, int id, int n) {
    switch (instr.prim) {
      case Prim::k_div: Binary<T, T>(instr, id, n, [](T a, T b) { return a / b; }); break;
      case Prim::k_sqrt: Unary<T>(instr, id, n, [](T a) { return std::sqrt(a); }); break;
      case Prim::k_floor: Unary<T>(instr, id, n, [](T a) { return std::floor(a); }); break;
      case Prim::k_ceil: Unary<T>(instr, id, n, [](T a) { return std::ceil(a); }); break;
      case Prim::k_trunc: Unary<T>(instr, id, n, [](T a) { return std::trunc(a); }); break;
      case Prim::k_nearest: Unary<T>(instr, id, n, [](T a) { return std::nearbyint(a); }); break;
      case Prim::k_madd: Ternary<T>(instr, id, n, [](T a, T b, T c) { return a * b + c; }); break;
      case Prim::k_nmadd: Ternary<T>(instr, id, n, [](T a, T b, T c) { return c - a * b; }); break;
      case Prim::k_msub: Ternary<T>(instr, id, n, [](T a, T b, T c) { return a * b - c; }); break;
      case Prim::k_call1:
      case Prim::k_call2:
      case Prim::k_patch1:
      case Prim::k_patch2: Call<T>(instr, id, n); break;
      default: TB_CHECK(false);
    }
  }
  template <typename T>
  void IntOnly(const Instr& instr, int id, int n) {
    const bool is_bool = instr.type == LaneType::kBool;
    const int by = static_cast<int>(instr.imm);
    using U = std::make_unsigned_t<T>;
    switch (instr.prim) {
      case Prim::k_and_: Binary<T, T>(instr, id, n, [](T a, T b) { return a & b; }); break;
      case Prim::k_or_: Binary<T, T>(instr, id, n, [](T a, T b) { return a | b; }); break;
      case Prim::k_xor_: Binary<T, T>(instr, id, n, [](T a, T b) { return a ^ b; }); break;
      case Prim::k_not_: Unary<T>(instr, id, n, [is_bool](T a) { return is_bool ? T(!a) : T(~a); }); break;
      case Prim::k_shl:
        Unary<T>(instr, id, n, [by](T a) { return static_cast<T>(static_cast<U>(a) << by); });
        break;
      case Prim::k_shr: Unary<T>(instr, id, n, [by](T a) { return static_cast<T>(a >> by); }); break;
      default: TB_CHECK(false);
    }
  }
  template <typename T>
  void Arithmetic(const Instr& instr, int id, int n) {
    switch (instr.prim) {
      case Prim::k_add: Binary<T, T>(instr, id, n, WrapAdd<T>); break;
      case Prim::k_sub: Binary<T, T>(instr, id, n, WrapSub<T>); break;
      case Prim::k_mul: Binary<T, T>(instr, id, n, WrapMul<T>); break;
      case Prim::k_neg:
        Unary<T>(instr, id, n, [](T a) {
          if constexpr (std::is_integral_v<T>)
            return WrapSub<T>(0, a);
          else
            return -a;
        });
        break;
      case Prim::k_abs:
        Unary<T>(instr, id, n, [](T a) {
          if constexpr (std::is_integral_v<T>)
            return a < 0 ? WrapSub<T>(0, a) : a;
          else
            return std::fabs(a);
        });
        break;
      case Prim::k_min: Binary<T, T>(instr, id, n, NanMin<T>); break;
      case Prim::k_max: Binary<T, T>(instr, id, n, NanMax<T>); break;
      case Prim::k_pmin: Binary<T, T>(instr, id, n, [](T a, T b) { return b < a ? b : a; }); break;
      case Prim::k_pmax: Binary<T, T>(instr, id, n, [](T a, T b) { return a < b ? b : a; }); break;
      default:
        if constexpr (std::is_integral_v<T>)
          IntOnly<T>(instr, id, n);
        else
          FloatOnly<T>(instr, id, n);
    }
  }

  void Compare(const Instr& instr, int id, int n) {
    ForType(k_.instrs[static_cast<size_t>(instr.args[0])].type, [&](auto zero) {
      using T = decltype(zero);
      switch (instr.prim) {
        case Prim::k_eq: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a == b; }); break;
        case Prim::k_ne: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a != b; }); break;
        case Prim::k_lt: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a < b; }); break;
        case Prim::k_le: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a <= b; }); break;
        case Prim::k_gt: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a > b; }); break;
        default: Binary<T, int32_t>(instr, id, n, [](T a, T b) { return a >= b; }); break;
      }
    });
  }

  void Compute(int id, int n) {
    const Instr& instr = k_.instrs[static_cast<size_t>(id)];
    Values& out = V(id);
    switch (instr.prim) {
      case Prim::k_constant:
        if (IsWide(instr.type))
          out.l[0] = static_cast<int64_t>(instr.imm);
        else
          out.i[0] = static_cast<int32_t>(instr.imm);
        return;
      case Prim::k_count:
        ForType(instr.type, [&](auto zero) {
          using T = decltype(zero);
          Lanes<T>(out)[0] = static_cast<T>(count_);
        });
        return;
      case Prim::k_load: Read(instr, out, n); return;
      case Prim::k_fold: std::memcpy(&out, &folds_[instr.imm], 8); return;
      case Prim::k_scratch: {
        const int width = IsWide(instr.type) ? 8 : 4;
        std::memcpy(&out, Scratch(static_cast<int>(instr.imm)), static_cast<size_t>(n * width));
        return;
      }
      case Prim::k_bits: std::memcpy(&out, &V(instr.args[0]), sizeof(Values)); return;
      case Prim::k_cast:
        ForType(k_.instrs[static_cast<size_t>(instr.args[0])].type, [&](auto from) {
          ForType(instr.type, [&](auto to) {
            using From = decltype(from);
            using To = decltype(to);
            From spread[kBlock];
            const From* a = In<From>(instr.args[0], n, spread);
            To* lanes = Lanes<To>(out);
            const bool to_bool = instr.type == LaneType::kBool;
            for (int e = 0; e < n; ++e)
              lanes[e] = to_bool ? static_cast<To>(a[e] != From(0)) : Convert<To>(a[e]);
          });
        });
        return;
      case Prim::k_select:
        ForType(instr.type, [&](auto zero) {
          using T = decltype(zero);
          int32_t sm[kBlock];
          T sa[kBlock], sb[kBlock];
          const int32_t* mask = In<int32_t>(instr.args[0], n, sm);
          const T* yes = In<T>(instr.args[1], n, sa);
          const T* no = In<T>(instr.args[2], n, sb);
          T* lanes = Lanes<T>(out);
          for (int e = 0; e < n; ++e) lanes[e] = mask[e] ? yes[e] : no[e];
        });
        return;
      case Prim::k_eq:
      case Prim::k_ne:
      case Prim::k_lt:
      case Prim::k_le:
      case Prim::k_gt:
      case Prim::k_ge: Compare(instr, id, n); return;
      default: ForType(instr.type, [&](auto zero) { Arithmetic<decltype(zero)>(instr, id, n); });
    }
  }

  const LoopKernel& k_;
  const Cell* cells_;
  std::vector<Depth> depths_;
  std::unique_ptr<Values[]> values_, folds_;
  std::vector<double> sums_;
  std::vector<char*> row_;
  std::vector<int64_t> offsets_;
  int64_t count_ = 1, first_ = 0;
};

}  // namespace

void InterpretLoops(const LoopKernel& kernel, const Cell* cells) {
  for (int d = 0; d < kernel.outer; ++d) {
    if (cells[SizeCell(kernel, d)] == 0) return;
  }
  Run(kernel, cells).Whole();
}

}  // namespace thirdbook
