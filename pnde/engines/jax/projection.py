"""The projection p = v - W Gᵀλ with (G W Gᵀ) λ = G v + b (paper, Eq. 11-12 and Appendix A), and its derivative.

With v' = v̇ - (W Gᵀ)˙ λ, the derivative of the pair (p, λ) is the pair that belongs to v' and the offset
b' = ḃ + Ġ p:

    ṗ = v' - W Gᵀ λ̇,     S λ̇ = G v' + b',     S = G W Gᵀ.

Differentiating p + W Gᵀλ = v and G p = -b gives this at once. Its transpose is the paper's backward pass (Eq. 13-15),
extended by the metric and the offset:

    S μ = G W p̄,   v̄ = p̄ - Gᵀμ,   Ḡ = -μ pᵀ - λ (W v̄)ᵀ,   b̄ = -μ,   W̄ = -v̄ (Gᵀλ)ᵀ.

So one rule serves forward mode, reverse mode and every higher order, for each structure of G and each method, and the
factor of S is computed once. The same operation gives the pseudo-inverse, and the retraction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    weigh,
)
from pnde.errors import ConstraintError, IllConditionedWarning


def project(
    G: AbstractJacobian | Float[Array, "m n"],
    v: Float[Array, " n"],
    offset: Float[Array, " m"] | None = None,
    W: InverseMetric = None,
    method: str = "cholesky",
    factor: AbstractFactor | None = None,
) -> Float[Array, " n"]:
    """The velocity nearest to v, in the metric M = W⁻¹, with G p = -offset.

    **Arguments:**

    - `G`: the constraint Jacobian ∂h/∂u.
    - `v`: the ambient velocity.
    - `offset`: ∂h/∂t of a law that depends on time.
    - `W`: inverse metric.
    - `method`: `"cholesky"`, `"qr"` or `"truncated"`.
    - `factor`: of `G W Gᵀ`, if it is known already.

    **Returns:** p of shape `(n,)`. Use `jax.vmap` for batches. Under `jit` and `vmap` NaN where `method` cannot factor
    G: see `condition` and `check_rows`.

    **Raises:** `pnde.errors.ConstraintError` if rows are dependent, and warns `pnde.errors.IllConditionedWarning` if
    they nearly are; not under a transformation.
    """
    G = DenseJacobian(G) if not isinstance(G, AbstractJacobian) else G
    if offset is None:
        offset = jnp.zeros_like(jax.eval_shape(G.apply, v))
    if factor is None:
        factor = factorise(G, W, method)
        if not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((v, offset, factor))):
            check_rows(condition(factor), method)
    return _decompose(G, W, v, offset, factor)[0]


def minimum_norm(
    G: AbstractJacobian, b: Float[Array, " m"], W: InverseMetric, method: str, dimension: int
) -> Float[Array, " n"]:
    """The smallest x, in the metric M = W⁻¹, with G x = b: x = W Gᵀ S⁻¹ b."""
    return -project(G, jnp.zeros((dimension,), b.dtype), b, W, method)


def factorise(G: AbstractJacobian, W: InverseMetric, method: str) -> AbstractFactor:
    """The factor of S = G W Gᵀ. Derivatives never pass through it."""
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((G, W))):
        with jax.ensure_compile_time_eval():
            return G.factorise(W, method)
    return jax.lax.stop_gradient(G).factorise(jax.lax.stop_gradient(W), method)


def condition(factor: AbstractFactor) -> Float[Array, ""]:
    """An estimate of 1/κ of the matrix that was factored; 0 where the factorisation failed."""
    rcond = factor.condition()
    return jnp.where(jnp.isfinite(rcond), rcond, 0)


def rank_margin(rcond: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """How many times better than singular to rounding a `condition` is; below 1 the rows of G are dependent.

    The last pivot of a repeated row is zero up to a few roundings, so its 1/κ is 0 or some ε.
    """
    return rcond / (16 * jnp.finfo(rcond.dtype).eps)


def check_rows(
    rcond: Float[Array, "*batch"],
    method: str,
    law: str = "the law",
    best: Callable[[], float] | None = None,
) -> None:
    """Whether `method` can project accurately, given the known `condition` of its factors.

    p has the relative error ε κ of the matrix that was factored: ε κ(G)² for the Cholesky factor of S, ε κ(G) for QR
    and SVD. More than √ε, half of all digits, is worth a warning.

    **Arguments:**

    - `rcond`: `condition` of the factors.
    - `method`: with which they were made.
    - `law`: what messages call it.
    - `best`: gives 1/κ(G) by QR in float64 at the worst state, which tells rows that repeat others from ones that a
        better method or precision tells apart.

    **Raises:** `pnde.errors.ConstraintError` if rows are dependent; warns `pnde.errors.IllConditionedWarning` if they
    nearly are.
    """
    dtype, worst = rcond.dtype, jnp.min(rcond)
    if float(rank_margin(worst)) < 1:
        seen = 0.0 if best is None else best()
        if dtype == jnp.float32 and float(rank_margin(_rcond(seen, method, dtype))) >= 1:
            # Not the rows: the squares of the gradient are too large or too small for float32, 1e-38 to 3e38.
            raise ConstraintError(
                f"the gradient of {law}, squared, is beyond the range of float32: give states or law in other units, "
                'or use solver.precision = "float64"'
            )
        remedy = _remedy(seen, method, dtype)
        if remedy:
            raise ConstraintError(
                f"rows of {law} are so nearly dependent (κ(G) = {1 / seen:.0e}) that {method!r} cannot project in "
                f"{dtype}: use {remedy}"
            )
        nearly = best is None and method == "cholesky"
        hint = ' ("qr" if they are only nearly dependent)' if nearly else ""
        raise ConstraintError(
            f"rows of {law} are dependent, so that {method!r} cannot project in {dtype}: remove a row that repeats "
            f'others, or use projection.method = "truncated"{hint}'
        )
    eps = float(jnp.finfo(dtype).eps)
    error = eps / float(worst)
    if error > eps**0.5:
        remedy = "state the law in other rows"
        if method == "cholesky":
            remedy = 'use projection.method = "qr"'
        if dtype == jnp.float32:
            remedy += ", or float64"
        warnings.warn(
            f"rows of {law} are nearly dependent: velocities projected by {method!r} in {dtype} have a relative error "
            f"of about {error:.0e}; {remedy}",
            IllConditionedWarning,
            stacklevel=3,
        )


def _remedy(best: float, method: str, dtype: Any) -> str:
    """The least change of settings with which rows of this 1/κ(G) are told apart; empty if there is none."""
    qr, double = 'projection.method = "qr"', 'solver.precision = "float64"'
    changes = [
        ("qr", dtype, qr),
        (method, jnp.float64, double),
        ("qr", jnp.float64, f"{qr} and {double}"),
    ]
    for way, precision, change in changes:
        rcond = _rcond(best, way, precision)
        if (way, precision) != (method, dtype) and float(rank_margin(rcond)) >= 1:
            return change
    return ""


def _rcond(best: float, method: str, dtype: Any) -> Array:
    """1/κ of what a method factors, of rows of this 1/κ(G)."""
    return jnp.asarray(best**2 if method == "cholesky" else best, dtype)


def _decompose(
    G: AbstractJacobian,
    W: InverseMetric,
    v: Float[Array, " n"],
    b: Float[Array, " m"],
    factor: AbstractFactor,
) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """(p, λ) as the solution of p + W Gᵀλ = v, G p = -b, whose derivative JAX takes of the system and not of `factor`.

    A `jax.custom_jvp` with the same rule would be right only once: reverse mode transposes the operations of the
    factor, and a second derivative would take them for constants.
    """

    # One array for the pair: custom_linear_solve does not take a right-hand side of which only a part is varied.
    n = v.shape[0]

    def system(x):
        p, lam = x[:n], x[n:]
        return jnp.concatenate([p + weigh(W, G.transpose_apply(lam)), G.apply(p)])

    def solve(_, right):
        return jnp.concatenate(factor.decompose(G, W, right[:n], -right[n:]))

    def transpose_solve(_, right):
        return jnp.concatenate(factor.transposed(G, W, right[:n], right[n:]))

    x = jax.lax.custom_linear_solve(system, jnp.concatenate([v, -b]), solve, transpose_solve)
    return x[:n], x[n:]
