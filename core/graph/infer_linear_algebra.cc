// Products of vectors and matrices, small dense solvers.
#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

Status SameDType(const TensorMeta& a, const TensorMeta& b, std::string_view kernel) {
  if (a.dtype != b.dtype) {
    return RuntimeError(Format("expected m1 and m2 to have the same dtype, but got: %s != %s",
                               CTypeName(a.dtype), CTypeName(b.dtype)));
  }
  return a.dtype == DType::kBool ? NotImplementedFor(kernel, a.dtype) : Status::Ok();
}

Status CheckMatrices(const TensorMeta& a, const TensorMeta& b) {
  int64_t n = a.sizes[a.sizes.size() - 2], k = a.sizes.back(), k2 = b.sizes[b.sizes.size() - 2],
          m = b.sizes.back();
  if (k != k2) {
    return RuntimeError(Format("mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", LL(n),
                               LL(k), LL(k2), LL(m)));
  }
  return Status::Ok();
}

Result<Metas> Dot(const TensorMeta& a, const TensorMeta& b) {
  if (a.rank() != 1 || b.rank() != 1) {
    return RuntimeError(
        Format("1D tensors expected, but got %lldD and %lldD tensors", LL(a.rank()), LL(b.rank())));
  }
  if (a.dtype != b.dtype) {
    return RuntimeError(Format("dot : expected both vectors to have same dtype, but found %s and %s",
                               DTypeScalarName(a.dtype).data(), DTypeScalarName(b.dtype).data()));
  }
  if (a.sizes != b.sizes) {
    return RuntimeError(
        Format("inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of "
               "elements, "
               "but got %lld and %lld elements respectively",
               LL(a.sizes[0]), LL(b.sizes[0]), LL(a.sizes[0]), LL(b.sizes[0])));
  }
  if (a.dtype == DType::kBool) return NotImplementedFor("dot", a.dtype);
  return Fresh(a.dtype, {});
}

Result<Metas> MatVec(const TensorMeta& mat, const TensorMeta& vec) {
  if (mat.rank() != 2 || vec.rank() != 1) {
    return RuntimeError(
        Format("vector + matrix @ vector expected, got 1, %lld, %lld", LL(mat.rank()), LL(vec.rank())));
  }
  if (mat.sizes[1] != vec.sizes[0]) {
    return RuntimeError(Format("size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                               LL(mat.sizes[0]), LL(mat.sizes[0]), LL(mat.sizes[1]), LL(vec.sizes[0])));
  }
  TB_RETURN_IF_ERROR(SameDType(mat, vec, "addmv_impl_cpu"));
  return Fresh(mat.dtype, {mat.sizes[0]});
}

Result<Metas> MatMat(const TensorMeta& a, const TensorMeta& b) {
  if (a.rank() != 2) return RuntimeError("self must be a matrix");
  if (b.rank() != 2) return RuntimeError("mat2 must be a matrix");
  TB_RETURN_IF_ERROR(CheckMatrices(a, b));
  TB_RETURN_IF_ERROR(SameDType(a, b, "addmm_impl_cpu_"));
  return Fresh(a.dtype, {a.sizes[0], b.sizes[1]});
}

Result<Metas> Batched(const TensorMeta& a, const TensorMeta& b) {
  if (a.rank() != 3) return RuntimeError("batch1 must be a 3D tensor");
  if (b.rank() != 3) return RuntimeError("batch2 must be a 3D tensor");
  if (b.sizes[0] != a.sizes[0] || b.sizes[1] != a.sizes[2]) {
    return RuntimeError(Format(
        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
        LL(a.sizes[0]), LL(a.sizes[2]), LL(b.sizes[0]), LL(b.sizes[1])));
  }
  TB_RETURN_IF_ERROR(SameDType(a, b, "bmm"));
  return Fresh(a.dtype, {a.sizes[0], a.sizes[1], b.sizes[2]});
}

Result<Metas> Matmul(const TensorMeta& a, const TensorMeta& b) {
  int64_t ra = a.rank(), rb = b.rank();
  if (ra == 0 || rb == 0) {
    return RuntimeError(Format(
        "both arguments to matmul need to be at least 1D, but they are %lldD and %lldD", LL(ra), LL(rb)));
  }
  if (ra == 1 && rb == 1) return Dot(a, b);
  if (ra == 2 && rb == 1) return MatVec(a, b);
  if (ra == 2 && rb == 2) return MatMat(a, b);
  TensorMeta left = a, right = b;
  if (ra == 1) left = ContiguousMeta(a.dtype, {1, a.sizes[0]});
  if (rb == 1) right = ContiguousMeta(b.dtype, {b.sizes[0], 1});
  TB_ASSIGN_OR_RETURN(Sizes sizes, BroadcastSizes(Sizes(left.sizes.begin(), left.sizes.end() - 2),
                                                  Sizes(right.sizes.begin(), right.sizes.end() - 2)));
  if (left.sizes.back() != right.sizes[right.sizes.size() - 2]) {
    if (right.rank() <= 2) return CheckMatrices(left, right);
    int64_t batch = 1;
    for (int64_t s : sizes) batch *= s;
    return RuntimeError(Format(
        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
        LL(batch), LL(left.sizes.back()), LL(batch), LL(right.sizes[right.sizes.size() - 2])));
  }
  TB_RETURN_IF_ERROR(SameDType(a, b, "bmm"));
  if (ra > 1) sizes.push_back(left.sizes[left.sizes.size() - 2]);
  if (rb > 1) sizes.push_back(right.sizes.back());
  return Fresh(a.dtype, std::move(sizes));
}

// `bias` must expand to `sizes`.
Status CheckExpands(const TensorMeta& bias, const Sizes& sizes) {
  return InferOneView(Op::k_expand, bias, {sizes}).status();
}

Result<Metas> AddMM(const Call& call) {
  const TensorMeta &self = call.in(0), &a = call.in(1), &b = call.in(2);
  if (a.rank() != 2) return RuntimeError(Format("mat1 must be a matrix, got %lld-D tensor", LL(a.rank())));
  if (b.rank() != 2) return RuntimeError(Format("mat2 must be a matrix, got %lld-D tensor", LL(b.rank())));
  for (const TensorMeta* m : {&a, &b}) {
    if (m->dtype != self.dtype) {
      return RuntimeError(Format("self and mat2 must have the same dtype, but got %s and %s",
                                 DTypeScalarName(self.dtype).data(), DTypeScalarName(m->dtype).data()));
    }
  }
  TB_ASSIGN_OR_RETURN(Metas out, MatMat(a, b));
  TB_RETURN_IF_ERROR(CheckExpands(self, out[0].sizes));
  if (IsFloatAttr(call.attrs[0]) && !IsFloating(self.dtype)) {
    return RuntimeError("For integral input tensors, argument beta must not be a floating point number.");
  }
  return out;
}

Result<Metas> Linear(const Call& call) {
  const TensorMeta &input = call.in(0), &weight = call.in(1);
  if (input.rank() == 0 || weight.rank() == 0) {
    return RuntimeError(
        Format("both arguments to linear need to be at least 1D, but they are %lldD and %lldD",
               LL(input.rank()), LL(weight.rank())));
  }
  if (weight.rank() > 2)
    return RuntimeError("t() expects a tensor with <= 2 dimensions, but self is " +
                        std::to_string(weight.rank()) + "D");
  Sizes sizes(input.sizes.begin(), input.sizes.end() - 1);
  int64_t rows = 1;
  for (int64_t s : sizes) rows *= s;
  TensorMeta flat = ContiguousMeta(input.dtype, {rows, input.sizes.back()});
  TensorMeta transposed = weight;
  if (weight.rank() == 2)
    std::swap(transposed.sizes[0], transposed.sizes[1]);
  else
    transposed = ContiguousMeta(weight.dtype, {weight.sizes[0], 1});
  TB_RETURN_IF_ERROR(CheckMatrices(flat, transposed));
  TB_RETURN_IF_ERROR(SameDType(input, weight, "addmm_impl_cpu_"));
  if (weight.rank() == 2) sizes.push_back(weight.sizes[0]);
  if (call.has(2)) {
    if (call.in(2).dtype != input.dtype) {
      return RuntimeError(Format("self and mat2 must have the same dtype, but got %s and %s",
                                 DTypeScalarName(call.in(2).dtype).data(),
                                 DTypeScalarName(input.dtype).data()));
    }
    TB_RETURN_IF_ERROR(CheckExpands(call.in(2), sizes));
  }
  return Fresh(input.dtype, std::move(sizes));
}

Status CheckSquare(std::string_view name, const TensorMeta& a) {
  std::string n(name);
  if (a.rank() < 2) return RuntimeError(n + ": The input tensor A must have at least 2 dimensions.");
  int64_t rows = a.sizes[a.sizes.size() - 2], columns = a.sizes.back();
  if (rows != columns) {
    return RuntimeError(Format("%s: A must be batches of square matrices, but they are %lld by %lld matrices",
                               n.c_str(), LL(rows), LL(columns)));
  }
  if (!IsFloating(a.dtype)) {
    return RuntimeError(n + ": Expected a floating point or complex tensor as input. Got " +
                        DTypeScalarName(a.dtype).data());
  }
  return Status::Ok();
}

// B is a batch of vectors when it has one dimension, or A's batch and one more; else a batch of matrices.
Result<Metas> Solve(const Call& call) {
  const TensorMeta &a = call.in(0), &b = call.in(1);
  bool left = BoolAttr(call.attrs, 0);
  TB_RETURN_IF_ERROR(CheckSquare("linalg.solve", a));
  if (a.dtype != b.dtype) {
    return RuntimeError(
        Format("linalg.solve: Expected A and B to have the same dtype, but found A of type %s and B of type "
               "%s instead",
               DTypeScalarName(a.dtype).data(), DTypeScalarName(b.dtype).data()));
  }
  Sizes a_vectors(a.sizes.begin(), a.sizes.end() - 1);
  bool vector = b.rank() == 1 || (b.rank() == a.rank() - 1 && b.sizes == a_vectors);
  if (b.rank() == 0) return RuntimeError("linalg.solve: The input tensor B must have at least 1 dimension.");
  int64_t n = a.sizes.back();
  int64_t rows = vector ? b.sizes.back() : b.sizes[b.sizes.size() - 2], columns = vector ? 1 : b.sizes.back();
  if ((left ? rows : columns) != n) {
    return RuntimeError(
        Format("linalg.solve: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx%lld)",
               left ? "AX = B" : "XA = B", LL(n), LL(n), LL(rows), LL(columns)));
  }
  Sizes b_batch(b.sizes.begin(), b.sizes.end() - (vector ? 1 : 2));
  TB_ASSIGN_OR_RETURN(Sizes sizes, BroadcastSizes(Sizes(a.sizes.begin(), a.sizes.end() - 2), b_batch));
  sizes.push_back(rows);
  if (!vector) sizes.push_back(columns);
  return Fresh(a.dtype, std::move(sizes));
}

}  // namespace

Result<Metas> InferLinearAlgebra(const Call& call) {
  switch (call.op) {
    case Op::k_matmul: return Matmul(call.in(0), call.in(1));
    case Op::k_mm: return MatMat(call.in(0), call.in(1));
    case Op::k_mv: return MatVec(call.in(0), call.in(1));
    case Op::k_bmm: return Batched(call.in(0), call.in(1));
    case Op::k_dot: return Dot(call.in(0), call.in(1));
    case Op::k_addmm: return AddMM(call);
    case Op::k_linear: return Linear(call);
    case Op::k_outer: {
      const char* names[] = {"self", "vec2"};
      for (size_t i : {size_t{0}, size_t{1}}) {
        if (call.in(i).rank() != 1) {
          return RuntimeError(
              Format("outer: Expected 1-D argument %s, but got %lld-D", names[i], LL(call.in(i).rank())));
        }
      }
      return Fresh(ResultType(call.operands), {call.in(0).sizes[0], call.in(1).sizes[0]});
    }
    case Op::k_linalg_solve: return Solve(call);
    case Op::k_linalg_inv:
      TB_RETURN_IF_ERROR(CheckSquare("linalg.inv", call.in(0)));
      return Fresh(call.in(0).dtype, call.in(0).sizes);
    case Op::k_linalg_cholesky:
      TB_RETURN_IF_ERROR(CheckSquare("linalg.cholesky", call.in(0)));
      return Fresh(call.in(0).dtype, call.in(0).sizes);
    default: {  // det
      TB_RETURN_IF_ERROR(CheckSquare("linalg.det", call.in(0)));
      return Fresh(call.in(0).dtype, Sizes(call.in(0).sizes.begin(), call.in(0).sizes.end() - 2));
    }
  }
}

}  // namespace thirdbook
