"""torch.linalg for small matrices: norms, solutions, inverses, Cholesky factors, determinants.

In: (…, n, n) matrices or vectors, float32 or float64. Out: fresh tensors. Errors: RuntimeError for matrices that are not square, LinAlgError (a
RuntimeError) for singular ones.
"""

from __future__ import annotations

import math

from . import _core, _functions, _singular
from ._core import _LinAlgError as LinAlgError
from ._core import ops
from ._forms import scalar_name, takes_out

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "inv", "inv_ex", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm",
    "slogdet", "solve", "solve_triangular", "svdvals", "vander", "vecdot", "vector_norm",
]  # fmt: skip

solve = ops.linalg_solve
inv = ops.linalg_inv
cholesky = ops.linalg_cholesky
det = ops.linalg_det
matmul = ops.matmul
matrix_power = _functions.matrix_power


def cross(input, other, *, dim=-1):
    """The cross product of 3-vectors along dim."""
    if input.dim() != other.dim():
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions. Got {input.dim()} and {other.dim()}")
    return _functions.cross(input, other, dim)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals, as a view."""
    return ops.diagonal(A, offset, dim1, dim2)


def inv_ex(A, *, check_errors=False):
    """(inverse, info); info is 0 everywhere, a singular matrix raises."""
    return ops.linalg_inv(A), ops.zeros(A.shape[:-2], dtype=_core.int32)


@takes_out
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The ord-norm of the elements over dim."""
    return ops.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype)


@takes_out
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """Norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not A.dtype.is_floating_point:
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {scalar_name(A.dtype)}"
        )
    if dtype is not None:
        A = ops.to(A, dtype)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    if ord == "fro":
        return ops.linalg_vector_norm(A, 2, dim, keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(ops.permute(A, _last(A.dim(), dim)))
        made = ops.sum(values, -1) if ord == "nuc" else ops.select(values, -1, 0 if ord == 2 else -1)
        return _kept(made, A.dim(), dim) if keepdim else made
    if ord in (1, -1):
        first, second = dim
    elif ord in (math.inf, -math.inf):
        second, first = dim
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    sums = ops.sum(ops.abs(A), (first,), True)
    fold = ops.amax if ord > 0 else ops.amin
    made = fold(sums, (second,), True)
    return made if keepdim else ops.squeeze(made, (first, second))


def _last(rank, dim):
    """An order of dimensions in which the two of dim come last."""
    pair = [d % rank for d in dim]
    return [d for d in range(rank) if d not in pair] + pair


def _kept(made, rank, dim):
    for place in sorted(d % rank for d in dim):
        made = ops.unsqueeze(made, place)
    return made


def svdvals(A):
    """The singular values of matrices, largest first. Computed from their elements, so a compiled function breaks here."""
    if A.dim() < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    if not A.dtype.is_floating_point:
        raise RuntimeError(f"linalg.svd: Expected a floating point or complex tensor as input. Got {scalar_name(A.dtype)}")
    *batch, m, n = A.shape
    count = min(m, n)
    matrices = ops.reshape(A, (math.prod(batch), m, n)).tolist()
    values = [value for matrix in matrices for value in (_singular.values(matrix) if count else ())]
    return ops.view(_core.tensor(values, dtype=A.dtype), [*batch, count])


@takes_out
def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The vector norm, or the matrix norm where dim names two dimensions or ord is a matrix norm's."""
    if ord is not None and dim is None and A.dim() not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D.")
    if dim is not None and not isinstance(dim, int) and len(dim) == 2 and ord is not None:
        return matrix_norm(A, ord, dim, keepdim, dtype=dtype)
    if ord is not None and dim is None and A.dim() == 2:
        return matrix_norm(A, ord, (-2, -1), keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError("linalg.norm: a matrix norm needs two dimensions")
    return ops.linalg_vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@takes_out
def vecdot(x, y, *, dim=-1):
    """Products summed along dim."""
    return ops.sum(ops.mul(x, y), dim)


@takes_out
def multi_dot(tensors):
    """The product of matrices, in the order given."""
    made = tensors[0]
    for other in tensors[1:]:
        made = ops.matmul(made, other)
    return made


def slogdet(A):
    """(sign, log of the absolute value) of the determinant."""
    value = ops.linalg_det(A)
    return ops.sign(value), ops.log(ops.abs(value))


@takes_out
def cond(A, p=None):
    """The condition number: the norms of A and of its inverse multiplied; without p the quotient of singular values."""
    if p in (None, 2, -2):
        values = svdvals(A)
        if values.size(-1) == 0:
            return ops.zeros(A.shape[:-2], dtype=A.dtype)
        largest, smallest = ops.select(values, -1, 0), ops.select(values, -1, -1)
        return ops.div(smallest, largest) if p == -2 else ops.div(largest, smallest)
    return ops.mul(matrix_norm(A, p), matrix_norm(ops.linalg_inv(A), p))


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with A X = B (X A = B where left is False), reading one triangle of A only."""
    half = ops.triu(A) if upper else ops.tril(A)
    if unitriangular:
        half = ops.triu(A, 1) if upper else ops.tril(A, -1)
        half = ops.add(half, ops.eye(A.size(-1), dtype=A.dtype))
    return ops.linalg_solve(half, B, left=left)


def vander(x, N=None):
    """Rows 1, x, x², … up to N columns."""
    x = ops.reshape(x, (1,)) if x.dim() == 0 else x
    columns = x.size(-1) if N is None else N
    return ops.pow(ops.unsqueeze(x, -1), ops.arange(0, columns))
