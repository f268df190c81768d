"""Cholesky factors and equations in them, by LAPACK or, for a few rows, written out.

LAPACK takes one state after another. Written out, the factors of a batch are a few operations on vectors as long as it
is: a projection takes a third of the time for two or three rows and half of it for four. With more the compiler takes a
second longer for each program, and what is won becomes less.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

_WRITTEN_OUT = 4  # rows, at most


def cholesky(S: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """L with L Lᵀ = S, of which the lower triangle is read; NaN where S is not positive definite."""
    m = S.shape[0]
    if m > _WRITTEN_OUT:
        return jax.lax.linalg.cholesky(S, symmetrize_input=False)
    L = [[jnp.zeros_like(S[0, 0])] * m for _ in range(m)]
    for j in range(m):
        for i in range(j, m):
            rest = S[i, j] - sum(L[i][k] * L[j][k] for k in range(j))
            L[i][j] = jnp.sqrt(rest) if i == j else rest / L[j][j]
    return jnp.stack([jnp.stack(row) for row in L])


def solve(L: Float[Array, "m m"], b: Float[Array, " m"]) -> Float[Array, " m"]:
    """(L Lᵀ)⁻¹ b"""
    m = L.shape[0]
    if m > _WRITTEN_OUT:
        return solve_triangular(L, solve_triangular(L, b, lower=True), lower=True, trans=1)
    x = list(b)
    for i in range(m):
        x[i] = (x[i] - sum(L[i, k] * x[k] for k in range(i))) / L[i, i]
    for i in reversed(range(m)):
        x[i] = (x[i] - sum(L[k, i] * x[k] for k in range(i + 1, m))) / L[i, i]
    return jnp.stack(x)
