"""Singular values by Jacobi's one-sided rotations, in Python floats: for small matrices.

In: the rows of a matrix. Out: min(m, n) values, largest first. Invariant: rotations change directions, not the sum of squares.
"""

from __future__ import annotations

import math

_SWEEPS = 60


def values(rows: list) -> list:
    """The singular values; NaN where an element is not finite."""
    vectors = [list(row) for row in rows] if len(rows) <= len(rows[0]) else [list(column) for column in zip(*rows)]
    if not all(math.isfinite(x) for vector in vectors for x in vector):
        return [math.nan] * len(vectors)
    for _ in range(_SWEEPS):
        turned = False
        for p in range(len(vectors)):
            for q in range(p + 1, len(vectors)):
                turned = _rotate(vectors, p, q) or turned
        if not turned:
            break
    return sorted((math.hypot(*vector) for vector in vectors), reverse=True)


def _rotate(vectors: list, p: int, q: int) -> bool:
    """Turns two vectors until they are orthogonal; False where they are."""
    a, b = vectors[p], vectors[q]
    square_a, square_b = math.sumprod(a, a), math.sumprod(b, b)
    dot = math.sumprod(a, b)
    if abs(dot) <= 1e-15 * math.sqrt(square_a * square_b):
        return False
    zeta = (square_b - square_a) / (2.0 * dot)
    tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.hypot(1.0, zeta))
    cosine = 1.0 / math.hypot(1.0, tangent)
    sine = cosine * tangent
    vectors[p] = [cosine * x - sine * y for x, y in zip(a, b)]
    vectors[q] = [sine * x + cosine * y for x, y in zip(a, b)]
    return True
